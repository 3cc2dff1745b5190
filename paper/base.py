"""The contract of an experiment: units of work in, rows of a tidy table out.

An experiment declares its units as data. A unit holds every setting it needs, its seed
included, so it gives the same rows wherever and whenever it runs (measured seconds excepted).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import ClassVar, Generic, Literal, TypeVar, get_args

Preset = Literal["quick", "standard", "full"]
Split = Literal["random", "file-order"]
Value = str | int | float | None
Row = dict[str, Value]
Key = tuple[str, ...]

PRESETS: tuple[Preset, ...] = get_args(Preset)
SPLITS: tuple[Split, ...] = get_args(Split)


#: How far `fcgboost.evaluation.log_losses` keeps probabilities away from 0 and 1.
CLIPPING = "1/(2m), m being the number of test rows"


def written(value: Value) -> str:
    """Write a value so that reading it gives it back; None is empty."""
    return "" if value is None else repr(float(value)) if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Unit:
    """An independent piece of work: settings that are plain values."""

    @property
    def key(self) -> Key:
        """All settings as they are written in a table, where they name the unit."""
        return tuple(map(written, asdict(self).values()))

    def row(self, **results: Value) -> Row:
        """Give a row of the table: the settings, then the results."""
        return {**asdict(self), **results}


U = TypeVar("U", bound=Unit)


class DataError(RuntimeError):
    """A data file that is there and cannot be used."""


class Experiment(ABC, Generic[U]):
    """One table or figure, of the paper unless it says otherwise."""

    #: What the command line calls it.
    name: ClassVar[str]
    #: The paper's tables and figures that it makes again, by their numbers there.
    printed: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    #: One or two sentences: what is run, and what the paper prints of it.
    about: ClassVar[str]
    unit_type: ClassVar[type[Unit]]
    #: The columns that a row has beside the settings of its unit.
    results: ClassVar[tuple[str, ...]]
    #: Whether it measures time and so must run alone.
    is_timed: ClassVar[bool] = False
    #: Whether "all" runs it; what goes beyond the paper is run by its own name only.
    in_all: ClassVar[bool] = True
    #: Whether its units depend on how real data are split.
    has_splits: ClassVar[bool] = False
    #: How far probabilities are kept away from 0 and 1 where log-losses are measured. It is
    #: stored with the rows: they do not mix with rows that were clipped otherwise.
    clipping: ClassVar[str | None] = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The columns that hold the settings of a unit."""
        return tuple(field.name for field in fields(self.unit_type))

    @abstractmethod
    def units(self, preset: Preset, split: Split | None) -> list[U]:
        """Declare the work.

        Parameters
        ----------
        preset : {"quick", "standard", "full"}
        split : {"random", "file-order"} or None
            How real data are split; None is both. Simulations ignore it.
        """

    @abstractmethod
    def run(self, unit: U) -> list[Row]:
        """Do one unit of work; every row has all settings and results."""

    @abstractmethod
    def cost(self, unit: U) -> float:
        """Estimate the seconds a unit takes on one core."""

    def obstacle(self, units: Sequence[U]) -> str | None:
        """Say why these units cannot be run here, such as absent data.

        Raises
        ------
        DataError
            If data are there and damaged.
        """
        return None
