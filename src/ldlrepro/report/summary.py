"""The README's table and picture of verdicts, from ``reference/``.

``python -m ldlrepro.report.summary`` renews both.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from ldlrepro import config, experiments
from ldlrepro.core.files import write_text
from ldlrepro.judge.cells import verdict_rows
from ldlrepro.judge.reference import reference_units
from ldlrepro.judge.verdicts import VERDICTS
from ldlrepro.report.figures import COLOURS, as_svg

README, PICTURE = "README.md", "docs/verdicts.svg"
NOT_RUN = "#e2e8f0"
TABLE = re.compile(r"\| paper \| cells \|.*?\n\n", re.DOTALL)

Counts = dict[str, Counter[str]]


def counts() -> Counts:
    """Count the verdicts of every paper, as a fresh clone shows them."""
    reference = reference_units(config.project_root() / "reference")
    nothing = Path("no results")
    found = {}
    for paper in config.paper_ids():
        if not config.load_paper(paper)["synthetic"]:
            rows = verdict_rows(paper, {}, reference, experiments.read_all(paper, nothing))
            found[paper] = Counter(row.verdict for row in rows)
    return found


def table(found: Counts) -> str:
    """Return the README's table in Markdown."""
    total = sum(found.values(), Counter())
    lines = [["paper", "cells", *VERDICTS], ["---"] * (2 + len(VERDICTS))]
    for name, mine in [*found.items(), ("all", total)]:
        lines.append([name, str(mine.total()), *(str(mine[verdict]) for verdict in VERDICTS)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace(" --- ", "---") + "\n"


def picture(found: Counts) -> str:
    """Draw a bar for each paper, as long as its numbers are many."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 2.6), layout="constrained")
    axis = figure.add_subplot()
    papers = list(found)[::-1]
    start = [0] * len(papers)
    for verdict in VERDICTS:
        lengths = [found[paper][verdict] for paper in papers]
        colour = COLOURS.get(verdict, NOT_RUN)
        axis.barh(papers, lengths, left=start, color=colour, label=verdict, height=0.7)
        for place, (length, left) in enumerate(zip(lengths, start, strict=True)):
            if length >= 25:
                ink = "black" if verdict == "not run" else "white"
                middle = left + length / 2
                axis.text(middle, place, str(length), ha="center", va="center", color=ink, size=8)
        start = [left + length for left, length in zip(start, lengths, strict=True)]
    axis.set_xlabel("printed numbers")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.legend(ncols=len(VERDICTS), loc="upper center", bbox_to_anchor=(0.5, 1.2), frameon=False)
    return as_svg(figure, transparent=False)


def main() -> None:
    root = config.project_root()
    found = counts()
    text = (root / README).read_text(encoding="utf-8")
    write_text(root / README, TABLE.sub(lambda _: table(found), text, count=1))
    write_text(root / PICTURE, picture(found))


if __name__ == "__main__":
    main()
