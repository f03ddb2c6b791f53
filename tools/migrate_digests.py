"""Give reference records the digests of today's code where that computes the same bits.

    git worktree add /elsewhere/before COMMIT
    python tools/migrate_digests.py /elsewhere/before --not ldldf rf_reg

A record is migrated only if its digests are those of the code and settings in the checkout
``before``, so that it is known to be of that code. That today's code predicts the same bits is for
``tools/fit_digests.py`` to show before it, and for ``ldlrepro audit`` after it; name the methods of
which it does not. The old digests and the commit that they were taken at stay beside the new ones.
Records of other code keep their digests: compute them again. A parameter that the class has got
since, or that the method's YAML names since, is added to a migrated record with the value that the
method has today, which computes what the old code did. Nothing else is touched, no score,
prediction or time.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ldlrepro import config, models, plan
from ldlrepro.audit.seals import refuse_changed_reference, seal_reference
from ldlrepro.catalogue import digests

ASK_BEFORE = """
import json, sys
from ldlrepro import config, plan

found = {}
for name in json.load(sys.stdin):
    protocol, data_set, method = name.split("/")
    if not config.method_exists(method) or protocol not in plan.protocols():
        continue
    if hasattr(plan, "spec_digest"):  # before units held methods, and not their names
        from ldlrepro.config.digests import method_digest
        spec = plan.spec_digest(plan.Unit(protocol, data_set, method))
        code = method_digest(config.load_method(method))
    else:
        from ldlrepro.catalogue.digests import method_digest
        unit = plan.unit(protocol, data_set, method)
        spec, code = unit.spec_sha256, method_digest(unit.method)
    found[name] = {"spec_sha256": spec, "code_sha256": code}
json.dump(found, sys.stdout)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path, help="checkout of the code before the change")
    parser.add_argument(
        "--not", dest="moved", nargs="+", default=[], metavar="METHOD", help="whose bits moved"
    )
    arguments = parser.parse_args()
    before, moved = arguments.before.resolve(), set(arguments.moved)
    root = config.project_root()
    refuse_changed_reference(root)
    tables = sorted(
        path for path in (root / "reference").glob("*/*.json") if path.with_suffix(".csv").is_file()
    )
    commit = _output(["git", "rev-parse", "HEAD"], before).strip()
    names = [name for table in tables for name in _units(table, json.loads(table.read_text()))]
    old = digests_before(before, names)
    counts = {"migrated": 0, "left": 0}
    for table in tables:
        tree = json.loads(table.read_text(encoding="utf-8"))
        migrated = set()
        for name, record in _units(table, tree).items():
            is_old = name in old and name.split("/")[2].partition("@")[0] not in moved
            done = is_old and migrate(name, record, old[name], commit)
            counts["migrated" if done else "left"] += 1
            if done:
                migrated.add(tuple(name.split("/")[1:]))
        text = json.dumps(tree, indent=1, sort_keys=True) + "\n"
        table.write_text(text, encoding="utf-8")
        add_new_parameters(table.with_suffix(".csv"), migrated)
    seal_reference(root)
    print(counts)


def migrate(name: str, record: dict[str, Any], old: dict[str, str], commit: str) -> bool:
    """Replace the digests of a record of the old code that are not today's; return whether any."""
    unit = plan.unit(*name.split("/"))
    new = {"spec_sha256": unit.spec_sha256, "code_sha256": digests.method_digest(unit.method)}
    if new == old or any(record[key] != digest for key, digest in old.items()):
        return False
    record |= {"before": [*record.get("before", []), {**old, "commit": commit}], **new}
    return True


def add_new_parameters(table: Path, units: set[tuple[str, ...]]) -> None:
    """Add parameters that are named since to the folds of units (dataset, method)."""
    with open(table, encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    for row in rows:
        if (row["dataset"], row["method"]) in units:
            today = models.load(row["method"]).get_params()
            recorded = json.loads(row["params"])
            row["params"] = json.dumps(completed(today, recorded), sort_keys=True)
    with open(table, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def completed(today: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """Add what is new to recorded parameters, and to settings of a wrapped class among them."""
    added = {**today, **recorded}
    for name, value in recorded.items():
        if isinstance(value, dict) and isinstance(today.get(name), dict):
            added[name] = completed(today[name], value)
    return added


def digests_before(before: Path, names: list[str]) -> dict[str, dict[str, str]]:
    """Ask the old code for its digests of units."""
    environment = {**os.environ, "PYTHONPATH": str(before / "src"), "LDLREPRO_ROOT": str(before)}
    asked = json.dumps(names)
    answer = _output([sys.executable, "-c", ASK_BEFORE], before, environment, asked)
    found: dict[str, dict[str, str]] = json.loads(answer)
    return found


def _units(table: Path, tree: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the provenance of each unit in a table, by PROTOCOL/DATASET/METHOD."""
    return {
        f"{table.parent.name}/{dataset}/{method}": record
        for method, records in tree.items()
        for dataset, record in records.items()
    }


def _output(
    command: list[str], folder: Path, environment: dict[str, str] | None = None, given: str = ""
) -> str:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=given,
        text=True,
        check=True,
        capture_output=True,
    ).stdout


if __name__ == "__main__":
    main()
