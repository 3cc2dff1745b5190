"""Trees that are grown on the residual."""

from fcgboost.dictionaries.trees.dictionary import TreeDictionary

__all__ = ["TreeDictionary"]
