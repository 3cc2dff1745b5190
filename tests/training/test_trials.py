"""What held-out rows choose: the ridge and the number of steps with the best mean score."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import SquaredHinge
from fcgboost.greedy.path import Trace
from fcgboost.stopping import Status, Step
from fcgboost.training.tasks import Classification
from fcgboost.training.trials import Trial, choose, results_table


def make_trace(scores: dict[int, float], sizes: dict[int, int]) -> Trace:
    """Return a path with these scores after some of its steps."""
    zero = np.zeros(1)
    steps = [
        Step(
            k=k,
            chosen=np.array([k]),
            scores=zero,
            objectives=zero,
            coef=np.zeros((1, sizes.get(k, k))),
            intercept=zero,
            solver_iterations=1,
            residual=0.0,
            is_corrected=True,
            seconds=0.0,
            validation_score=score,
        )
        for k, score in scores.items()
    ]
    n_atoms = max(scores, default=0)
    return Trace(
        steps=tuple(steps),
        atoms=np.zeros((n_atoms, 1)),
        entered=np.arange(n_atoms),
        start=zero,
        endings=(None,),
    )


def make_trial(
    *by_ridge: dict[int, float],
    sizes: dict[int, int] | None = None,
    k0: int = 2,
    weight: float = 100.0,
    **changes: Any,
) -> Trial:
    """Return a trial whose ridges, strongest first, have these scores by step."""
    plain = {
        "is_crossfitted": True,
        "tunes_steps": True,
        "is_preset": True,
        "slack": 0.0,
        "dictionary": "some",
    }
    return Trial(
        settings=SimpleNamespace(**{**plain, **changes}),  # type: ignore[arg-type]
        task=Classification(SquaredHinge()),
        view=None,  # type: ignore[arg-type]
        judge=SimpleNamespace(weight=weight),  # type: ignore[arg-type]
        k0=k0,
        ridges=[10.0**-i for i in range(len(by_ridge))],
        traces=[make_trace(scores, sizes or {}) for scores in by_ridge],
        status=Status.STEP_LIMIT,
    )


def test_the_best_mean_over_folds_wins() -> None:
    first = make_trial({1: 0.6, 2: 0.7, 3: 0.8}, {1: 0.5, 2: 0.9, 3: 0.5})
    second = make_trial({1: 0.6, 2: 0.7, 3: 0.8}, {1: 0.5, 2: 0.6, 3: 0.5})
    best = choose([first, second])
    assert (best.ridge, best.steps) == (0, [3, 3])
    np.testing.assert_allclose(best.stages.scores.mean(axis=2)[1], [0.5, 0.75, 0.5])


def test_of_equals_the_fewest_atoms_win_then_the_strongest_ridge() -> None:
    best = choose([make_trial({1: 0.5, 2: 0.8, 4: 0.8}, {1: 0.8, 2: 0.7, 4: 0.8})])
    assert (best.ridge, best.steps) == (1, [1])
    best = choose([make_trial({1: 0.5, 2: 0.8}, {1: 0.6, 2: 0.8})])
    assert (best.ridge, best.steps) == (0, [2])
    # Atoms may leave again: a later step may have fewer.
    best = choose([make_trial({2: 0.8, 4: 0.8}, sizes={2: 2, 4: 1})])
    assert best.steps == [4]


def test_a_path_that_has_ended_keeps_its_last_score() -> None:
    long = make_trial({1: 0.5, 2: 0.6, 5: 0.9})
    short = make_trial({1: 0.5, 2: 0.7})
    best = choose([long, short])
    assert best.steps == [5, 2]
    np.testing.assert_allclose(best.stages.scores[0], [[0.5, 0.5], [0.6, 0.7], [0.9, 0.7]])


def test_folds_may_score_different_steps() -> None:
    best = choose([make_trial({1: 0.1, 3: 0.9}), make_trial({2: 0.2, 4: 0.8})])
    # Before its first scored step a path counts with that.
    expected = [[0.1, 0.2], [0.1, 0.2], [0.9, 0.2], [0.9, 0.8]]
    np.testing.assert_allclose(best.stages.scores[0], expected)
    assert best.steps == [3, 4]


def test_a_path_without_steps_says_nothing() -> None:
    empty = make_trial({}, {})
    full = make_trial({1: 0.5, 2: 0.9}, {1: 0.95, 2: 0.6})
    assert choose([empty, full])[:2] == (choose([full]).ridge, [0, 1])
    best = choose([empty, empty])
    assert (best.ridge, best.steps) == (0, [0, 0])
    table = results_table([[empty, full]])
    np.testing.assert_allclose(table["mean_test_score"], table["split1_test_score"])
    assert np.isnan(results_table([[empty]])["mean_test_score"]).all()


def test_plain_dictionaries_choose_multiples_of_the_theorys_steps() -> None:
    scores = {k: 1.0 - abs(k - 3) / 10 for k in range(1, 8)}
    trial = make_trial(scores, k0=2, is_preset=False)
    best = choose([trial])
    # 2, 4, 6, and the end.
    np.testing.assert_allclose(best.stages.steps[:, 0], [2, 4, 6, 7])
    assert best.steps == [2]
    # All steps of paths that are shorter.
    assert choose([make_trial(scores, k0=20, is_preset=False)]).steps == [3]


def test_multiples_of_the_folds_own_k0_are_compared() -> None:
    scores = {k: k / 100 for k in range(1, 31)}
    pair = [make_trial(scores, k0=k0, is_preset=False) for k0 in (5, 6)]
    np.testing.assert_array_equal(choose(pair).stages.steps[:3], [[5, 6], [10, 12], [15, 18]])


def test_a_given_number_of_steps_is_kept() -> None:
    trial = make_trial({1: 0.9, 2: 0.8, 3: 0.7}, {1: 0.1, 2: 0.1, 3: 0.75}, tunes_steps=False)
    best = choose([trial])
    assert (best.ridge, best.steps) == (1, [3])


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=8), st.floats(0.0, 1.0))
def test_a_share_of_a_standard_error_below_the_best_is_as_good(
    scores: list[float], slack: float
) -> None:
    trial = make_trial(dict(enumerate(scores, start=1)), slack=slack)
    top = max(scores)
    enough = top - slack * np.sqrt(top * (1.0 - top) / 100.0)
    expected = 1 + next(i for i, score in enumerate(scores) if score >= enough)
    assert choose([trial]).steps == [expected]


@pytest.mark.parametrize("score", [-3.0, 0.0, 2.0])
def test_what_is_no_frequency_has_the_largest_error(score: float) -> None:
    near = {1: score - 0.024, 2: score}
    assert choose([make_trial(near, slack=0.5)]).steps == [1]
    far = {1: score - 0.026, 2: score}
    assert choose([make_trial(far, slack=0.5)]).steps == [2]


def test_results_have_the_layout_of_scikit_learns_searches() -> None:
    pair = [
        make_trial({1: 0.6, 2: 0.7}, {1: 0.5, 2: 0.9}),
        make_trial({1: 0.6, 2: 0.9}, {1: 0.5, 2: 0.5}),
    ]
    table = results_table([pair])
    np.testing.assert_allclose(table["param_l2"], [1.0, 1.0, 0.1, 0.1])
    np.testing.assert_allclose(table["param_max_iter"], [1, 2, 1, 2])
    np.testing.assert_allclose(table["split0_test_score"], [0.6, 0.7, 0.5, 0.9])
    np.testing.assert_allclose(table["split1_test_score"], [0.6, 0.9, 0.5, 0.5])
    np.testing.assert_allclose(table["mean_test_score"], [0.6, 0.8, 0.5, 0.7])
    np.testing.assert_allclose(table["std_test_score"], [0.0, 0.1, 0.0, 0.2], atol=1e-15)
    assert table["rank_test_score"].tolist() == [3, 1, 4, 2]
