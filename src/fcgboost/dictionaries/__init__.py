"""Dictionaries: families of atoms, each atom a row of an array."""

from fcgboost.dictionaries.base import (
    Dictionary,
    Grower,
    GrownDictionary,
    LearnableDictionary,
    Sample,
    SmoothDictionary,
)
from fcgboost.dictionaries.directions import DirectionDictionary
from fcgboost.dictionaries.gauss import GaussDictionary
from fcgboost.dictionaries.planes import (
    InnerProductDictionary,
    LinearDictionary,
    PlaneDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
)
from fcgboost.dictionaries.trees import TreeDictionary
from fcgboost.dictionaries.union import UnionDictionary

__all__ = [
    "Dictionary",
    "DirectionDictionary",
    "GaussDictionary",
    "Grower",
    "GrownDictionary",
    "InnerProductDictionary",
    "LearnableDictionary",
    "LinearDictionary",
    "PlaneDictionary",
    "PolynomialDictionary",
    "ReluDictionary",
    "Sample",
    "SigmoidDictionary",
    "SmoothDictionary",
    "StepDictionary",
    "TreeDictionary",
    "UnionDictionary",
]
