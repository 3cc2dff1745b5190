"""A new user's path, from an empty environment to equal predictions of a C program."""

import csv
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.extras, pytest.mark.xdist_group("new user")]

# What an embedded engineer would write around the exported file.
MAIN = """
#include <stdio.h>
#include "model.h"

int main(void)
{
    static const struct { double age; const char *town; double income; } rows[] = {ROWS};
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fcgboost_input row;
        row.x_age = rows[i].age;
        row.x_town = rows[i].town;
        row.x_income = rows[i].income;
        printf("%s\\n", fcgboost_label(fcgboost_predict(&row)));
    }
    return 0;
}
"""


def call(*command: object, cwd: Path | None = None, home: Path | None = None) -> str:
    env = {**os.environ, **({} if home is None else {"HOME": str(home)})}
    env.pop("PYTHONPATH", None)
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the programs of an environment in which only `fcgboost[cli]` was installed."""
    folder = tmp_path_factory.mktemp("new")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    call(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, ROOT)
    wheel = next(folder.glob("*.whl"))
    small = [python, "-m", "pip", "download", "-qq", "--no-deps", "--dest", folder, "threadpoolctl"]
    if subprocess.run(small, capture_output=True, check=False).returncode:
        pytest.skip("no packages can be installed here")
    call(python, "-m", "pip", "install", "-qq", f"{wheel}[cli]")
    return python.parent


def write_customers(path: Path, m: int, seed: int) -> None:
    """Write rows with text columns and missing values."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "town", "income", "churned"])
        for _ in range(m):
            age, town = rng.normal(45.0, 12.0), ["Aachen", "Bonn, North", "Köln"][rng.integers(3)]
            churned = (age > 45.0) ^ (town == "Köln") ^ (rng.random() < 0.03)
            shown_age = "" if rng.random() < 0.1 else f"{age:.1f}"
            shown_town = "" if rng.random() < 0.1 else town
            income = f"{np.exp(rng.normal(10.0, 0.5)):.0f}"
            writer.writerow([shown_age, shown_town, income, "yes" if churned else "no"])


def test_from_a_csv_file_to_a_c_program(environment: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    home = tmp_path / "home"
    home.mkdir()
    write_customers(tmp_path / "customers.csv", 1000, 0)
    write_customers(tmp_path / "new.csv", 300, 1)
    fcgboost = environment / "fcgboost"

    def run(*arguments: str) -> str:
        return call(fcgboost, *arguments, cwd=tmp_path, home=home)

    told = run("fit", "customers.csv", "--target", "churned")
    assert "accuracy" in told
    assert (tmp_path / "model.json").exists()
    assert "300 rows" in run("evaluate", "model.json", "new.csv", "--target", "churned")
    run("report", "model.json", "new.csv", "--target", "churned")
    assert "<html" in (tmp_path / "model.html").read_text(encoding="utf-8")
    assert "bytes" in run("export", "model.json", "--to", "c")
    run("predict", "model.json", "new.csv", "--out", "labels.csv")
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    assert {"yes", "no"} == set(labels)
    assert compiled_labels(compiler, tmp_path) == labels


def quoted(text: str) -> str:
    return f'"{text}"' if text else "0"


def compiled_labels(compiler: str, folder: Path) -> list[str]:
    """Compile the exported file with a program around it and give what it says."""
    with (folder / "new.csv").open(newline="", encoding="utf-8") as file:
        rows = [
            f"{{{row['age'] or 'NAN'}, {quoted(row['town'])}, {row['income'] or 'NAN'}}}"
            for row in csv.DictReader(file)
        ]
    text = MAIN.replace("ROWS", ",\n".join(rows))
    (folder / "main.c").write_text(text, encoding="utf-8")
    flags = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror")
    call(compiler, *flags, "main.c", "-o", "main", "-lm", cwd=folder)
    return call(folder / "main").splitlines()
