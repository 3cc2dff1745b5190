"""The names that an estimator's parameters accept, and the parts they stand for.

Parts are loaded when they are made, so that the command line can list names without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

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
