"""Which atoms exist: families of functions whose members are rows of an array."""

from fcgboost.dictionaries.base import (
    FARTHEST,
    PRODUCTS_ON_ONE_THREAD,
    Array,
    Dictionary,
    InnerProductDictionary,
    Rounding,
    Sample,
    ScreenedDictionary,
    SmoothDictionary,
)
from fcgboost.dictionaries.kernels import GaussDictionary, PolynomialDictionary
from fcgboost.dictionaries.neurons import ReluDictionary, SigmoidDictionary

__all__ = [
    "FARTHEST",
    "PRODUCTS_ON_ONE_THREAD",
    "Array",
    "Dictionary",
    "GaussDictionary",
    "InnerProductDictionary",
    "PolynomialDictionary",
    "ReluDictionary",
    "Rounding",
    "Sample",
    "ScreenedDictionary",
    "SigmoidDictionary",
    "SmoothDictionary",
]
