# `make crawl` crawls, `make test` tests; each sets up what it needs in .venv first. `make help` lists the rest.

PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
VENV := .venv
UV := uv==0.13.9
BIN := $(VENV)/bin
SEEDS ?=
JOBDIR ?=
ARGS ?=

.PHONY: help crawl quick test versions scrapy-tests check lint format types bench compose-test soak real gauntlet redis packages compiled docs clean

help:
	@echo "make crawl                  crawl a small web that is served on this machine"
	@echo "make crawl SEEDS=FILE|URL   crawl the real one; add CONTACT=you@your.site, JOBDIR=DIR, ARGS='-s NAME=VALUE'"
	@echo "make quick                  the checkers, and the tests of modules that start no process: a minute"
	@echo "make test                   everything that CI runs: checkers and all tests"
	@echo "make versions               all tests with each Python of 3.11 to 3.14 on the PATH, in $(VENV)/versions"
	@echo "make scrapy-tests           Scrapy's own tests with the add-on in force, compared with plain Scrapy"
	@echo "make bench                  this crawler and a plain Scrapy broad crawl side by side"
	@echo "make compose-test           the image and compose.yaml in a container engine: scaled, killed, taken down (10 minutes)"
	@echo "make real                   real software on loopback, with and without DUST rules"
	@echo "make soak                   the long runs: scale, memory, many kills"
	@echo "make gauntlet               every promise judged from outside by a hostile web: a quarter of an hour"
	@echo "make redis                  a Redis server for the tests, into $(VENV) if there is none on the PATH"
	@echo "make packages               packages that Scrapy's users love, for their tests, into $(VENV)/packages"
	@echo "make docs                   the documentation as a site, into build/docs; fails for a broken link"
	@echo "make lint types format      the checkers alone; format rewrites"

crawl: $(VENV)/.crawl
	@SEEDS="$(SEEDS)" JOBDIR="$(JOBDIR)" CONTACT="$(CONTACT)" $(BIN)/python -m tests.demo $(ARGS)

# Hundreds of processes would compile the same modules each for itself where the environment forbids to keep them.
crawl quick test versions bench soak real gauntlet scrapy-tests: export PYTHONDONTWRITEBYTECODE =

# Most tests wait for other processes: two cores are busy with five of them at a time.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory -j 4 lint types redis packages compiled docs
	$(BIN)/python -m pytest -q -n 5 --dist loadfile --no-loadscope-reorder

# What a change needs between two edits. The tests that it leaves out have a mark, see tests/unit/conftest.py.
quick: $(VENV)/.test
	@$(MAKE) --no-print-directory lint types
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m "not soak and not slow" $(ARGS) \
		tests/unit tests/test_architecture.py tests/test_docs.py tests/test_readme.py tests/test_project_files.py

# With each version in an environment of its own. A shim of a version that is not installed does not run.
versions:
	@tried= failed=; for p in python3.11 python3.12 python3.13 python3.14; do \
		$$p -c '' 2>/dev/null || { echo "$$p: not on the PATH"; continue; }; \
		tried="$$tried $$p"; echo "$$p:"; \
		$(MAKE) --no-print-directory PYTHON=$$p VENV=$(VENV)/versions/$$p redis packages \
		&& $(VENV)/versions/$$p/bin/python -m pytest -q -n 5 --dist loadfile --no-loadscope-reorder $(ARGS) || failed="$$failed $$p"; \
	done; echo "Tried:$${tried:- none}. Failed:$${failed:- none}."; test -n "$$tried" && test -z "$$failed"

lint: $(VENV)/.test
	$(BIN)/ruff check webcrawl tests docs/_site
	$(BIN)/ruff format --check webcrawl tests docs/_site
	$(BIN)/hadolint Dockerfile
	@$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml

types: $(VENV)/.test
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix webcrawl tests docs/_site
	$(BIN)/ruff format webcrawl tests docs/_site

compose-test: $(VENV)/.test
	$(BIN)/python -m tests.gauntlet.containers $(ARGS)

