# make demo    the whole chain on drawn data, then tells where to look
# make test    all checks, in up to four processes
# make cluster-test   the workflow on a real SLURM, started here for the test (docs/cluster.md)
# make bench   speed beside public peers, in an environment of its own; writes docs/benchmarks.md
# make peers   the environment of public peers, for methods pyldl@... (docs/peers.md)
# make stores  what a lab's MLflow server and results on an object store need, into .venv
# make gpu-check   on a machine with an NVIDIA card: the tests that need one, and what a forest adds
#              to a training step of VGG-16 (docs/gpu.md)
# make docs    the documentation as one folder, with the report of all papers inside
# make chaos   kills a small paper again and again, then compares every byte; about 20 minutes
# make setup   only the environment, in .venv
#
# TORCH=cpu|gpu   which build of torch (default: the one that .venv has; in a new one gpu if this
#                 machine shows a GPU, else cpu). Another one than before takes the place of the old.
#                 A cluster's login node without a GPU wants TORCH=gpu for its GPU nodes.
# PYTHON=...      the interpreter to build .venv with, 3.11 or newer
# ONLY=...        bench: only comparisons with this in their name
# FRESH=1         bench: measure again what is measured
# KILLS=200       chaos: how often; SYNCS=32: how many syncs to MLflow at once; SEED=2026
# CORES=...       cores that demo may use (default: all)

PYTHON ?= python3
VENV ?= .venv
CORES ?= all
KILLS ?= 200
SYNCS ?= 32
SEED ?= 2026
# The build that the environment was last made with, told by its stamp.
MADE := $(patsubst $(VENV)/.ready-%,%,$(shell ls -t $(VENV)/.ready-* 2>/dev/null | head -n 1))
TORCH ?= $(or $(MADE),$(shell command -v nvidia-smi >/dev/null 2>&1 && echo gpu || echo cpu))
# CPU builds of torch stand on an index of their own; the plain one brings gigabytes of CUDA.
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu

READY := $(VENV)/.ready-$(TORCH)
RUN := PATH="$(abspath $(VENV))/bin:$$PATH"
PIP := $(VENV)/bin/pip install -q --disable-pip-version-check --no-compile

# Peers to measure against never meet the project's own packages.
BENCH_VENV ?= .bench-venv
BENCH_READY := $(BENCH_VENV)/.ready

.PHONY: setup other-torch demo test cluster-test chaos bench gpu-check peers stores docs lint lock clean

setup: $(READY)

# A stamp that is not the last one is void, whatever its age.
$(READY): envs/lock.txt envs/$(TORCH).txt pyproject.toml $(if $(filter $(TORCH),$(MADE)),,other-torch)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "ldlrepro needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) -V`. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
# Both builds of torch answer to one version, and both of xgboost write the same files.
	@if [ "$(MADE)" != $(TORCH) ] && [ -x $(VENV)/bin/pip ]; then \
	  $(VENV)/bin/pip uninstall -q -y --disable-pip-version-check torch xgboost xgboost-cpu; \
	fi
	@rm -f $(VENV)/.ready-*
	$(PYTHON) -m venv $(VENV)
	@echo "Step 1 of 3: torch for $(TORCH), into $(VENV) ..."
	@if [ $(TORCH) = cpu ]; then \
	  $(PIP) --no-deps --retries 1 --extra-index-url $(TORCH_CPU_INDEX) -r envs/cpu.txt; \
	fi
	@if [ $(TORCH) = gpu ]; then $(PIP) -c envs/lock.txt -r envs/gpu.txt; fi
	@echo "Step 2 of 3: $$(grep -c '==' envs/lock.txt) packages of envs/lock.txt; a minute or two where they are downloaded ..."
	$(PIP) -r envs/lock.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@echo "Step 3 of 3: compiling trees and solvers, which would else wait for their first fits ..."
# Beside it the packages' bytecode, which pip would write before that, one after the other.
	@$(VENV)/bin/python -m compileall -q $(VENV)/lib >/dev/null 2>&1 & \
	  $(VENV)/bin/python -m ldl.precompile && wait
	@touch $@

demo: setup
	@$(RUN) snakemake demo --cores $(CORES) --configfile config/demo.yaml
	@echo "Now the page of all papers, from the maintainers' records and what ran here ..."
	@$(RUN) ldlrepro report
	@echo
	@echo "Report      results/report/all/index.html   (open it in a browser)"
	@echo "MLflow      . $(VENV)/bin/activate && ldlrepro ui"
	@echo "Next        . $(VENV)/bin/activate && snakemake --cores all mslp   (real data, one paper)"

test: setup
	@$(RUN) python -m pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(TESTS)

chaos: setup
	@$(RUN) python -m tests.chaos --kills $(KILLS) --syncs $(SYNCS) --seed $(SEED)

cluster-test: setup
	@tests/cluster/install.sh
	@$(RUN) python -m pytest tests/cluster

bench: setup $(BENCH_READY)
	@$(RUN) python -m bench --peers $(BENCH_VENV)/bin/python $(if $(ONLY),--only '$(ONLY)') $(if $(FRESH),--fresh)

# Builds no environment, so that it downloads nothing; without .venv the shell's own python runs it.
gpu-check:
	@$(RUN) PYTHONPATH="$(abspath src)$${PYTHONPATH:+:$$PYTHONPATH}" python -m pytest -m gpu
	@$(RUN) PYTHONPATH="$(abspath src)$${PYTHONPATH:+:$$PYTHONPATH}" python -m bench.gpu

peers: $(BENCH_READY)

# Pins of its own: boto3 and moto are large, and every Snakemake would load the plug-in as it starts.
stores: setup
	$(PIP) --no-deps -r envs/stores.txt

$(BENCH_READY): envs/bench.txt bench/compile_peer.py
	$(PYTHON) -m venv $(BENCH_VENV)
	@echo "Installing the peers into $(BENCH_VENV) ..."
	grep '^torch==' envs/bench.txt > $(BENCH_VENV)/torch.txt
	$(BENCH_VENV)/bin/pip install -q --disable-pip-version-check --no-deps --retries 1 \
	  --extra-index-url $(TORCH_CPU_INDEX) -r $(BENCH_VENV)/torch.txt
	$(BENCH_VENV)/bin/pip install -q --disable-pip-version-check --no-deps -r envs/bench.txt
	$(BENCH_VENV)/bin/python bench/compile_peer.py
	@touch $@

# The site works from disk and from any static host; mkdocs says on every run that it will have a successor.
docs: setup
	@$(RUN) NO_MKDOCS_2_WARNING=1 mkdocs build
	@$(RUN) ldlrepro report --out results/site/report/index.html
	@echo "Site        results/site/index.html   (open it in a browser, or put the folder on a static host)"

lint: setup
	@$(RUN) ruff check . && $(RUN) ruff format --check . && $(RUN) mypy && \
	  $(RUN) snakefmt --check Snakefile rules && $(RUN) snakemake --lint

# New pins from pyproject.toml: resolves in a throw-away environment, then writes envs/.
lock:
	$(PYTHON) envs/lock.py

clean:
	rm -rf $(VENV) $(BENCH_VENV) .snakemake results logs data/raw data/ready
