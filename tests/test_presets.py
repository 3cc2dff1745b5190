"""The presets "auto" and "compact": what they choose, by what, and what becomes of odd data."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from suites.marks import also
from suites.reference import ridge_squared_hinge

from fcgboost import (
    FCGBoostClassifier,
    FCGBoostClassifierCV,
    Status,
    hashing,
    load_model,
    save_model,
)
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import TreeDictionary, UnionDictionary
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.stopping import theory_steps
from fcgboost.training import averaging, tuning
from fcgboost.training import fit as fitting
from fcgboost.training.dataset import DataSet, split_data
from fcgboost.training.presets import PLAIN, PRESETS, preset_of
from fcgboost.training.resume import draw_key
from fcgboost.training.settings import resolve

each_preset = pytest.mark.parametrize("name", sorted(PRESETS))


def noisy(n: int = 150, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_simulation(n, noise="uniform", level=0.2, random_state=seed)
    X = X * [1.0, 40.0] + [0.0, 7.0]
    return X, y if n_classes == 2 else np.digitize(X[:, 1], [20.0, 35.0])


def with_holes(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


def assert_same_model(one: FCGBoostClassifier, other: FCGBoostClassifier) -> None:
    assert one.n_iter_ == other.n_iter_
    assert one.l2_ == other.l2_
    np.testing.assert_array_equal(one.atoms_, other.atoms_)
    np.testing.assert_array_equal(one.atom_coef_, other.atom_coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


def make(name: str = "auto", **changes: Any) -> FCGBoostClassifier:
    return FCGBoostClassifier(name, **{"random_state": 0, **changes})


@cache
def fitted(name: str = "auto", n_classes: int = 2) -> FCGBoostClassifier:
    """Give a model of the noisy data, which the tests share: read it, do not fit it again."""
    return make(name).fit(*noisy(n_classes=n_classes))


@cache
def fitted_to_two_thirds(is_held_out: bool) -> FCGBoostClassifier:
    """Give a model of the first hundred rows, with the others as validation data or without."""
    X, y = noisy()
    return make().fit(X[:100], y[:100], **held_out(X, y, is_held_out))


def held_out(X: np.ndarray, y: np.ndarray, is_held_out: bool) -> dict[str, np.ndarray]:
    return {"X_val": X[100:], "y_val": y[100:]} if is_held_out else {}


def ridges(name: str, m: float) -> list[float]:
    return [strength / float(np.sqrt(m)) for strength in PRESETS[name].strengths]


def patience_of(m: float) -> int:
    return max(tuning._PATIENCE, theory_steps(m))


# The choice


def test_auto_is_the_default() -> None:
    assert FCGBoostClassifier().dictionary == "auto"
    assert preset_of(FCGBoostClassifier().dictionary) is PRESETS["auto"]
    assert preset_of("gauss") is None
    assert preset_of(UnionDictionary([TreeDictionary()])) is None


def compared(
    name: str, rows: tuple[Any, Any], held_out: tuple[Any, Any], max_iter: Any = "auto"
) -> np.ndarray:
    """Return the scores of all ridges with the atoms of the middle one, NaN between corrections.

    Another solver fits the coefficients; the path ends where none of the ridges has improved.
    """
    (X, y), (X_val, y_val), strengths = rows, held_out, ridges(name, len(rows[1]))
    lead = make(name, l2=strengths[1], max_iter=max_iter, n_iter_no_change=10**6)
    lead.fit(X, y, X_val=X_val, y_val=y_val)
    classes = np.unique(y)
    signs, signs_val = (
        np.where(labels[:, None] == classes[-1 if len(classes) == 2 else 0 :], 1.0, -1.0)
        for labels in (y, y_val)
    )
    scores = np.full((len(strengths), len(lead.trace_)), np.nan)
    for step in lead.trace_:
        if step.validation_score is None:
            continue
        model = lead.trace_.model(
            step.k, lead.model_.dictionary, lead.model_.scale, lead.model_.limits
        )
        n = model.coef.shape[1]
        each = replace(model, coef=np.eye(n), intercept=np.zeros(n))
        A, A_val = each.decision(X), each.decision(X_val)
        for i, l2 in enumerate(strengths):
            f = np.empty(signs_val.shape)
            for c, own in enumerate(model.coef != 0.0):
                columns = np.column_stack([np.ones(len(y)), A[:, own]])
                coef = ridge_squared_hinge(columns, signs[:, c], np.ones(len(y)), l2)
                f[:, c] = coef[0] + A_val[:, own] @ coef[1:]
            is_right = classes[(f[:, 0] > 0) * 1 if len(classes) == 2 else f.argmax(1)] == y_val
            losses = np.maximum(0.0, 1.0 - signs_val * f) ** 2
            scores[i, step.k - 1] = is_right.mean() - 0.5 * losses.mean()
    return cut(scores, patience_of(len(y))) if max_iter == "auto" else scores


def cut(scores: np.ndarray, patience: int) -> np.ndarray:
    """End where the best has not risen for some steps, three judged ones among them."""
    best, best_step, n_worse = -np.inf, 0, 0
    for k in np.flatnonzero(~np.isnan(scores[0])) + 1:
        n_worse += 1
        if scores[:, k - 1].max() > best:
            best, best_step, n_worse = scores[:, k - 1].max(), k, 0
        elif k - best_step >= patience and n_worse >= 3:
            return scores[:, :k]
    return scores


def error_of(score: float, n_rows: int) -> float:
    frequency = min(max(score, 0.0), 1.0)
    return float(np.sqrt(frequency * (1.0 - frequency) / n_rows))


@pytest.mark.parametrize(("max_iter", "n_classes"), [("auto", 2), (12, 2), *also(("auto", 3))])
@each_preset
def test_with_validation_data_the_best_of_paths_wins(
    name: str, n_classes: int, max_iter: Any
) -> None:
    (X, y), (X_val, y_val) = noisy(n_classes=n_classes), noisy(100, n_classes, seed=1)
    found = make(name, max_iter=max_iter).fit(X, y, X_val=X_val, y_val=y_val)
    scores = compared(name, (X, y), (X_val, y_val), max_iter)
    tops = np.nanmax(scores, axis=1)
    enough = tops.max() - PRESETS[name].slack * error_of(tops.max(), len(y_val))
    strengths = ridges(name, len(y))
    if name == "auto":
        # The strongest ridge that is as good.
        assert found.l2_ == strengths[int(np.argmax(tops >= enough))]
    else:
        assert found.l2_ in np.array(strengths)[tops >= enough - 1e-9]
    settings = {"max_iter": max_iter, "n_iter_no_change": patience_of(len(y))}
    same = make(name, l2=found.l2_, **settings).fit(X, y, X_val=X_val, y_val=y_val)
    path = found._state_.path
    np.testing.assert_array_equal(path.atoms, same.trace_.atoms)
    np.testing.assert_array_equal(path.scores, same.trace_.scores)
    if max_iter != "auto":
        assert_same_model(found, same)
    elif name == "auto":
        assert found.n_iter_ == np.nanargmax(found.trace_.scores) + 1


def test_of_small_models_nearly_as_good_the_smallest_is_kept() -> None:
    (X, y), (X_val, y_val) = noisy(400), noisy(50, seed=1)
    model = make("compact").fit(X, y, X_val=X_val, y_val=y_val)
    scores, sizes = model.trace_.scores, model.trace_.column("n_atoms")
    near = np.flatnonzero(scores >= scores.max() - 0.5 * error_of(scores.max(), len(y_val)))
    assert len(near) > 1
    assert model.n_atoms_ == sizes[near].min()
    assert model.n_iter_ - 1 in near


# The average


class Keyed(np.random.RandomState):
    """Draws one number again and again."""

    def __init__(self, number: int) -> None:
        super().__init__(0)
        self.number = number

    def randint(self, *args: Any, **options: Any) -> int:
        return self.number


@pytest.mark.parametrize("n_classes", [2, *also(3)])
@pytest.mark.parametrize("is_held_out", [False, True])
def test_three_paths_with_draws_of_their_own_are_averaged(
    is_held_out: bool, n_classes: int
) -> None:
    (X, y), (X_val, y_val) = noisy(n_classes=n_classes), noisy(60, n_classes, seed=1)
    given = {"X_val": X_val, "y_val": y_val} if is_held_out else {}
    model = make().fit(X, y, **given) if is_held_out else fitted(n_classes=n_classes)
    keys = [draw_key(0), *(hashing.derive(draw_key(0), number) >> 33 for number in (1, 2))]
    settings = {"l2": model.l2_, "max_iter": len(model.trace_)}
    members = [make(random_state=Keyed(key), **settings).fit(X, y) for key in keys]
    for k in {1, 2, model.n_iter_, len(model.trace_)}:
        ends = [one.truncate(min(k, len(one.trace_))) for one in members]
        expected = np.mean([one.decision_function(X) for one in ends], axis=0)
        np.testing.assert_allclose(
            model.truncate(k).decision_function(X), expected, rtol=1e-9, atol=1e-9
        )
    ends = [one.truncate(min(model.n_iter_, len(one.trace_))) for one in members]
    assert model.n_atoms_ == sum(one.n_atoms_ for one in ends)
    # Every step tells what all of them did.
    step = model.trace_[1]
    assert len(step.chosen) == 3 * len(step.intercept)
    for place in step.chosen:
        assert model.trace_.entered[place] == 2


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_a_file_keeps_an_average_and_its_steps(n_classes: int, tmp_path: Path) -> None:
    X, _ = noisy(n_classes=n_classes)
    model = fitted(n_classes=n_classes)
    save_model(model, tmp_path / "model.json")
    same = load_model(tmp_path / "model.json")
    for k in (1, model.n_iter_, len(model.trace_)):
        np.testing.assert_array_equal(
            same.truncate(k).decision_function(X), model.truncate(k).decision_function(X)
        )
    for one, other in zip(model.trace_, same.trace_, strict=True):
        np.testing.assert_array_equal(one.chosen, other.chosen)
        np.testing.assert_array_equal(one.objectives, other.objectives)


def test_of_ridges_that_score_as_well_the_strongest_is_chosen():
    settings = SimpleNamespace(preset=PLAIN)
    fit = SimpleNamespace(settings=settings, slack=lambda score: 0.05)
    for scores, best in (([0.85, 0.87, 0.91], 1), ([0.95, 0.87, 0.91], 0)):
        traces = [SimpleNamespace(scores=np.array([0.1, np.nan, s])) for s in scores]
        assert tuning._best(fit, traces) == best


def test_who_asks_for_one_path_gets_one() -> None:
    X, y = noisy()
    for settings in ({"max_iter": 9}, {"l2": 0.01}, {"removal": "backward"}):
        model = make(**settings).fit(X, y)
        assert model.trace_ is model._state_.path
        assert len(model.trace_[0].chosen) == 1
    many = make().fit(X, y, np.full(len(y), 100.0))
    assert len(many.trace_[0].chosen) == 1


def test_a_member_that_ends_early_stays_where_it_is() -> None:
    X, y = noisy()
    long, short = (make(l2=0.01, max_iter=k, random_state=k).fit(X, y) for k in (6, 3))
    average = averaging.averaged([long.trace_, short.trace_])
    for k in (2, 5):
        model = average.model(k, long.model_.dictionary, long.model_.scale, long.model_.limits)
        both = long.truncate(k).decision_function(X), short.truncate(min(k, 3)).decision_function(X)
        np.testing.assert_allclose(model.decision(X)[:, 0], np.mean(both, axis=0), rtol=1e-9)
    assert average[4].chosen.tolist() == [7, -1]


def test_the_score_is_accuracy_less_half_the_squared_hinge() -> None:
    (X, y), (X_val, y_val) = noisy(n_classes=3), noisy(100, 3, seed=1)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    model = make().fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weights)
    f = model.decision_function(X_val)
    hits = f.argmax(axis=1) == y_val
    targets = np.where(y_val[:, None] == np.arange(3), 1.0, -1.0)
    losses = (np.maximum(0.0, 1.0 - targets * f) ** 2).mean(axis=1)
    expected = weights @ (hits - 0.5 * losses) / weights.sum()
    assert model.trace_[model.n_iter_ - 1].validation_score == pytest.approx(expected, rel=1e-9)


def naive_vote(name: str, X: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Give the ridge and the number of steps that do best on rows set aside, four times."""
    codes, weights = (y > 0).astype(np.intp), np.ones(len(y))
    key, strengths = draw_key(0), PRESETS[name].strengths
    multiples = np.arange(1, 41) / 4
    total = np.zeros((len(strengths), len(multiples)))
    for i in range(4):
        data = DataSet.of(X, codes, weights).canonical()
        known, aside = split_data(data, 0.25, hashing.derive(key, -1 - i) >> 33)
        m = len(known.codes)
        assert m + len(aside.codes) == len(y)
        scores = compared(name, (known.X, known.codes), (aside.X, aside.codes))
        judged = np.flatnonzero(~np.isnan(scores[0])) + 1
        for n, multiple in enumerate(multiples):
            k = max(1, round(multiple * theory_steps(m)))
            total[:, n] += scores[:, judged[judged <= k][-1] - 1]
    j, multiple = np.unravel_index(total.argmax(), total.shape)
    if name == "compact":
        # The fewest steps that are nearly as good, and with them the best ridge.
        means, n_aside = total / 4, len(aside.codes)
        enough = means.max() - 0.5 * error_of(means.max(), n_aside)
        multiple = np.flatnonzero((means >= enough).any(axis=0))[0]
        j = means[:, multiple].argmax()
    return ridges(name, len(y))[j], max(1, round(multiples[multiple] * theory_steps(len(y))))


