"""The names that an estimator's parameters take, and where the parts are that they stand for.

Only names: the command line offers them without loading any part.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Parameter, name, and the part: a module of the package and what is looked up there.
NAMES: Mapping[str, Mapping[str, str]] = {
    "dictionary": {
        "gauss": "dictionaries:GaussDictionary",
        "polynomial": "dictionaries:PolynomialDictionary",
        "sigmoid": "dictionaries:SigmoidDictionary",
        "relu": "dictionaries:ReluDictionary",
        "tree": "dictionaries:TreeDictionary",
        "auto": "training.presets:AUTO.dictionary",
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
        "admm": "solvers:AdmmSolver",
        "gradient_descent": "solvers:GradientDescentSolver",
        "interior_point": "solvers:InteriorPointSolver",
    },
    "selection": {
        "all": "selection.fixed:AllCandidates",
        "sampled": "selection.fixed:SampledCandidates",
        "learned": "selection.learned:LearnedCandidates",
    },
    "removal": {"backward": "greedy.elimination:Removal"},
}
