"""How a model looks in a file: one JSON document, exact, checked, and never executed.

Knows the attributes of classifiers, but no class of these: `fcgboost.io` makes them.
"""

from fcgboost.documents.content import Loaded
from fcgboost.documents.files import ModelFileError, encode, read
from fcgboost.documents.schema import VERSION, Document

__all__ = ["VERSION", "Document", "Loaded", "ModelFileError", "encode", "read"]
