# `make demo` and `make test` work on a fresh machine: they create .venv and reuse it.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
MINUTES ?= 60
FIRST ?= 100000

.PHONY: demo test quick test-all fuzz fuzz-tiles fuzz-native fuzz-xla fuzz-python fuzz-gradients lint style bench bench-tensor rules rule-counts tour api docs clean

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: .venv/ready
	$(BIN)/python examples/waves/run.py
	$(BIN)/python examples/waves/find_earthquake.py

lint: style
	$(BIN)/pyright

style: .venv/ready
	$(BIN)/ruff check src tests examples benchmarks docs/build_site.py
	$(BIN)/ruff format --check src tests examples benchmarks docs/build_site.py
	$(BIN)/lint-imports --no-cache

# What make lint does, and the default tests.
test: style
	$(BIN)/python -m tests.whole --types -n $(WORKERS)

# A sample in two or three minutes, for daily use: a case of each law, a test of each file.
quick: .venv/ready lint
	$(BIN)/python -m pytest -n $(WORKERS) --quick tests

test-all: .venv/ready lint
	$(BIN)/python -m pytest -n $(WORKERS) -m ''

# Random StableHLO programs, optimized and as written, for MINUTES (or --count of them: see the module).
fuzz: .venv/ready
	$(BIN)/python -m tests.fuzz.tensor.sweep --first $(FIRST) --minutes $(MINUTES)

# Random kernels whose threads share tiles, raised and emulated for MINUTES, then as native code and emulated.
fuzz-tiles: .venv/ready
	$(BIN)/python -m tests.fuzz.sweep --tiles --first $(FIRST) --count 1000000 --minutes $(MINUTES)
	$(BIN)/python -m tests.fuzz.sweep --tiles --form native --first $(FIRST) --count 1000000 --minutes $(MINUTES)

# Random kernels of any values as native code, on one thread and all, and emulated, for MINUTES.
fuzz-native: .venv/ready
	$(BIN)/python -m tests.fuzz.sweep --free --first $(FIRST) --count 1000000 --minutes $(MINUTES)

# Random programs through XLA and by their ops' meaning, for MINUTES.
fuzz-xla: .venv/ready
	$(BIN)/python -m tests.fuzz.xla_programs --first $(FIRST) --minutes $(MINUTES)

# Random functions by Python and by wl.jit, for MINUTES.
fuzz-python: .venv/ready
	$(BIN)/python -m tests.fuzz.python.sweep --first $(FIRST) --minutes $(MINUTES)

# Derivatives of random programs of all those kinds, held to one another, to differences and to JAX, for MINUTES.
fuzz-gradients: .venv/ready
	$(BIN)/python -m tests.fuzz.gradients.sweep --first $(FIRST) --minutes $(MINUTES)

bench: .venv/ready
	$(BIN)/python benchmarks/run.py

bench-tensor: .venv/ready
	$(BIN)/python -m benchmarks.tensor

# The page of the catalogue, from the rules; `make rule-counts` counts anew how often they fire.
rules: .venv/ready
	$(BIN)/windlass rules --page docs/reference/rules.md --counts docs/reference/rule_counts.json

rule-counts: .venv/ready
	$(BIN)/python benchmarks/count_rules.py
	$(MAKE) rules

# The texts of the tour, as the compiler gives them today.
tour: .venv/ready
	$(BIN)/python -m tests.documentation.walk

# The page of what users call, from its docstrings.
api: .venv/ready
	$(BIN)/python -m tests.documentation.reference

# The documentation as a site.
docs: .venv/ready
	$(BIN)/python docs/build_site.py build/site

clean:
	rm -rf .venv build dist
