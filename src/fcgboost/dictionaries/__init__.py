"""Dictionaries: families of atoms, each atom a row of an array."""

from fcgboost.arrays import Array
from fcgboost.dictionaries.base import (
    Dictionary,
    Grower,
    GrownDictionary,
    LearnableDictionary,
    Sample,
    ScreenedDictionary,
    SmoothDictionary,
)
from fcgboost.dictionaries.directions import DirectionDictionary
from fcgboost.dictionaries.gauss import GaussDictionary
from fcgboost.dictionaries.planes import (
    InnerProductDictionary,
    LinearDictionary,
    LinearProfile,
    PlaneDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
)
from fcgboost.dictionaries.trees import TreeDictionary
from fcgboost.dictionaries.union import UnionDictionary, stack_rows, wrapped

__all__ = [
    "Array",
    "Dictionary",
    "DirectionDictionary",
    "GaussDictionary",
    "Grower",
    "GrownDictionary",
    "InnerProductDictionary",
    "LearnableDictionary",
    "LinearDictionary",
    "LinearProfile",
    "PlaneDictionary",
    "PolynomialDictionary",
    "ReluDictionary",
    "Sample",
    "ScreenedDictionary",
    "SigmoidDictionary",
    "SmoothDictionary",
    "StepDictionary",
    "TreeDictionary",
    "UnionDictionary",
    "stack_rows",
    "wrapped",
]
