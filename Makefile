# Everything works on a fresh machine with Python 3.11 or newer and make; uv is used when it is there.
PYTHON ?= python3
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)

.PHONY: install demo test test-slow lint docs docs-quick docs-record dist bench reproduce reproduce-quick clean help

help:
	@echo "make install   set up .venv with the package and everything the tests need"
	@echo "make demo      vectrick demo: train, validate and report on built-in data; under a minute"
	@echo "make test      lint, types, and the tests that are fast: a few minutes"
	@echo "make test-slow the others: reports in Chromium where there is one, experiments, kills; and a minute of the soak"
	@echo "make lint      ruff and mypy"
	@echo "make docs      the site, with its gallery, into docs/_build; docs-quick takes recorded results of slow tutorials"
	@echo "make dist      wheel and sdist into dist, checked"
	@echo "make bench     products, training, model selection, pairwise kernels and commands beside their baselines; tables, and JSON in benchmarks/results"
	@echo "python -m benchmarks.gpu      the same on a GPU, with torch: checks, times, benchmarks/results/gpu-CARD.json"
	@echo "make reproduce        the paper's experiments, hours; what is finished is not run again; experiments/README.md"
	@echo "make reproduce-quick  each of them at reduced size, some minutes, into experiments/quick"

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
