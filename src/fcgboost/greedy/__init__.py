"""The greedy loop, and what one step of it is made of."""
