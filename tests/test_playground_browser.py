"""The playground in a browser: every control is moved, and what is drawn is what Python fits."""

import json
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_circles,
    make_moons,
)
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from suites.browsers import browser, open_page

from fcgboost import FCGBoostClassifier, GaussDictionary, PolynomialDictionary, theory_steps
from fcgboost.colors import CLASS_COLORS
from fcgboost.datasets import make_simulation
from fcgboost.web import Playground, fits

pytestmark = pytest.mark.extras

# Two samplings of the same surface differ by less; a hair of the boundary's halo does not.
COLOR_STEPS = 8
PIXELS = """places => {
  const canvas = document.getElementById("plane"), pen = canvas.getContext("2d");
  const box = window.fcgboost.box(), ratio = canvas.width / canvas.clientWidth;
  return places.map(([up, right]) => {
    const left = Math.round(ratio * (box.left + right * (box.right - box.left)));
    const top = Math.round(ratio * (box.bottom + up * (box.top - box.bottom)));
    return Array.from(pen.getImageData(left, top, 1, 1).data.slice(0, 3));
  });
}"""

# Every visible text with the contrast of WCAG between it and the ground it stands on.
CONTRASTS = """() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    const color = channels(getComputedStyle(element).backgroundColor);
    return color.length === 4 && color[3] === 0 ? ground(element.parentElement) : color;
  };
  const own = (element) => [...element.childNodes]
    .filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join(" ");
  const isShown = (element) => own(element) && element.checkVisibility({ checkVisibilityCSS: true })
    && !element.closest(".off, :disabled, script, style, noscript, head, title, option");
  return [...document.querySelectorAll("*")].filter(isShown).map((element) => {
    const style = getComputedStyle(element);
    const front = luminance(channels(element.closest("svg") ? style.fill : style.color));
    const back = luminance(ground(element));
    return [own(element), (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05)];
  });
}"""


class Visitor:
    """Someone who looks at the page and moves its controls."""

    def __init__(self, page: Any, errors: list[str]) -> None:
        self.page = page
        self.errors = errors
        self.settle()

    def settle(self) -> Self:
        """Wait until all that was asked for is drawn."""
        self.page.wait_for_function(
            """() => {
              const state = window.fcgboost?.state();
              return state && !state.isBusy && state.redraws > 0
                && JSON.stringify(state.settings) === JSON.stringify(state.wanted);
            }"""
        )
        return self

    @property
    def state(self) -> dict[str, Any]:
        """What is on the screen."""
        return self.page.evaluate("window.fcgboost.state()")

    def wait_for(self, condition: str) -> Self:
        """Wait until the state of the page fulfils a condition."""
        # As a function: the page's policy forbids to evaluate text.
        holds = f"const s = window.fcgboost.state(); return {condition};"
        self.page.wait_for_function(f"() => {{ {holds} }}")
        return self.settle()

    def choose(self, control: str, value: str) -> Self:
        self.page.select_option(f"#{control}", value)
        return self.settle()

    def press(self, control: str, key: str, times: int = 1) -> Self:
        self.page.focus(f"#{control}")
        for _ in range(times):
            self.page.keyboard.press(key)
        return self.settle()

    def click(self, control: str) -> Self:
        self.page.click(f"#{control}")
        return self.settle()


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch, Playground() as playground, browser() as chromium:
        patch.setattr(fits, "SECONDS", 60.0)  # a busy machine is no reason to cut a path
        yield chromium, playground


def invite(opened: Any, fragment: str = "", **options: Any) -> tuple[Any, list[str]]:
    """Open the page in a new profile, as the printed address does."""
    chromium, playground = opened
    return open_page(chromium, playground.invite() + fragment, **options)


@pytest.fixture(scope="module")
def only_visitor(opened: Any) -> Visitor:
    return Visitor(*invite(opened))


@pytest.fixture
def visitor(only_visitor: Visitor) -> Iterator[Visitor]:
    """Give the visitor of one page that all tests share, at its first settings."""
    only_visitor.page.keyboard.press("Escape")
    yield only_visitor.click("reset")
    assert only_visitor.errors == []


