"""The demo: the paper's simulation, FCGBoost with four dictionaries beside three classifiers.

A thousand points of the unit square, three in ten of their labels wrong. Every method is tuned by
the same five folds of these noisy labels and judged on clean ones; then the chosen settings are
fitted to ten more draws. Prints a table and writes two pictures.
"""

from paper.demo.story import main

__all__ = ["main"]
