"""The order of the gallery: from the idea to parts of one's own."""

from pathlib import Path

ORDER = (
    "plot_step_by_step",
    "plot_noisy_labels",
    "plot_auto",
    "plot_dictionaries",
    "plot_early_stopping",
    "plot_losses",
    "plot_schemes",
    "plot_admm_and_newton",
    "plot_search",
    "plot_calibration",
    "plot_several_classes",
    "plot_model_size",
    "plot_feature_influence",
    "plot_explanations",
    "plot_sampled_candidates",
    "plot_table",
    "plot_sparse_text",
    "plot_save_and_export",
    "plot_custom_loss",
    "plot_custom_dictionary",
    "plot_custom_scheme",
    "plot_custom_stopping_rule",
)


class ReadingOrder:
    """Sphinx-Gallery's key to sort the files of one folder by."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        return ORDER.index(Path(filename).stem)

    def __repr__(self) -> str:
        # Part of what decides whether pages are built again: the same for the same order.
        return f"<ReadingOrder {ORDER}>"
