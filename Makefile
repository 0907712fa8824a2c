# make demo   a real experiment on logits that come with the package: verdicts, tables with significance, two pages
# make test   every gate: ruff, mypy, import-linter, pytest with doctests
# make dist   a wheel, installed and run in an empty environment
# make validity     level and power of every test by simulation, resumable; results in docs/validity (hours)
# make coverage     how often confidence limits cover, by simulation, resumable; results in docs/coverage (hours)
# make benchmarks   speed and memory against named peers, in one run each; results in docs/benchmarks
# make clean  remove what the above made

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test dist validity coverage benchmarks clean

demo: .venv/demo-installed
	$(BIN)/calibrant demo --out demo

# Tests run in two processes: more threads than these would wait for each other.
test: .venv/test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest

dist: .venv/bin/python
	rm -rf dist
	$(PIP) "build>=1.2"
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv --clear dist/venv
	dist/venv/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[cli]"
	cd dist && venv/bin/calibrant --version && venv/bin/calibrant selfcheck --quiet && venv/bin/calibrant demo --quiet --out page >/dev/null
	rm -rf dist/venv dist/page

validity: .venv/test-installed
	$(BIN)/python -m calibrant.validity --jobs 2

coverage: .venv/test-installed
	$(BIN)/python -m calibrant.coverage --jobs 2

benchmarks: .venv/test-installed
	for name in pair_sums skce skce_test omnibus replicates kde_ece curves forecast_metrics; do \
		{ echo "$$ python benchmarks/$$name.py"; $(BIN)/python benchmarks/$$name.py; } | tee docs/benchmarks/$$name.txt; \
	done

clean:
	rm -rf .venv demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set PYTHON=python3.11 or similar."; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade "pip>=25.1"

.venv/demo-installed: pyproject.toml | .venv/bin/python
	$(PIP) --editable ".[cli]"
	touch $@

.venv/test-installed: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --constraint constraints.txt --editable ".[cli,plot]" --group test
	touch $@
