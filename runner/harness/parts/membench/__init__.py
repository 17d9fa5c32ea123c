"""Parts of MemBench."""
