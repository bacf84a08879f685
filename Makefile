# Every target makes its own environment first; the second time that costs nothing.
PYTHON ?= python3
EXPERIMENT ?= synthetic-gp
KILLS ?= 2000
PROCESSES ?= 2
SEEDS ?= 10
BIN := .venv/bin
# Files are shared out among processes; a file's tests stay together, and so do their programs.
PYTEST = $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile

# Cholesky factorisations go through OpenBLAS, whose threads fight over busy cores.
export OPENBLAS_NUM_THREADS ?= 1
# Compiled programs are kept between runs, however small, and shared by processes.
export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.cache/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0
export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES ?= -1

.PHONY: setup demo test check lint types profile planted bench torture reproduce lock clean

setup: .venv/ready

.venv/ready: pyproject.toml requirements.lock
	@command -v $(PYTHON) > /dev/null || { echo "There is no $(PYTHON); run 'make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)'."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Labelwise needs Python 3.11 or newer; run 'make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)'."; exit 1; }
	$(PYTHON) -m venv .venv || { echo "No virtual environment could be made; on Debian and Ubuntu 'apt-get install python3-venv' helps."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint requirements.lock --group dev --editable .
	@touch $@

demo: setup
	$(BIN)/labelwise demo --out demo

# Everything, as it is checked before it lands.
test: lint types
	$(PYTEST) $(TESTS)

# For work in progress: all but experiments, benchmarks, documents' commands, kills, concurrency.
check: lint types
	$(PYTEST) -m "not slow" $(TESTS)

# The most expensive test files, in CPU seconds and compiled programs.
profile: setup
	$(BIN)/python -m tests.profile --numprocesses $(PROCESSES) --dist loadfile $(TESTS)

# Plant deliberate errors one by one, and see each of them caught.
planted: setup
	$(BIN)/python -m tests.planted --processes $(PROCESSES)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/pyright

bench: setup
	$(BIN)/python -m benchmarks optimality
	$(BIN)/python -m benchmarks planning
	$(BIN)/python -m benchmarks campaign
	$(BIN)/python -m benchmarks start
	$(BIN)/python -m benchmarks neural

# Kill every command at random instants, crowd a campaign, spoil tables, flip bits: many more times than the tests do.
# The kills go on where they were broken off, unless the code has changed since.
torture: setup
	@mkdir -p .cache
	$(BIN)/python -m tests.campaign.commands --kills $(KILLS) --results .cache/torture.jsonl
	$(BIN)/python -m tests.campaign.torture --kills 200
	$(BIN)/python -m tests.campaign.crowd --processes 16
	$(BIN)/python -m tests.campaign.fuzz --inputs 1000
	$(BIN)/python -m tests.campaign.flips --flips 500

reproduce: setup
	$(BIN)/python -m experiments $(EXPERIMENT) --seeds $(SEEDS) --out experiments/results/$(EXPERIMENT)

# Pin what is installed now; names and versions only.
lock: setup
	$(BIN)/python -m pip freeze --exclude-editable --exclude pip | grep '==' > requirements.lock

clean:
	rm -rf .venv .cache demo
