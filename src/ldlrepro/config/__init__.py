"""The project of the current folder, until every stage takes a ``Project``. It will go.

Nothing new is built on this: what the files say is in ``ldlrepro.catalogue``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldlrepro.catalogue import Check, Claim
from ldlrepro.catalogue.methods import with_settings as with_settings
from ldlrepro.catalogue.project import FIVE as FIVE
from ldlrepro.catalogue.yaml_files import read_yaml as read_yaml
from ldlrepro.config import plugins as plugins
from ldlrepro.config.here import current as current
from ldlrepro.core.workspace import Workspace

Keys = dict[str, Any]
"""Keys and values of a YAML file."""


def project_root() -> Path:
    return current().root


def shown(source: Path | str) -> str:
    return current().shown(source)


def file_of(kind: str, name: str) -> Path:
    return current().file_of(kind, name)


def paper_file(paper: str, name: str = plugins.PAPER) -> Path:
    return file_of("paper", paper).with_name(name)


def dataset_ids() -> list[str]:
    return current().data_set_ids


def method_ids() -> list[str]:
    return current().method_ids


def paper_ids() -> list[str]:
    return current().paper_ids


def weight_ids() -> list[str]:
    return current().weights_ids


def own_ids(kind: str) -> list[str]:
    return current().own_ids(kind)


def real_papers(group: str = "") -> list[str]:
    return [paper.id for paper in current().real_papers(group)]


def method_exists(method: str) -> bool:
    return current().has_method(method)


def load_metric(metric: str) -> Keys:
    return current().measure(metric).plain()


def load_dataset(dataset: str) -> Keys:
    return current().data_set(dataset).spec()


def load_weights(weights: str) -> Keys:
    return current().weights(weights).plain()


def load_source(name: str) -> Keys:
    return load_weights(name) if name in weight_ids() else load_dataset(name)


def count_persons(dataset: str) -> int | None:
    return current().data_set(dataset).count_persons() if dataset in dataset_ids() else None


def only_photographs(dataset: Keys) -> bool:
    return "layout" in dataset and "features" not in dataset


def load_paper(paper: str) -> Keys:
    value = current().paper(paper)
    defaults: Keys = {"group": "own papers", "synthetic": value.synthetic, "not_available": {}}
    defaults |= {"spread": value.spread, "own": [], "references": {}}
    defaults |= {
        "chosen_by_print": [remark.plain() for remark in value.chosen_by_print],
        "copied": [remark.plain() for remark in value.copied],
        "misprints": [
            {key: text for key, text in vars(misprint).items() if text or key != "std_reads"}
            for misprint in value.misprints
        ],
    }
    beside: Keys = {"misses": [entry.plain() for entry in value.misses]}
    if value.claims:
        beside["claims"] = [_claim(claim) for claim in value.claims]
    return {**defaults, **value.plain(), **beside}


def _claim(claim: Claim) -> Keys:
    """Return a claim in the words of its judge."""
    tree = claim.plain()
    if claim.test is None:
        return tree
    test = claim.test
    found = {key: value for key, value in tree["test"].items() if key != "methods"}
    found |= {"kind": {"best_of_each": "best"}.get(test.kind, test.kind), "jointly": test.jointly}
    found |= {"significant": test.significant, "control": test.control}
    found |= {"methods": test.methods} if test.methods else {}
    found |= {"method": test.method, "rivals": test.rivals} if test.method else {}
    found |= {"kind": "advantage", "is": test.stands_out} if test.stands_out else {}
    found |= {"table": test.table} if test.kind == "at_most" else {}
    found["checks"] = [_check(check) for check in test.checks]
    return {**tree, "test": found}


def _check(check: Check) -> Keys:
    tree = check.plain()
    if not check.dataset:
        return tree
    units = {key: getattr(check, key) for key in ("protocol", "method", "from_protocol", "than")}
    kept = {key: value for key, value in tree.items() if key not in ("from", "to")}
    return kept | {key: name for key, name in units.items() if name}


def load_method(method: str) -> Keys:
    value = current().method(method)
    roles: Keys = {name: getattr(value, name) for name in ("control", "sees_test_labels", "forest")}
    tree = {**roles, "scaling": "none", **value.plain()}
    tree["age"] = value.age
    tree["choices"] = [{"switch": name, **point.plain()} for name, point in value.choices.items()]
    tree.pop("variants", None)
    if value.weights:
        tree["weights"] = {name: weights.facts() for name, weights in value.weights.items()}
        tree["parameters"]["weights"] = os.path.relpath(
            Workspace().weights(tree["parameters"]["weights"]), project_root()
        )
    return tree


def load_run_config() -> Keys:
    """Read and check config/config.yaml."""
    path = project_root() / "config" / "config.yaml"
    return check_run_config(read_yaml(path), path)


def check_run_config(tree: Mapping[str, Any], source: Path | str) -> Keys:
    """Check a merged run configuration and every file that it leads to; return it."""
    run = current().run_config(tree, shown(source))
    plugins.announce(run.plain())
    current().check(run, shown(source))
    return run.model_dump(mode="json")


def tracking_uri(run: Keys) -> str:
    """Return where runs are tracked; MLFLOW_TRACKING_URI wins over the configuration."""
    return os.environ.get("MLFLOW_TRACKING_URI") or str(run["tracking_uri"])
