# Everything a developer runs. Needs git, make and Python 3.11 or later; the rest is installed into .venv.
#
#   make demo          fit, plot and explain one example; output in demo/
#   make test          lint, types, unit tests and doctests: a verdict within minutes
#   make check M=...   form, types and tests of one module, src/fcgboost/losses.py say: a verdict within seconds
#   make explore       property tests with other examples on every run, for ten minutes (MINUTES=10)
#   make test-all      all the rest: oldest dependencies, the documentation, long runs, optional software, the paper
#   make test-oldest   the oldest dependencies and extras that are promised, part of test-all
#   make lint, format  check, or rewrite, the code's form
#   make paper         every experiment of the paper, the contests and the studies (PRESET=quick); build/paper/
#   make findings      draw docs/results, docs/beyond and the verdicts in docs/findings.md and docs/beyond.md again from the rows
#   make bench         how fast: every figure with its baselines, within 15 minutes; build/bench/
#   make bench-gpu     the figures of one GPU (DEVICE=cuda), with PyTorch in .venv; build/bench/
#   make bench-cluster  the figures of a Dask cluster of two workers on this machine; build/bench/
#   make soak          everything at random for half an hour: nothing breaks, grows or changes
#   make sizes         how large and how dense the code is, by folder
#   make docs          the documentation with its gallery, as HTML in build/docs/
#   make dist          wheels (of this machine, and of Windows) and source distribution in dist/, and a check of what they contain
#   make clean         remove all of the above

PYTHON ?= python3
BIN := .venv/bin
OLDEST := .venv-oldest/bin

# One BLAS thread per test process: the processes together already fill the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PARALLEL := -n auto --dist loadgroup
# Compiled tests are kept, or every worker compiles all of them again.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest
INSTALL := $(BIN)/python -m pip install -qq --editable

# What goes beyond the paper: every other experiment that `python -m paper list` names.
STUDIES := contest robustness calibration atoms leaves tables gaps