def draw_data(settings: dict[str, Any]) -> tuple[Any, Any]:
    """Draw a sample as the documentation of the page says, with nothing of its code."""
    m, seed, level = settings["n_samples"], settings["seed"], settings["level"]
    if settings["data"] == "simulation":
        noise = None if settings["noise"] == "none" else settings["noise"]
        return make_simulation(m, noise=noise, level=level, ratio=level, random_state=seed)
    tables = {
        "cancer": (load_breast_cancer, 0, 1),
        "wine": (load_wine, 0, 1),
        "digits": (load_digits, 3, 8),
    }
    if settings["data"] in tables:
        load, first, second = tables[settings["data"]]
        rows, target = load(return_X_y=True)
        is_one = (target == first) | (target == second)
        rows, target = rows[is_one], target[is_one]
        X = PCA(2).fit_transform(StandardScaler().fit_transform(rows))
        options = {"test_size": 1 / 3, "stratify": target, "random_state": seed}
        X, _, label, _ = train_test_split(X, target == second, **options)
        m = len(X)
    elif settings["data"] == "moons":
        X, label = make_moons(m, noise=0.15, random_state=seed)
    else:
        X, label = make_circles(m, noise=0.12, factor=0.5, random_state=seed)
    y = 2.0 * label - 1.0
    if settings["noise"] == "uniform":
        y[np.random.default_rng(seed).uniform(size=m) < level] *= -1.0
    return X, y


def fit_again(settings: dict[str, Any]) -> FCGBoostClassifier:
    """Fit the settings of a page."""
    parts = {
        "gauss": GaussDictionary(width=settings["width"]),
        "polynomial": PolynomialDictionary(degree=settings["degree"]),
    }
    names = ("loss", "scheme", "l2", "fit_intercept", "max_iter")
    if settings["dictionary"] in ("auto", "compact"):
        names = ()
    classifier = FCGBoostClassifier(
        parts.get(settings["dictionary"], settings["dictionary"]),
        random_state=settings["seed"],
        **{name: settings[name] for name in names},
    )
    return classifier.fit(*draw_data(settings))


def grid_of(state: dict[str, Any]) -> Any:
    grid = state["grid"]
    return np.stack(np.meshgrid(grid["xs"], grid["ys"]), axis=-1).reshape(-1, 2)


def check_drawn(visitor: Visitor, k: int | None = None, **expected: Any) -> None:
    """Check that a page draws the decision values of its settings, and that these are expected."""
    state = visitor.state
    assert {name: state["settings"][name] for name in expected} == expected
    assert k is None or state["k"] == k
    model = fit_again(state["settings"]).truncate(state["k"])
    np.testing.assert_allclose(
        state["decision"], model.decision_function(grid_of(state)), rtol=0.0, atol=1e-6
    )
    assert len(state["coef"]) == model.n_atoms_


