"""`fcgboost export`: a model for another language."""

from __future__ import annotations

import argparse

from fcgboost.cli import arguments, console

HELP = "export a model to C or ONNX"
USAGE = "MODEL --to {c,onnx} [options]"
TEXT = """\
Export a model as a C header or as an ONNX graph.

The C file is plain C99 without dependencies or memory allocation. The ONNX file runs
in onnxruntime; writing it needs the extra `onnx`.

examples:
  fcgboost export model.json --to c --precision float --name churn --out churn.h
  fcgboost export model.json --to onnx --out churn.onnx
"""
_SUFFIXES = {"c": ".h", "onnx": ".onnx"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    arguments.add_model(parser)
    parser.add_argument(
        "--to",
        type=str.lower,
        choices=("c", "onnx"),
        required=True,
        help="the format",
    )
    arguments.add_file(
        parser, "--out", "the file to write (default: the model file's name with .h or .onnx)"
    )
    arguments.add_choice(
        parser,
        "--precision",
        ("double", "float"),
        "C: the type of all numbers (default: double); ONNX: of the inputs (default: float)",
    )
    parser.add_argument(
        "--name", default="fcgboost", help="C: the prefix of all identifiers (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> None:
    """Load, export, print the size."""
    from fcgboost.cli.outputs import check_outputs
    from fcgboost.export import save_c, save_onnx
    from fcgboost.io import load_model

    out = options.out or options.model.with_suffix(_SUFFIXES[options.to])
    check_outputs([out], [options.model])
    model = load_model(options.model)
    if options.to == "c":
        size = save_c(
            model,
            out,
            precision=options.precision or "double",
            name=options.name,
        )
    else:
        size = save_onnx(model, out, input_type=options.precision or "float")
    console.print_result(options, {"out": str(out), "bytes": size}, f"{out}: {size:,} bytes")
