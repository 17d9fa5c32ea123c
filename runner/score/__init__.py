"""Scores of one question: pure functions from plain values to numbers, each with its source."""
