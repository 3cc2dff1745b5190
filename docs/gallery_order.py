"""The gallery: its order, from simple to special, and the look of its figures."""

from pathlib import Path
from typing import Any

ORDER = (
    "plot_table",
    "plot_noisy_labels",
    "plot_step_by_step",
    "plot_auto",
    "plot_dictionaries",
    "plot_early_stopping",
    "plot_search",
    "plot_calibration",
    "plot_several_classes",
    "plot_explanations",
    "plot_model_size",
    "plot_regression",
    "plot_sparse_text",
    "plot_losses",
    "plot_schemes",
    "plot_custom_loss",
    "plot_custom_dictionary",
    "plot_custom_scheme",
    "plot_custom_stopping_rule",
)


class ReadingOrder:
    """Sort the examples of the gallery by `ORDER`."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        return ORDER.index(Path(filename).stem)

    def __repr__(self) -> str:
        # Part of what decides whether pages are built again: the same for the same order.
        return f"<ReadingOrder {ORDER}>"


def set_style(gallery_conf: dict[str, Any], filename: str) -> None:
    """Draw large, so that thumbnails can be read."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 13,
            "lines.linewidth": 2,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )
