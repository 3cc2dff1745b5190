"""What the playground shows: the numbers of the package, code that gives them, and controls."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn import datasets
from suites.playgrounds import SMALL, Client, grid_of

from fcgboost import FCGBoostClassifier, theory_steps
from fcgboost.datasets import make_simulation
from fcgboost.plotting import DecisionBoundaryDisplay
from fcgboost.training.checks import FAMILIES
from fcgboost.web import Playground, fits, samples
from fcgboost.web.fits import Fit, make_classifier
from fcgboost.web.settings import (
    CHECKS,
    PRESETS,
    Choice,
    FitRequest,
    RefusalError,
    Settings,
    read_request,
    read_settings,
)

#: Families whose atoms have a place in the plane.
PLACED = ("gauss", "polynomial", "sigmoid", "relu")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch, Playground() as playground:
        patch.setattr(fits, "SECONDS", 60.0)  # a busy machine is no reason to cut a path
        yield Client(playground.invite())


class TestSettings:
    @pytest.mark.parametrize("k", [-1, 201, 1.0, "all", None, True])
    def test_steps_that_cannot_be_are_refused(self, k) -> None:
        with pytest.raises(RefusalError, match="k must be a whole number from 0 to 200"):
            read_request({"k": k})

    def test_an_unknown_setting_is_refused_by_name(self) -> None:
        with pytest.raises(RefusalError, match="no setting named 'n_jobs'"):
            read_settings({"n_jobs": 2})

    def test_outliers_need_the_simulation(self) -> None:
        with pytest.raises(RefusalError, match="set data=simulation"):
            read_settings({"noise": "outlier", "data": "moons"})

    def test_what_is_not_named_has_its_default(self) -> None:
        assert read_request({}) == FitRequest(Settings(), None, "")
        assert read_request({"settings": {"seed": 7}, "k": 3}) == FitRequest(Settings(seed=7), 3)

    @pytest.mark.parametrize("tab", [1, None, ["a"], "x" * 41])
    def test_a_tab_that_is_no_short_text_is_refused(self, tab) -> None:
        assert read_request({"tab": "x" * 40}).tab == "x" * 40
        with pytest.raises(RefusalError, match="tab must be a text of at most 40"):
            read_request({"tab": tab})

    @pytest.mark.parametrize("order", [-1, 0.5, "1", None, True, 2**54])
    def test_an_order_that_is_no_count_is_refused(self, order) -> None:
        assert read_request({"order": 7}).order == 7
        with pytest.raises(RefusalError, match="order must be a whole number from 0"):
            read_request({"order": order})


class TestNumbers:
    def test_decision_values_are_those_of_the_same_fit_to_the_last_bit(self, client) -> None:
        settings = replace(SMALL, dictionary="relu", level=0.2, seed=5, l2=0.01)
        answer = client.fit(settings, 7)
        X, y = make_simulation(100, level=0.2, random_state=5)
        fitted = FCGBoostClassifier("relu", l2=0.01, max_iter=10, random_state=5).fit(X, y)
        model = fitted.truncate(7)
        step = answer["step"]
        assert step["k"] == 7
        assert np.array_equal(step["decision"], model.decision_function(grid_of(answer)))
        assert np.array_equal(step["coef"], model.atom_coef_[0])
        assert np.array_equal(points_of(answer), X)
        assert np.array_equal(2.0 * np.array(answer["points"]["c"]) - 1.0, y)

    def test_the_path_holds_the_errors_of_every_step(self, client) -> None:
        answer = client.fit(SMALL)
        fit = Fit(SMALL, lambda: False)
        X_test, y_test = make_simulation(samples.N_TEST, noise=None, random_state=1)
        assert len(answer["path"]["test"]) == 11
        for k in (0, 4, 10):
            model = fit.classifier.truncate(k)
            assert answer["path"]["test"][k] == np.mean(model.predict(X_test) != y_test)
            wrong = model.predict(fit.sample.X) != fit.sample.y
            assert answer["path"]["training"][k] == np.mean(wrong)
        assert answer["path"]["marked"] == theory_steps(100) == answer["step"]["k"]
        assert answer["path"]["mark"] == "k₀"
        assert not answer["path"]["is_cut"]

    def test_a_step_is_the_one_of_the_fit(self, client) -> None:
        whole = client.fit(SMALL, 3)
        body = {"settings": asdict(SMALL), "k": 3}
        assert client.send("POST", "/step", body)[1] == {"step": whole["step"]}

    def test_a_step_of_a_fit_that_is_not_kept_is_fitted(self, client) -> None:
        settings = replace(SMALL, seed=4711)
        status, answer, _ = client.send("POST", "/step", {"settings": asdict(settings), "k": 2})
        assert status == 200
        assert answer["step"] == client.fit(settings, 2)["step"]

    def test_steps_beyond_the_path_are_its_last_one(self, client) -> None:
        assert client.fit(SMALL, 200)["step"]["k"] == 10
        assert client.fit(SMALL, 0)["step"]["coef"] == []

    @pytest.mark.parametrize("dictionary", PLACED)
    def test_atoms_say_where_they_are(self, client, dictionary) -> None:
        answer = client.fit(replace(SMALL, dictionary=dictionary), 10)
        atoms, model = answer["atoms"], Fit(replace(SMALL, dictionary=dictionary), lambda: False)
        assert len(atoms["rows"]) == len(answer["step"]["coef"]) == 10
        places = np.array(atoms["rows"])
        assert atoms["kind"] == ("points" if dictionary in ("gauss", "polynomial") else "lines")
        if atoms["kind"] == "points":
            # They are centred at training points.
            gaps = np.abs(places[:, None] - points_of(answer)).max(axis=2).min(axis=1)
            np.testing.assert_allclose(gaps, 0.0, atol=1e-9)
        else:
            normals, offsets = places[:, :2], places[:, 2:]
            points = -normals * offsets / (normals**2).sum(axis=1, keepdims=True)
            found = np.diag(model.classifier.model_.columns(points))
            np.testing.assert_allclose(found, {"relu": 0.0, "sigmoid": 0.5}[dictionary], atol=1e-12)

    @pytest.mark.parametrize(
        ("dictionary", "data"),
        [
            pytest.param(*pair, marks=[] if i in (0, 4, 8, 9) else [pytest.mark.slow])
            for i, pair in enumerate(product(PLACED, CHECKS["data"].names))
        ],
    )
    def test_atoms_lie_where_other_pictures_show_them(self, dictionary, data) -> None:
        fit = Fit(replace(SMALL, dictionary=dictionary, data=data), lambda: False)
        shown = DecisionBoundaryDisplay.from_estimator(
            fit.classifier, fit.sample.X, fit.sample.y, ax=Figure().subplots()
        )
        atoms = fit.summary()["atoms"]
        assert atoms["kind"] == ("points" if shown.atoms.kind == "centre" else "lines")
        np.testing.assert_array_equal(atoms["rows"], shown.atoms.places)

    @pytest.mark.parametrize("dictionary", ["auto", "compact"])
    def test_a_preset_shows_the_steps_it_has_chosen(self, client, dictionary) -> None:
        settings = Settings(n_samples=200, dictionary=dictionary, loss="hinge", max_iter=3)
        answer = client.fit(settings)
        X, y = make_simulation(200, random_state=0)
        model = FCGBoostClassifier(dictionary, random_state=0).fit(X, y)
        assert answer["path"]["mark"] == "chosen"
        assert answer["path"]["marked"] == answer["step"]["k"] == model.n_iter_
        assert np.array_equal(answer["step"]["decision"], model.decision_function(grid_of(answer)))
        assert "Chosen on held-out rows." in answer["path"]["status"]

    @pytest.mark.parametrize("dictionary", ["auto", "tree"])
    def test_atoms_of_trees_and_of_several_families_have_no_place(self, client, dictionary) -> None:
        assert client.fit(replace(SMALL, dictionary=dictionary))["atoms"] is None

    @pytest.mark.parametrize("data", samples.TABLES)
    def test_a_table_is_split_and_its_training_labels_flip(self, client, data) -> None:
        answer, table = client.fit(Settings(data=data, level=0.2)), samples.TABLES[data]
        _, target = getattr(datasets, table.load)(return_X_y=True)
        n = np.isin(target, table.codes).sum()
        flips = np.array(answer["points"]["flipped"])
        assert len(flips) + answer["path"]["n_test"] == n
        assert answer["path"]["n_test"] == -(-n // 3)
        assert answer["flipped"] == flips.mean() == pytest.approx(0.2, abs=0.1)
        assert (answer["bayes"], answer["truth"]) == (None, None)
        assert answer["labels"] == list(table.labels)
        assert answer["axes"] == ["first principal component", "second principal component"]
        clean = client.fit(Settings(data=data, noise="none"))
        assert clean["flipped"] == 0.0
        assert min(clean["path"]["test"]) < 0.15

    def test_flipped_labels_are_marked(self, client) -> None:
        answer = client.fit(replace(SMALL, noise="uniform", level=0.25))
        clean = make_simulation(100, noise=None, random_state=0)[1]
        flipped = 2.0 * np.array(answer["points"]["c"]) - 1.0 != clean
        assert answer["points"]["flipped"] == flipped.tolist()
        assert answer["flipped"] == flipped.mean() > 0.1
        assert client.fit(replace(SMALL, noise="none"))["flipped"] == 0.0

    @pytest.mark.parametrize("data", ["simulation", "moons", "rings"])
    def test_the_best_rule_is_better_than_any_fit(self, client, data) -> None:
        settings = Settings(data=data, noise="none", n_samples=1000, width=0.3)
        answer = client.fit(settings)
        assert answer["bayes"] <= min(answer["path"]["test"])
        assert answer["bayes"] <= 0.02
        assert min(answer["path"]["test"]) <= answer["bayes"] + 0.02
        # What is drawn is the same rule.
        drawn = np.sign(answer["truth"]) == np.sign(samples.truth(data, grid_of(answer)))
        assert drawn.mean() > 0.999

    @pytest.mark.parametrize("data", CHECKS["data"].names)
    def test_the_frame_shows_all_but_a_few_points(self, data) -> None:
        sample = samples.draw(Settings(data=data, n_samples=2000, noise="none"))
        low, high = np.array([side[[0, -1]] for side in samples.sides(data)]).T
        outside = (np.clip(sample.X, low, high) != sample.X).any(axis=1)
        assert outside.mean() < 0.005

    def test_scheme_loss_and_constant_reach_the_classifier(self) -> None:
        settings = Settings(loss="square", scheme="rescaled", fit_intercept=False, degree=5)
        classifier = make_classifier(replace(settings, dictionary="polynomial"))
        assert (classifier.loss, classifier.scheme) == ("square", "rescaled")
        assert classifier.fit_intercept is False
        assert classifier.dictionary.degree == 5

    def test_a_fit_that_takes_too_long_is_cut_and_says_so(self, monkeypatch) -> None:
        monkeypatch.setattr(fits, "SECONDS", 0.0)
        fit = Fit(SMALL, lambda: False)
        summary = fit.summary()
        assert fit.n_steps == 1
        assert summary["path"]["is_cut"]
        assert "stopped after 1 step:" in summary["path"]["status"]
        assert np.array_equal(fit.step(1)["decision"], run_code(fit, 1))

    @pytest.mark.parametrize(
        ("change", "is_advised"),
        [
            *(({"l2": 0}, True), ({"l2": 10.0}, False), ({"l2": "auto"}, False)),
            ({"l2": 0, "scheme": "epsilon"}, False),
        ],
    )
    def test_a_ridge_is_advised_where_there_is_none(self, monkeypatch, change, is_advised) -> None:
        monkeypatch.setattr(fits, "SECONDS", 0.0)
        status = Fit(replace(SMALL, **change), lambda: False).summary()["path"]["status"]
        assert ("ridge" in status) == is_advised
        assert "a shorter path." in status


def points_of(answer: Any) -> np.ndarray:
    return np.column_stack([answer["points"]["x"], answer["points"]["y"]])


def run_code(fit: Fit, k: int) -> np.ndarray:
    """Run the Python that a page shows, and give its model's decision values."""
    space: dict[str, Any] = {}
    exec(fit.code(k), space)
    assert np.array_equal(space["X_test"], fit.sample.X_test)
    assert np.array_equal(space["y_test"], fit.sample.y_test)
    return space["clf"].decision_function(fit.grid)


class TestCode:
    @pytest.mark.parametrize(
        "change",
        [
            {},
            pytest.param({"noise": "none"}, marks=pytest.mark.slow),
            {"noise": "outlier", "level": 0.4, "seed": 3},
            {"data": "moons", "level": 0.1, "seed": 9},
            pytest.param({"data": "moons", "noise": "none"}, marks=pytest.mark.slow),
            {"data": "rings", "level": 0.35},
            {"dictionary": "polynomial", "degree": 4, "l2": 0.0018},
            pytest.param({"dictionary": "polynomial"}, marks=pytest.mark.slow),
            {"dictionary": "sigmoid", "loss": "square", "fit_intercept": False},
            {"dictionary": "relu", "loss": "hinge", "l2": 1},
            {"width": 0.17, "loss": "cubed_hinge", "l2": 0, "max_iter": 25},
            {"data": "cancer", "dictionary": "auto", "level": 0.1},
            {"data": "wine", "dictionary": "compact", "noise": "none"},
            {"data": "digits", "dictionary": "tree", "seed": 5},
            *({"scheme": scheme} for scheme in CHECKS["scheme"].names),
        ],
        ids=str,
    )
    def test_the_code_that_is_shown_gives_the_same_model(self, change, capsys) -> None:
        fit = Fit(replace(Settings(n_samples=100), **change), lambda: False)
        k = fit.n_steps // 2
        assert np.array_equal(fit.step(k)["decision"], run_code(fit, k))
        score, n_atoms = capsys.readouterr().out.split()
        assert float(score) == pytest.approx(1.0 - fit.summary()["path"]["test"][k])
        assert int(n_atoms) == len(fit.step(k)["coef"])

    def test_its_lines_are_short_and_in_order(self) -> None:
        code = Fit(
            Settings(
                n_samples=100, data="moons", loss="cubed_hinge", scheme="rescaled", l2=0.0018,
                fit_intercept=False, max_iter=200,
            ),
            lambda: False,
        ).code(3)  # fmt: skip
        assert max(map(len, code.splitlines())) <= 90
        imports = [line for line in code.splitlines() if "import" in line]
        assert imports == [
            "import numpy as np",
            "from sklearn.datasets import make_moons",
            "from fcgboost import FCGBoostClassifier, GaussDictionary",
        ]


