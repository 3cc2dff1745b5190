"""What the commands read is written again as the file did."""

import pandas as pd

from fcgboost.cli.inputs import as_written

COLUMNS = {"betrag": ["number", "decimal comma"], "tag": ["days", "day first"]}
ROWS = pd.DataFrame({"betrag": [1234.5, None, 0.25], "tag": [1.5, 2.0, 3.0], "n": [0.5, 1.0, 2.0]})


def test_decimal_commas_between_commas_are_written_again() -> None:
    written = as_written(ROWS, {"separator": ",", "columns": COLUMNS})
    assert written["betrag"].dropna().tolist() == ["1234,5", "0,25"]
    assert written["betrag"].isna().tolist() == [False, True, False]
    pd.testing.assert_frame_equal(written[["tag", "n"]], ROWS[["tag", "n"]])


def test_other_files_are_written_with_points() -> None:
    assert as_written(ROWS, {"separator": ";", "columns": COLUMNS}) is ROWS
