"""Impossible numbers as the ``misprints`` of a paper's YAML file, each with its proof."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from ldlrepro.lint.findings import IMPOSSIBLE, Finding

MOST = 2
"""Suspects of a finding, from which on nobody can tell which number is the misprint."""


def entries(findings: Iterable[Finding]) -> list[dict[str, str]]:
    """Return an entry for each suspect of an impossible finding; of several proofs the first."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for finding in findings:
        if finding.state != IMPOSSIBLE or len(finding.suspects) > MOST:
            continue
        for cell in finding.suspects:
            beside = ", ".join(str(other) for other in finding.cells if other != cell)
            entry = {
                "table": cell.table,
                "dataset": cell.dataset,
                "setting": cell.setting,
                "method": cell.method,
                "metric": cell.measure,
                "proof": f"{cell}{f' beside {beside}' if beside else ''}: {finding.why}",
                "std_reads": finding.std_reads,
            }
            if finding.std_alone and not finding.std_reads:
                continue
            filled = {key: text for key, text in entry.items() if text or key == "table"}
            found.setdefault((*cell.row, cell.measure), filled)
    return list(found.values())


def as_yaml(findings: Iterable[Finding]) -> str:
    listed = entries(findings)
    return yaml.safe_dump({"misprints": listed}, sort_keys=False, allow_unicode=True, width=100)
