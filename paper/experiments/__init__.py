"""The experiments, one module each; `paper.registry` has them by name."""
