"""Makes the tables of config/README.md from the schemas.

``python -m ldlrepro.doctor.config_docs`` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ldlrepro import config, plan
from ldlrepro.core.errors import UserError

KINDS = ("config", "dataset", "method", "weight", "metric", "paper", "claims", "misses")
# Names shown for keys that the user chooses; `id` where none is given here.
PLACEHOLDERS = {
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
    """A line of a table: one key of a schema."""

    key: str
    allowed: str
    default: str
    meaning: str


def key_rows(kind: str) -> list[KeyRow]:
    """Return all keys of a schema, nested ones as dotted paths."""
    schema = config.schema(kind)
    # The plan fills these in job by job, so the schema cannot name them.
    defaults = {"resources": plan.DEFAULT_RESOURCES} if kind == "method" else {}
    return list(_Walk(schema).rows(schema, "", defaults))


def table(kind: str) -> str:
    """Return the Markdown table of a schema's keys."""
    lines = ["| key | allowed | default | meaning |", "|---|---|---|---|"]
    for row in key_rows(kind):
        cells = (f"`{row.key}`", row.allowed, row.default, row.meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def with_tables(text: str) -> str:
    """Return the README's text with fresh tables between its marks."""
    for kind in KINDS:
        start, end = f"<!-- keys of {kind} -->\n", f"<!-- end of {kind} -->"
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise UserError(f"config/README.md: put back the marks {start.strip()} and {end}")
        text = f"{before}{start}{table(kind)}\n{end}{after}"
    return text


class _Walk:
    """Walk through a schema; parts shared by ``$ref`` are shown where they first occur."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.shared = schema.get("$defs", {})
        self.first_place: dict[str, str] = {}

    def rows(self, node: dict[str, Any], path: str, defaults: Any) -> Iterator[KeyRow]:
        """Yield the rows of everything below ``node``."""
        for name, child in node.get("properties", {}).items():
            inner = f"{path}.{name}" if path else name
            default = defaults.get(name) if isinstance(defaults, dict) else None
            required = name in node.get("required", [])
            yield from self._row(child, inner, default, required)
        entry = node.get("additionalProperties")
        if isinstance(entry, dict):
            inner = f"{path}.{_placeholder(path)}"
            yield from self.rows(self._resolved(entry), inner, None)
        if "items" in node:
            yield from self.rows(self._resolved(node["items"]), f"{path}[]", None)
        for alternative in node.get("oneOf", []):
            yield from self.rows(self._resolved(alternative), path, None)

    def _row(
        self, child: dict[str, Any], path: str, default: Any, required: bool
    ) -> Iterator[KeyRow]:
        node = self._resolved(child)
        default = node.get("default", default)
        shown = "required" if required else _default(default)
        place = self.first_place.setdefault(child.get("$ref", path), path)
        if place != path:
            yield KeyRow(path, f"keys as in `{place}`", shown, "replaces these keys only")
            return
        yield KeyRow(path, self._allowed(node, path), shown, node["description"])
        yield from self.rows(node, path, default)

    def _resolved(self, node: dict[str, Any]) -> dict[str, Any]:
        return self.shared[node["$ref"].rpartition("/")[2]] if "$ref" in node else node

    def _allowed(self, node: dict[str, Any], path: str) -> str:
        node = self._resolved(node)
        if "enum" in node:
            return ", ".join(f"`{value}`" for value in node["enum"])
        if "oneOf" in node:
            return " or ".join(self._allowed(option, path) for option in node["oneOf"])
        kind = node.get("type", "any")
        if kind == "array":
            fewest = f" (at least {node['minItems']})" if "minItems" in node else ""
            if "items" not in node:
                return f"list{fewest}"
            return f"list of {self._allowed(node['items'], path + '[]')}{fewest}"
        if kind == "object":
            entry = node.get("additionalProperties")
            if isinstance(entry, dict):
                return f"`{_placeholder(path)}` → {self._allowed(entry, path)}"
            return "keys below" if "properties" in node else "names with values"
        if kind == "string" and "pattern" in node:
            return f"text like `{node['pattern']}`"
        words = {"string": "text", "boolean": "`true`, `false`", "integer": "whole number"}
        limits = [f"{word} {node[key]}" for key, word in NUMBER_LIMITS.items() if key in node]
        return ", ".join([words.get(kind, kind), *limits])


def _placeholder(path: str) -> str:
    return f"<{PLACEHOLDERS.get(path.rpartition('.')[2], 'id')}>"


def _default(value: Any) -> str:
    """Return a default as YAML shows it; '' where a key left out means nothing."""
    if value is None or value == "" or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return f"`[{', '.join(value)}]`"
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def main() -> None:
    """Renew the tables in config/README.md."""
    path = config.project_root() / "config" / "README.md"
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
