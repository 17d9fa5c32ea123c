"""How often a judge errs."""
