"""On a real SLURM: the same bytes as without it, whatever happens to its jobs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from tests.cluster.conftest import RECORD, ClusterProject, finish, pretend_measured
from tests.waiting import until

MEMBERS = [f"burden@number={number}" for number in (1, 2, 3, 4)]
MEMBER_RECORDS = [RECORD.replace("burden", member) for member in MEMBERS]


@dataclass
class Flow:
    """A workflow that runs by itself while other tests go on."""

    project: ClusterProject
    process: subprocess.Popen[str]
    node: str = ""
    kept: dict[int, str] = field(default_factory=dict)
    """Folds that were finished when the node failed."""


@pytest.fixture(scope="session")
def flows(prepared, local, cluster) -> dict[str, Flow]:
    """What only takes time is started first and looked at last."""
    slow = prepared(BURDEN_S="18")  # 90 s and more, where SLURM grants 60 and looks every 30
    slow.edit("config/methods/burden.yaml", "runtime: 10", "runtime: 1")
    hungry = prepared(BURDEN_MB="300")
    gpu = prepared()
    whole = prepared()
    for part in ("data", "results", ".snakemake"):
        shutil.rmtree(whole.root / part)
    shutil.copytree(local.root / "reference", whole.root / "reference")
    mortal = prepared(BURDEN_DIES="2 3")
    pretend_measured(mortal.root, "tiny", MEMBERS)
    unlucky = prepared(BURDEN_S="6")
    unlucky.edit("profiles/slurm/config.yaml", "  cpu: {", "  spare: {")
    found = {
        "unlucky": Flow(unlucky, unlucky.submit(RECORD)),
        "slow": Flow(slow, slow.submit(RECORD)),
        "hungry": Flow(hungry, hungry.submit(RECORD)),
        "gpu": Flow(gpu, gpu.submit(RECORD, "--set-resources", "train:gpu=1")),
        "whole": Flow(whole, whole.submit("tiny")),
        "mortal": Flow(mortal, mortal.submit("--retries", "0", *MEMBER_RECORDS)),
    }
    found["unlucky"].kept = unlucky.wait_for_folds()
    found["unlucky"].node = cluster.node_of(unlucky.jobs()[0]["JobId"])
    down = (f"NodeName={found['unlucky'].node}", "State=DOWN", "Reason=test")
    cluster.call("scontrol", "update", *down)
    return found


def same_and_once(project: ClusterProject, local, kept: dict[int, str]) -> None:
    """The bytes of the undisturbed run; each fold once, and those of ``kept`` not anew."""
    assert project.burden_bytes() == (local.root / RECORD).with_suffix(".npz").read_bytes()
    rows = project.rows()
    assert [row.fold for row in rows] == [0, 1, 2, 3, 4]
    assert {row.fold: row.started_at for row in rows if row.fold in kept} == kept
    folder = (project.root / RECORD).parent
    assert sorted(p.name for p in folder.iterdir()) == ["folds_0-4.npz", "folds_0-4.parquet"]


def test_all_jobs_cancelled_and_the_workflow_started_again(flows, prepared, cluster, local):
    project = prepared(BURDEN_S="4")
    process = project.submit(RECORD, "--retries", "0")
    kept = project.wait_for_folds()
    cluster.call("scancel", *(job["JobId"] for job in project.jobs()))
    output = finish(process, status=1)
    assert "CANCELLED" in output
    assert not (project.root / RECORD).exists()
    finish(project.submit(RECORD))
    same_and_once(project, local, kept)


def test_snakemake_killed_while_its_jobs_go_on(flows, prepared, cluster, local):
    project = prepared(BURDEN_S="4")
    process = project.submit(RECORD)
    kept = project.wait_for_folds()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (orphan,) = project.jobs()
    assert orphan["JobState"] == "RUNNING"
    finish(project.submit(RECORD))
    until(lambda: not {j["JobId"] for j in project.jobs()} & set(cluster.running()), "the orphan")
    assert {job["JobState"] for job in project.jobs()} == {"COMPLETED"}
    same_and_once(project, local, kept)


def test_a_job_without_enough_memory_comes_back_with_more(flows, local):
    project = flows["hungry"].project
    finish(flows["hungry"].process)
    asked = [(job["MinMemoryNode"], job["JobState"] == "COMPLETED") for job in project.jobs()]
    assert asked == [("550M", False), ("1100M", True)]
    same_and_once(project, local, {})


def test_a_unit_that_wants_a_gpu_goes_to_the_partition_that_has_some(flows, local):
    project = flows["gpu"].project
    finish(flows["gpu"].process)
    (job,) = project.jobs()
    assert (job["Partition"], job["TresPerJob"]) == ("gpu", "gres:gpu:1")
    same_and_once(project, local, {})


def test_a_whole_paper_gives_the_bytes_of_the_local_run_in_few_jobs(flows, local):
    project = flows["whole"].project
    finish(flows["whole"].process)
    assert (project.root / "results/gate/tiny.ok").is_file()
    expected = {k: v for k, v in local.predictions().items() if "burden" not in k}
    assert len(expected) == 4
    assert project.predictions() == expected
    # Data and folds; fewer for the units than there are units; compare, figures, track; the rest.
    assert 6 <= len(project.jobs()) < 9
    assert {(job["Partition"], job["NumCPUs"]) for job in project.jobs()} == {("cpu", "1")}


def test_one_snakemake_runs_the_members_of_a_job_one_by_one_whoever_dies(flows, local):
    project = flows["mortal"].project
    finish(flows["mortal"].process, status=1)
    (job,) = project.jobs()
    (log,) = (project.root / ".snakemake/slurm_logs").rglob(f"{job['JobId']}.log")
    told = log.read_text()
    assert told.count("Building DAG of jobs") == 1
    events = re.findall(
        r"^localrule train:|^Finished jobid: |^Error in rule train:", told, re.MULTILINE
    )
    assert events[::2] == ["localrule train:"] * len(MEMBERS)
    assert sorted(events[1::2]) == ["Error in rule train:"] * 2 + ["Finished jobid: "] * 2
    assert [len(project.journal(member)) for member in MEMBERS] == [5, 0, 0, 5]


def test_job_arrays_are_refused(flows):
    process = flows["gpu"].project.submit(RECORD, "--forceall", "--ldlrepro-slurm-array-jobs=all")
    assert "would run the first job" in finish(process, status=1)


def test_a_job_past_its_time_comes_back_with_more_and_goes_on(flows, local):
    project = flows["slow"].project
    finish(flows["slow"].process)
    first, again, *_ = project.jobs()
    assert (first["TimeLimit"], first["JobState"]) == ("00:01:00", "TIMEOUT")
    assert again["TimeLimit"] == "00:02:00"
    second = datetime.fromisoformat(again["StartTime"]).astimezone()
    before = {
        row.fold: row.started_at
        for row in project.rows()
        if datetime.fromisoformat(row.started_at) < second
    }
    log = (project.root / "logs/units/tiny/toy/burden/folds_0-4.log").read_text()
    assert 1 <= len(before) <= log.count("from the journal") < 5
    same_and_once(project, local, before)


def test_a_node_that_fails_in_the_middle(flows, local):
    flow = flows["unlucky"]
    finish(flow.process)
    (job,) = flow.project.jobs()
    assert (job["Restarts"], job["JobState"]) == ("1", "COMPLETED")
    assert job["NodeList"] != flow.node
    same_and_once(flow.project, local, flow.kept)