@pytest.fixture(scope="module")
def controls() -> "Page":
    page = Page()
    page.feed((files("fcgboost.web") / "playground.html").read_text("utf-8"))
    return page


class TestControls:
    """The controls of the page, read from its text."""

    def test_every_setting_has_a_control_with_a_label(self, controls) -> None:
        assert set(CHECKS) <= set(controls.inputs)
        assert set(controls.inputs) - {"steps"} <= controls.labels | controls.wrapped

    def test_choices_are_those_that_the_server_takes(self, controls) -> None:
        for name, check in CHECKS.items():
            if isinstance(check, Choice) and name != "fit_intercept":
                assert tuple(controls.options[name]) == check.names

    def test_names_are_those_of_the_package(self) -> None:
        for family in ("loss", "scheme"):
            assert set(CHECKS[family].names) == set(FAMILIES[family][1])
        # The page shows the presets, the paper's dictionaries and trees.
        assert set(CHECKS["dictionary"].names) == {"auto", "compact", "tree", *PLACED}
        assert set(CHECKS["dictionary"].names) < set(FAMILIES["dictionary"][1])

    def test_the_script_knows_presets_and_tables(self) -> None:
        script = (files("fcgboost.web") / "controls.js").read_text("utf-8")
        for name, known in (("PRESETS", PRESETS), ("TABLES", samples.TABLES)):
            assert f"const {name} = {json.dumps(list(known))};" in script

    @pytest.mark.parametrize("name", ["level", "n_samples", "degree", "seed"])
    def test_ranges_lie_within_those_of_the_server(self, controls, name) -> None:
        low, high = (float(controls.inputs[name][end]) for end in ("min", "max"))
        check = CHECKS[name]
        assert check.low <= low < high == check.high

    def test_lengths_of_the_path_are_taken(self, controls) -> None:
        auto, *lengths = controls.options["max_iter"]
        assert auto == "auto"
        assert all(CHECKS["max_iter"].accepts(int(length)) for length in lengths)


