"""Nothing from outside is run or leaves its folder, and nothing listens to the network."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from ldlrepro.catalogue import Project
from ldlrepro.core.errors import UserError
from ldlrepro.track.page import serve
from ldlrepro.train.records import predictions_path, read_predictions
from ldlrepro.train.unit import run_unit
from tests.mlflow_server import free_port, wait_until_healthy
from tests.traps import Trap

ROOT = Path(__file__).resolve().parents[2]

# ---------------------------------------------------------------------- the source

RUN_WHAT_THEY_READ = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads",
    "shelve.open", "joblib.load", "eval", "exec", "os.system", "os.popen",
}  # fmt: skip
LAST_NAMES = {"read_pickle", "unpack_archive", "extractall", "unsafe_load", "full_load"}
FOREIGN = {"dill", "cloudpickle", "shelve", "marshal"}


def dangers(source: str) -> list[str]:
    """Calls that would run what a file says, or write where an archive wants."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            found += sorted(FOREIGN & names)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {k.arg: ast.unparse(k.value) for k in node.keywords}
            last = name.rpartition(".")[2]
            if (
                name in RUN_WHAT_THEY_READ
                or last in LAST_NAMES
                or given.get("allow_pickle", "False") != "False"
                or (name == "torch.load" and given.get("weights_only") != "True")
                or (name == "yaml.load" and "SafeLoader" not in given.get("Loader", ""))
                or given.get("shell") == "True"
            ):
                found.append(name)
    return found


def test_no_source_runs_what_it_reads():
    files = [p for top in ("src", "bench", "envs") for p in (ROOT / top).rglob("*.py")]
    assert len(files) > 80
    found = {str(p.relative_to(ROOT)): d for p in files if (d := dangers(p.read_text()))}
    assert found == {
        # The contract of estimators pickles a model in memory, and reads back what it just made.
        "src/ldl/checks.py": ["pickle.loads"],
        # Machine code that the library wrote itself, with a checksum, into the user's own cache.
        "src/ldl/_machine_code.py": ["pickle.loads"],
        # PyYAML's safe loader, which besides refuses a key that stands twice.
        "src/ldlrepro/catalogue/yaml_files.py": ["yaml.load"],
        # Weights that a package ships, opened only if their bytes are those that were looked at.
        "src/ldlrepro/data/eyes/networks.py": ["joblib.load"],
    }


@pytest.mark.parametrize(
    "line",
    [
        "pickle.load(handle)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path, weights_only=False)",
        "yaml.load(text, Loader=yaml.Loader)",
        "archive.extractall(folder)",
        "subprocess.run(line, shell=True)",
        "import dill",
        "eval(text)",
    ],
)
def test_the_search_for_dangers_finds_them(line):
    assert dangers(line)


# ---------------------------------------------------------------------- files from outside


@pytest.mark.parametrize("part", ["predictions", "journal", "folds", "prepared data"])
def test_a_pickle_inside_what_a_run_left_is_never_loaded(ready, tmp_path, part):
    job = ready.job()
    run_unit(job)
    trap = tmp_path / "sprung"
    bad = np.array([Trap(trap)], dtype=object)
    if part == "predictions":
        np.savez(predictions_path(job.record), r000_f000=bad)
        with pytest.raises(ValueError, match="allow_pickle=False"):
            read_predictions(job.record)
    elif part == "journal":
        for path in job.journal.rglob("r*.npz"):
            np.savez(path, row=bad, predictions=bad)
        lines: list[str] = []
        run_unit(job, lines.append)
        assert not any("from the journal" in line for line in lines)
    else:
        np.savez(job.folds if part == "folds" else job.ready, meta=bad)
        with pytest.raises(UserError, match=r"damaged|not a prepared data set"):
            run_unit(job)
    assert not trap.exists()


def test_yaml_makes_no_objects(tiny, tmp_path):
    trap = tmp_path / "sprung"
    for tag in (f"!!python/object/apply:os.mkdir ['{trap}']", "!!python/name:os.system"):
        tiny.write("config/methods/near.yaml", f"title: {tag}\nclass: x.Y\n")
        with pytest.raises(UserError, match=r"near\.yaml: line 1: not valid YAML"):
            Project.open().method("near")
    assert not trap.exists()


DATA = """
title: t
reader: npz
licence: free
files: [{{name: "{name}", sha256: "{sha}", urls: ["{url}"]}}]
"""


@pytest.mark.parametrize("name", ["../x.npz", "/etc/passwd", "..", ".hidden", "a/b.npz", "a\\\\b"])
def test_the_file_of_a_data_set_has_a_name_and_no_path(tiny, name):
    url = "https://example.org/x"
    tiny.write("config/datasets/d.yaml", DATA.format(name=name, sha="0" * 64, url=url))
    with pytest.raises(UserError, match=r"files\.0\.name"):
        Project.open().data_set("d")


# ---------------------------------------------------------------------- what listens


def test_the_page_of_mlflow_listens_on_loopback_only_and_tells_of_the_tunnel(tmp_path, empty_store):
    shutil.copy(empty_store, tmp_path)
    uri, port, log = f"sqlite:///{tmp_path}/mlflow.db", free_port(), tmp_path / "log"
    command = [sys.executable, "-m", "ldlrepro.cli", "ui", "--port", str(port)]
    with open(log, "wb") as handle:
        page = subprocess.Popen(
            [*command, "--tracking-uri", uri], cwd=tmp_path, stdout=handle, stderr=handle,
            start_new_session=True,
        )  # fmt: skip
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", page, log)
        family = [psutil.Process(page.pid), *psutil.Process(page.pid).children(recursive=True)]
        listening = {
            (c.laddr.ip, c.laddr.port)
            for process in family
            for c in process.net_connections()
            if c.status == psutil.CONN_LISTEN
        }
        assert listening == {("127.0.0.1", port)}
    finally:
        os.killpg(page.pid, 9)
        page.wait()
    assert f"ssh -N -L {port}:127.0.0.1:{port} USER@" in log.read_text()


def test_a_password_of_a_store_is_neither_said_nor_given_to_a_process(monkeypatch):
    started = []
    monkeypatch.setattr("ldlrepro.track.page.run_mlflow", lambda *call: started.append(call))
    monkeypatch.setattr("subprocess.Popen", lambda *call: pytest.fail("a process"))
    said: list[str] = []
    port = free_port()
    serve("postgresql://me:secret@box/mlflow", port, said.append)
    assert "secret" not in " ".join(said)
    assert started == [("postgresql://me:secret@box/mlflow", port)]


# ---------------------------------------------------------------------- known vulnerabilities


def audit_lines(report: dict) -> list[str]:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "envs" / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lines_of(report)


def test_an_audit_that_could_look_up_nothing_does_not_claim_that_all_is_well():
    report = {"dependencies": [{"name": "numpy", "skip_reason": "not found"}]}
    (line,) = audit_lines(report)
    assert "0 of 1 packages looked up" in line
    assert "nothing checked" in line
