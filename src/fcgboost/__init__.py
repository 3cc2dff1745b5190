"""fcgboost: sparse, noise-robust, calibrated classifiers by fully corrective greedy boosting."""

from importlib.metadata import version

__version__ = version("fcgboost")
