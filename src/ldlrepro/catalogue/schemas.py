"""JSON schemas of the files, made from their models: for editors, the reference and complaints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldlrepro.catalogue.claims import Claims, Misses
from ldlrepro.catalogue.data_sets import DataSet, Weights
from ldlrepro.catalogue.entries import Entry
from ldlrepro.catalogue.measures import Measure
from ldlrepro.catalogue.methods import Method
from ldlrepro.catalogue.papers import Paper
from ldlrepro.catalogue.runs import RunConfig

FILES: Mapping[str, type[Entry]] = {
    "config": RunConfig,
    "dataset": DataSet,
    "method": Method,
    "weight": Weights,
    "measure": Measure,
    "paper": Paper,
    "claims": Claims,
    "misses": Misses,
}
"""Kind of file -> its model."""
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(model: type[Entry]) -> dict[str, Any]:
    """Return the schema of a kind of file."""
    made = _plain(model.model_json_schema(by_alias=True))
    return {"$schema": DRAFT, "title": made.pop("description").rstrip("."), **made}


def _plain(node: Any) -> Any:
    """Leave out what says nothing: titles made of names, empty defaults, keys that are null."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _plain(value) for key, value in node.items()}
    if isinstance(kept.get("title"), str):
        del kept["title"]
    if "default" in kept and kept["default"] in (None, "", []):
        del kept["default"]
    choices = [choice for choice in kept.pop("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **kept}
    return {**kept, "anyOf": choices} if choices else kept
