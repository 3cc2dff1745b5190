"""The playground: an app of marimo that fits a model again whenever a setting changes.

`fcgboost playground` serves it, `python -m fcgboost.playground` runs its cells once, and
`marimo edit` opens a copy of this file to be changed. Cells hold what depends on a setting, and
pass their names on as marimo writes them; everything else is a plain function.
"""

import marimo

app = marimo.App(width="full", app_title="fcgboost playground")

with app.setup:
    from functools import partial
    from typing import NamedTuple

    import marimo as mo
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from sklearn.datasets import make_circles, make_moons

    from fcgboost import FCGBoostClassifier
    from fcgboost.datasets import bayes_boundary, make_simulation
    from fcgboost.plotting import DecisionBoundaryDisplay, PathDisplay, path_error

    Array = NDArray[np.float64]

    N_TEST = 2000
    DATA = {
        "Two moons": "moons",
        "Simulation of the paper": "simulation",
        "Two rings": "rings",
    }
    GENERATORS = {
        "moons": partial(make_moons, noise=0.15),
        "simulation": partial(make_simulation, noise=None),
        "rings": partial(make_circles, noise=0.12, factor=0.5),
    }
    # The first is the quickest of the presets, which choose all settings themselves.
    ATOMS = {
        "Fast": "fast",
        "Default (auto)": "auto",
        "Compact": "compact",
        "Gauss": "gauss",
        "ReLU": "relu",
        "Sigmoid": "sigmoid",
        "Polynomial": "polynomial",
        "Trees": "tree",
    }
    LENGTHS = {"automatic": "auto", "50 steps": 50, "100 steps": 100, "200 steps": 200}


@app.class_definition
class NoisySample(NamedTuple):
    """Training rows with some wrong labels, and test rows with the right ones."""

    X: Array
    y: NDArray[np.intp]
    is_flipped: NDArray[np.bool_]
    X_test: Array
    y_test: NDArray[np.intp]


@app.function
def draw_points(name: str, n: int, seed: int) -> tuple[Array, NDArray[np.intp]]:
    """Generate points with their right labels."""
    X, y = GENERATORS[name](n, random_state=seed)
    return X, (y > 0).astype(np.intp)


@app.function
def draw_sample(name: str, n_samples: int, level: float, seed: int) -> NoisySample:
    """Draw a data set, and flip a share of its training labels."""
    X, clean = draw_points(name, n_samples, seed)
    X_test, y_test = draw_points(name, N_TEST, seed + 1)
    is_flipped = np.random.default_rng(seed).uniform(size=len(clean)) < level
    return NoisySample(X, np.where(is_flipped, 1 - clean, clean), is_flipped, X_test, y_test)


@app.cell
def _():
    controls = mo.ui.dictionary(
        {
            "data": mo.ui.dropdown(DATA, value="Two moons", label="Data"),
            "n_samples": mo.ui.slider(
                50,
                2000,
                50,
                value=500,
                label="Rows",
                debounce=True,
                show_value=True,
            ),
            "level": mo.ui.slider(
                0,
                50,
                5,
                value=30,
                label="Wrong labels, %",
                debounce=True,
                show_value=True,
            ),
            "seed": mo.ui.number(
                0,
                9999,
                value=0,
                label="Random state",
            ),
            "atoms": mo.ui.dropdown(ATOMS, value="Fast", label="Atoms"),
            "length": mo.ui.dropdown(LENGTHS, value="automatic", label="Path"),
        }
    )
    return (controls,)


@app.cell
def _(controls):
    settings = controls.value
    seed = settings["seed"]
    sample = draw_sample(
        settings["data"],
        settings["n_samples"],
        settings["level"] / 100,
        seed,
    )
    classifier = FCGBoostClassifier(
        settings["atoms"], max_iter=settings["length"], random_state=seed
    ).fit(sample.X, sample.y)
    errors = {
        "train": path_error(classifier, sample.X, sample.y),
        "test": path_error(classifier, sample.X_test, sample.y_test),
    }
    true_boundary = bayes_boundary if settings["data"] == "simulation" else None
    return classifier, errors, sample, true_boundary


@app.cell
def _(classifier, errors):
    step = mo.ui.slider(
        1,
        max(2, len(errors["test"])),
        value=max(1, classifier.n_iter_),
        label="Steps",
        show_value=True,
        full_width=True,
    )
    return (step,)


@app.cell
def _(classifier, errors, sample, step):
    k = min(step.value, len(errors["test"]))
    cards = [
        mo.stat(f"{errors['test'][k - 1]:.1%}", label="Test error", caption="right labels"),
        mo.stat(
            f"{errors['train'][k - 1]:.1%}", label="Training error", caption="some labels wrong"
        ),
        mo.stat(f"{sample.is_flipped.mean():.1%}", label="Wrong labels"),
        mo.stat(classifier.truncate(k).n_atoms_, label="Atoms", caption=f"after {k} steps"),
    ]
    return cards, k


@app.cell
def _(classifier, errors, k, sample, true_boundary):
    figure = Figure(figsize=(10.0, 4.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    DecisionBoundaryDisplay.from_estimator(
        classifier,
        sample.X,
        sample.y,
        k=k,
        true_boundary=true_boundary,
        grid_resolution=150,
        ax=left,
    )
    PathDisplay.from_predictions(errors, chosen=dict.fromkeys(errors, k), ax=right)
    return (figure,)


@app.cell
def _(cards, controls, figure, step):
    mo.vstack(
        [
            mo.md("# fcgboost playground"),
            controls.hstack(justify="start", wrap=True),
            mo.hstack(cards, justify="start", wrap=True),
            step,
            figure,
        ]
    )
    return


if __name__ == "__main__":
    app.run()