class TestEveryControl:
    def test_the_page_opens_with_the_package_s_values_at_k0(self, visitor) -> None:
        check_drawn(visitor, theory_steps(500), data="simulation", n_samples=500, l2="auto")

    @pytest.mark.parametrize("data", ["moons", "rings"])
    def test_data(self, visitor, data) -> None:
        check_drawn(visitor.choose("data", data), data=data, noise="uniform")

    @pytest.mark.parametrize("noise", ["none", "outlier"])
    def test_noise(self, visitor, noise) -> None:
        check_drawn(visitor.choose("noise", noise), noise=noise)

    def test_level(self, visitor) -> None:
        check_drawn(visitor.press("level", "ArrowLeft", 5), level=0.25)
        check_drawn(visitor.press("level", "End"), level=0.5)
        check_drawn(visitor.press("level", "Home"), level=0)

    def test_samples(self, visitor) -> None:
        check_drawn(visitor.press("n_samples", "ArrowRight", 2), n_samples=700)
        check_drawn(visitor.press("n_samples", "Home"), n_samples=100)

    def test_seed_and_new_sample(self, visitor) -> None:
        visitor.page.fill("#seed", "41")
        check_drawn(visitor.settle(), seed=41)
        check_drawn(visitor.click("new-sample"), seed=42)

    @pytest.mark.parametrize("data", ["cancer", "wine", "digits"])
    def test_a_real_table(self, visitor, data) -> None:
        check_drawn(visitor.choose("data", data), data=data)
        page = visitor.page
        assert "principal components" in page.inner_text("#about-data")
        assert page.is_disabled("#n_samples")
        assert not page.is_visible("#show-truth")
        assert "clean rows" in page.inner_text("#bayes")
        visitor.choose("data", "simulation")
        assert not page.is_visible("#about-data")
        assert page.is_visible("#show-truth")

    @pytest.mark.parametrize("dictionary", ["auto", "compact"])
    def test_a_preset(self, visitor, dictionary) -> None:
        check_drawn(visitor.choose("dictionary", dictionary), dictionary=dictionary)
        page, state = visitor.page, visitor.state
        assert page.inner_text("#theory") == f"chosen = {state['k']}"
        assert page.is_visible("#about-preset")
        for control in ("loss", "scheme", "l2", "max_iter", "fit_intercept"):
            assert not page.is_visible(f"#{control}")
        visitor.choose("dictionary", "gauss")
        assert page.is_visible("#loss")

    @pytest.mark.parametrize("dictionary", ["polynomial", "sigmoid", "relu", "tree"])
    def test_dictionary(self, visitor, dictionary) -> None:
        check_drawn(visitor.choose("dictionary", dictionary), dictionary=dictionary)

    def test_width(self, visitor) -> None:
        check_drawn(visitor.press("width", "ArrowLeft", 4), width=0.32)
        check_drawn(visitor.press("width", "End"), width=5)
        check_drawn(visitor.press("width", "Home"), width=0.05)

    def test_degree(self, visitor) -> None:
        visitor.choose("dictionary", "polynomial")
        check_drawn(visitor.press("degree", "ArrowRight"), degree=4)
        check_drawn(visitor.press("degree", "End"), degree=8)
        check_drawn(visitor.press("degree", "Home"), degree=1)

    @pytest.mark.parametrize("loss", ["hinge", "cubed_hinge", "square"])
    def test_loss(self, visitor, loss) -> None:
        visitor.press("n_samples", "Home")
        check_drawn(visitor.choose("loss", loss), loss=loss)

    @pytest.mark.parametrize(
        "scheme", ["original", "shrinkage", "truncation", "epsilon", "rescaled"]
    )
    def test_scheme(self, visitor, scheme) -> None:
        check_drawn(visitor.choose("scheme", scheme), scheme=scheme)

    def test_ridge(self, visitor) -> None:
        check_drawn(visitor.press("l2", "ArrowRight", 3), l2=0.01)
        check_drawn(visitor.click("l2-auto"), l2="auto")
        check_drawn(visitor.click("l2-auto"), l2=0.0018)
        check_drawn(visitor.press("l2", "Home"), l2=0)
        check_drawn(visitor.press("l2", "End"), l2=10)

    def test_constant(self, visitor) -> None:
        check_drawn(visitor.click("fit_intercept"), fit_intercept=False)
        check_drawn(visitor.click("fit_intercept"), fit_intercept=True)

    def test_length_of_the_path(self, visitor) -> None:
        check_drawn(visitor.choose("max_iter", "100"), max_iter=100)
        assert len(visitor.state["path"]["test"]) == 101

    def test_steps_by_keys(self, visitor) -> None:
        for key, k in (("ArrowRight", 10), ("End", 45), ("Home", 0), ("ArrowRight", 1)):
            check_drawn(visitor.press("steps", key), k)

    def test_steps_by_mouse(self, visitor) -> None:
        box = visitor.page.locator("#steps").bounding_box()
        visitor.page.mouse.click(box["x"] + 8 + (box["width"] - 16) * 20 / 45, box["y"] + 11)
        check_drawn(visitor.settle(), 20)

    def test_steps_by_dragging_on_the_path(self, visitor) -> None:
        box = visitor.page.locator("#path").bounding_box()
        visitor.page.mouse.move(box["x"] + 60, box["y"] + 50)
        visitor.page.mouse.down()
        visitor.page.mouse.move(box["x"] + box["width"] - 13, box["y"] + 70, steps=12)
        visitor.page.mouse.up()
        check_drawn(visitor.settle(), 45)
        check_drawn(visitor.click("theory"), theory_steps(500))

    def test_play_goes_to_the_end_and_stops(self, visitor) -> None:
        visitor.choose("max_iter", "25")
        visitor.press("steps", "End")
        visitor.press("steps", "ArrowLeft", 4)
        visitor.page.click("#play")
        visitor.wait_for("s.k === 25")
        visitor.page.wait_for_selector("#play[aria-label^=Play]")
        check_drawn(visitor, 25)

    def test_several_at_once(self, visitor) -> None:
        visitor.choose("data", "rings")
        visitor.choose("dictionary", "sigmoid")
        visitor.choose("scheme", "original")
        visitor.choose("loss", "square")
        visitor.press("n_samples", "ArrowLeft", 2)
        visitor.press("steps", "ArrowRight", 7)
        chosen = {"data": "rings", "dictionary": "sigmoid", "scheme": "original", "loss": "square"}
        check_drawn(visitor, theory_steps(300) + 7, **chosen)

    def test_reset(self, visitor) -> None:
        first = visitor.state
        visitor.choose("data", "moons")
        visitor.press("steps", "End")
        again = visitor.click("reset").state
        assert again["settings"] == first["settings"]
        assert again["decision"] == first["decision"]
        assert visitor.page.url.endswith("/")


