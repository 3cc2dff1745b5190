"""Who hears of a step sees what the fit keeps, and cannot change it."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import TreeDictionary
from fcgboost.stopping import Step
from tests.suites.strategies import simulation

FITS = {
    "drawn atoms": {"dictionary": "gauss"},
    "atoms that leave": {"dictionary": "gauss", "removal": 0.9},
    "scored steps": {"dictionary": "relu", "validation_fraction": 0.3},
    "leaves": {"dictionary": TreeDictionary(corrects_leaves=True)},
    "members": {"dictionary": "auto", "cv": 2},
}


def arrays_of(step: Step) -> list[Any]:
    return [v for v in (*vars(step).values(), *step.leaves) if isinstance(v, np.ndarray)]


class Vandal:
    """Writes on all that it is told."""

    def __init__(self) -> None:
        self.n_arrays = 0

    def __call__(self, step: Step) -> None:
        for array in arrays_of(step):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 7
            self.n_arrays += 1
        for name in vars(step):
            with pytest.raises(FrozenInstanceError):
                setattr(step, name, None)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("settings", FITS.values(), ids=FITS)
def test_a_rule_cannot_change_what_a_fit_keeps(settings: dict[str, Any], n_classes: int) -> None:
    data, vandal = simulation(80, 0.2, seed=0), Vandal()
    y = data.y if n_classes == 2 else np.digitize(data.X[:, 1], [0.3, 0.7])
    model = FCGBoostClassifier(**settings, max_iter=6, random_state=0)
    heard = model.set_callbacks(vandal).fit(data.X, y)
    alone = model.set_callbacks()
    steps = [step for member in heard.members_ for step in member.trace]
    assert vandal.n_arrays >= 7 * len(steps)
    assert not any(array.flags.writeable for step in steps for array in arrays_of(step))
    kept = [array.tobytes() for step in steps for array in arrays_of(step)]
    alone.fit(data.X, y)
    steps = [step for member in alone.members_ for step in member.trace]
    assert kept == [array.tobytes() for step in steps for array in arrays_of(step)]


def test_the_start_of_a_path_is_kept() -> None:
    data = simulation(40, 0.2, seed=0)
    trace = FCGBoostClassifier("gauss", max_iter=2, random_state=0).fit(data.X, data.y).trace_
    assert not trace.start.flags.writeable
