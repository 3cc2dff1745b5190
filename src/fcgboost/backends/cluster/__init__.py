"""Fits to rows on several machines, independent of the transport."""
