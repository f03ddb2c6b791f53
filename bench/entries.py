"""The comparisons: one small entry each in ``comparisons.yaml``, spread over its data sets."""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .adapters import ADAPTERS

ENTRIES = Path(__file__).with_name("comparisons.yaml")
MEASURES = ("fit", "predict", "predict_all", "memory")


@dataclass(frozen=True)
class Bars:
    """What our side is meant to reach; absent where nothing is."""

    faster: float | None = None
    """Times faster than the peer, in CPU time."""
    strictly: bool = False
    """More than ``faster``, not just as much."""
    worse_kl: float | None = None
    """The share by which our KL may exceed the peer's."""
    seconds: float | None = None
    """Wall time, for nobody is beside us."""
    mb: float | None = None


@dataclass(frozen=True)
class Comparison:
    """One entry on one data set."""

    id: str
    dataset: str
    group: str
    title: str
    measure: str
    ours: Mapping[str, Any]
    peer: Mapping[str, Any] | None = None
    bars: Bars = Bars()
    note: str = ""
    limit_s: float = 600.0
    """Longest that one run of one side may take."""
    identity: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        return f"{self.id}/{self.dataset}"


def read(path: Path = ENTRIES) -> list[Comparison]:
    """All comparisons in the order of the file."""
    found = [
        comparison
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
        for comparison in _spread(entry, path)
    ]
    names = [comparison.name for comparison in found]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"{path.name}: more than one comparison is called {sorted(repeated)}")
    return found


def chosen(comparisons: Iterable[Comparison], pattern: str) -> list[Comparison]:
    """Those whose name (id/dataset) has ``pattern`` in it, which may hold * and ?."""
    return [c for c in comparisons if fnmatch.fnmatch(c.name, f"*{pattern}*")]


def _spread(entry: dict[str, Any], path: Path) -> Iterable[Comparison]:
    """An entry with ``methods`` in place of one method is an entry for each.

    Where these have settings, their ``ours`` and ``peer`` are added to those of the entry.
    """
    if "methods" in entry:
        settings = entry["methods"]
        for method in settings:
            own = (settings[method] if isinstance(settings, dict) else None) or {}
            one = {name: value for name, value in entry.items() if name not in ("methods", "peer")}
            one["id"] = f"{entry['id']}_{method}"
            one["title"] = entry["title"].format(method=method)
            one["ours"] = {**entry["ours"], **own.get("ours", {}), "method": method}
            if "peer" in own:
                one["peer"] = {**entry.get("peer", {}), **own["peer"]}
            yield from _spread(one, path)
        return
    entry = dict(entry)
    where = f"{path.name}: {entry.get('id', 'an entry without id')}"
    datasets = entry.pop("datasets")
    entry["bars"] = Bars(**entry.pop("bars", {}))
    entry["ours"] = {"library": "ldlrepro", **entry["ours"]}
    for side in filter(None, (entry["ours"], entry.get("peer"))):
        if side["library"] not in ADAPTERS:
            known = ", ".join(ADAPTERS)
            raise ValueError(f"{where}: library '{side['library']}' is none of {known}")
    if entry["measure"] not in MEASURES:
        raise ValueError(f"{where}: measure '{entry['measure']}' is none of {MEASURES}")
    for dataset in datasets:
        deciding = [entry["measure"], entry["ours"], entry.get("peer"), dataset]
        text = json.dumps(deciding, sort_keys=True)
        identity = hashlib.sha256(text.encode()).hexdigest()[:16]
        yield Comparison(dataset=dataset, identity=identity, **entry)
