"""The paper's simulation."""

from fcgboost.datasets.simulation import bayes_boundary, make_simulation

__all__ = ["bayes_boundary", "make_simulation"]