class TestWhatIsDrawn:
    def test_the_colours_are_those_of_the_decision_values(self, visitor) -> None:
        for control in ("show-points", "show-atom", "show-truth"):
            visitor.page.uncheck(f"#{control}")
        state = visitor.press("steps", "End").state
        size, values = len(state["grid"]["xs"]), np.array(state["decision"])
        table = values.reshape(size, size)
        places = [
            (i, j)
            for i in range(4, size - 4, 5)
            for j in range(4, size - 4, 5)
            # Not under the line that is drawn where the sign changes.
            if abs(np.sign(table[i - 3 : i + 4, j - 3 : j + 4]).sum()) == 49
        ]
        assert len(places) > 150
        found = visitor.page.evaluate(PIXELS, [[i / (size - 1), j / (size - 1)] for i, j in places])
        for control in ("show-points", "show-atom", "show-truth"):
            visitor.page.check(f"#{control}")
        drawn = np.array([table[place] for place in places])[:, None]
        first, second = (tuple(bytes.fromhex(color[1:])) for color in CLASS_COLORS)
        colors = np.where(drawn < 0.0, first, second)
        expected = 255.0 + 0.5 * np.minimum(1.0, abs(drawn)) * (colors - 255.0)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=COLOR_STEPS)

    def test_what_is_hidden_is_not_drawn(self, visitor) -> None:
        picture = "document.getElementById('plane').toDataURL()"
        pictures = [visitor.page.evaluate(picture)]
        for control in ("show-points", "show-atom", "show-truth"):
            visitor.page.uncheck(f"#{control}")
            pictures.append(visitor.page.evaluate(picture))
        assert len(set(pictures)) == 4
        for control in ("show-points", "show-atom", "show-truth"):
            visitor.page.check(f"#{control}")
        assert visitor.page.evaluate(picture) == pictures[0]

    def test_scores_are_those_of_the_path(self, visitor) -> None:
        state = visitor.press("steps", "ArrowRight", 3).state
        path, k, text = state["path"], state["k"], visitor.page.inner_text
        assert text("#test-error") == f"{100 * path['test'][k]:.1f}\u202f%"
        assert text("#training-error") == f"{100 * path['training'][k]:.1f}\u202f%"
        assert text("#n-atoms") == str(len(state["coef"]))
        assert text("#steps-value") == f"{k} of {len(path['test']) - 1}"
        assert text("#theory") == f"theory: k₀ = {theory_steps(500)}"

    def test_the_readout_is_the_decision_value_under_the_pointer(self, visitor) -> None:
        box = visitor.page.locator("#plane").bounding_box()
        visitor.page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.3 * box["height"])
        state = visitor.state
        (value,) = (
            fit_again(state["settings"]).truncate(state["k"]).decision_function([state["cursor"]])
        )
        text = visitor.page.inner_text("#readout").replace("−", "-")
        assert text.startswith("x = (0.69, 0.7")
        assert float(text.split("f = ")[1].split(",")[0]) == pytest.approx(value, abs=0.006)
        assert ("label +1" in text) == (value > 0)
        visitor.page.mouse.move(5, 5)
        assert "Point at the plane" in visitor.page.inner_text("#readout")

    def test_the_readout_follows_the_arrow_keys(self, visitor) -> None:
        visitor.press("plane", "ArrowUp", 10)
        high = visitor.state["cursor"]
        visitor.press("plane", "ArrowDown", 20)
        low = visitor.state["cursor"]
        assert high[0] == low[0] == 0.5
        assert high[1] == pytest.approx(0.604)
        assert low[1] == pytest.approx(0.396)
        assert "label −1" in visitor.page.inner_text("#readout")