# Scrapy's own tests with the add-on in force, against the same tests without it; in ~/.cache/webcrawl-scrapy-tests.
scrapy-tests: $(VENV)/.test
	$(BIN)/python -m tests.scrapy_suite $(ARGS)

bench: $(VENV)/.test redis
	$(BIN)/python -m tests.bench $(ARGS)

soak: $(VENV)/.test redis
	HYPOTHESIS_PROFILE=searching $(BIN)/python -m pytest -q -m soak --timeout=0

real: $(VENV)/.test
	$(BIN)/python -m tests.real $(ARGS)

gauntlet: $(VENV)/.test redis
	$(BIN)/python -m tests.gauntlet $(ARGS)

packages: $(VENV)/packages/.installed

# Once in a new clone: each of the five would compile all tests for itself.
compiled: $(VENV)/.test
	@test -d tests/__pycache__ || $(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1 || true

redis: $(VENV)/.test
	@$(BIN)/python -m tests.redis_program

# It asks nothing of other hosts, and neither does the site.
docs: $(VENV)/docs/.installed
	@NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/python -m mkdocs build --strict

clean:
	rm -rf build/docs $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Set-up ---------------------------------------------------------------------------------------------------------

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "webcrawl needs Python 3.11 or newer; none was found on the PATH."; \
		echo "Install one, or say where it is: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12"; exit 1; fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) comes without venv; install it (Debian, Ubuntu: apt install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# $(call install,FILE) or $(call install,FILE,PYTHON): uv takes a tenth of pip's time. pip does it where there is no uv, or
# where it has an index of its own.
PIP = $(BIN)/python -m pip
install = { ! $(PIP) config list | grep -q '\.index-url=' \
		&& $(PIP) install --disable-pip-version-check --only-binary uv $(UV) \
		&& $(BIN)/uv pip install --python $(or $(2),$(BIN)/python) -r $(1); } >/dev/null 2>&1 \
	|| $(PIP) --python $(or $(2),$(BIN)/python) install --quiet --disable-pip-version-check -r $(1)

$(VENV)/.crawl: requirements.txt | $(BIN)/python
	@echo "Installing what a crawl needs into $(VENV) (up to a minute) ..."
	@$(call install,requirements.txt) || { \
		echo "The packages of requirements.txt could not be installed; see above. Without wheels for this"; \
		echo "machine, a C compiler and the Python headers are needed (Debian: apt install build-essential python3-dev)."; \
		exit 1; }
	@touch $@

$(VENV)/.test: requirements.txt requirements-extras.txt requirements-dev.txt | $(BIN)/python
	@echo "Installing what the tests need into $(VENV) (up to two minutes) ..."
	@$(call install,requirements-dev.txt) || { \
		echo "The packages of requirements-dev.txt could not be installed; see above."; exit 1; }
	@touch $(VENV)/.crawl $@

# In an environment of its own, which sees the other one: what these need may be in conflict with what the tests need.
$(VENV)/packages/.installed: requirements-packages.txt $(VENV)/.test
	@$(BIN)/python -m venv --without-pip $(VENV)/packages
	@$(BIN)/python -c 'import pathlib, sysconfig as s; \
		to = s.get_path("purelib", vars={"base": "$(VENV)/packages", "platbase": "$(VENV)/packages"}); \
		(pathlib.Path(to) / "lent.pth").write_text(s.get_path("purelib"))'
	@$(BIN)/python -m pip --python $(VENV)/packages/bin/python install --quiet --disable-pip-version-check \
		-r requirements-packages.txt || { echo "The packages of requirements-packages.txt could not be installed; see above."; exit 1; }
	@touch $@

$(VENV)/docs/.installed: requirements-docs.txt | $(BIN)/python
	@$(BIN)/python -m venv --without-pip $(VENV)/docs
	@$(call install,requirements-docs.txt,$(VENV)/docs/bin/python) || { \
		echo "The packages of requirements-docs.txt could not be installed; see above."; exit 1; }
	@touch $@
