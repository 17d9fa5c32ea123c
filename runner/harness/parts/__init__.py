"""What benchmarks are made of: readers of files that they share, and a folder for the parts of one."""
