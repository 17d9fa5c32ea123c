"""What several tests use: servers, samples, recorded runs."""
