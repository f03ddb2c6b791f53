"""Impossible numbers as ``remarks`` of a paper's YAML file, each with its proof."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from ldlrepro.lint.findings import IMPOSSIBLE, Finding

MOST = 2
"""Suspects of a finding, from which on nobody can tell which number is the misprint."""


def entries(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return an entry for each suspect of an impossible finding; of several proofs the first."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for finding in findings:
        if finding.state != IMPOSSIBLE or len(finding.suspects) > MOST:
            continue
        for cell in finding.suspects:
            beside = ", ".join(str(other) for other in finding.cells if other != cell)
            entry = {
                "kind": "misprint",
                "tables": [cell.table],
                "datasets": [cell.dataset],
                "settings": [cell.setting] * bool(cell.setting),
                "methods": [cell.method],
                "metrics": [cell.measure],
                "proof": f"{cell}{f' beside {beside}' if beside else ''}: {finding.why}",
                "std_reads": finding.std_reads,
            }
            if finding.std_alone and not finding.std_reads:
                continue
            filled = {key: value for key, value in entry.items() if value}
            found.setdefault((*cell.row, cell.measure), filled)
    return list(found.values())


def as_yaml(findings: Iterable[Finding]) -> str:
    listed = entries(findings)
    return yaml.safe_dump({"remarks": listed}, sort_keys=False, allow_unicode=True, width=100)
