"""What several embedded systems are made of. Nothing here is a system, and no arm can name it."""
