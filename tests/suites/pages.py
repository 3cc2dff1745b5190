"""What tests of pages about models share: a strict reader, data, and looks at what is shown."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fcgboost.datasets import make_simulation
from fcgboost.report.models import FittedModel, evaluate_model
from fcgboost.report.path import find_panels, path_data

MEGABYTE = 1_000_000
VOID = {"meta", "link", "input", "img", "br"}
NAMES = np.array(["no", "yes"])
EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.code = ""
        self.blocks: dict[str, list[str]] = {"script": [], "style": []}
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in VOID:
            return
        self.open.append(tag)
        if tag in self.blocks:
            self.blocks[tag].append("")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inner = self.open[-1] if self.open else ""
        if inner in self.blocks:
            self.blocks[inner][-1] += data
        elif inner == "code":
            self.code += data
        elif {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split()).replace("\N{NARROW NO-BREAK SPACE}", " ")

    @property
    def data(self) -> Any:
        places = [a for tag, a in self.elements if tag == "script"]
        (place,) = [i for i, a in enumerate(places) if a.get("id") == "page-data"]
        return json.loads(self.blocks["script"][place])

    def table(self, caption: str) -> tuple[list[str], list[list[str]]]:
        """Find a table by the heads of its columns; give its last row of heads and its body."""
        for rows in self.tables:
            for i, row in enumerate(rows):
                if caption in row:
                    clean = [
                        [c.replace("\N{NARROW NO-BREAK SPACE}", " ") for c in r] for r in rows[i:]
                    ]
                    return clean[0], clean[1:]
        raise AssertionError(f"no table has the column {caption!r}")


def pictures(page: Reader) -> list[dict[str, str]]:
    """Give the attributes of all images of a page, which hold their bytes."""
    return [
        {name: str(value) for name, value in a.items()} for tag, a in page.elements if tag == "img"
    ]


#: Writes a page about a model and reads it.
Show = Callable[..., Reader]


def read(path: Path) -> Reader:
    return Reader(path.read_text("utf-8"))


def labelled(n: int, seed: int) -> tuple[Any, Any]:
    X, y = make_simulation(n, noise="uniform", level=0.1, random_state=seed)
    return X, NAMES[(y > 0).astype(int)]


def mixed(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Give a table of numbers, words, dates and gaps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "city": rng.choice(["Rome", "Oslo", "Bern"], n, p=[0.6, 0.3, 0.1]),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "same": 1,
        }
    )
    X.loc[::10, "age"] = np.nan
    late = (X["since"] > pd.Timestamp("2021-03-01")).to_numpy()
    return X, NAMES[((X["city"] == "Rome").to_numpy() ^ late).astype(int)]


def path_of(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Give the data of a page's path without drawing all the pictures."""
    evaluation = evaluate_model(FittedModel.of(model), X, y)
    return path_data(evaluation.model, find_panels(evaluation))
