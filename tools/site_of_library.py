"""Writes the pages of the library's own site. A hook of MkDocs (packages/ldl/mkdocs.yml)."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation

import ldl
from ldl import metrics
from ldlrepro.arena.standings import TIED

ROOT = Path(__file__).resolve().parents[1]
MODULES = {"measures": "Measures", "datasets": "Data sets", "plot": "Pictures"}
"""Pages that show a module as a whole, with their titles."""
WORKFLOW = {
    "Defaults": "../defaults.html",
    "Benchmarks": "../benchmarks.html",
    "Printed numbers": "../index.html",
}
"""Pages of the workflow's site, which holds this one as a folder."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Write the pages of the library in place of those of the workflow."""
    for file in list(files):
        if not file.src_uri.startswith("assets/"):
            files.remove(file)
    folder = ROOT / "packages" / "ldl"
    texts = {
        "index.md": (folder / "README.md").read_text(),
        "changes.md": (folder / "CHANGELOG.md").read_text(),
        "estimators.md": by_families(),
    }
    for family, names in families().items():
        texts[f"{family}.md"] = estimators(family, names)
    for page, heading in MODULES.items():
        name = "metrics" if page == "measures" else page
        texts[f"{page}.md"] = of_module(heading, importlib.import_module(f"ldl.{name}"))
    texts["measures.md"] += facts()
    for page, text in texts.items():
        files.append(File.generated(config, page, content=text))
    return files


def of_module(heading: str, module: ModuleType) -> str:
    """Return a page with what a module defines: without imported names and fields of classes."""
    there = vars(module)
    own = {name for name in there if getattr(there[name], "__module__", "") == module.__name__}
    kinds = [kind for kind in there.values() if dataclasses.is_dataclass(kind)]
    fields = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    hidden = "|".join(sorted((there.keys() | fields) - own))
    filters = f"['!^_', '!^({hidden})$']"
    return f"# {heading}\n\n::: {module.__name__}\n    options: {{filters: {filters}}}\n"


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Lead to the workflow's site."""
    nav.items += [Link(title, address) for title, address in WORKFLOW.items()]
    return nav


def families() -> dict[str, list[str]]:
    """Return the modules' paths of all estimators, by the families they belong to."""
    found: dict[str, list[str]] = {}
    for module, names in sorted(ldl._FAMILIES.items()):
        found.setdefault(module.split(".")[1], []).extend(f"{module}.{name}" for name in names)
    found["comparison"] += ["ldl.comparison.compare.Arena", "ldl.comparison.result.Comparison"]
    return found


def by_families() -> str:
    """Return a page that lists the estimators by families, with their first lines."""
    lines = [
        "# Estimators",
        "",
        "Each derives from `sklearn.base.BaseEstimator`: `fit(X, D)`, `predict(X)`, `score`.",
    ]
    for family, paths in families().items():
        lines += ["", f"## [{title(family)}]({family}.md)", "", "| | |", "|---|---|"]
        for path in paths:
            name = path.rpartition(".")[2]
            first = (pkgutil.resolve_name(path).__doc__ or "").strip().splitlines()[0]
            lines.append(f"| [{name}]({family}.md#{path}) | {first} |")
    return "\n".join(lines) + "\n"


def facts() -> str:
    """Return a table of all measures: direction, range, zeros and ties."""
    lines = [
        "",
        "## Facts",
        "",
        "| measure | better | range | zeros | ties |",
        "|---|---|---|---|---|",
    ]
    for name, fact in metrics.FACTS.items():
        lines.append(
            f"| {name} | {metrics.better(name)} | {fact.range} | {fact.zeros} | {fact.ties} |"
        )
    return "\n".join(lines) + "\n"


def estimators(family: str, paths: list[str]) -> str:
    """Return a page of directives, one for each estimator of a family."""
    lines = [f"# {title(family)}"]
    lost = lost_by_default()
    for path in paths:
        shown = "[fit, predict, score]" if family == "base" else "false"
        lines += ["", f"::: {path}", f"    options: {{members: {shown}}}"]
        if said := lost.get(path.rpartition(".")[2]):
            lines += ["", said]
    return "\n".join(lines) + "\n"


@cache
def lost_by_default() -> dict[str, str]:
    """Return what to say of estimators whose defaults lose to the training mean on some sets."""
    table = pd.read_csv(ROOT / "docs" / "defaults.csv")
    table["excess"] = table["kl"] / table["kl of TrainMean"] - 1.0
    sets = table["dataset"].nunique()
    found = {}
    for name, rows in table[table["excess"] > 10.0**-TIED].groupby("method"):
        where = f'<a href="../defaults.html#what-they-are-worth">{sets} public sets</a>'
        found[str(name)] = (
            f"By default it is worse than the training mean on {len(rows)} of {where}, by at most "
            f"{rows['excess'].max():.2%}: {', '.join(sorted(rows['dataset']))}. Where features "
            "tell little, a gain on held-out rows may be luck."
        )
    return found


def title(family: str) -> str:
    return family.replace("_", " ").capitalize()
