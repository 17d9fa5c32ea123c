"""Parts of the handoff suite, its scenarios included."""
