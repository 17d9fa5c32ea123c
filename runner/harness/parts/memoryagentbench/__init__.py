"""Parts of MemoryAgentBench."""
