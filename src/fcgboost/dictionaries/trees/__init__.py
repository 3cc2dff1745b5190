"""Trees that are grown on the residual."""

from fcgboost.dictionaries.trees.dictionary import TreeDictionary
from fcgboost.dictionaries.trees.nodes import are_sound

__all__ = ["TreeDictionary", "are_sound"]
