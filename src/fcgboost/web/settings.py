"""The settings of the playground, checked strictly before any work is done."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fcgboost.names import NAMES

#: The page's first fit takes a tenth of a second, the largest of these sizes some seconds.
MOST_SAMPLES, MOST_STEPS = 2000, 200
AUTO: Literal["auto"] = "auto"
#: Names of a dictionary that stand for a whole set-up, which chooses all other settings itself.
PRESETS = ("auto", "compact")


class RefusalError(ValueError):
    """A refused request: a sentence for the sender, and an HTTP status."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Settings:
    """The settings of one fit, named as in `FCGBoostClassifier` and `make_simulation`.

    `level` is the share of labels that flip: of all, or of those far from the boundary ("outlier").
    Tables ignore `n_samples`: all their rows are used.
    """

    data: str = "simulation"
    noise: str = "uniform"
    level: float = 0.3
    n_samples: int = 500
    seed: int = 0
    dictionary: str = "gauss"
    width: float = 0.5
    degree: int = 3
    loss: str = "squared_hinge"
    scheme: str = "fully_corrective"
    l2: float | Literal["auto"] = AUTO
    fit_intercept: bool = True
    max_iter: int | Literal["auto"] = AUTO


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    names: tuple[str | bool, ...]

    def accepts(self, value: Any) -> bool:
        return any(type(value) is type(name) and value == name for name in self.names)

    def __str__(self) -> str:
        return f"one of {', '.join(str(name).lower() for name in self.names)}"


@dataclass(frozen=True)
class Number:
    """A finite number in a range, or "auto" where that is allowed."""

    low: float
    high: float
    is_whole: bool = False
    has_auto: bool = False

    def accepts(self, value: Any) -> bool:
        if self.has_auto and type(value) is str:
            return value == AUTO
        # True is an int to Python, but no number to the page.
        if type(value) is not int and (type(value) is not float or self.is_whole):
            return False
        return self.low <= value <= self.high and math.isfinite(value)

    def __str__(self) -> str:
        kind = "a whole number" if self.is_whole else "a number"
        return f"{kind} from {self.low} to {self.high}" + (", or auto" if self.has_auto else "")


CHECKS: Mapping[str, Choice | Number] = {
    "data": Choice(("simulation", "moons", "rings", "cancer", "wine", "digits")),
    "noise": Choice(("none", "uniform", "outlier")),
    "level": Number(0.0, 0.5),
    "n_samples": Number(20, MOST_SAMPLES, is_whole=True),
    "seed": Number(0, 9999, is_whole=True),
    "dictionary": Choice((*PRESETS, "gauss", "relu", "sigmoid", "polynomial", "tree")),
    "width": Number(0.05, 5.0),
    "degree": Number(1, 8, is_whole=True),
    "loss": Choice(tuple(NAMES["loss"])),
    "scheme": Choice(tuple(NAMES["scheme"])),
    "l2": Number(0.0, 10.0, has_auto=True),
    "fit_intercept": Choice((True, False)),
    "max_iter": Number(1, MOST_STEPS, is_whole=True, has_auto=True),
}
_STEPS = Number(0, MOST_STEPS, is_whole=True, has_auto=True)
_LONGEST_TAB = 40
# Up to here a page counts exactly.
_ORDER = Number(0, 2**53, is_whole=True)


@dataclass(frozen=True)
class FitRequest:
    """What a tab asks for: a fit after k steps, or after the marked number of steps.

    The tab has given itself a name; `order` is how many requests it had sent before.
    """

    settings: Settings
    k: int | None = None
    tab: str = ""
    order: int = 0


def read_json(body: bytes) -> Any:
    """Read plain JSON: no duplicate keys, no NaN, no infinity."""

    def constant(name: str) -> None:
        raise RefusalError(f"{name} is not a number in JSON.")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        document = dict(items)
        if len(document) < len(items):
            raise RefusalError("A key stands twice in an object.")
        return document

    try:
        return json.loads(body.decode(), parse_constant=constant, object_pairs_hook=pairs)
    except RefusalError:
        raise
    except (ValueError, RecursionError) as error:
        raise RefusalError("The body is not JSON.") from error


def read_request(document: Any) -> FitRequest:
    """Read {"settings": {...}, "k": ..., "tab": ..., "order": ...}; "auto" is the marked step."""
    if not isinstance(document, dict) or not document.keys() <= {"settings", "k", "tab", "order"}:
        raise RefusalError(
            'The body must be an object with the keys "settings", "k", "tab" and "order".'
        )
    k, tab, order = document.get("k", AUTO), document.get("tab", ""), document.get("order", 0)
    for name, value, check in (("k", k, _STEPS), ("order", order, _ORDER)):
        if not check.accepts(value):
            raise RefusalError(f"{name} must be {check}.")
    if type(tab) is not str or len(tab) > _LONGEST_TAB:
        raise RefusalError(f"tab must be a text of at most {_LONGEST_TAB} characters.")
    settings = read_settings(document.get("settings", {}))
    return FitRequest(settings, None if k == AUTO else k, tab, order)


def read_settings(document: Any) -> Settings:
    """Check settings; those that are not named have their defaults."""
    if not isinstance(document, dict):
        raise RefusalError("settings must be an object.")
    for name, value in document.items():
        if name not in CHECKS:
            raise RefusalError(f"There is no setting named {name[:40]!r}.")
        if not CHECKS[name].accepts(value):
            raise RefusalError(f"{name} must be {CHECKS[name]}.")
    settings = Settings(**document)
    if settings.noise == "outlier" and settings.data != "simulation":
        raise RefusalError(
            "noise=outlier flips labels far from the simulation's boundary: set data=simulation, "
            "or noise=uniform."
        )
    return settings
