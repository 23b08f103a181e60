# Two commands: `make demo` shows what it does, `make test` shows that it works.
# Both set up .venv on the first run and are quick from then on.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := runs/demo

.DEFAULT_GOAL := help
.PHONY: help demo test chromium lint dist-check bench fuzz publish docs docs-check gallery clean

help:
	@echo "make demo    find the crystal systems in measured unit cells, with reasons, and write a report"
	@echo "make test    run the test suite"
	@echo "make lint    ruff, pyright and the import contract"
	@echo "make dist-check   build the distributions, and use them in fresh environments"
	@echo "make bench   run the scripts in benchmarks/"
	@echo "make fuzz    random files, run folders and requests, for SECONDS=60 and with fresh seeds"
	@echo "make publish fill README and docs/ in from results/; ARGS=--check only looks whether they are"
	@echo "make docs    build the site into build/site; make docs-check looks at its pages in Chromium"
	@echo "make gallery execute the scripts of the gallery that have changed"
	@echo "make clean   remove .venv, caches and the demo"

# The environment is made again from where it stood when pyproject.toml or the constraints change.
$(READY): pyproject.toml requirements/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "disentree needs Python 3.11 or newer; try: make PYTHON=python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt -e '.[dev]'
	@touch $(READY)

# Stopped, it goes on where it was; finished, it only shows the result again.
demo: $(READY)
	$(BIN)/disentree run minerals --out $(DEMO)

# Two tests at a time, each on one core: threads of linear algebra would only wait for each other.
test: $(READY) chromium
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# The tests of the explorer look at its pages in Chromium; where it cannot be installed they are skipped and say so.
chromium:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do \
	  if [ -n "$$name" ] && command -v "$$name" >/dev/null 2>&1; then exit 0; fi; done; \
	if command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
	  echo "installing Chromium for the tests of the explorer"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    chromium fonts-dejavu-core; } >/dev/null 2>&1 || true; \
	fi; \
	command -v chromium >/dev/null 2>&1 || echo "no Chromium: the tests of the explorer's pages will be skipped"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

# ARGS=--core leaves out the environment with torch.
dist-check: $(READY)
	$(BIN)/python .ci/dist_check.py $(ARGS)

bench: $(READY)
	@for script in benchmarks/*.py; do \
	  if [ -e "$$script" ]; then echo "== $$script"; $(BIN)/python "$$script" || exit 1; fi; done

# A failure is printed with its seed; make fuzz ARGS='--target NAME --seed N --tries 1' repeats it.
SECONDS ?= 60
fuzz: $(READY)
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m fuzz --seconds $(SECONDS) $(ARGS)

# Numbers, tables and verdicts of the documents: see "Documents from results" in docs/studies.md.
publish: $(READY)
	$(BIN)/python -m tools.publish $(ARGS)

DOCS_READY := $(VENV)/.docs-ready
$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements/constraints.txt -e '.[docs]'
	@touch $(DOCS_READY)

# Warnings are errors. The gallery's pages are in the repository: make gallery makes them.
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-check: docs chromium
	$(BIN)/python docs/check_site.py build/site

gallery: $(READY)
	$(BIN)/python docs/build_gallery.py

clean:
	rm -rf $(VENV) $(DEMO) dist build/site .pytest_cache .ruff_cache .hypothesis
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +
