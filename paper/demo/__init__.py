"""The demo: FCGBoost beside scikit-learn's classifiers, on a simulation and on a real table.

Three tasks: the paper's simulation with 30 % of the training labels flipped, breast cancer with
its labels as they are, and breast cancer with 20 % flipped. Every rival is tuned by five folds on
the first draw; the default and `"compact"` need no tuning. Prints one table per task and writes
two pictures and a report.
"""

from paper.demo.story import main

__all__ = ["main"]
