"""fcgboost: sparse, noise-robust, calibrated classifiers by fully corrective greedy boosting."""

from importlib.metadata import PackageNotFoundError, version

from fcgboost import datasets
from fcgboost.dictionaries import (
    ConstantDictionary,
    Dictionary,
    EllipticDictionary,
    GaussDictionary,
    LinearDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.io import ModelFileError, load_model, save_model
from fcgboost.learned import LearnedCandidates
from fcgboost.losses import CubedHinge, Hinge, Loss, Square, SquaredHinge
from fcgboost.removal import Removal
from fcgboost.schemes import (
    Epsilon,
    FullyCorrective,
    Original,
    Rescaled,
    Shrinkage,
    Truncation,
)
from fcgboost.search import FCGBoostClassifierCV
from fcgboost.selection import AllCandidates, SampledCandidates
from fcgboost.solvers import (
    AdmmSolver,
    GradientDescentSolver,
    InteriorPointSolver,
    NewtonSolver,
)
from fcgboost.stopping import Status, Step, theory_steps
from fcgboost.tables import TableEncoder

try:
    __version__ = version("fcgboost")
except PackageNotFoundError:  # run from its source, not installed
    __version__ = "unknown"

__all__ = [
    "AdmmSolver",
    "AllCandidates",
    "ConstantDictionary",
    "CubedHinge",
    "Dictionary",
    "EllipticDictionary",
    "Epsilon",
    "FCGBoostClassifier",
    "FCGBoostClassifierCV",
    "FullyCorrective",
    "GaussDictionary",
    "GradientDescentSolver",
    "Hinge",
    "InteriorPointSolver",
    "LearnedCandidates",
    "LinearDictionary",
    "Loss",
    "ModelFileError",
    "NewtonSolver",
    "Original",
    "PolynomialDictionary",
    "ReluDictionary",
    "Removal",
    "Rescaled",
    "SampledCandidates",
    "Shrinkage",
    "SigmoidDictionary",
    "Square",
    "SquaredHinge",
    "Status",
    "Step",
    "StepDictionary",
    "TableEncoder",
    "TreeDictionary",
    "Truncation",
    "UnionDictionary",
    "datasets",
    "load_model",
    "save_model",
    "theory_steps",
]
