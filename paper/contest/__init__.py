"""Who takes part in the contest: our presets, and the rivals that have an entry."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from fcgboost import FCGBoostClassifier, save_model
from paper.contest.counting import stored_numbers
from paper.protocol import Data
from paper.rivals import RIVALS
from paper.rivals.base import Array, Entry, Judgement, Learned, Params, Plan, Terms


def _preset(name: str, data: Data, terms: Terms) -> Plan:
    """Plan one fit: a preset of ours tunes itself by the validation part."""
    return Plan([{"dictionary": name}])


def _fit_ours(params: Params, data: Data, seed: int) -> Learned:
    """Fit our classifier as a user would; `params` has the name of a preset."""
    classifier = FCGBoostClassifier(n_jobs=1, random_state=seed, **params)
    classifier.fit(data.X, data.y, X_val=data.X_val, y_val=data.y_val)

    def judge(X: Array) -> Judgement:
        p = classifier.predict_proba(X)[:, 1]
        return Judgement(np.asarray(classifier.predict(X), dtype=np.float64), p)

    def file() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            # The path to the model is no part of it.
            save_model(classifier, path, trace=False)
            return path.read_bytes()

    steps = {"steps": classifier.n_iter_}
    return Learned(judge, classifier.n_atoms_, lambda: stored_numbers(classifier), file, steps)


#: Ours by name, and the presets they are.
OURS: Mapping[str, str] = {"fcg_auto": "auto", "fcg_compact": "compact"}

CONTESTANTS: Mapping[str, Entry] = {
    **{name: Entry(_fit_ours, partial(_preset, preset)) for name, preset in OURS.items()},
    **{name: rival.contest for name, rival in RIVALS.items() if rival.contest is not None},
}