# What an installation is made from: the library is built again when one of these has changed.
SOURCES := pyproject.toml hatch_build.py $(wildcard src/fcgboost/_kernels/*.[ch])

.DEFAULT_GOAL := test
.PHONY: demo test check explore test-all test-oldest lint format paper findings bench bench-gpu bench-cluster soak sizes docs dist clean
.DELETE_ON_ERROR:

demo: .venv/.demo-stamp
	$(BIN)/python -m paper demo --out demo

# Form and types are checked while the tests run, and reported after them.
test: .venv/.test-stamp
	@mkdir -p build
	@$(MAKE) --no-print-directory lint >build/lint.log 2>&1 & \
	$(PYTEST) $(PARALLEL) -m "not slow and not extras"; tests=$$?; \
	wait $$!; lint=$$?; cat build/lint.log; exit $$((tests || lint))

# A module without tests of its own, which is a short one, has only its form and its types checked.
check: .venv/.test-stamp
	@test -f "$(M)" || { echo "usage: make check M=src/fcgboost/losses.py"; exit 2; }
	$(BIN)/ruff check $(M)
	$(BIN)/ruff format --check $(M)
	$(BIN)/mypy $(M)
	@tests=$$($(BIN)/python -m tests.suites.mirrors $(M)) || exit; \
	test -z "$$tests" || $(PYTEST) -q -x -n 0 -m "not slow and not extras" $$tests

# An example that fails is printed with what reproduces it, and is tried first the next time.
explore: MINUTES = 10
explore: .venv/.test-stamp
	FCGBOOST_EXPLORE=$(MINUTES) $(PYTEST) $(PARALLEL) --hypothesis-profile explore -m "hypothesis and not slow and not extras" tests

# What this machine lacks is skipped; pytest lists what, and why.
test-all: test-oldest docs .venv/.all-stamp
	FCGBOOST_TESTS=all FCGBOOST_DOCS=build/docs $(PYTEST) $(PARALLEL) --hypothesis-profile thorough \
		-m "slow or extras or hypothesis" tests
	$(PYTEST) $(PARALLEL) paper

test-oldest: .venv-oldest/.stamp
	$(ONE_THREAD) $(OLDEST)/python -m pytest $(PARALLEL) -m "not slow" $$($(OLDEST)/python .ci/oldest.py tests)

lint: .venv/.test-stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/python -m benchmarks.sizes --check
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor -q --offline .github/workflows

format: .venv/.test-stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

PRESET ?= quick
paper: .venv/.paper-stamp
	$(BIN)/python -m paper run all $(STUDIES) --preset $(PRESET) --out build/paper/$(PRESET) --resume

findings: .venv/.demo-stamp
	$(BIN)/python -m paper findings

bench: .venv/.bench-stamp
	$(BIN)/python -m benchmarks

DEVICE ?= cuda
bench-gpu: .venv/.bench-gpu-stamp
	$(BIN)/python -m benchmarks.gpu --device $(DEVICE)

bench-cluster: .venv/.bench-cluster-stamp
	$(BIN)/python -m benchmarks.cluster

MINUTES ?= 30
soak: .venv/.test-stamp
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

sizes: .venv/.test-stamp
	@$(BIN)/python -m benchmarks.sizes

# A warning is an error, and all of them are shown. The environment is its own, so that nothing
# that happens to be installed for another target hides what is missing here.
docs: .venv-docs/.stamp
	.venv-docs/bin/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "The documentation: build/docs/index.html"

dist: .venv/.dist-stamp
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	@for wheel in dist/*-linux_*.whl; do \
		test ! -e $$wheel || { PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist $$wheel && rm $$wheel; } || exit; \
	done
	CC="$(CURDIR)/$(BIN)/python -m ziglang cc -target x86_64-windows-gnu" \
		$(BIN)/python -m build --no-isolation --wheel --outdir dist
	FCGBOOST_DIST=dist $(PYTEST) tests/contracts/test_dist.py

clean:
	rm -rf .venv .venv-docs .venv-oldest build demo dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Dependency groups need pip 25.1.
.venv/.pip-stamp .venv-docs/.pip-stamp .venv-oldest/.pip-stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fcgboost needs Python 3.11 or later")'
	@command -v cc gcc clang >/dev/null || echo "There is no C compiler: pip fetches one, ziglang, to build the package."
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -qq --upgrade 'pip>=25.1'
	@touch $@

.venv/.demo-stamp: $(SOURCES) | .venv/.pip-stamp
	$(INSTALL) . --group paper-demo
	@touch $@

.venv/.test-stamp: $(SOURCES) | .venv/.pip-stamp
	$(INSTALL) '.[cli,playground]' --group lint --group test
	@touch $@

.venv/.dist-stamp: .venv/.test-stamp
	$(BIN)/python -m pip install -qq --group dist
	@touch $@

# Torch is large and not for every machine: where it cannot be installed, its tests are skipped.
.venv/.all-stamp: .venv/.test-stamp
	$(INSTALL) '.[cli,dask,onnx,playground]' --group test-all
	$(BIN)/python -m pip install -qq torch==2.13.0 && touch $@ \
		|| echo "torch 2.13.0 cannot be installed here: tests that need it are skipped."

.venv/.paper-stamp: $(SOURCES) | .venv/.pip-stamp
	$(INSTALL) . --group paper
	@touch $@

.venv/.bench-stamp: $(SOURCES) | .venv/.pip-stamp
	$(INSTALL) . --group bench
	@touch $@

.venv/.bench-gpu-stamp: $(SOURCES) | .venv/.pip-stamp
	$(INSTALL) '.[torch]'
	@touch $@

.venv/.bench-cluster-stamp: $(SOURCES) | .venv/.pip-stamp
	$(INSTALL) '.[dask]' --group bench
	@touch $@

.venv-docs/.stamp: $(SOURCES) | .venv-docs/.pip-stamp
	.venv-docs/bin/python -m pip install -qq --editable '.[cli,dask]' --group docs
	@touch $@

.venv-oldest/.stamp: $(SOURCES) .ci/oldest.py | .venv-oldest/.pip-stamp
	$(OLDEST)/python -m pip install -qq --editable . $$($(OLDEST)/python .ci/oldest.py)
	@touch $@
