"""Text files, written whole or not at all."""

from pathlib import Path

from ldlrepro.runs.records import atomically


def write_text(path: Path, text: str) -> None:
    """UTF-8 with plain line ends, so that the bytes are the same everywhere."""

    def write(temporary: Path) -> None:
        temporary.write_text(text, encoding="utf-8", newline="\n")

    atomically(path, write)
