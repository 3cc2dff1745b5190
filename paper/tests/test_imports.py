"""The paper's package uses fcgboost as a user would."""

import ast
from collections.abc import Iterator
from pathlib import Path

from paper.rivals import RIVALS

PAPER = Path(__file__).parents[1]
BENCHMARKS = PAPER.parent / "benchmarks"
#: What the API reference documents.
PUBLIC = {
    *("fcgboost", "fcgboost.colors", "fcgboost.datasets", "fcgboost.losses"),
    *("fcgboost.plotting", "fcgboost.evaluation", "fcgboost.solvers", "fcgboost.report"),
}
#: What no public name does, with the reason.
EXCEPTIONS = {
    # Both command lines end in the same way, and read numbers alike.
    ("__main__.py", "fcgboost.cli"),
    ("__main__.py", "fcgboost.cli.arguments"),
    # A solver is timed on a fixed set of atoms, which no estimator keeps.
    ("experiments/admm_vs_gd.py", "fcgboost.designs.memory"),
    # The default's link is fitted to decision values that are given.
    ("experiments/calibration.py", "fcgboost.calibration"),
}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            if any(alias.name.startswith("_") for alias in node.names):
                yield f"{node.module}._"


def test_only_public_modules_are_imported_but_for_a_reason() -> None:
    modules = [path for path in PAPER.rglob("*.py") if "tests" not in path.parts]
    found = {
        (path.relative_to(PAPER).as_posix(), name)
        for path in modules
        for name in imports(path)
        if name.partition(".")[0] == "fcgboost" and name not in PUBLIC
    }
    assert found == EXCEPTIONS
    assert len(modules) > 50


#: Where classifiers of others come from.
LIBRARIES = {
    *("catboost", "lightgbm", "rgf", "sklearn.ensemble", "sklearn.linear_model", "sklearn.svm"),
    *("sklearn.tree", "xgboost"),
}


def test_rivals_are_made_in_one_folder() -> None:
    modules = [path for path in PAPER.rglob("*.py") if "tests" not in path.parts]
    found = {
        (path.relative_to(PAPER.parent).as_posix(), name)
        for path in (*modules, *BENCHMARKS.rglob("*.py"))
        for name in imports(path)
        if name in LIBRARIES and PAPER / "rivals" not in path.parents
    }
    # A machine that did not converge says so itself; a single tree is no classifier; at all sizes
    # rivals have the settings of a file of their own; and on many cores, on few rows of a class,
    # on categories, under noise, of numbers and as files they have their defaults. A forest says
    # which clean labels are sure.
    expected = {
        ("benchmarks/regression_fit.py", "catboost"),
        ("benchmarks/regression_fit.py", "lightgbm"),
        ("benchmarks/regression_fit.py", "sklearn.ensemble"),
        ("benchmarks/regression_fit.py", "xgboost"),
        ("paper/methods.py", "sklearn.svm"),
        ("benchmarks/figures/trees.py", "lightgbm"),
        ("benchmarks/steps.py", "lightgbm"),
        ("benchmarks/cores.py", "lightgbm"),
        ("benchmarks/few_rows.py", "sklearn.ensemble"),
        ("benchmarks/model_sizes.py", "lightgbm"),
        ("benchmarks/rivals.py", "lightgbm"),
        ("benchmarks/rivals.py", "catboost"),
        ("benchmarks/rivals.py", "xgboost"),
        ("benchmarks/gpu_default.py", "sklearn.ensemble"),
        ("benchmarks/text.py", "sklearn.linear_model"),
        ("benchmarks/labels_sets.py", "sklearn.ensemble"),
        ("benchmarks/study_categories.py", "catboost"),
        ("benchmarks/study_noise.py", "sklearn.svm"),
    }
    assert found == expected


def test_a_rival_stands_once_and_has_a_use() -> None:
    titles = [rival.title for rival in RIVALS.values()]
    assert len(set(titles)) == len(titles) == len(RIVALS) == 11
    assert all(rival.table or rival.contest for rival in RIVALS.values())
    assert all(rival.make is not None for rival in RIVALS.values() if rival.table)