class TestControlsThatMeanNothing:
    def test_they_are_disabled(self, visitor) -> None:
        page = visitor.page
        visitor.choose("dictionary", "relu")
        assert not page.is_visible("#width")
        visitor.choose("dictionary", "polynomial")
        assert page.is_visible("#degree")
        assert not page.is_visible("#width")
        visitor.choose("dictionary", "gauss")
        assert page.is_enabled("#width")
        assert not page.is_visible("#degree")
        visitor.choose("scheme", "epsilon")
        assert page.is_disabled("#l2")
        assert page.is_disabled("#l2-auto")
        visitor.choose("noise", "none")
        assert page.is_disabled("#level")

    def test_outliers_are_of_the_simulation_only(self, visitor) -> None:
        visitor.choose("noise", "outlier")
        check_drawn(visitor.choose("data", "moons"), noise="uniform")
        assert visitor.page.locator("#noise option[value=outlier]").is_disabled()

    @pytest.mark.parametrize("seed", ["", "-3", "12345", "1.5"])
    def test_a_seed_that_is_none_is_said_and_waited_for(self, visitor, seed) -> None:
        page, before = visitor.page, visitor.state["redraws"]
        page.fill("#seed", seed)
        assert page.get_attribute("#seed", "aria-invalid") == "true"
        assert "whole number from 0 to 9999" in page.inner_text("#seed-trouble")
        assert "pictures are of seed 0" in page.inner_text("#seed-trouble")
        page.wait_for_timeout(100)
        assert visitor.state["redraws"] == before
        page.focus("#steps")
        page.keyboard.press("ArrowRight")
        visitor.page.wait_for_function("() => !window.fcgboost.state().isBusy")
        assert "seed" not in page.url
        page.fill("#seed", "3")
        check_drawn(visitor.settle(), seed=3)
        assert page.get_attribute("#seed", "aria-invalid") == "false"
        assert not page.is_visible("#seed-trouble")


