"""Parts of a benchmark of labels of one's own."""
