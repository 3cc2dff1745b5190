# Everything a developer runs. Needs git, make and Python 3.11 or later; the rest is installed into .venv.
#
#   make demo          fit, plot and explain one example; output in demo/
#   make test          lint, types, unit tests and doctests
#   make test-extras   the oldest supported dependencies, and tests that need optional software
#   make test-slow     statistical runs of more than a minute, with the tables they print
#   make test-oldest   scikit-learn's estimator checks on the oldest supported dependencies
#   make lint, format  check, or rewrite, the code's form
#   make bench         how fast: every figure beside its baselines, within 15 minutes; build/bench/
#   make bench-gpu     the figures of one GPU (DEVICE=cuda), with PyTorch in .venv; build/bench/
#   make bench-cluster  the figures of a Dask cluster of two workers on this machine; build/bench/
#   make findings      draw docs/results, docs/beyond and the verdicts in docs/findings.md and docs/beyond.md again from the rows
#   make docs          the documentation with its gallery, as HTML in build/docs/
#   make dist          wheel and source distribution in dist/, and a check of what they contain
#   make clean         remove all of the above

PYTHON ?= python3
BIN := .venv/bin
OLDEST := .venv-oldest/bin

# One BLAS thread per test process: the processes together already fill the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PARALLEL := -n auto --dist loadgroup
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest

.DEFAULT_GOAL := test
.PHONY: demo test test-extras test-slow test-oldest lint format bench bench-gpu bench-cluster findings docs dist clean
.DELETE_ON_ERROR:

demo: .venv/.demo-stamp
	$(BIN)/fcgboost demo

test: lint
	$(PYTEST) $(PARALLEL) -m "not slow and not extras"

# Torch is large and not for every machine: where it can not be installed, its tests are skipped.
test-extras: test-oldest .venv/.extras-stamp
	$(PYTEST) $(PARALLEL) -m "extras and not slow"

test-slow: .venv/.extras-stamp
	$(PYTEST) $(PARALLEL) -m slow -rA

test-oldest: .venv-oldest/.stamp
	$(ONE_THREAD) $(OLDEST)/python -m pytest $(PARALLEL) tests/test_estimators.py

lint: .venv/.test-stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: .venv/.test-stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/.bench-stamp
	$(BIN)/python -m benchmarks

DEVICE ?= cuda
bench-gpu: .venv/.bench-gpu-stamp
	$(BIN)/python -m benchmarks.gpu --device $(DEVICE)

bench-cluster: .venv/.bench-cluster-stamp
	$(BIN)/python -m benchmarks.cluster

findings: .venv/.test-stamp
	$(BIN)/python docs/update_findings.py

# A warning is an error, and all of them are shown.
docs: .venv/.docs-stamp
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "The documentation: build/docs/index.html"

dist: .venv/.test-stamp
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	FCGBOOST_DIST=dist $(PYTEST) tests/test_dist.py

clean:
	rm -rf .venv .venv-oldest build demo dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python .venv-oldest/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fcgboost needs Python 3.11 or later")'
	$(PYTHON) -m venv $(@:/bin/python=)

.venv/.demo-stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -qq --editable '.[plot]'
	@touch $@

# The test environment holds all that the demo needs, so it stamps both.
.venv/.test-stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -qq --editable '.[lint,test]'
	@touch .venv/.demo-stamp $@

.venv/.extras-stamp: pyproject.toml .venv/.test-stamp
	$(BIN)/python -m pip install -qq --editable '.[lint,test-extras]'
	$(BIN)/python -m pip install -qq torch==2.13.0 && touch $@ \
		|| echo "torch 2.13.0 can not be installed here: tests that need it are skipped."

.venv/.docs-stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -qq --editable '.[docs]'
	@touch $@

.venv/.bench-stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -qq --editable '.[bench]'
	@touch $@

.venv/.bench-gpu-stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -qq --editable '.[torch]'
	@touch $@

.venv/.bench-cluster-stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -qq --editable '.[bench,dask]'
	@touch $@

.venv-oldest/.stamp: pyproject.toml .ci/oldest.py | .venv-oldest/bin/python
	$(OLDEST)/python -m pip install -qq --editable . $$($(OLDEST)/python .ci/oldest.py)
	@touch $@
