"""Texts that commands print and pages hold, word by word.

Tests of a command look at its numbers; how it words them stands here once, so that new words are
one command (`python -m tests.golden texts`) and a difference to be read.
"""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

from fcgboost.cli import main, make_parser
from tests.suites.commands import make_table

FOLDER = Path(__file__).parent / "texts"

#: Commands in their order: later ones use files of earlier ones.
COMMANDS = {
    "datasets": "datasets",
    "fit": "fit train.csv --target churned --dictionary gauss --out model.json --test-out held.csv",
    "evaluate": "evaluate model.json test.csv",
    "inspect": "inspect model.json --top 3",
    "compare": "compare train.csv --target churned --method 'logistic regression'",
    "report": "report model.json test.csv --out report.html",
    "audit": (
        "audit train.csv --target churned --set dictionary=gauss --set cv=3 --keep id --top 5 "
        "--out suspects.csv --report audit.html"
    ),
    "export": "export model.json --to c --out model.h",
    "predict": "predict model.json test.csv --out predictions.csv",
}
#: Commands that fail, by what is wrong.
FAULTS = {
    "no file": "fit missing.csv --target churned",
    "a folder": "fit folder --target churned",
    "no target column": "fit train.csv --target churn",
    "a constant target": "fit constant.csv --target y",
    "an empty file": "fit empty.csv --target y",
    "no model": "inspect train.csv",
    "a damaged model": "inspect damaged.json",
    "a column is missing": "predict model.json few.csv",
    "labels that no model knows": "evaluate model.json strange.csv",
    "a mark that says nothing": "audit train.csv --target churned --trusted town",
}
#: Figures are the business of other tests, and may differ in their last digits elsewhere.
_NUMBER = re.compile(r"[-−+]?\d+([.,]\d+)*(e[-+]?\d+)?")


class _Words(HTMLParser):
    """The text of a page, one line for each piece of it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._silent = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style", "svg")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style", "svg")

    def handle_data(self, data: str) -> None:
        if not self._silent and data.strip():
            self.lines.append(" ".join(data.split()))


def without_numbers(text: str) -> str:
    """Mask numbers, the spaces that align them, and units of time, which depend on the machine."""
    masked = _NUMBER.sub("#", text)
    masked = re.sub(r"# (ms|s|min)\b", "# s", masked)
    return re.sub(" {2,}", "  ", masked)


def said(arguments: Sequence[str]) -> str:
    """Run a command; return what it prints, and its status if it fails."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = ended.code
    output.seek(0)
    # How often progress is told depends on the time.
    lines = [line for line in output if not line.startswith("Fitting: ")]
    ending = f"exit status {status}\n" if status else ""
    return "".join(lines) + ending


def prepare(folder: Path) -> None:
    """Write the files that the commands read."""
    table = make_table(600, 0)
    table.to_csv(folder / "train.csv", index=False)
    test = make_table(200, 1)
    test.to_csv(folder / "test.csv", index=False)
    test[["id", "age"]].to_csv(folder / "few.csv", index=False)
    test.assign(churned="perhaps").to_csv(folder / "strange.csv", index=False)
    (folder / "constant.csv").write_text("x,y\n1,a\n2,a\n3,a\n")
    (folder / "empty.csv").write_text("")
    (folder / "damaged.json").write_text('{"format": "fcgboost model"')
    (folder / "folder").mkdir()


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Run all commands in a folder; yield their names and what they say."""
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        prepare(folder)
        with contextlib.chdir(folder):
            yield "help", said(["--help"])
            for name in command_names():
                yield f"help-{name}", said([name, "--help"])
            for name, command in COMMANDS.items():
                yield name, without_numbers(said(shlex.split(command)))
            yield "page", page_text(folder / "report.html")
            yield "page-audit", page_text(folder / "audit.html")
            faults = [f"{name}\n{said(shlex.split(command))}" for name, command in FAULTS.items()]
            yield "faults", "\n".join(faults)
    finally:
        if width is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = width


def command_names() -> list[str]:
    [commands] = make_parser()._subparsers._group_actions
    return list(commands.choices)


def page_text(path: Path) -> str:
    return without_numbers("\n".join(_Words(path.read_text(encoding="utf-8")).lines) + "\n")


def names() -> list[str]:
    """Return the names of all texts."""
    return [
        "help",
        *(f"help-{name}" for name in command_names()),
        *COMMANDS,
        "page",
        "page-audit",
        "faults",
    ]


def stored(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def write(folder: Path) -> None:
    """Run all commands in an empty folder and write down what they say."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    for name, text in texts(folder):
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
