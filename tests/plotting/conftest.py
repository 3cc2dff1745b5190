"""Models and Axes for all tests of pictures."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fcgboost import FCGBoostClassifier
from tests.suites.pictures import three_classes, two_classes


@pytest.fixture
def model() -> FCGBoostClassifier:
    return two_classes("gauss")


@pytest.fixture
def relu() -> FCGBoostClassifier:
    return two_classes("relu")


@pytest.fixture
def several() -> FCGBoostClassifier:
    return three_classes()


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    yield
    plt.close("all")
