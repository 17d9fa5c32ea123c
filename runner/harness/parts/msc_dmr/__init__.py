"""Parts of MSC-Self-Instruct."""
