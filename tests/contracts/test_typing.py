"""What type checkers see of the package in a user's program."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import numpy as np
from fcgboost import FCGBoostClassifier, audit, load_model, save_model
from fcgboost.evaluation import evaluate
from fcgboost.export import to_c
from fcgboost.plotting import PathDisplay
from fcgboost.rows import read_table

X = np.zeros((4, 2))
classifier = FCGBoostClassifier().fit(X, [0, 1, 0, 1])
reveal_type(classifier)
reveal_type(classifier.members_[0].n_iter)
reveal_type(load_model("model.json"))
reveal_type(classifier.predict(X))
reveal_type(classifier.predict_proba(X))
reveal_type(classifier.decision_function(X))
reveal_type(classifier.explain(X).values)
reveal_type(classifier.truncate(1).n_atoms_)
reveal_type(classifier.describe())
reveal_type(audit(X, [0, 1, 0, 1]).ranking)
reveal_type(save_model(classifier, "model.json"))
reveal_type(evaluate(classifier, X, [0, 1, 0, 1]))
reveal_type(to_c(classifier))
reveal_type(PathDisplay.from_estimator(classifier))
reveal_type(read_table("rows.csv", "y"))
"""
SEEN = [
    "FCGBoostClassifier",
    "int",
    "FCGBoostClassifier",
    "ndarray",
    "ndarray",
    "ndarray",
    "ndarray",
    "int",
    "Description",
    "ndarray",
    "None",
    "Evaluation",
    "str",
    "PathDisplay",
    "tuple",
]


def test_a_users_program_has_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    settings = f"--config-file={ROOT / 'pyproject.toml'}"
    output, errors, _ = api.run([settings, f"--cache-dir={tmp_path / 'cache'}", str(program)])
    types = re.findall(r'Revealed type is "([^"]*)"', output)
    assert "error" not in output + errors, output + errors
    assert [re.split(r"[\[ ]", seen)[0].split(".")[-1] for seen in types] == SEEN
