"""A finished paper as an RO-Crate, held against the Workflow Run Crate profile by its validator."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

PROFILE = "workflow-run-crate-0.5"
CONTEXT = {
    "@vocab": "http://schema.org/",
    "File": "http://schema.org/MediaObject",
    "conformsTo": {"@id": "http://purl.org/dc/terms/conformsTo"},
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "input": "https://bioschemas.org/ComputationalWorkflow#input",
    "output": "https://bioschemas.org/ComputationalWorkflow#output",
}
"""The terms of the public context that a crate of ours uses; tests have no network."""
NEED_THE_NETWORK = {"ro-crate-1.1_3.1", "ro-crate-1.1_3.2"}
NO_PUBLIC_ADDRESS = {"process-run-crate-0.5_3.2", "process-run-crate-0.5_5.1", "ro-crate-1.1_31.2"}
"""Recommended: a URL of the project, which has none that could be written down."""


@pytest.fixture(scope="module")
def crate(undisturbed: Project, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("crates") / "tiny"
    undisturbed.run("ldlrepro", "export", "tiny", "--crate", str(folder))
    return folder


@pytest.fixture(scope="module")
def entities(crate) -> dict[str, dict]:
    graph = json.loads((crate / "ro-crate-metadata.json").read_text())["@graph"]
    return {entity["@id"]: entity for entity in graph}


def issues(folder: Path) -> set[str]:
    from rocrate_validator import models, services
    from rocrate_validator.utils import document_loader

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_loader, "_fetch_json_ld", lambda url: {"@context": CONTEXT})
        settings = services.ValidationSettings(
            rocrate_uri=str(folder),
            profile_identifier=PROFILE,
            requirement_severity=models.Severity.RECOMMENDED,
        )
        return {issue.check.identifier for issue in services.validate(settings).get_issues()}


def test_the_validator_finds_nothing_but_what_needs_the_network_or_an_address(crate) -> None:
    assert issues(crate) <= NEED_THE_NETWORK | NO_PUBLIC_ADDRESS


def test_every_unit_is_an_action_with_its_record_and_data(crate, entities, undisturbed) -> None:
    records = undisturbed.predictions()
    for name in records:
        action = entities["#run-" + name.rpartition("/")[0]]
        results = {unquote(result["@id"]) for result in action["result"]}
        assert f"results/units/{name}" in results
        assert action["object"]["@id"] == "#data-drawn_faces"
        packed = hashlib.sha256((crate / "results/units" / name).read_bytes())
        assert packed.digest() == hashlib.sha256(records[name]).digest()


def test_the_tables_are_results_of_the_workflow(entities) -> None:
    whole = entities["#workflow-run"]
    assert whole["instrument"]["@id"] == "Snakefile"
    assert "results/compare/tiny/cells.csv" in {result["@id"] for result in whole["result"]}


def test_a_folder_that_holds_something_is_left_alone(crate, undisturbed) -> None:
    told = undisturbed.run("ldlrepro", "export", "tiny", "--crate", str(crate), status=2)
    assert "is not empty" in told


def test_a_paper_that_has_not_run_cannot_be_packed(undisturbed, tmp_path) -> None:
    told = undisturbed.run("ldlrepro", "export", "mslp", "--crate", str(tmp_path / "x"), status=2)
    assert "snakemake --cores all mslp" in told
