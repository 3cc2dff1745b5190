"""The data of the paper: its simulation, and the public sets it was measured on."""

from fcgboost.datasets.earthquake import fetch_earthquake
from fcgboost.datasets.simulation import bayes_boundary, make_simulation
from fcgboost.datasets.uci import fetch_uci

__all__ = ["bayes_boundary", "fetch_earthquake", "fetch_uci", "make_simulation"]
