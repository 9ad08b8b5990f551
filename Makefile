# Two commands: `make app` and `make test`. Every target can be run again at any time; a finished step is skipped.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: app test test-fast lint benchmark clean

app: $(VENV)/.app-ready
	@$(BIN)/python -m trio_core prepare $(ARGS)
	@$(BIN)/python app.py $(ARGS)

test: $(VENV)/.test-ready
	@sh requirements/browser.sh
	@$(BIN)/python -m trio_core prepare
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not benchmark"
	@$(BIN)/python -m pytest -m "slow and not benchmark"

test-fast: $(VENV)/.test-ready
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not benchmark"

lint: $(VENV)/.test-ready
	@$(BIN)/python -m ruff check .

benchmark: $(VENV)/.test-ready
	@$(BIN)/python -m tests.benchmarks $(ARGS)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.app-ready: requirements.txt requirements/model.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements.txt -r requirements/model.txt
	@touch $@

$(VENV)/.test-ready: requirements/test.txt $(VENV)/.app-ready
	$(BIN)/python -m pip install --quiet -r requirements/test.txt
	@touch $@

clean:
	rm -rf $(VENV)
