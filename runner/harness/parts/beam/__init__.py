"""Parts of BEAM."""
