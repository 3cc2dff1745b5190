"""The greedy loop and its steps."""
