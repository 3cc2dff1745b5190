"""Which atom enters: candidates of a fixed dictionary or a sample, or atoms that are learned."""
