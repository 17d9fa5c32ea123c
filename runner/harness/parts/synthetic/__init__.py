"""Parts of the generated benchmark."""
