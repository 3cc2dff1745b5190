"""The names that an estimator's parameters accept, and the parts they stand for.

Names only, so that the command line can list them without loading any part.
"""

from __future__ import annotations

from collections.abc import Mapping

#: By parameter and name: the module of the part and the object in it.
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
