# Each target works alone on a machine with Python 3.11 and make.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

# Loops of the search, compiled once for an installation, beside what follows.
COMPILED = @$(BIN)/python -m tablecloak.suppression.search.boxes &

.PHONY: demo test test-oldest test-newest coverage docs proofs dist wheel-check clean

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: install Python 3.11, or call make PYTHON=python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[engines,fast,plots]"
	$(COMPILED)
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	$(COMPILED)
	@touch $@ $(VENV)/installed

demo: $(VENV)/installed
	$(BIN)/tablecloak protect examples/enterprises/job.toml --out results/enterprises

test: $(VENV)/installed-dev
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks
	# Types are checked beside the tests, which do not always keep two cores busy.
	$(BIN)/mypy & types=$$!; $(BIN)/pytest -q -n 2 --dist worksteal; tests=$$?; wait $$types && exit $$tests

# The tests with the oldest versions of libraries that pyproject.toml admits, and with the newest
# there are; each in an environment of its own. The oldest need the oldest Python.
test-oldest: RESOLUTION := lowest-direct
test-newest: RESOLUTION := highest
test-oldest test-newest: test-%:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: name a Python, as in make $@ PYTHON=python3"; exit 1; }
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade uv
	$(VENV)-$*/bin/uv pip install --quiet --python $(VENV)-$*/bin/python --upgrade --resolution $(RESOLUTION) --editable ".[dev]"
	$(VENV)-$*/bin/pytest -q -n 2 --dist worksteal $(TESTS)

# Lines that no test reaches, in build/coverage; processes that tests start are counted too.
coverage: $(VENV)/installed-dev
	$(BIN)/pytest -q -n 2 --dist worksteal --cov --cov-report=term --cov-report=html:build/coverage

docs: $(VENV)/installed-dev
	$(BIN)/mkdocs build --strict --site-dir build/site

# Theorems of docs/theorems.md, checked by machine without an axiom; needs Coq 8.16 (package coq).
proofs:
	@command -v coqc || { echo "coqc was not found: install Coq, for instance by apt-get install coq"; exit 1; }
	mkdir -p build/proofs
	cd build/proofs && coqc -q -noglob -o Certificates.vo ../../proofs/Certificates.v > assumptions
	cat build/proofs/assumptions
	! grep -v "^Closed under the global context$$" build/proofs/assumptions

# Source archive and wheel; see docs/releasing.md.
dist: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist

# Installs the wheel in an empty environment and runs README there, as printed.
wheel-check: dist
	$(BIN)/python tests/wheel_check.py --dist dist

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest build dist results .coverage*
