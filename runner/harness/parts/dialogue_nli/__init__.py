"""Parts of Dialogue NLI."""
