# Everything a user or a developer runs. `make help` lists it.

PYTHON ?= python3
VENV ?= .venv
# The dashboard's port and the demo's data folder; `make demo PORT=8600 DATA=/tmp/demo`.
PORT ?= 8501
DATA ?= .demo
# The configuration of `make run`.
CONFIG ?= headroom.yaml
# What the set-up fetches beside the packages.
JARS := delta
# How long `make faults` breaks things.
MINUTES ?= 60
# Further arguments for the command, for example `make demo ARGS=--no-dashboard`.
ARGS ?=

RUN := $(VENV)/bin/python
# Tests without servers share no state: three at a time, since some wait for time-outs.
PARALLEL := -n 3 --dist worksteal
export PYTHONPATH := $(CURDIR)

# What the tests need from Debian beyond what the set-up installs.
DEBIAN_PACKAGES := chromium docker-compose rabbitmq-server prometheus prometheus-alertmanager \
    nginx-light krb5-kdc krb5-admin-server libkrb5-dev gcc libfaketime

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo run test test-all test-quick test-spark test-others test-servers test-pages faults bench lint requirements debian python-version clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

python-version:
	@$(PYTHON) -c 'import sys; sys.exit("Headroom needs Python 3.11 or newer, $(PYTHON) is %d.%d: try make PYTHON=python3.11 ..." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'

setup: python-version ## virtual environment, pinned packages, a Java runtime where there is none
	@$(PYTHON) runtime/bootstrap.py --venv $(VENV) --jars $(JARS)

setup-dev: python-version
	@$(PYTHON) runtime/bootstrap.py --venv $(VENV) --dev

demo: JARS += kafka
demo: setup ## a real three-broker Kafka with workloads, collectors, Spark and the dashboard
	@exec $(RUN) -m demo up --port $(PORT) --data $(DATA) $(ARGS)

run: setup ## the same services on your own clusters: make run CONFIG=headroom.yaml
	@exec $(RUN) -m runtime run --config $(CONFIG) $(ARGS)

test: setup-dev debian ## all checks, all tests, of the exhaustive ones today's: half an hour
	@$(MAKE) --no-print-directory lint
	@$(RUN) -m pytest tests/unit tests/app $(PARALLEL) --durations=25 $(ARGS)
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-spark test-others

# Two side by side: one computes most of its time, the others mostly wait.
test-others:
	@$(MAKE) --no-print-directory test-servers
	@$(MAKE) --no-print-directory test-pages

test-spark: setup-dev ## the tests of the history on Spark
	@$(RUN) -m pytest tests/spark --durations=25 $(ARGS)

test-servers: setup-dev debian ## the tests on real brokers and other servers
	@$(RUN) -m pytest tests/kafka tests/servers tests/faults --durations=25 $(ARGS)

test-pages: setup-dev debian ## the tests of the demo, and of pages in a browser
	@$(RUN) -m pytest tests/browser tests/demo --durations=25 $(ARGS)

test-all: ## the same with every exhaustive test
	@$(MAKE) --no-print-directory test ARGS="--all $(ARGS)"

test-quick: setup-dev ## the tests that need no server, in a minute and a half
	@$(RUN) -m pytest tests/unit $(PARALLEL) -m "not exhaustive" $(ARGS)

faults: setup-dev ## the demo under an hour of faults, and what came of it: make faults MINUTES=10
	@$(RUN) -m tests.faults.hour --minutes $(MINUTES) $(ARGS)

bench: setup-dev ## the benchmarks, on brokers that they start (4 GB of memory, 45 minutes)
	@$(RUN) -m bench all $(ARGS)

lint: setup-dev ## style, types, import contracts
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@$(VENV)/bin/lint-imports

# As root on Debian the packages are installed; elsewhere the tests say what they leave out.
debian:
	@if [ -e /etc/debian_version ] && [ "$$(id -u)" = 0 ] \
	    && ! dpkg-query -W -f '$${Status}\n' $(DEBIAN_PACKAGES) 2>/dev/null \
	        | awk '/ installed$$/ {n++} END {exit n != $(words $(DEBIAN_PACKAGES))}'; then \
	    echo "installing Debian packages: $(DEBIAN_PACKAGES)"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends $(DEBIAN_PACKAGES) >/dev/null; \
	fi
	@if [ -x $(RUN) ] && command -v krb5-config >/dev/null && ! $(RUN) -c 'import gssapi' 2>/dev/null; then \
	    $(RUN) -m pip install --quiet --require-hashes -r requirements-kerberos.txt \
	        || echo "gssapi cannot be compiled: the tests of Kerberos are left out"; \
	fi

requirements: setup-dev ## compile the requirements files anew, with the hash of every file
	@for source in requirements.in requirements-dev.in requirements-uv.txt requirements-jre.txt \
	        requirements-kerberos.txt; do \
	    $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
	        --no-header --no-emit-index-url --generate-hashes $$source \
	        -o $${source%.*}.txt || exit 1; done

clean: ## remove the environment and the demo's data
	@rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
