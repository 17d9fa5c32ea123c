"""Parts of LoCoMo."""
