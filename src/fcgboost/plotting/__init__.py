"""Displays of a classifier, its path or its predictions, drawn with matplotlib.

Needs matplotlib (``fcgboost[plot]``). Displays follow scikit-learn's conventions: `from_estimator`
and, where predictions suffice, `from_predictions` compute the numbers, draw them into `ax` and
return the display; `plot` draws them again. The numbers are attributes, as are the Axes (`ax_`) and
the figure (`figure_`). Without `ax`, pyplot creates a new figure. Nothing is shown, and no global
setting changes. Legends stand below the Axes, where they cover no data. Colours are those of
`fcgboost.colors`; text and lines follow the Axes, so dark styles work.

Examples
--------
>>> from fcgboost import FCGBoostClassifier
>>> from fcgboost.datasets import make_simulation
>>> from fcgboost.plotting import DecisionBoundaryDisplay, MarginDisplay, PathDisplay
>>> X, y = make_simulation(200, random_state=0)
>>> clf = FCGBoostClassifier("relu", validation_fraction=0.2, random_state=0, metrics="roc_auc")
>>> sorted(PathDisplay.from_estimator(clf.fit(X, y)).curves)
['train', 'validation']
>>> DecisionBoundaryDisplay.from_estimator(clf, X, y).ax_.get_xlabel()
'feature 1'
>>> MarginDisplay.from_predictions(["no", "no", "yes", "yes"], [-1.5, 0.5, 0.5, 2.0]).error_share
0.25
"""

from fcgboost.plotting.boundaries import DecisionBoundaryDisplay
from fcgboost.plotting.contributions import ContributionDisplay
from fcgboost.plotting.influence import FeatureInfluenceDisplay, SummaryDisplay
from fcgboost.plotting.margins import MarginDisplay
from fcgboost.plotting.paths import PathDisplay, path_error
from fcgboost.plotting.reliability import ReliabilityDisplay

__all__ = [
    "ContributionDisplay",
    "DecisionBoundaryDisplay",
    "FeatureInfluenceDisplay",
    "MarginDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "SummaryDisplay",
    "path_error",
]
