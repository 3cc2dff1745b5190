"""How a page writes scores, shares, times and names of classes."""

from __future__ import annotations

from fcgboost.evaluation import TITLES
from fcgboost.residuals import TITLES as NUMBER_TITLES
from fcgboost.scores import Score
from fcgboost.wording import fixed, number, shortened

_THIN = "\N{NARROW NO-BREAK SPACE}"


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100.0 * share:.1f}{_THIN}%"


def seconds(time: float) -> str:
    """Return a time with its unit."""
    if time < 120.0:
        return f"{time:.2g}{_THIN}s" if time < 10.0 else f"{time:.0f}{_THIN}s"
    minutes, rest = divmod(round(time), 60)
    return f"{minutes:,}{_THIN}min {rest}{_THIN}s"


def score(name: str, value: float) -> str:
    """Format a score: accuracies in percent, errors in the units of the target."""
    if name in ("rmse", "mae"):
        return number(value)
    return percent(value) if name == "accuracy" else fixed(value, 3)


def interval(name: str, score_: Score) -> str:
    """Return the ends of an interval: "91.4 to 94.5 %"."""
    low = score(name, score_.low)
    high = score(name, score_.high)
    return f"{low.removesuffix(f'{_THIN}%')} to {high}"


def score_title(name: str) -> str:
    """Return the name of a score, capitalised."""
    title = {**TITLES, **NUMBER_TITLES}[name]
    return title[:1].upper() + title[1:]


def score_note(name: str, n_classes: int) -> str:
    """Return a note on a score that needs one."""
    if name == "log_loss":
        return (
            "Log-loss: probabilities are clipped to between 1/(2m) and 1 − 1/(2m) for m rows, so "
            "that no single row dominates."
        )
    if name == "brier" and n_classes > 2:
        return (
            "Brier score: with several classes, half the squared distance between the "
            "probabilities of all classes and the truth."
        )
    return ""


def label(value: object) -> str:
    """Return the name of a class; whole numbers have no decimal point."""
    return shortened(str(value).removesuffix(".0") if isinstance(value, float) else str(value))


def quoted(value: object) -> str:
    """Return the name of a class in quotation marks."""
    return f"\N{LEFT SINGLE QUOTATION MARK}{label(value)}\N{RIGHT SINGLE QUOTATION MARK}"
