# make setup   create the environment in .venv
# make demo    run the whole pipeline on small synthetic data, then say where to look
# make test    run all checks, in up to four processes
# make lint    check style, types and the rules of the workflow
# make docs    build the documentation, with the report of all papers inside
#
# make bench   measure speed beside public packages; writes docs/benchmarks.md
# make peers   create the environment of public packages, for methods pyldl@...
# make stores  add what an MLflow server and results on an object store need
# make gpu-check      on a machine with an NVIDIA card: the tests that need one
# make cluster-test   run the workflow on a real SLURM that is started for the test
# make chaos   kill a small paper many times and compare every byte; 20 minutes
# make lock    resolve new versions from pyproject.toml and write them to envs/
# make clean   remove environments, results, logs and downloaded data; keeps
#                data/manual/ and what MLflow has: mlflow.db and mlartifacts/
#
# TORCH=cpu|gpu  the build of torch. Default: the one in .venv; in a new .venv,
#                gpu if this machine shows a GPU. A build that differs from the
#                installed one replaces it. Use TORCH=gpu on a login node
#                without a GPU if the compute nodes have one.
# PYTHON=...     the Python that creates .venv, 3.11 or newer
# CORES=...      cores for the demo; default all
# ONLY=...       bench: only comparisons whose name contains this
# FRESH=1        bench: measure again what has been measured
# KILLS=200      chaos: how often to kill; SYNCS=32: parallel syncs to MLflow;
#                SEED=2026: seed of both

PYTHON ?= python3
VENV ?= .venv
CORES ?= all
KILLS ?= 200
SYNCS ?= 32
SEED ?= 2026
# The build that the environment was last made with, from the name of its stamp.
MADE := $(patsubst $(VENV)/.ready-%,%,$(shell ls -t $(VENV)/.ready-* 2>/dev/null | head -n 1))
TORCH ?= $(or $(MADE),$(shell command -v nvidia-smi >/dev/null 2>&1 && echo gpu || echo cpu))
# CPU builds of torch have an index of their own; the usual one adds gigabytes of CUDA.
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu

READY := $(VENV)/.ready-$(TORCH)
RUN := PATH="$(abspath $(VENV))/bin:$$PATH"
PIP := $(VENV)/bin/pip install --disable-pip-version-check --no-compile
# Says how far pip is: the first argument names the step, the second the file of packages.
INSTALL := $(VENV)/bin/python envs/install.py

