"""How large models are as JSON, C and ONNX, and how long it takes to load and to compile them.

    python -m benchmarks.model_sizes [--rows N] [--models NAME ...]

Models of 20,000 rows of `make_classification` with 20 columns, 10 of them informative, and 2 or 7
classes, beside the text files of LightGBM's defaults. The C compiler gets a function with external
linkage that calls the model, so that nothing is left out. Times are CPU seconds on one thread, of
loading the best of three. What needs software that is not installed is left out.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from benchmarks.rivals import make_lightgbm, timed
from fcgboost import FCGBoostClassifier, load_model
from fcgboost.export import save_c, save_onnx

N_ROWS = 20_000
CLASSES = (2, 7)
OURS = ("auto", "fast", "compact")
LIGHTGBM = "LightGBM"
COLUMNS = (
    *("classes", "model", "members", "atoms", "fit", "JSON", "with paths", "text", "loads"),
    *("C", "compiled", "compiles", "ONNX", "opens"),
)
UNITS = {
    **dict.fromkeys(("fit", "loads", "compiles", "opens"), ", s"),
    **dict.fromkeys(("JSON", "with paths", "text", "C", "compiled", "ONNX"), ", MB"),
}
_COMPILER = shutil.which("cc")
_CALLER = """#include "model.h"
int label(const double *x, double *p);
int label(const double *x, double *p) { model_proba(x, p); return model_predict(x); }
"""


def best_seconds(load: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of three calls."""
    return min(timed(load)[1].cpu for _ in range(3))


def megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.2f}"


def json_cells(model: FCGBoostClassifier, folder: Path) -> dict[str, str]:
    """Save with paths and without them, and load the file without."""
    path = folder / "model.json"
    model.save_model(path, trace=True)
    with_paths = megabytes(path)
    model.save_model(path, trace=False)
    seconds = best_seconds(lambda: load_model(path))
    return {"JSON": megabytes(path), "with paths": with_paths, "loads": f"{seconds:.2f}"}


def c_cells(model: FCGBoostClassifier, folder: Path) -> dict[str, str]:
    """Write C, and compile it if there is a compiler."""
    header, source, target = (folder / f"model.{end}" for end in ("h", "c", "o"))
    save_c(model, header, name="model")
    cells = {"C": megabytes(header)}
    if _COMPILER is None:
        return cells
    source.write_text(_CALLER, encoding="ascii")
    command = [_COMPILER, "-std=c99", "-O2", "-c", str(source), "-o", str(target)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**cells, "compiled": megabytes(target), "compiles": f"{seconds:.2f}"}


def onnx_cells(model: FCGBoostClassifier, folder: Path) -> dict[str, str]:
    """Write ONNX if that is installed, and open it with the runtime."""
    if find_spec("onnx") is None:
        return {}
    path = folder / "model.onnx"
    save_onnx(model, path)
    cells = {"ONNX": megabytes(path)}
    if find_spec("onnxruntime") is None:
        return cells
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    seconds = best_seconds(lambda: runtime.InferenceSession(str(path), options))
    return {**cells, "opens": f"{seconds:.2f}"}


def lightgbm_cells(model: Any, folder: Path) -> dict[str, str]:
    """Save LightGBM's text file and load it."""
    from lightgbm import Booster

    path = folder / "model.txt"
    model.booster_.save_model(path)
    seconds = best_seconds(lambda: Booster(model_file=path))
    return {"text": megabytes(path), "loads": f"{seconds:.2f}"}


def cells_of(name: str, X: Any, y: Any) -> dict[str, str]:
    """Fit a model, and return what its files are like."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        if name == LIGHTGBM:
            rival, cost = timed(lambda: make_lightgbm(1).fit(X, y))
            return {"fit": f"{cost.cpu:.0f}", **lightgbm_cells(rival, folder)}
        model = FCGBoostClassifier(name, random_state=0, n_jobs=1)
        _, cost = timed(lambda: model.fit(X, y))
        return {
            "members": str(len(model.members_)),
            "atoms": f"{model.n_atoms_:,}",
            "fit": f"{cost.cpu:.0f}",
            **json_cells(model, folder),
            **c_cells(model, folder),
            **onnx_cells(model, folder),
        }


def line(cells: Mapping[str, str]) -> str:
    return "| " + " | ".join(cells.get(column, "") for column in COLUMNS) + " |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    models = (*OURS, *([LIGHTGBM] if find_spec("lightgbm") else []))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model_sizes", description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS, metavar="N")
    parser.add_argument("--models", nargs="+", default=models, choices=models)
    options = parser.parse_args(argv)
    print(line({column: f"{column}{UNITS.get(column, '')}" for column in COLUMNS}))
    print(f"|---:|---|{'---:|' * (len(COLUMNS) - 2)}")
    for n_classes in CLASSES:
        X, y = make_classification(
            options.rows,
            20,
            n_informative=10,
            n_classes=n_classes,
            random_state=0,
        )
        for name in options.models:
            with threadpool_limits(1):
                cells = {"classes": str(n_classes), "model": name, **cells_of(name, X, y)}
            print(line(cells), flush=True)


if __name__ == "__main__":
    main()
