"""Settings that the paper's tests share."""

import os

from hypothesis import settings

# Figures are drawn in memory; must be set before anything imports matplotlib.
os.environ["MPLBACKEND"] = "Agg"

# The same examples on every run, and no time limit that a busy machine could break.
settings.register_profile("paper", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("paper")
