"""Fits to rows on several machines: what they are asked, whoever carries the questions."""