# Public packages to compare with stay apart from the project's own.
BENCH_VENV ?= .bench-venv
BENCH_READY := $(BENCH_VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup other-torch demo test cluster-test chaos bench gpu-check peers stores docs lint lock clean

# The comment at the top of this file.
help:
	@sed -n -e '/^#/!q' -e 's/^# \{0,1\}//p' Makefile

setup: $(READY)

# Only the last stamp counts, whatever its age.
$(READY): envs/lock.txt envs/$(TORCH).txt pyproject.toml packages/ldl/pyproject.toml $(if $(filter $(TORCH),$(MADE)),,other-torch)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "ldlrepro needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) -V`. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
# The two builds of torch have one version, and those of xgboost write the same files.
	@if [ "$(MADE)" != $(TORCH) ] && [ -x $(VENV)/bin/pip ]; then \
	  $(VENV)/bin/pip uninstall -q -y --disable-pip-version-check torch xgboost xgboost-cpu; \
	fi
	@rm -f $(VENV)/.ready-*
	@echo "$(if $(filter $(TORCH),$(MADE)),$(?F) changed since $(VENV) was made. Renewing it,Setting up $(VENV)) in three steps; a few minutes where packages are downloaded."
	@$(PYTHON) -m venv $(VENV)
	@if [ $(TORCH) = cpu ]; then \
	  $(INSTALL) "Step 1 of 3, torch for the CPU" envs/cpu.txt -- \
	    $(PIP) --no-deps --retries 1 --extra-index-url $(TORCH_CPU_INDEX) -r envs/cpu.txt; \
	fi
	@if [ $(TORCH) = gpu ]; then \
	  $(INSTALL) "Step 1 of 3, torch for GPUs, gigabytes of it" envs/gpu.txt -- \
	    $(PIP) -c envs/lock.txt -r envs/gpu.txt; \
	fi
	@$(INSTALL) "Step 2 of 3, packages" envs/lock.txt -- $(PIP) -r envs/lock.txt
	@$(PIP) -q --no-deps --no-build-isolation -e packages/ldl -e .
	@echo "Step 3 of 3, compiling trees and solvers once, so that the first fits need not wait:"
# pip would compile the packages to bytecode before this, one after the other.
	@$(VENV)/bin/python -m compileall -q $(VENV)/lib >/dev/null 2>&1 & \
	  $(VENV)/bin/python -m ldl.precompile && wait
	@echo "Ready. Next: . $(VENV)/bin/activate && ldlrepro --help"
	@touch $@

demo: setup
	@$(RUN) snakemake demo --cores $(CORES) --configfile config/demo.yaml
	@echo
	@echo "Writing the report of all papers, from the maintainers' records and the demo ..."
	@$(RUN) ldlrepro report
	@echo
	@echo "Next, in the environment:  . $(VENV)/bin/activate"
	@echo "  ldlrepro verdicts                  which printed numbers hold"
	@echo "  ldlrepro recommend                 which method to use, by the records"
	@echo "  ldlrepro ui                        the demo's runs in MLflow"
	@echo "  snakemake --cores $(CORES) mslp         reproduce one paper on real data"
	@echo "  ldlrepro new method my_method      add a method of your own"

test: setup
	@$(RUN) python -m pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(TESTS)

chaos: setup
	@$(RUN) python -m tests.chaos --kills $(KILLS) --syncs $(SYNCS) --seed $(SEED)

cluster-test: setup
	@tests/cluster/install.sh
	@$(RUN) python -m pytest tests/cluster

bench: setup $(BENCH_READY)
	@$(RUN) python -m bench --peers $(BENCH_VENV)/bin/python $(if $(ONLY),--only '$(ONLY)') $(if $(FRESH),--fresh)

# Downloads nothing: without .venv it runs with the python of the shell.
gpu-check:
	@$(RUN) PYTHONPATH="$(abspath src)$${PYTHONPATH:+:$$PYTHONPATH}" python -m pytest -m gpu
	@$(RUN) PYTHONPATH="$(abspath src)$${PYTHONPATH:+:$$PYTHONPATH}" python -m bench.gpu

peers: $(BENCH_READY)

# Kept apart: boto3 and moto are large, and every Snakemake would load the plug-in at its start.
stores: setup
	@$(INSTALL) "Packages for servers and object stores" envs/stores.txt -- \
	  $(PIP) --no-deps -r envs/stores.txt

$(BENCH_READY): envs/bench.txt bench/compile_peer.py
	$(PYTHON) -m venv $(BENCH_VENV)
	@echo "Installing public packages into $(BENCH_VENV) ..."
	grep '^torch==' envs/bench.txt > $(BENCH_VENV)/torch.txt
	$(BENCH_VENV)/bin/pip install -q --disable-pip-version-check --no-deps --retries 1 \
	  --extra-index-url $(TORCH_CPU_INDEX) -r $(BENCH_VENV)/torch.txt
	$(BENCH_VENV)/bin/pip install -q --disable-pip-version-check --no-deps -r envs/bench.txt
	$(BENCH_VENV)/bin/python bench/compile_peer.py
	@touch $@

# The sites work from disk and from any static host. The variable hides an advertisement of mkdocs.
docs: setup
	@$(RUN) NO_MKDOCS_2_WARNING=1 mkdocs build
	@$(RUN) NO_MKDOCS_2_WARNING=1 mkdocs build -f packages/ldl/mkdocs.yml
	@$(RUN) ldlrepro report --out results/site/report/index.html
	@echo "Site: file://$(CURDIR)/results/site/index.html (or put the folder on a static host)"

lint: setup
	@$(RUN) ruff check . && $(RUN) ruff format --check . && $(RUN) mypy && \
	  $(RUN) snakefmt --check Snakefile rules && $(RUN) snakemake --lint

# Resolves in a throw-away environment, then writes envs/.
lock:
	$(PYTHON) envs/lock.py

clean:
	rm -rf $(VENV) $(BENCH_VENV) .snakemake results logs data/raw data/ready
