# Every target sets itself up: a fresh machine needs Python 3.11 and, for `make e2e`, `make test-embedded` and `make bench`, Go.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PYTEST := $(BIN)/pytest -n auto --dist worksteal --durations=25

# Where the programs of a real Kubernetes are: given, or built once.
PROGRAMS := KORDER_CONTROLPLANE="$${KORDER_CONTROLPLANE:-$$(hack/controlplane/build)}" && export KORDER_CONTROLPLANE

PACKAGES := packages/kubeloop packages/pocketkube packages/korder
REAL     := packages/pocketkube/tests/contract packages/pocketkube/tests/agreement

SEEDS ?= 20
HOURS ?= 24
ONLY  ?=
FLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-embedded check lint types imports e2e test-e2e bench soak manifests generate install build fmt lock clean

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): requirements-dev.lock $(PACKAGES:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "korder needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(PACKAGES:%=--editable %)
	@touch $@

run: $(READY) ## start a cluster with everything in it, until Ctrl-C (FLAGS="--nodes 3" passes flags)
	@$(BIN)/korder up $(FLAGS)

test: $(READY) ## kubeloop and korder: all that needs only Python and is not slow
	@$(PYTEST) -m "not e2e and not soak and not slow"

test-slow: $(READY) ## what `make test` leaves out because it takes long
	@$(PYTEST) -m "slow and not e2e and not soak"

test-embedded: $(READY) ## the embedded cluster, also against a real Kubernetes
	@$(PYTEST) -m "not e2e and not soak" packages/pocketkube/tests
	@$(PROGRAMS) && \
	  $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(REAL) -m "e2e and not soak"

check: lint types imports test ## test, lint, types, import contracts and drift; CI runs this and e2e

lint: $(READY) ## style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

imports: $(READY)
	@$(BIN)/lint-imports --no-logo

e2e: $(READY) ## korder on a real Kubernetes, built once into a cache outside the tree
	@$(PROGRAMS) && \
	  $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=25 tests/e2e -m "not soak"

test-e2e: e2e

bench: $(READY) ## print the benchmark table, write build/bench.json (ONLY=name runs one)
	@$(PROGRAMS) && \
	  $(BIN)/python -m bench $(ONLY)

soak: $(READY) ## long runs: SEEDS=20 simulations of HOURS=24 and rounds of trouble, a thousand examples for every property
	@$(BIN)/python -m korder.testing.soak --seeds $(SEEDS) --hours $(HOURS)
	@$(PROGRAMS) && \
	  KORDER_SEEDS=$(SEEDS) $(BIN)/pytest -m soak --timeout 0 tests packages
	@$(PYTEST) -m "not e2e and not soak" --hypothesis-profile soak --timeout 0 packages/kubeloop/tests packages/pocketkube/tests/embedded

manifests: $(READY) ## write manifests/ from the types
	@$(BIN)/korder manifests --output manifests

generate: manifests

install: $(READY) ## put korder's kinds, RBAC and admission into the cluster of the current kubeconfig
	@$(BIN)/korder install

build: $(READY) ## build the wheels into dist/
	@$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist $(PACKAGES)
	@ls dist/*.whl

fmt: $(READY) ## format and fix what a machine can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: $(READY) ## pin the dependencies anew
	@$(BIN)/pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header --no-emit-index-url \
	  --no-emit-package kubeloop --no-emit-package pocketkube --group dev \
	  $(PACKAGES:%=%/pyproject.toml) -o requirements-dev.lock

clean: ## remove what was built here; the cached control plane stays
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find packages tests bench hack -name __pycache__ -prune -exec rm -rf {} +