@each_preset
def test_without_validation_data_all_rows_are_fitted_as_was_chosen(name: str) -> None:
    X, y = noisy()
    found = fitted(name)
    l2, n_steps = naive_vote(name, X, y)
    assert found.l2_ == pytest.approx(l2, rel=1e-12)
    assert found.n_iter_ == n_steps
    assert found.trace_.column("validation_score")[0] is None
    # All rows: as with these settings given.
    same = make(name, l2=found.l2_, max_iter=found.n_iter_).fit(X, y)
    np.testing.assert_array_equal(found._state_.path.atoms, same.trace_.atoms)
    np.testing.assert_array_equal(found._state_.path[-1].coef, same.trace_[-1].coef)


@pytest.mark.parametrize("seed", [0, *also(1, 2)])
def test_compact_models_are_small_without_validation_data_too(seed: int) -> None:
    X, y = make_simulation(300, noise="uniform", level=0.3, random_state=seed)
    small, usual = (make(name, random_state=seed).fit(X, y) for name in ("compact", "auto"))
    assert small.n_atoms_ < usual.n_atoms_ / 2
    assert small.atoms_.size < usual.atoms_.size / 4


def test_many_rows_are_set_aside_once(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = []
    original = fitting.split_data
    monkeypatch.setattr(
        fitting, "split_data", lambda *args: splits.append(args[1:]) or original(*args)
    )
    X, y = noisy()
    make(max_iter=2).fit(X, y, np.full(len(y), 20.0))
    assert len(splits) == 1
    make(max_iter=2).fit(X, y)
    assert len(splits) == 5


@each_preset
def test_a_preset_is_nothing_but_its_parts(name: str) -> None:
    X, y = noisy()
    found, preset = make(name, max_iter=8).fit(X, y), PRESETS[name]
    parts = FCGBoostClassifier(
        UnionDictionary(list(preset.families)),
        selection=preset.selection,
        l2=found.l2_,
        clip=preset.clip,
        scheme=FullyCorrective(growth=preset.growth),
        removal=preset.removal,
        max_iter=found.n_iter_,
        random_state=0,
    ).fit(X, y)
    assert_same_model(found, parts)
    assert found.model_.limits is not None
    np.testing.assert_array_equal(found.model_.limits.low, parts.model_.limits.low)


@each_preset
def test_a_given_ridge_or_number_of_steps_is_kept(name: str) -> None:
    X, y = noisy()
    assert make(name, l2=0.01, max_iter=4).fit(X, y).l2_ == 0.01
    model = make(name, max_iter=4).fit(X, y)
    assert model.n_iter_ == 4
    assert any(model.l2_ == pytest.approx(l2) for l2 in ridges(name, len(y)))


@pytest.mark.parametrize("max_iter", ["theory", *also(40)])
@pytest.mark.parametrize("seed", [1, *also(2)])
def test_the_ridge_is_the_best_for_the_steps_that_are_made(max_iter: Any, seed: int) -> None:
    X, y = make_simulation(120, noise="uniform", level=0.3, random_state=seed)
    found = make(max_iter=max_iter).fit(X, y)
    codes, weights, key = (y > 0).astype(np.intp), np.ones(len(y)), draw_key(0)
    total = np.zeros(3)
    for i in range(4):
        data = DataSet.of(X, codes, weights).canonical()
        known, aside = split_data(data, 0.25, hashing.derive(key, -1 - i) >> 33)
        rows, held_out = (known.X, known.codes), (aside.X, aside.codes)
        total += compared("auto", rows, held_out, max_iter)[:, -1]
    assert found.l2_ == pytest.approx(ridges("auto", len(y))[total.argmax()])


def test_steps_are_chosen_for_a_given_ridge() -> None:
    X, y = make_simulation(200, noise="uniform", level=0.3, random_state=1)
    model = make(l2=0.001).fit(X, y)
    assert model.l2_ == 0.001
    # Such a weak ridge learns the noise by heart in some steps.
    assert model.n_iter_ == len(model.trace_) <= 3 * theory_steps(200)


def test_a_rare_class_leaves_the_choice_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = []
    original = fitting.split_data
    monkeypatch.setattr(fitting, "split_data", lambda *args: splits.append(1) or original(*args))
    X, y = noisy(60)
    X, y = np.vstack([X, X[:3] + 5.0]), np.append(y, [7.0, 7.0, 7.0])
    model = make().fit(X, y)
    assert len(splits) == 4
    assert model.predict(X).shape == y.shape
    # A score of the user's may need all classes.
    make(scoring="balanced_accuracy").fit(X, y)
    assert len(splits) == 4


@pytest.mark.parametrize("scheme", ["original", "shrinkage"])
def test_schemes_without_a_ridge_have_nothing_to_choose(scheme: str) -> None:
    X, y = noisy()
    model = make(scheme=scheme, max_iter=6).fit(X, y)
    assert model.l2_ == 0.0
    assert len(model.trace_) == 6


def test_few_rows_of_a_class_leave_nothing_to_choose() -> None:
    X, y = noisy(40)
    rare = np.flatnonzero(y == 1.0)[3:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    model = make().fit(X, y)
    assert model.l2_ == pytest.approx(PRESETS["auto"].strength / np.sqrt(len(y)))
    assert len(model.trace_) >= 1
    assert model.predict(X).shape == y.shape
    # Repetitions are no new rows.
    again = make().fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert again.l2_ == pytest.approx(PRESETS["auto"].strength / np.sqrt(3 * len(y)))


def test_progress_says_which_path_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noisy(60)
    make(verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    kinds = [line.partition("step ")[0] for line in lines]
    assert set(kinds) == {"to choose: ", "", "path 2: ", "path 3: "}
    assert kinds == sorted(kinds, key=["to choose: ", "", "path 2: ", "path 3: "].index)


def test_two_rows_are_enough() -> None:
    model = make().fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.0], [1.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_the_order_of_the_rows_does_not_matter(n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    order = np.random.default_rng(1).permutation(len(y))
    one, other = fitted(n_classes=n_classes), make().fit(X[order], y[order])
    assert one.n_iter_ == other.n_iter_
    assert one.l2_ == other.l2_
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-7
    )


def test_sparse_rows_choose_as_dense_ones_do() -> None:
    X, y = noisy()
    X[X[:, 0] < 0.3, 0] = 0.0
    model = make(standardize=False).fit(sparse.csr_array(X), y)
    dense = make(standardize=False).fit(X, y)
    assert model.l2_ == dense.l2_
    np.testing.assert_allclose(
        model.decision_function(X), dense.decision_function(X), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", ["compact", *also("auto")])
def test_the_model_does_not_depend_on_threads(name: str) -> None:
    assert_same_model(fitted(name), make(name, n_jobs=2).fit(*noisy()))


# Paths that go on, files and callbacks


@pytest.mark.parametrize("is_held_out", [False, True])
def test_a_path_goes_on_with_the_ridge_it_has(is_held_out: bool) -> None:
    X, y = noisy()
    given = held_out(X, y, is_held_out)
    data = (X[:100], y[:100])
    model = make(warm_start=True, max_iter=5).fit(*data, **given)
    l2 = model.l2_
    model.set_params(max_iter=11).fit(*data, **given)
    assert model.l2_ == l2
    assert len(model.trace_) == 11
    straight = make(l2=l2, max_iter=11).fit(*data, **given)
    np.testing.assert_allclose(model.atom_coef_, straight.atom_coef_, rtol=1e-7, atol=1e-9)
    # A fit that has nothing left to do does nothing.
    before = model.atom_coef_
    np.testing.assert_array_equal(model.fit(*data, **given).atom_coef_, before)


def test_a_path_of_its_own_length_is_not_made_longer() -> None:
    X, y = noisy()
    model = make(warm_start=True).fit(X, y)
    n_steps, coef = model.n_iter_, model.atom_coef_
    np.testing.assert_array_equal(model.fit(X, y).atom_coef_, coef)
    assert model.n_iter_ == n_steps


@pytest.mark.parametrize("is_held_out", [True, *also(False)])
def test_a_checkpoint_changes_nothing_and_holds_the_last_path(
    is_held_out: bool, tmp_path: Path
) -> None:
    X, y = noisy()
    given = held_out(X, y, is_held_out)
    data, path = (X[:100], y[:100]), tmp_path / "path"
    plain = fitted_to_two_thirds(is_held_out)
    kept = make(checkpoint=path).fit(*data, **given)
    assert_same_model(plain, kept)
    assert kept.status_ is plain.status_
    stamp = path.read_bytes()
    again = make(checkpoint=path).fit(*data, **given)
    assert_same_model(plain, again)
    assert path.read_bytes() == stamp
    # The ridge depends on the number of steps that are allowed.
    with pytest.raises(ValueError, match="max_iter was 'auto' and is 30"):
        make(checkpoint=path, max_iter=30).fit(*data, **given)


def test_a_fit_that_was_cut_off_goes_on_from_its_file(tmp_path: Path) -> None:
    X, y = noisy()
    plain = make(max_iter=9).fit(X, y)

    class KilledError(Exception):
        pass

    def stop(step: Any) -> None:
        if (tmp_path / "path").exists() and step.k == 4:
            raise KilledError

    with pytest.raises(KilledError):
        make(max_iter=9, checkpoint=tmp_path / "path").set_callbacks(stop).fit(X, y)
    assert (tmp_path / "path").exists()
    again = make(max_iter=9, checkpoint=tmp_path / "path").fit(X, y)
    assert again.l2_ == plain.l2_
    np.testing.assert_allclose(again.atom_coef_, plain.atom_coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("is_held_out", [False, True])
def test_rules_end_every_path(is_held_out: bool) -> None:
    X, y = noisy()
    given = held_out(X, y, is_held_out)
    model = make().set_callbacks(lambda step: step.k == 3).fit(X[:100], y[:100], **given)
    assert len(model.trace_) <= 3
    assert model.status_ in (Status.CALLBACK, Status.STEP_LIMIT)


@pytest.mark.parametrize("is_held_out", [True, *also(False)])
def test_watching_a_fit_does_not_change_it(is_held_out: bool) -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
    from test_callbacks import Recorder

    X, y = noisy()
    given = held_out(X, y, is_held_out)
    recorder, plain = Recorder(), fitted_to_two_thirds(is_held_out)
    watched = make().set_callbacks(recorder).fit(X[:100], y[:100], **given)
    assert_same_model(watched, plain)
    assert watched.status_ is plain.status_
    assert recorder.calls.count("end step 1") == 1


# Missing values


@each_preset
def test_data_with_holes_is_fitted_by_all_families(name: str) -> None:
    X, y = noisy()
    holed = with_holes(X)
    model = make(name).fit(holed, y)
    found = [type(family) for family in model.model_.dictionary.families]
    assert found == [type(family) for family in PRESETS[name].families]
    assert model.score(holed, y) > 0.7
    assert model.score(X, y) > 0.6
    assert model.__sklearn_tags__().input_tags.allow_nan
    held_out = make(name).fit(holed, y, X_val=X, y_val=y)
    assert held_out.predict(holed).shape == y.shape


@each_preset
def test_holes_that_training_did_not_have_are_medians(name: str) -> None:
    X, y = noisy()
    model, holed = make(name).fit(X, y), with_holes(X)
    filled = np.where(np.isnan(holed), np.median(X, axis=0), holed)
    np.testing.assert_array_equal(model.decision_function(holed), model.decision_function(filled))
    with pytest.raises(ValueError, match="infinity in column 0"):
        model.predict([[np.inf, 1.0]])


def test_infinite_values_are_refused() -> None:
    X, y = noisy()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in column 1"):
        make().fit(X, y)


# Searches


@each_preset
def test_a_search_over_dictionaries_does_not_take_a_preset(name: str) -> None:
    X, y = noisy()
    for dictionaries in ([name], {name: {}}, name):
        with pytest.raises(ValueError, match=f"'{name}', which tunes itself"):
            FCGBoostClassifierCV(dictionaries).fit(X, y)
    union = UnionDictionary(list(PRESETS[name].families))
    search = FCGBoostClassifierCV([union], cv=2, max_iter=3, random_state=0).fit(X, y)
    assert search.best_estimator_.n_iter_ <= 3


@pytest.mark.parametrize(("name", "n_rows"), [("auto", 100), ("auto", 10**6)])
def test_seconds_take_the_place_of_the_most_steps(name: str, n_rows: int) -> None:
    short, long = (
        resolve(FCGBoostClassifier(name, time_limit=seconds), False).at(n_rows, 0)
        for seconds in (None, 60.0)
    )
    most = short.preset.max_steps
    assert most is not None
    assert short.n_steps(1e9) == most
    assert short.n_steps(100.0) == long.n_steps(100.0) < most
    assert long.n_steps(1e9) == long.preset.limit * theory_steps(1e9) > most
