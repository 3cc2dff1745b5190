"""Model files: a fitted classifier, with or without its table encoder, to one file and back."""

from fcgboost.documents import ModelFileError
from fcgboost.io.models import load_model, make_model, save_model, split_model

__all__ = ["ModelFileError", "load_model", "make_model", "save_model", "split_model"]
