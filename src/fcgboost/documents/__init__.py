"""Models as JSON documents: exact, checked, and never executed.

Knows the attributes of classifiers but not their classes, which `fcgboost.io` instantiates.
"""

from fcgboost.documents.checking import Json
from fcgboost.documents.content import Loaded
from fcgboost.documents.files import ModelFileError, encode, read
from fcgboost.documents.schema import VERSION, Document

__all__ = ["VERSION", "Document", "Json", "Loaded", "ModelFileError", "encode", "read"]
