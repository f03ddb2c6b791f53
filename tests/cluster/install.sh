#!/usr/bin/env bash
# SLURM for the tests in this folder, from Debian's packages. The tests bring a configuration of
# their own; nothing of the system's is used. Where SLURM cannot be installed, this says so in one
# line, and the tests are skipped.
PATH="$PATH:/usr/sbin"
missing=()
for program in slurmctld slurmd sbatch munged; do
  command -v "$program" >/dev/null || missing+=("$program")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "No SLURM here (${missing[*]}), and only root on Debian can install it: tests skipped."
  exit 0
fi
{ apt-get update -qq &&
  apt-get install -y -qq --no-install-recommends slurm-wlm slurm-client munge; } >/dev/null 2>&1 ||
  echo "SLURM's packages (slurm-wlm, munge) cannot be installed here: tests skipped."
