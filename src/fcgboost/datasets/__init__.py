"""Generated data: the paper's simulation, and a messy table to begin with."""

from fcgboost.datasets.customers import make_customers
from fcgboost.datasets.simulation import bayes_boundary, make_simulation

__all__ = ["bayes_boundary", "make_customers", "make_simulation"]
