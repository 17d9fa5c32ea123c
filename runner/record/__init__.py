"""The run directory: journals, provenance, instrument, comparison and diff.

What is written here is data and is read back as data: JSON and plain YAML, no tags, no pickles, nothing that executes.
"""
