# make demo   a real experiment on logits that come with the package: verdicts, tables with significance, two pages
# make test   every gate: ruff, mypy, import-linter, pytest with doctests
# make quick  the same without slow tests
# make dist   wheels for every system and the sdist; those that run here are installed and run in empty environments
# make thorough     all tests, with ten times as many examples of each property
# make lowest       the quick tests of the library with the oldest dependencies that pyproject.toml allows
# make sanitize     the tests of the compiled core under the sanitizers of gcc, for addresses and undefined behaviour
# make validity     level and power of every test by simulation, resumable; results in docs/validity (hours)
# make coverage     how often confidence limits cover, by simulation, resumable; results in docs/coverage (hours)
# make docs         the documentation, in build/docs; warnings are errors
# make benchmarks   every measure and calibrator beside other packages, in their own environment; docs/benchmarks/peers.md
# make timings      speed and memory beside plain definitions, in one run each; results in docs/benchmarks
# make engines      Dask and Spark for real: the same bytes, killed workers, failing tasks; results in docs/benchmarks
# make clean  remove what the above made

PYTHON ?= python3
WINDOWS := $(filter Windows_NT,$(OS))
SCRIPTS := $(if $(WINDOWS),Scripts,bin)
EXE := $(if $(WINDOWS),.exe)
BIN := .venv/$(SCRIPTS)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test quick thorough lowest docs dist sanitize validity coverage benchmarks timings engines clean

demo: .venv/demo-installed
	$(BIN)/calibrant demo --out demo

# Compiled tests are kept, also where the environment says otherwise: without them the second run would not be faster, and
# every process that a test starts would compile the package again.
test quick thorough: export PYTHONDONTWRITEBYTECODE :=

# Memory that was freed is kept for the next array, not handed back to the system, which would clear it for every one:
# that takes about a twentieth of the tests' time. Only glibc reads these.
test quick thorough: export MALLOC_TRIM_THRESHOLD_ := 268435456
test quick thorough: export MALLOC_MMAP_THRESHOLD_ := 33554432

# Tests run in two processes: more threads than these would wait for each other.
quick: SOME := -m "not slow"
test quick: .venv/test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest $(SOME)

thorough: .venv/test-installed
	OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest --hypothesis-profile=thorough

# The oldest versions that pyproject.toml names, in an environment of their own.
lowest: build/lowest/installed
	OMP_NUM_THREADS=1 build/lowest/$(SCRIPTS)/python -m pytest -m "not slow"

TARGETS := linux-aarch64 macos-arm64 macos-x86_64 windows-x86_64 linux-x86_64

# The wheel of this system comes last: its library stays in the folder.
dist: $(BIN)/python$(EXE)
	rm -rf dist
	$(PIP) "build>=1.2" "hatchling>=1.26" "ziglang>=0.14"
	$(BIN)/python -m build --no-isolation --sdist --outdir dist .
	for target in $(TARGETS); do CALIBRANT_TARGET=$$target $(BIN)/python -m build --no-isolation --wheel --outdir dist . || exit 1; done
	@test -z "$$(ls dist/*-none-any.whl 2>/dev/null)" || { echo "A wheel was built without its compiled core; see the errors above."; exit 1; }
	$(PYTHON) -m venv --clear dist/venv
	dist/venv/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*manylinux*x86_64.whl)[cli]"
	cd dist && venv/bin/calibrant --version && venv/bin/calibrant selfcheck --quiet && venv/bin/calibrant demo --quiet --out page >/dev/null
	rm -rf dist/venv dist/page

sanitize: .venv/test-installed
	mkdir -p build
	gcc -std=c11 -O1 -g -fPIC -shared -march=x86-64-v3 -DLEVEL=v1 -fsanitize=address,undefined -fno-sanitize-recover=all \
		-o build/sanitized.so src/calibrant/_core/c/*.c -lm
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		CALIBRANT_LIBRARY=build/sanitized.so OMP_NUM_THREADS=1 \
		$(BIN)/python -m pytest -n 0 tests/_core tests/assessment/test_shared_work.py

validity: .venv/test-installed
	$(BIN)/python -m studies validity --jobs 2

coverage: .venv/test-installed
	$(BIN)/python -m studies coverage --jobs 2

# Pages of names that are gone would stay without the first line.
docs: .venv/docs-installed
	rm -rf docs/reference/*.rst docs/reference/api docs/reference/backreferences docs/auto_gallery build/docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs
	@echo "build/docs/index.html"

benchmarks: build/peers/installed
	cd benchmarks && OMP_NUM_THREADS=1 ../build/peers/$(SCRIPTS)/python -m peers ../docs/benchmarks

timings: .venv/test-installed
	for name in commands pair_sums skce skce_test omnibus replicates kde_ece curves forecast_metrics scale; do \
		{ echo "$$ python benchmarks/$$name.py"; $(BIN)/python benchmarks/$$name.py; } | tee docs/benchmarks/$$name.txt; \
	done

# Spark needs Java 17 or newer.
engines: .venv/test-installed
	$(PIP) --editable ".[cli,dask,spark]"
	{ echo "$$ python -m pytest tests/scale/engines.py"; $(BIN)/python -m pytest -n 0 -v --durations=0 tests/scale/engines.py; } | sed 's|$(CURDIR)/*||g' | tee docs/benchmarks/engines.txt

clean:
	rm -rf .venv build/docs build/doctrees build/peers build/lowest demo dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python$(EXE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set PYTHON=python3.11 or similar."; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade "pip>=25.1"

CORE := hatch_build.py $(wildcard src/calibrant/_core/c/*.[ch])

.venv/demo-installed: pyproject.toml $(CORE) | $(BIN)/python$(EXE)
	$(PIP) --editable ".[cli]"
	touch $@

.venv/test-installed: pyproject.toml constraints.txt $(CORE) | $(BIN)/python$(EXE)
	$(PIP) --constraint constraints.txt --editable ".[cli,plot]" --group test
	touch $@

.venv/docs-installed: pyproject.toml constraints.txt $(CORE) | $(BIN)/python$(EXE)
	$(PIP) --constraint constraints.txt --editable ".[cli,plot]" --group docs
	touch $@

build/peers/installed: pyproject.toml constraints.txt $(CORE) | $(BIN)/python$(EXE)
	$(PYTHON) -m venv build/peers
	build/peers/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	build/peers/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group peers
	touch $@

# Every lower bound of the library and of its extras becomes the version that is installed.
build/lowest/installed: pyproject.toml $(CORE) | $(BIN)/python$(EXE)
	$(PYTHON) -m venv build/lowest
	build/lowest/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	build/lowest/$(SCRIPTS)/python -c 'import re, tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		print(*(re.sub(">=", "==", d) + ".*" for d in p["dependencies"] + p["optional-dependencies"]["cli"] + p["optional-dependencies"]["plot"]), sep="\n")' \
		> build/lowest/constraints.txt
	build/lowest/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --constraint build/lowest/constraints.txt \
		--constraint constraints.txt --editable ".[cli,plot]" --group test
	touch $@
