"""Results of other harnesses as run directories."""
