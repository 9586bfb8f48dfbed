# Two commands for everybody: `make demo` and `make test`. Each makes its own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Peers of benchmarks have an environment of their own: what they need is not what we need.
PEERS_VENV := .venv-peers
PEERS_BIN := $(PEERS_VENV)/bin
PEERS_STAMP := $(PEERS_VENV)/.installed

.PHONY: demo test check docs torture bench bench-gpu clean

demo: $(STAMP)  ## was pretraining worth it? the answer on real text, in minutes
	$(BIN)/headstart demo

test: $(STAMP)  ## every test of the default run
	$(BIN)/python -m pytest -n auto

check: $(STAMP)  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)  ## fill the generated tables and figures of README.md and docs/ from the records
	$(BIN)/python docs/generate.py

torture: $(STAMP)  ## the tests of what must not be lost at full count, and a record of what was done
	$(BIN)/python benchmarks/torture.py

bench: $(PEERS_STAMP)  ## time Headstart beside its peers on this machine, one record a question
	for file in benchmarks/bench_*.py; do $(PEERS_BIN)/python $$file || exit 1; done

bench-gpu: $(PEERS_STAMP)  ## the same questions that only a GPU can answer
	for asked in bench_gpu_step.py "head_parts.py --keep" bench_gpu_fine_tuning.py \
		"bench_translation_training.py --lengths wmt" "bench_translation_training.py --lengths even" \
		"bench_growth.py --device cuda"; do \
		$(PEERS_BIN)/python benchmarks/$$asked || exit 1; done

clean:  ## remove what the other targets made
	rm -rf src/headstart/models/kernels/*.so
	rm -rf $(VENV) $(PEERS_VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The constraints pin torch, so that pip takes the CPU build and not gigabytes of CUDA. pip would
# fetch what builds the package into a place that they do not reach; so that comes first, and stays.
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
BUILT_FROM := pyproject.toml constraints.txt hatch_build.py $(wildcard src/headstart/models/kernels/*.[ch])

$(STAMP): EXTRAS := test,check
$(PEERS_STAMP): EXTRAS := test,bench
$(STAMP) $(PEERS_STAMP): $(BUILT_FROM)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(PIP_INSTALL) hatchling editables
	$(@D)/bin/python $(PIP_INSTALL) --no-build-isolation --editable '.[$(EXTRAS)]'
	touch $@
