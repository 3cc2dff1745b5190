"""What the rows of the experiments on tables and on missing cells say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from paper.reporting.contest import Gap, gaps
from paper.reporting.summaries import Summary, summarize
from paper.rivals import RIVALS as ALL_RIVALS

if TYPE_CHECKING:
    from pandas import DataFrame

AS_IT_IS, ONE_HOT = "fcg", "fcg_one_hot"
OURS = (AS_IT_IS, ONE_HOT)
_LIBRARIES = ("catboost", "lightgbm", "hist_gradient_boosting")
LABELS: Mapping[str, str] = {
    AS_IT_IS: "fcgboost",
    ONE_HOT: "fcgboost, one-hot",
    **{name: ALL_RIVALS[name].title for name in _LIBRARIES},
    **{f"{name}_tuned": f"{ALL_RIVALS[name].title} tuned" for name in _LIBRARIES},
}
RIVALS = tuple(name for name in LABELS if name not in OURS)
#: What is judged, and whether more is better.
JUDGED: Mapping[str, bool] = {"log_loss": False, "auc": True}
NAMES: Mapping[str, str] = {"log_loss": "log-loss", "auc": "AUC"}
#: Repetitions from here on are for development.
FIRST_DEVELOPMENT = 100
#: Of AUC.
POINT = 0.01


def judged(frame: DataFrame) -> DataFrame:
    """Give the rows of splits nobody chose by; where there are none, all."""
    rows = frame[frame["repetition"] < FIRST_DEVELOPMENT]
    return rows if len(rows) else frame


def table_gaps(rows: DataFrame, ours: str, column: str) -> dict[str, Gap]:
    """Give ours minus the best rival, table by table."""
    return gaps(rows, ours, column, largest=JUDGED[column], own=OURS)


def is_far_below(difference: Summary) -> bool:
    """Whether an AUC is lower by more than a point and more than two standard errors."""
    # NaN, the error of one split, leaves the one point.
    return -difference.mean > max(POINT, 2.0 * difference.error)


class Rate:
    """Accuracies at one share of missing cells, over splits that all methods have."""

    def __init__(self, rows: DataFrame) -> None:
        wide = rows.pivot_table(
            index=["dataset", "repetition"], columns="method", values="accuracy"
        ).dropna()
        self.by_set = wide.groupby("dataset").mean()
        self.means: Mapping[str, float] = self.by_set.mean().to_dict()
        self.n_splits = int(wide.groupby("dataset").size().min()) if len(wide) else 0
        self._wide = wide

    @property
    def has_lead(self) -> bool:
        """Whether ours and a rival are there."""
        return self.n_splits > 0 and AS_IT_IS in self.means and len(self.means) > 1

    @property
    def best(self) -> str:
        """The rival of the higher mean over sets."""
        return max((name for name in self.means if name not in OURS), key=self.means.__getitem__)

    def lead(self) -> Summary:
        """Give ours minus the better rival: mean over sets, with its error over splits."""
        gaps = self._wide[AS_IT_IS] - self._wide[self.best]
        # Splits of different sets are independent.
        parts = [summarize(part) for _, part in gaps.groupby("dataset")]
        error = sum(part.error**2 for part in parts) ** 0.5 / len(parts)
        mean = sum(part.mean for part in parts) / len(parts)
        return Summary(mean, float(error), len(gaps))
