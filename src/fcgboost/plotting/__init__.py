"""Pictures: a classifier, its path or its predictions in, matplotlib Axes out.

Needs matplotlib (``fcgboost[plot]``). Every picture is a class that follows scikit-learn's
displays: `from_estimator` and, where predictions are enough, `from_predictions` compute what is
drawn, draw it into `ax` and return the display; `plot` draws it again. The numbers are attributes,
and so are the Axes, `ax_`, and their figure, `figure_`. Without `ax` there is a new figure of
pyplot; with it pyplot is left alone. Nothing is shown, no global setting changes. Legends stand
below the Axes, where they cover no data. Colours are those of `fcgboost.colors`; lines and
backgrounds follow the colours of the Axes, so that dark ones work, too.

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
from fcgboost.plotting.influence import FeatureInfluenceDisplay
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
    "path_error",
]
