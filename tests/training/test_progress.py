"""The progress display: one line for the whole fit, on standard error and in the log."""

import io
import logging
import os
from dataclasses import replace

import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.stopping import Progress
from fcgboost.training import progress
from fcgboost.training.progress import ProgressLine


def noisy(n_samples=100):
    return make_simulation(n_samples, noise="uniform", level=0.2, random_state=0)


def make(**changes):
    return FCGBoostClassifier(
        **{"dictionary": "gauss", "max_iter": 12, "random_state": 0, **changes}
    )


def test_progress_goes_to_standard_error(capfd):
    make(verbose=1).fit(*noisy())
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("100 %  step 12  atoms 12  objective ")
    assert "validation" not in err


def test_progress_names_the_fold(capfd):
    make(verbose=1, cv=2, max_iter=2, n_jobs=1).fit(*noisy())
    lines = capfd.readouterr().err.splitlines()
    assert [line.split("  ")[:4] for line in lines] == [
        ["25 %", "path 1 of 2", "fold 1", "step 1"],
        ["50 %", "path 1 of 2", "fold 1", "step 2"],
        ["75 %", "path 2 of 2", "fold 2", "step 1"],
        ["100 %", "path 2 of 2", "fold 2", "step 2"],
    ]


def test_long_fits_show_about_ten_lines(capfd):
    make(verbose=1, max_iter=60).fit(*noisy())
    assert len(capfd.readouterr().err.splitlines()) == 10


def test_progress_shows_the_validation_score(capfd):
    model = make(verbose=1, validation_fraction=0.3).fit(*noisy())
    score = model.trace_[-1].validation_score
    assert f"validation {score:.4f}" in capfd.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("estimator", [make(), make(cv=2, max_iter=2)])
def test_nothing_is_printed_unasked(estimator, capfd):
    estimator.fit(*noisy())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("verbose", "level"), [(0, logging.DEBUG), (2, logging.INFO)])
def test_the_log_gets_every_step(verbose, level, caplog):
    with caplog.at_level(logging.DEBUG, logger="fcgboost"):
        make(verbose=verbose).fit(*noisy())
    records = [record for record in caplog.records if record.name == "fcgboost"]
    steps = [record.message.split("  ")[1] for record in records]
    assert steps == [f"step {k}" for k in range(1, 13)]
    assert {record.levelno for record in records} == {level}


def test_without_verbosity_the_log_is_quiet_at_its_usual_level(caplog):
    with caplog.at_level(logging.INFO, logger="fcgboost"):
        make(verbose=1).fit(*noisy())
    assert not [record for record in caplog.records if record.name == "fcgboost"]


def test_what_is_left_is_told_as_if_all_steps_took_as_long(capsys):
    times = iter([1.0, 7.0])
    progress = Progress(path=1, n_paths=1, fold=None, share=0.3)
    step = replace(make(max_iter=3).fit(*noisy()).trace_[2], progress=progress)
    ProgressLine(1, clock=lambda: next(times))(step)
    assert capsys.readouterr().err.endswith("6.0 s, 14.0 s left\n")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_a_terminal_gets_one_line_that_moves(monkeypatch):
    main, other = os.openpty()
    with os.fdopen(other, "w", encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        make(max_iter=3, verbose=1).fit(*noisy())
        shown = ""
        while not shown.endswith("\n"):  # a terminal hands over what it has, not all
            shown += os.read(main, 10_000).decode()
    os.close(main)
    assert shown.count("\r\x1b[K") == 3
    assert shown.count("\n") == 1
    assert shown.endswith("\n")
    assert "100 %  step 3  atoms 3" in shown


def test_a_fit_that_breaks_ends_the_moving_line(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def broken(step):
        raise RuntimeError("no more")

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with pytest.raises(RuntimeError, match="no more"):
        make(verbose=1).set_callbacks(broken).fit(*noisy())
    assert terminal.getvalue().endswith("\n")


def test_explanations_show_a_line_once_they_have_taken_a_second(capfd, monkeypatch):
    X, y = noisy()
    model = make(verbose=1, n_jobs=1, max_iter=3).fit(X, y)
    capfd.readouterr()
    model.explain(X[:20])
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(progress, "_SILENCE", 0.0)
    model.explain(X[:20])
    lines = capfd.readouterr().err.splitlines()
    # Eight rows are explained at once.
    assert len(lines) == 3
    assert lines[0].startswith("40 %  8 of 20 rows  0.")
    model.set_params(verbose=0).explain(X[:20])
    assert capfd.readouterr().err == ""
