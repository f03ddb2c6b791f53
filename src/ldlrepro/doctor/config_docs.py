"""Makes what tells of configuration files from their models: schemas for editors, and the tables of
config/README.md.

``python -m ldlrepro.doctor.config_docs`` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldlrepro.catalogue.schemas import FILES, schema
from ldlrepro.catalogue.yaml_files import SCHEMAS, find_root

# Names shown for keys that the user chooses; `id` where none is given here.
PLACEHOLDERS = {
    "choices": "parameter",
    "grid": "parameter",
    "methods": "printed method",
    "settings": "printed setting",
    "tables": "number",
    "use_dataset": "printed id",
    "variants": "variant",
}
NUMBER_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


@dataclass(frozen=True)
class KeyRow:
    """A line of a table: one key of a file."""

    key: str
    allowed: str
    default: str
    meaning: str


def key_rows(kind: str) -> list[KeyRow]:
    """Return all keys of a kind of file, nested ones as dotted paths."""
    whole = schema(FILES[kind])
    return list(_Walk(whole.get("$defs", {})).rows(whole, ""))


def table(kind: str) -> str:
    """Return the Markdown table of the keys of a kind of file."""
    lines = ["| key | allowed | default | meaning |", "|---|---|---|---|"]
    for row in key_rows(kind):
        cells = (f"`{row.key}`", row.allowed, row.default, row.meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def with_tables(text: str) -> str:
    """Return the README's text with fresh tables between its marks."""
    from ldlrepro.report.summary import with_part

    for kind in FILES:
        text = with_part(text, f"keys of {kind}", f"{table(kind)}\n")
    return text


class _Walk:
    """Walk through a schema; parts that several keys share are shown where they first occur."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self.shared = shared
        self.first_place: dict[str, str] = {}

    def rows(self, node: dict[str, Any], path: str) -> Iterator[KeyRow]:
        """Yield the rows of everything below ``node``."""
        for name, child in node.get("properties", {}).items():
            inner = f"{path}.{name}" if path else name
            yield from self._row(child, inner, name in node.get("required", []))
        if isinstance(entry := node.get("additionalProperties"), dict):
            yield from self._below(entry, f"{path}.{_placeholder(path)}")
        if "items" in node:
            yield from self._below(node["items"], f"{path}[]")
        for choice in node.get("anyOf", []):
            yield from self._below(choice, path)

    def _below(self, node: dict[str, Any], path: str) -> Iterator[KeyRow]:
        if self._is_shown(node, path):
            yield from self.rows(self._resolved(node), path)

    def _is_shown(self, node: dict[str, Any], path: str) -> bool:
        """Tell whether a shared part is shown here, and not somewhere above."""
        return self.first_place.setdefault(node.get("$ref", path), path) == path

    def _row(self, child: dict[str, Any], path: str, required: bool) -> Iterator[KeyRow]:
        node = self._resolved(child)
        shown = "required" if required else _default(child.get("default"))
        if not self._is_shown(child, path):
            place = self.first_place[child["$ref"]]
            yield KeyRow(path, f"keys as in `{place}`", shown, node["description"])
            return
        yield KeyRow(path, self._allowed(node, path), shown, node["description"])
        yield from self.rows(node, path)

    def _resolved(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return a node with its own description, whatever shared part it refers to."""
        if "$ref" not in node:
            return node
        return {**self.shared[node["$ref"].rpartition("/")[2]], **node}

    def _allowed(self, node: dict[str, Any], path: str) -> str:
        if "$ref" in node and not self._is_shown(node, path):
            return f"keys as in `{self.first_place[node['$ref']]}`"
        node = self._resolved(node)
        if "const" in node:
            return f"`{node['const']}`"
        if "enum" in node:
            return ", ".join(f"`{value}`" for value in node["enum"])
        if "anyOf" in node and "properties" not in node:
            return " or ".join(self._allowed(option, path) for option in node["anyOf"])
        kind = node.get("type", "any")
        if kind == "array":
            fewest = f" (at least {node['minItems']})" if "minItems" in node else ""
            if not node.get("items"):
                return f"list{fewest}"
            return f"list of {self._allowed(node['items'], path + '[]')}{fewest}"
        if kind == "object":
            entry = node.get("additionalProperties")
            if isinstance(entry, dict) and entry:
                name = _placeholder(path)
                return f"`{name}` → {self._allowed(entry, f'{path}.{name}')}"
            return "keys below" if "properties" in node else "names with values"
        if kind == "string" and "pattern" in node:
            return f"text like `{node['pattern']}`"
        words = {"string": "text", "boolean": "`true`, `false`", "integer": "whole number"}
        limits = [f"{word} {node[key]:g}" for key, word in NUMBER_LIMITS.items() if key in node]
        return ", ".join([words.get(kind, kind), *limits])


def _placeholder(path: str) -> str:
    return f"<{PLACEHOLDERS.get(path.rpartition('.')[2], 'id')}>"


def _default(value: Any) -> str:
    """Return a default as YAML shows it; '' where a key left out means nothing."""
    if value is None or value == "" or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def schemas() -> dict[str, Any]:
    """Return kind -> its schema; a part that an earlier one has as well is there alone."""
    made: dict[str, Any] = {}
    homes: dict[str, str] = {}
    for kind, model in FILES.items():
        whole = schema(model)
        parts = whole.get("$defs", {})
        for name in list(parts):
            home = homes.setdefault(name, kind)
            if home != kind and made[home]["$defs"][name] == parts[name]:
                del parts[name]
                _refer(whole, f"#/$defs/{name}", f"{home}.schema.json#/$defs/{name}")
        made[kind] = whole
    return made


def _refer(node: Any, old: str, new: str) -> None:
    """Put another reference in the place of one, at every depth."""
    if isinstance(node, dict) and node.get("$ref") == old:
        node["$ref"] = new
    for below in node.values() if isinstance(node, dict) else node:
        if isinstance(below, dict | list):
            _refer(below, old, new)


def written(root: Path) -> dict[Path, str]:
    """Return file -> what it should hold."""
    page = root / "config" / "README.md"
    files = {page: with_tables(page.read_text(encoding="utf-8"))}
    for kind, made in schemas().items():
        path = root / SCHEMAS / f"{kind}.schema.json"
        files[path] = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    return files


def main() -> None:
    """Renew the schemas and the tables in config/README.md."""
    for path, text in written(find_root()).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
