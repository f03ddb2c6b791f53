"""SLURM as snakemake-executor-plugin-slurm does it, but one Snakemake runs all members of a job.

That plugin starts one Snakemake in a SLURM job and, by srun, another one for each member of a
group: more than a short unit computes. Here the first one runs the members itself. Options are
those of the plugin, named --ldlrepro-slurm-... instead of --slurm-...
"""

from __future__ import annotations

from snakemake_executor_plugin_slurm import Executor as SlurmExecutor
from snakemake_executor_plugin_slurm import ExecutorSettings, common_settings
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface

__all__ = ["Executor", "ExecutorSettings", "common_settings"]


class Executor(SlurmExecutor):
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.array_jobs:
            raise WorkflowError(
                "--ldlrepro-slurm-array-jobs: every task of an array would run the first job. "
                "Leave it out; docs/cluster.md tells why groups are used instead."
            )

    def additional_general_args(self) -> str:
        return "--executor local --keep-going"

    def get_job_args(self, job: JobExecutorInterface) -> str:
        # As many at a time as the job has CPUs, not as the node has; of two --cores the last holds.
        return f"{super().get_job_args(job)} --cores {job.threads}"
