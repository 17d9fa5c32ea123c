"""Parts of MuSiQue."""