class TestAddress:
    def test_the_token_is_not_in_it(self, visitor, opened) -> None:
        token = visitor.page.evaluate("localStorage.getItem('fcgboost-token')")
        assert len(token) > 30
        assert opened[1].url + "#" == visitor.choose("data", "rings").page.url.partition("data")[0]
        assert token not in visitor.page.content()

    def test_it_holds_the_settings_and_gives_them_back(self, visitor, opened) -> None:
        visitor.choose("data", "moons")
        visitor.choose("dictionary", "polynomial")
        visitor.press("l2", "Home")
        visitor.press("n_samples", "Home")
        state = visitor.press("steps", "ArrowRight").state
        fragment = visitor.page.url.partition("#")[2]
        assert fragment == "data=moons&n_samples=100&dictionary=polynomial&l2=0&k=6"
        other = Visitor(*invite(opened, f"#{fragment}"))
        assert other.state["settings"] == state["settings"]
        assert other.state["decision"] == state["decision"]
        other.page.context.close()

    def test_a_new_fragment_is_heard_and_nonsense_is_left_out(self, visitor) -> None:
        visitor.page.evaluate(
            "location.hash = '#loss=square&level=abc&data=iris&x=1&max_iter=7&k=3&seed=2'"
        )
        visitor.wait_for("s.settings.loss === 'square'")
        check_drawn(visitor, 3, level=0.3, data="simulation", max_iter="auto", seed=2)
        notice = visitor.page.inner_text("#notice")
        for part in ("x is no setting", "level=abc became 0.3", "data=iris became simulation"):
            assert part in notice
        assert "max_iter=7 became auto" in notice
        assert "seed" not in notice
        assert "k=" not in notice

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            ("seed=99999", {"seed": 9999}),
            ("seed=-1", {"seed": 0}),
            ("level=7", {"level": 0.5}),
            ("width=100", {"width": 5}),
            ("width=-1", {"width": 0.05}),
            ("n_samples=1", {"n_samples": 100}),
            ("n_samples=777", {"n_samples": 800}),
            ("l2=1e9", {"l2": 10}),
            ("fit_intercept=no", {"fit_intercept": True}),
            ("constructor=1", {}),
            ("k=500", {}),
        ],
    )
    def test_what_no_control_can_have_is_changed_and_said(self, visitor, said, expected) -> None:
        visitor.page.evaluate(f"location.hash = '#dictionary=gauss&loss=square&{said}'")
        visitor.wait_for("s.settings.loss === 'square'")
        check_drawn(visitor, **expected)
        notice = visitor.page.inner_text("#notice")
        assert said.partition("=")[0] in notice
        assert "loss" not in notice
        visitor.choose("loss", "squared_hinge")
        assert not visitor.page.is_visible("#notice")

    def test_outliers_of_another_set_are_said(self, visitor) -> None:
        visitor.page.evaluate("location.hash = '#data=moons&noise=outlier'")
        visitor.wait_for("s.settings.data === 'moons'")
        assert "noise=outlier became uniform" in visitor.page.inner_text("#notice")

    def test_the_page_can_be_loaded_again(self, visitor) -> None:
        state = visitor.choose("loss", "cubed_hinge").state
        visitor.page.reload()
        visitor.page.wait_for_selector("body[data-redraws]")
        assert visitor.settle().state["decision"] == state["decision"]

    def test_a_bookmark_opens_in_a_new_tab(self, visitor, opened) -> None:
        state = visitor.choose("data", "rings").state
        tab = visitor.page.context.new_page()
        tab.goto(visitor.page.url)
        assert Visitor(tab, []).state["decision"] == state["decision"]
        tab.close()

    def test_an_address_that_was_used_opens_where_it_was_used_only(self, opened) -> None:
        chromium, playground = opened
        address = playground.invite()
        page, _ = open_page(chromium, address)
        Visitor(page, [])
        page.goto(address)
        Visitor(page, [])
        page.context.close()
        stranger, errors = open_page(chromium, address)
        stranger.wait_for_selector("#refused:visible")
        assert not stranger.is_visible("main")
        assert all("403" in error for error in errors)
        stranger.context.close()
        for messages in chromium.errors[-2:]:
            messages.clear()

    def test_a_stranger_is_told_what_to_do(self, opened) -> None:
        chromium, playground = opened
        page, _ = open_page(chromium, playground.url)
        page.wait_for_selector("#refused:visible")
        assert "printed in the terminal" in page.inner_text("#refused")
        assert not page.is_visible("main")
        assert not page.is_visible(".actions")
        page.context.close()

    def test_a_token_of_an_earlier_playground_is_refused(self, opened) -> None:
        page, errors = invite(opened)
        Visitor(page, [])
        page.evaluate("localStorage.setItem('fcgboost-token', 'old')")
        page.reload()
        page.wait_for_selector("#refused:visible")
        assert "403" in errors.pop()
        page.goto(opened[1].invite())
        Visitor(page, [])
        page.context.close()


class TestCode:
    def test_the_code_that_is_shown_gives_what_is_drawn(self, visitor, capsys) -> None:
        visitor.choose("data", "moons")
        visitor.press("width", "ArrowLeft", 4)
        state = visitor.press("steps", "ArrowRight", 6).state
        visitor.page.click("#show-code")
        space: dict[str, Any] = {}
        exec(visitor.page.inner_text("#code-text"), space)
        assert np.array_equal(space["clf"].decision_function(grid_of(state)), state["decision"])
        score = float(capsys.readouterr().out.split()[0])
        assert score == pytest.approx(1.0 - state["path"]["test"][state["k"]])

    def test_it_can_be_copied(self, visitor) -> None:
        visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        visitor.page.click("#show-code")
        visitor.page.click("#copy")
        visitor.page.wait_for_selector("#copied:not(:empty)")
        copied = visitor.page.evaluate("navigator.clipboard.readText()")
        assert copied == visitor.page.text_content("#code-text")
        visitor.page.click("#close-code")
        assert not visitor.page.is_visible("#code")


