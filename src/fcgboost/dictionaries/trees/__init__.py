"""Trees that are grown on the residual."""

from fcgboost.dictionaries.trees.dictionary import TreeDictionary, TreeGrower
from fcgboost.dictionaries.trees.nodes import used_features

__all__ = ["TreeDictionary", "TreeGrower", "used_features"]
