# All targets require only Python 3.11 or newer and make; uv is used if it is installed.
PYTHON ?= python3
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)

.PHONY: install demo test test-slow lint docs docs-quick docs-record dist bench reproduce reproduce-quick clean help

help:
	@echo "make install   set up .venv with the package and all dependencies of the tests"
	@echo "make demo      run vectrick demo: train, validate and report on built-in data; under a minute"
	@echo "make test      run linter, type checks and the fast tests: a few minutes"
	@echo "make test-slow run the slow tests: reports in Chromium if installed, experiments, killed processes, a minute of the soak test"
	@echo "make lint      run ruff and mypy"
	@echo "make docs      build the site with its gallery in docs/_build; docs-quick uses recorded results of slow tutorials"
	@echo "make dist      build and check wheel and sdist in dist"
	@echo "make bench     run the benchmarks: print tables, and write JSON to benchmarks/results"
	@echo "python -m benchmarks.gpu      check and time vectrick on a GPU with torch; write benchmarks/results/gpu-CARD.json"
	@echo "make reproduce        run the paper's experiments (hours; finished tasks are skipped) and write experiments/README.md"
	@echo "make reproduce-quick  run each experiment at reduced size (minutes) in experiments/quick"

install: .venv/installed

.venv/installed: pyproject.toml
ifdef UV
	test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
	$(UV) pip install --quiet --python $(BIN)/python --editable '.[dev]'
else
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
endif
	touch $@

demo: install
	$(BIN)/vectrick demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: install
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow
	$(BIN)/python -m tests.soak --minutes 1

docs: install
	$(BIN)/sphinx-build --fail-on-warning --keep-going -q -b html docs docs/_build
	@echo docs/_build/index.html

docs-quick: install
	VECTRICK_DOCS=quick $(BIN)/sphinx-build --fail-on-warning --keep-going -q -b html docs docs/_build
	@echo docs/_build/index.html

docs-record: docs
	$(BIN)/python docs/_ext/recorded.py

dist: install
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*

bench: install
	$(BIN)/python -m benchmarks.products
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.preconditioner
	$(BIN)/python -m benchmarks.selection
	$(BIN)/python -m benchmarks.pairwise
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.commands

reproduce: install
	$(BIN)/python -m experiments

reproduce-quick: install
	$(BIN)/python -m experiments --quick

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist docs/_build docs/tutorials docs/numbers docs/reference/generated docs/guide/commands.md docs/develop/tuning.md
