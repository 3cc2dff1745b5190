"""How a model looks in a file: one JSON document, exact, checked, and never executed.

Knows parts, models and paths, but no estimator: `fcgboost.io` puts these together.
"""

from fcgboost.documents.content import Content, plain_about
from fcgboost.documents.files import ModelFileError, encode, read, write
from fcgboost.documents.parts import PARAMETERS

__all__ = ["PARAMETERS", "Content", "ModelFileError", "encode", "plain_about", "read", "write"]
