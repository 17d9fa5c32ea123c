"""Parts of LongMemEval."""
