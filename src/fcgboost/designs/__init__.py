"""Designs: a dictionary laid over data, in memory, on a device or on a cluster."""
