"""The names that an estimator's parameters accept, and the parts they stand for.

Parts are loaded when they are made, so that the command line can list names without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from pkgutil import resolve_name
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

#: By parameter and name: the module of the part and the object in it.
NAMES: Mapping[str, Mapping[str, str]] = {
    "dictionary": {
        "gauss": "dictionaries:GaussDictionary",
        "polynomial": "dictionaries:PolynomialDictionary",
        "sigmoid": "dictionaries:SigmoidDictionary",
        "relu": "dictionaries:ReluDictionary",
        "tree": "dictionaries:TreeDictionary",
        "auto": "training.presets:AUTO.dictionary",
        "fast": "training.presets:FAST.dictionary",
        "compact": "training.presets:COMPACT.dictionary",
        "linear": "dictionaries:LinearDictionary",
        "step": "dictionaries:StepDictionary",
        "direction": "dictionaries:DirectionDictionary",
    },
    "loss": {
        "squared_hinge": "losses:SquaredHinge",
        "hinge": "losses:Hinge",
        "cubed_hinge": "losses:CubedHinge",
        "square": "losses:Square",
        "modified_huber": "losses:ModifiedHuber",
    },
    "scheme": {
        "fully_corrective": "greedy.schemes:FullyCorrective",
        "original": "greedy.schemes:Original",
        "shrinkage": "greedy.schemes:Shrinkage",
        "truncation": "greedy.schemes:Truncation",
        "epsilon": "greedy.schemes:Epsilon",
        "rescaled": "greedy.schemes:Rescaled",
    },
    "solver": {
        "newton": "solvers:NewtonSolver",
        "interior_point": "solvers:InteriorPointSolver",
        "admm": "solvers:AdmmSolver",
        "gradient_descent": "solvers:GradientDescentSolver",
    },
    "selection": {
        "all": "selection.fixed:AllCandidates",
        "sampled": "selection.fixed:SampledCandidates",
        "learned": "selection.learned:LearnedCandidates",
    },
    "removal": {"backward": "greedy.elimination:Removal"},
}
_CONTRACTS = {
    "dictionary": "dictionaries:Dictionary",
    "loss": "losses:Loss",
    "scheme": "greedy.schemes:Scheme",
    "solver": "solvers:Solver",
    "selection": "selection.base:Selection",
    "removal": "greedy.elimination:Removal",
}
#: Dictionaries that are presets and have no parameters.
PRESET_NAMES = {
    name for name, part in NAMES["dictionary"].items() if part.startswith("training.presets:")
}
#: What to use here, by the names of parameters of other packages.
_ADVICE = {
    "a dictionary such as TreeDictionary(depth=3) sets the size of trees": (
        "depth max_depth max_leaf_nodes num_leaves"
    ),
    "it is not needed: text and categories are read as such": "enable_categorical",
    "list them in categorical_features of the constructor": "cat_features categorical_feature",
    "pass X_val and y_val to fit": "eval_set",
    "presets, and validation data, keep the best step": "use_best_model",
    "there is none": "base_margin init_score",
    "there is none: every step corrects all coefficients; scheme has others": "eta learning_rate",
    "there is none: families draw their own samples": "colsample_bytree subsample",
    "use class_weight, such as 'balanced'": "auto_class_weights is_unbalance scale_pos_weight",
    "use device": "task_type",
    "use device, or dictionary": "tree_method",
    "use l2; presets choose it": "l2_leaf_reg lambda_l2 reg_lambda",
    "use loss": "loss_function objective",
    "use max_iter; presets choose the number of steps": "iterations n_estimators num_boost_round",
    "use metrics to record scores, or scoring to choose by one": "eval_metric",
    "use n_iter_no_change; presets choose the number of steps": (
        "early_stopping early_stopping_rounds"
    ),
    "use n_jobs": "nthread thread_count",
    "use random_state": "random_seed seed",
    "use sample_weight": "weight",
    "use verbose": "verbosity",
}
FOREIGN = {name: advice for advice, names in _ADVICE.items() for name in names.split()}


def advised(function: F) -> F:
    """Let a function say what a parameter of another package is here."""
    own = signature(function).parameters

    @wraps(function)
    def call(*arguments: object, **parameters: object) -> object:
        for name in parameters:
            if name in FOREIGN and name not in own:
                raise TypeError(f"fcgboost has no parameter {name!r}: {FOREIGN[name]}.")
        return function(*arguments, **parameters)

    return cast(F, call)


def with_advice(cls: type[T]) -> type[T]:
    """Let a class say what a parameter of another package is here."""
    type.__setattr__(cls, "__init__", advised(cls.__init__))
    return cls


def part_named(parameter: str, name: str) -> Callable[[], Any]:
    """Return what makes the part that a parameter calls by a name."""
    return _resolve(NAMES[parameter][name])  # type: ignore[no-any-return]


def _resolve(path: str) -> Any:
    return resolve_name(f"fcgboost.{path}")


def make_part(parameter: str, value: object) -> Any:
    """Return the part that a parameter names; parts are returned as they are."""
    contract = _resolve(_CONTRACTS[parameter])
    if isinstance(value, contract):
        return value
    if isinstance(value, str) and value in NAMES[parameter]:
        return part_named(parameter, value)()
    names = sorted(NAMES[parameter]) + (["auto"] if parameter in ("solver", "selection") else [])
    raise ValueError(
        f"{parameter} must be one of {names} or an instance of {contract.__name__}, got {value!r}."
    )