class TestHaste:
    def test_of_many_moves_the_last_one_counts(self, visitor) -> None:
        visitor.page.focus("#level")
        for key in ["ArrowRight"] * 15 + ["ArrowLeft"] * 20:
            visitor.page.keyboard.press(key)
        check_drawn(visitor.settle(), level=0.25)

    def test_steps_that_move_during_a_fit_are_not_lost(self, visitor) -> None:
        visitor.page.select_option("#dictionary", "relu")
        visitor.page.focus("#steps")
        for _ in range(5):
            visitor.page.keyboard.press("ArrowRight")
        visitor.page.select_option("#loss", "square")
        check_drawn(visitor.settle(), theory_steps(500) + 5, dictionary="relu", loss="square")

    def test_a_fit_that_takes_long_is_left_for_a_newer_one(self, visitor) -> None:
        slow = "#n_samples=2000&max_iter=200&l2=0&loss=hinge"
        visitor.page.evaluate(f"location.hash = '{slow}'")
        visitor.page.wait_for_selector("body[data-busy=true]")
        visitor.page.select_option("#loss", "square")
        visitor.page.select_option("#dictionary", "sigmoid")
        check_drawn(visitor.settle(), loss="square", dictionary="sigmoid")

    def test_two_pages_do_not_disturb_each_other(self, visitor, opened) -> None:
        other = Visitor(*invite(opened))
        visitor.page.select_option("#data", "rings")
        other.page.select_option("#data", "moons")
        check_drawn(other.settle(), data="moons")
        check_drawn(visitor.settle(), data="rings")
        assert other.errors == []
        other.page.context.close()

    def test_slow_fits_of_two_pages_both_finish(self, visitor, opened) -> None:
        pages = [visitor.page, invite(opened)[0]]
        for seed, page in enumerate(pages, 501):
            # The hinge takes far longer than a page is patient with its own fits.
            hash = f"#n_samples=500&loss=hinge&max_iter=100&seed={seed}"
            page.evaluate(f"location.hash = '{hash}'")
        pages[1].wait_for_selector("text=Waiting for a fit")
        for seed, page in enumerate(pages, 501):
            Visitor(page, []).wait_for(f"s.settings.seed === {seed}")
            assert "100 steps in" in page.inner_text("#status")
        pages[1].context.close()

    def test_a_server_that_has_gone_is_said(self, opened) -> None:
        chromium, _ = opened
        with Playground() as playground:
            visitor = Visitor(*open_page(chromium, playground.invite()))
        visitor.page.select_option("#loss", "square")
        visitor.page.wait_for_selector("#status.trouble")
        assert "Is it still running" in visitor.page.inner_text("#status")
        assert all("REFUSED" in error for error in visitor.errors)
        visitor.errors.clear()
        visitor.page.context.close()


class TestSizesAndColours:
    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    @pytest.mark.parametrize("width", [390, 800, 1280, 1920])
    def test_nothing_hangs_over_the_page(self, opened, width, dark) -> None:
        page, _ = invite(opened, width=width, dark=dark)
        visitor = Visitor(page, [])
        visitor.choose("dictionary", "relu")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.click("#show-code")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        is_dark = sum(json.loads(ground.replace("rgb(", "[").replace(")", "]"))) < 3 * 64
        assert is_dark == dark
        page.context.close()

    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    def test_every_text_stands_out_from_its_ground(self, opened, dark) -> None:
        page, _ = invite(opened, "#level=7", dark=dark)
        Visitor(page, [])
        found = page.evaluate(CONTRASTS)
        page.fill("#seed", "")
        page.evaluate("document.getElementById('status').classList.add('trouble')")
        found += page.evaluate(CONTRASTS)
        assert len(found) > 50
        for text in ("training error", "test error", "Changed from the address", "Must be a whole"):
            assert any(text in shown for shown, _ in found), text
        assert [entry for entry in found if entry[1] < 4.5] == []
        page.context.close()

    def test_the_picture_stays_in_sight_on_a_narrow_screen(self, opened) -> None:
        visitor = Visitor(*invite(opened, width=390, height=844))
        visitor.page.locator("#fit_intercept").scroll_into_view_if_needed()
        box = visitor.page.locator("#plane").bounding_box()
        assert box["y"] >= 0.0
        assert box["y"] + box["height"] < 500
        visitor.page.context.close()

    def test_every_control_can_be_reached_by_the_keyboard(self, visitor) -> None:
        page = visitor.page
        controls = set(
            page.eval_on_selector_all(
                "input, select, button, canvas, svg[tabindex]",
                "all => all.filter(e => e.checkVisibility() && !e.disabled).map(e => e.id)",
            )
        )
        page.focus("#new-sample")
        reached = set()
        for _ in range(len(controls) + 5):
            reached.add(page.evaluate("document.activeElement.id"))
            page.keyboard.press("Tab")
        assert controls <= reached
