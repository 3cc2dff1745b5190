"""Commands run in this process, and the files they need."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost.cli import main, make_parser

#: Quick where it does not matter what is fitted.
GAUSS = ("--dictionary", "gauss")


def run(*arguments: Any) -> int:
    return main([str(argument) for argument in arguments])


def run_json(capsys: pytest.CaptureFixture[str], *arguments: Any) -> Any:
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def read_exactly(source: Any) -> pd.DataFrame:
    """Read a CSV file; pandas 2 rounds numbers' last bits unless told not to."""
    exactly = {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
    return pd.read_csv(source, **exactly)


def make_table(m: int, seed: int) -> pd.DataFrame:
    """Give rows with text, missing values, a useless column, and labels that follow from them."""
    rng = np.random.default_rng(seed)
    age = rng.normal(45.0, 12.0, m)
    town = rng.choice(["Aachen", "Bonn, North", 'Köln "am Rhein"'], m)
    income = np.exp(rng.normal(10.0, 0.5, m))
    wants = (age > 45.0) ^ (town == "Bonn, North")
    flipped = rng.random(m) < 0.05
    table = pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(m)],
            "age": np.where(rng.random(m) < 0.1, np.nan, age),
            "town": np.where(rng.random(m) < 0.1, None, town),
            "income": income,
            "churned": np.where(wants ^ flipped, "yes", "no"),
        }
    )
    return table


def spoil(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()
