"""From an estimator's parameters and data to a fitted model."""