class TestStyle:
    def test_no_rule_stands_twice_and_every_class_is_used(self) -> None:
        texts = {
            one.name: one.read_text("utf-8")
            for one in files("fcgboost.web").iterdir()
            if one.is_file()
        }
        css = re.sub(r"/\*.*?\*/", "", texts.pop("style.css"))
        rules = re.findall(r"^([^\s@}][^{]*?) \{", css, re.MULTILINE)
        assert len(rules) > 100
        assert [rule for rule in rules if rules.count(rule) > 1] == []
        classes = set(re.findall(r"\.([a-z][\w-]*)", " ".join(rules)))
        words = set(re.findall(r"[\w-]+", "".join(texts.values())))
        assert classes - words == set()


class Page(HTMLParser):
    """The controls of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.options: dict[str, list[str]] = {}
        self.labels: set[str] = set()
        #: Controls that stand inside their label.
        self.wrapped: set[str] = set()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("input", "select"):
            self.inputs[given["id"]] = given
            if "label" in self._open:
                self.wrapped.add(given["id"])
        if tag == "select":
            self.options[given["id"]] = []
        if tag == "option":
            self.options[list(self.options)[-1]].append(given["value"])
        if tag == "label" and "for" in given:
            self.labels.add(given["for"])
        if tag == "label":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "label":
            self._open.pop()
