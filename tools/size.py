"""Print how large the project is: what a reader has to read, know and walk through.

    python tools/size.py

Code lines are those that hold code: docstrings, comments and blank lines do not count. ``self`` and
``cls`` are no parameters, for no caller gives them.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PARTS = {
    "ldl": ["src/ldl"],
    "ldlrepro and papers": ["src", "papers"],  # without src/ldl
    "bench": ["bench"],
    "tests": ["tests"],
    "tools": ["tools"],
}
TEXTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "config/*.md",
    "docs/**/*.md",
    "papers/**/*.md",
)
LONGEST, MOST_PARAMETERS, MOST_PARAMETERS_COMPILED = 60, 8, 10
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def sources(part: str) -> list[Path]:
    """Return the Python files of a part that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *PARTS[part]],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    inside = [ROOT / name for name in listed if name.endswith(".py")]
    theirs = ROOT / "src" / "ldl"
    return [
        path for path in inside if path.is_file() and (part == "ldl" or theirs not in path.parents)
    ]


def code_lines(text: str) -> int:
    """Count the lines that hold code."""
    strings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - strings)


def functions(part: str) -> Iterator[tuple[str, int, int, bool]]:
    """Yield each function with its lines, its parameters, and whether it is compiled."""
    for path in sources(part):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                named = node.args
                given = [*named.posonlyargs, *named.args, *named.kwonlyargs]
                taken = sum(one.arg not in ("self", "cls") for one in given)
                compiled = any(
                    re.search(r"jit|compiled|cached|inlined", ast.unparse(mark))
                    for mark in node.decorator_list
                )
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{path.relative_to(ROOT)}:{node.name}", length, taken, compiled


def verbs() -> int:
    """Count the verbs that the help of the command line names."""
    told = subprocess.run(
        [sys.executable, "-m", "ldlrepro.cli", "--help"], capture_output=True, text=True, check=True
    ).stdout
    return len(re.findall(r"^ {2,4}([a-z]+)(?:  |$)", told, flags=re.MULTILINE))


def variables() -> list[str]:
    """Return the environment variables of our own that the sources name."""
    texts = [
        path.read_text(encoding="utf-8")
        for part in ("ldl", "ldlrepro and papers")
        for path in sources(part)
    ]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk")]
    found = {name for text in texts for name in re.findall(r"LDLREPRO_[A-Z_]*[A-Z]", text)}
    return sorted(found)


def keys() -> int:
    """Count the keys that the schemas of our files describe, at every depth.

    What stands in a condition ("if") describes none.
    """

    def below(tree: object) -> int:
        if isinstance(tree, dict):
            own = len(tree["properties"]) if isinstance(tree.get("properties"), dict) else 0
            return own + sum(below(inner) for name, inner in tree.items() if name != "if")
        return sum(map(below, tree)) if isinstance(tree, list) else 0

    return sum(
        below(yaml.safe_load(path.read_text(encoding="utf-8")))
        for path in sorted((ROOT / "config" / "schemas").glob("*.*"))
    )


def words() -> dict[str, int]:
    """Count the words of the documentation."""
    files = {path for pattern in TEXTS for path in ROOT.glob(pattern)}
    return {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").split())
        for path in sorted(files)
    }


def main() -> None:
    for part in PARTS:
        lines = sum(code_lines(path.read_text(encoding="utf-8")) for path in sources(part))
        print(f"{lines:7,} code lines in {part}")
    print(f"{sum(words().values()):7,} words of documentation")
    print(f"{verbs():7,} verbs in the help")
    print(f"{keys():7,} keys in the schemas")
    print(f"{len(variables()):7,} environment variables: {', '.join(variables())}")
    for part in ("ldl", "ldlrepro and papers", "bench"):
        for name, length, taken, compiled in functions(part):
            most = MOST_PARAMETERS_COMPILED if compiled else MOST_PARAMETERS
            if length > LONGEST:
                print(f"{length:7,} lines in {name}")
            if taken > most:
                print(f"{taken:7,} parameters of {name}")


if __name__ == "__main__":
    main()
