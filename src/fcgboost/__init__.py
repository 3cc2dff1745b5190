"""fcgboost: sparse, noise-robust, calibrated classifiers by fully corrective greedy boosting.

Names are loaded on first use: loading all of them takes a second.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the names of `_NAMES`, for type checkers and editors
    from fcgboost import datasets as datasets
    from fcgboost.dictionaries import Dictionary as Dictionary
    from fcgboost.dictionaries import DirectionDictionary as DirectionDictionary
    from fcgboost.dictionaries import GaussDictionary as GaussDictionary
    from fcgboost.dictionaries import LinearDictionary as LinearDictionary
    from fcgboost.dictionaries import PolynomialDictionary as PolynomialDictionary
    from fcgboost.dictionaries import ReluDictionary as ReluDictionary
    from fcgboost.dictionaries import SigmoidDictionary as SigmoidDictionary
    from fcgboost.dictionaries import StepDictionary as StepDictionary
    from fcgboost.dictionaries import TreeDictionary as TreeDictionary
    from fcgboost.dictionaries import UnionDictionary as UnionDictionary
    from fcgboost.estimators import FCGBoostClassifier as FCGBoostClassifier
    from fcgboost.greedy.elimination import Removal as Removal
    from fcgboost.greedy.schemes import Epsilon as Epsilon
    from fcgboost.greedy.schemes import FullyCorrective as FullyCorrective
    from fcgboost.greedy.schemes import Original as Original
    from fcgboost.greedy.schemes import Rescaled as Rescaled
    from fcgboost.greedy.schemes import Shrinkage as Shrinkage
    from fcgboost.greedy.schemes import Truncation as Truncation
    from fcgboost.io import ModelFileError as ModelFileError
    from fcgboost.io import load_model as load_model
    from fcgboost.io import save_model as save_model
    from fcgboost.losses import CubedHinge as CubedHinge
    from fcgboost.losses import Hinge as Hinge
    from fcgboost.losses import Loss as Loss
    from fcgboost.losses import Square as Square
    from fcgboost.losses import SquaredHinge as SquaredHinge
    from fcgboost.search import FCGBoostClassifierCV as FCGBoostClassifierCV
    from fcgboost.selection.fixed import AllCandidates as AllCandidates
    from fcgboost.selection.fixed import SampledCandidates as SampledCandidates
    from fcgboost.selection.learned import LearnedCandidates as LearnedCandidates
    from fcgboost.solvers import AdmmSolver as AdmmSolver
    from fcgboost.solvers import GradientDescentSolver as GradientDescentSolver
    from fcgboost.solvers import InteriorPointSolver as InteriorPointSolver
    from fcgboost.solvers import NewtonSolver as NewtonSolver
    from fcgboost.stopping import Status as Status
    from fcgboost.stopping import Step as Step
    from fcgboost.stopping import theory_steps as theory_steps
    from fcgboost.tables import TableEncoder as TableEncoder

#: The public names of each module.
_NAMES = {
    "datasets": "",
    "dictionaries": "Dictionary DirectionDictionary GaussDictionary LinearDictionary "
    "PolynomialDictionary ReluDictionary SigmoidDictionary StepDictionary TreeDictionary "
    "UnionDictionary",
    "estimators": "FCGBoostClassifier",
    "io": "ModelFileError load_model save_model",
    "losses": "CubedHinge Hinge Loss Square SquaredHinge",
    "greedy.elimination": "Removal",
    "greedy.schemes": "Epsilon FullyCorrective Original Rescaled Shrinkage Truncation",
    "search": "FCGBoostClassifierCV",
    "selection.fixed": "AllCandidates SampledCandidates",
    "selection.learned": "LearnedCandidates",
    "solvers": "AdmmSolver GradientDescentSolver InteriorPointSolver NewtonSolver",
    "stopping": "Status Step theory_steps",
    "tables": "TableEncoder",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = {module.partition(".")[0] for module in _NAMES}

try:
    __version__ = version("fcgboost")
except PackageNotFoundError:  # run from source, not installed
    __version__ = "unknown"

if not TYPE_CHECKING:  # type checkers would accept any name
    __all__ = sorted([*_HOMES, "datasets"])

    def __getattr__(name: str) -> Any:
        """Load a public name or module on first use."""
        if name in _MODULES:
            return import_module(f"fcgboost.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'fcgboost' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"fcgboost.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    """Return all names, loaded or not."""
    return sorted({*globals(), *_HOMES, *_MODULES})
