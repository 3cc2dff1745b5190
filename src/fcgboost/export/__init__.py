"""Export of models to C99 and ONNX."""

from fcgboost.export.c import save_c, to_c
from fcgboost.export.onnx import save_onnx, to_onnx

__all__ = ["save_c", "save_onnx", "to_c", "to_onnx"]
