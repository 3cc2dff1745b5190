"""Where a path starts: which data and parameters it belongs to, and whether another one goes on."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fcgboost.checkpoints import Identity, describe, read
from fcgboost.hashing import Digest
from fcgboost.links import PowerLink
from fcgboost.presets import preset_of
from fcgboost.trace import Trace

#: Parameters that may change between a fit and its continuation.
_MAY_CHANGE = {
    *("max_iter", "n_iter_no_change", "n_jobs", "verbose", "warm_start"),
    *("checkpoint", "client", "device", "link"),
}


@dataclass(frozen=True)
class Start:
    """Where a path starts: at nothing, or at the end of another one.

    Attributes
    ----------
    identity : Identity
        The data and the parameters that the path belongs to.
    key : int
        The seed of all draws.
    resume : Trace or None
    l2 : float or None
        The ridge that the path has been fitted with, if known.
    link : PowerLink or None
        The link of the path, if known.
    """

    identity: Identity
    key: int
    resume: Trace | None
    l2: float | None = None
    link: PowerLink | None = None

    def anew(self) -> Start:
        """Return a start at nothing with the same seed."""
        return replace(self, resume=None)


def draw_key(random_state: Any) -> int:
    """Return the seed of all draws of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def digest_of(
    classes: NDArray[Any],
    train: Digest,
    held_out: Digest | None,
    kind: tuple[int, float | None, bool],
) -> tuple[Any, ...]:
    """Return what says whether data is the same, in any order.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    train, held_out : Digest, Digest or None
        The rows for training, and those for validation.
    kind : tuple
        The number of columns, the share of rows that is set aside, whether the rows are sparse.
    """
    words = [(d.n_rows, d.first, d.second) for d in (train, held_out) if d is not None]
    return (*classes.tolist(), *(word for some in words for word in some), *kind)


def find_start(p: Any, digest: tuple[Any, ...]) -> Start:
    """Look for a path to go on from: the last fit's, or one in a file."""
    settings = {k: v for k, v in p.get_params(deep=False).items() if k not in _may_change(p)}
    identity = Identity(digest, {name: describe(value) for name, value in settings.items()})
    last = vars(p).get("_state_")
    if p.warm_start and last is not None:
        _check_same(last, identity)
        return Start(identity, p._key_, p._path_, p.l2_, p.link_)
    if p.checkpoint is not None and os.path.exists(p.checkpoint):
        trace, key = read(p.checkpoint, identity)
        return Start(identity, key, trace)
    return Start(identity, draw_key(p.random_state), None)


def _may_change(p: Any) -> set[str]:
    """Name the parameters that may be others in a continuation.

    A file does not say which ridge was chosen. It is chosen again, and the number of steps has a
    say in that.
    """
    chooses = preset_of(p.dictionary) is not None and p.l2 == "auto"
    is_from_file = p.checkpoint is not None and not p.warm_start
    return _MAY_CHANGE - {"max_iter"} if chooses and is_from_file else _MAY_CHANGE


def _check_same(last: Identity, identity: Identity) -> None:
    """Raise a ValueError if warm_start cannot go on."""
    if last.data != identity.data:
        raise ValueError(
            "warm_start=True goes on with the same data, and this data is different: X, y, the "
            "weights, or the rows held out for validation (n_iter_no_change alone holds out a "
            "tenth). Set warm_start=False to start anew."
        )
    old, new = last.parameters, identity.parameters
    changed = sorted(name for name in new if old[name] != new[name])
    if changed:
        raise ValueError(
            f"warm_start=True goes on with the same parameters, and {changed} changed since the "
            f"last fit. Only {sorted(_MAY_CHANGE)} may change."
        )
