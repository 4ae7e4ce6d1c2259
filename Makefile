# All Ranks: `make course` opens the course, `make test` checks everything. `make help` lists the rest.
# One recipe at a time, also under -j: every target writes into .venv or the built book.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help course setup setup-dev test check quick style types js book tests catalogues lock clean clean-all

PYTHON_OF_VENV := .venv/bin/python
TOGETHER := not ray and not browser and not book and not gpu
FAST := not ray and not browser and not book and not gpu and not slow

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-11s %s\n", $$1, $$2}' Makefile

course: setup ## set up, build the book on Ray actors, serve it here and open the browser
	@.venv/bin/allranks open $(ARGS)

setup: ## make .venv and install the course's pinned packages
	@scripts/setup.sh course

setup-dev: ## the same with what the tests and checks need, Node.js packages included
	@scripts/setup.sh dev
	@scripts/node.sh

test: setup-dev check ## set up what the tests need, then check everything

check: browser style types js book tests ## check everything with what is installed

quick: style types js ## the checks and tests that take less than a minute together
	$(PYTHON_OF_VENV) -m pytest -q -n 2 -m "$(FAST)"

.PHONY: browser tests-together tests-alone
browser:
	@scripts/browser.sh

style: ## formatting and lint of the Python
	$(PYTHON_OF_VENV) -m ruff format --check .
	$(PYTHON_OF_VENV) -m ruff check .

types: ## types of the Python
	$(PYTHON_OF_VENV) -m mypy

js: ## types and unit tests of the JavaScript
	npm run --silent types
	npm run --silent test

book: ## build the book: every cell runs on Ray actors, every warning is an error
	.venv/bin/allranks build

# Last, so that its closing line ends the output. What needs neither Ray, a browser nor the book runs on
# all cores; the rest runs alone, because it times out where others take the cores.
ifeq ($(strip $(ARGS)),)
tests: tests-together tests-alone ## every Python test, the browser's included; ARGS="tests/test_x.py -k y" for a part

tests-together:
	$(PYTHON_OF_VENV) -m pytest -n auto --dist worksteal -m "$(TOGETHER)"

tests-alone:
	$(PYTHON_OF_VENV) -m pytest -m "not ($(TOGETHER))"
else
tests:
	$(PYTHON_OF_VENV) -m pytest $(ARGS)
endif

catalogues: book ## write what there is to translate to _build/catalogues
	$(PYTHON_OF_VENV) scripts/catalogues/write.py $(ARGS)

lock: setup-dev ## pin versions and hashes in requirements/; ARGS=--upgrade takes newer ones
	@scripts/lock.sh $(ARGS)

clean: ## remove what builds and tests leave behind
	rm -rf book/_build _build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests exercises book -name __pycache__ -type d -prune -exec rm -rf {} +

clean-all: clean ## the same, and what set-up has installed
	rm -rf .venv node_modules
