"""Tables and a picture of verdicts for the documentation, and the list of looks at test rows.

``python -m ldlrepro.report.summary`` renews them, from ``reference/`` and ``config/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.chosen import all_looks
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.tallies import WITHIN, Tally, tally
from ldlrepro.judge.verdicts import EVIDENCE, JUDGED, VERDICTS, VerdictRow
from ldlrepro.plan import Plan
from ldlrepro.report.agreement_figure import COLOURS
from ldlrepro.report.canvas import as_svg

README, TABLES, NUMBERS = "README.md", "docs/verdicts.md", "docs/numbers.md"
PICTURE = "docs/verdicts.svg"
NOT_RUN = "#e2e8f0"

Rows = dict[Paper, list[VerdictRow]]
"""Paper -> its cells."""


def all_rows(plan: Plan) -> Rows:
    """Return the verdicts of every paper, as a fresh clone shows them."""
    judge = Judge(plan, Workspace(Path("no results"), Path("no data")))
    return {paper: judge.rows(paper) for paper in plan.project.real_papers()}


def verdict_table(rows: Rows) -> str:
    """Return the counts of verdicts in Markdown, and what the met numbers are worth."""
    lines = [{"paper": name, **tally(mine).line} for name, mine in with_groups(rows)]
    return _markdown([lines[0], *(line.values() for line in lines)])


def headline(rows: Rows) -> str:
    """Return how many numbers hold in the first group of papers, in a sentence."""
    group = next(iter(rows)).group
    found = tally(row for paper, mine in rows.items() if paper.group == group for row in mine)
    return (
        f"Of {found.total:,} printed numbers {found.judged:,} were computed again and judged. "
        f"{found.met:,} are met, and **{found.holds:,} hold**.\n"
    )


def with_groups(rows: Rows) -> Iterator[tuple[str, list[VerdictRow]]]:
    """Yield the papers with their cells, and after several of a group the group with all cells."""
    for group in dict.fromkeys(paper.group for paper in rows):
        papers = [paper for paper in rows if paper.group == group]
        yield from ((paper.id, rows[paper]) for paper in papers)
        if len(papers) > 1:
            yield group, [row for paper in papers for row in rows[paper]]


def own_table(rows: Rows) -> str:
    """Return the counts of each paper's own methods in Markdown."""
    shares = [f"within {100 * share:.0f} %" for share in WITHIN]
    lines: list[Iterable[object]] = [
        ("own method of", "cells", "holds", *EVIDENCE, *JUDGED, *shares)
    ]
    for paper, mine in rows.items():
        found = tally(row for row in mine if row.method in paper.own)
        lines.append(
            (f"{paper.id}: {', '.join(paper.own)}".replace("*", "\\*"), *_own_counts(found))
        )
    return _markdown(lines)


def _own_counts(found: Tally) -> Iterable[int]:
    yield from (found.total, found.holds, *found.evidence.values())
    yield from (found.counts[verdict] for verdict in JUDGED)
    yield from map(found.within, WITHIN)


def method_table(mine: Iterable[VerdictRow]) -> str:
    """Return a paper's counts by printed method in Markdown, of the cells that are judged."""
    lines: list[Iterable[object]] = [("method", "cells judged", "holds", *JUDGED)]
    methods: dict[str, list[VerdictRow]] = {}
    for row in mine:
        methods.setdefault(row.method, []).append(row)
    for method, cells in methods.items():
        found = tally(cells)
        if found.judged:
            counts = [found.counts[verdict] for verdict in JUDGED]
            lines.append((method, found.judged, found.holds, *counts))
    return _markdown(lines)


def looks_table(project: Project) -> str:
    """Return every choice by the print in Markdown."""
    return _markdown([("whose", "what", "what was looked at"), *all_looks(project)])


def _markdown(lines: Iterable[Iterable[object]]) -> str:
    head, *body = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    texts = [f"| {' | '.join(line)} |" for line in [head, *body]]
    return "\n".join([texts[0], "|" + "---|" * len(head), *texts[1:]]) + "\n"


def picture(rows: Rows) -> str:
    """Draw a bar for each paper, as long as its numbers are many."""
    from matplotlib.figure import Figure

    found = {paper.id: tally(mine).counts for paper, mine in rows.items()}
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
    axis.legend(
        ncols=len(VERDICTS),
        loc="upper center",
        bbox_to_anchor=(0.5, 1.2),
        frameon=False,
        fontsize=8,
        columnspacing=1.2,
    )
    return as_svg(figure, transparent=False)


def with_part(text: str, name: str, part: str) -> str:
    """Return a page with a part between its marks renewed."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise UserError(f"put back the marks {start.strip()} and {end}")
    return f"{before}{start}{part}{end}{after}"


def renewed(plan: Plan) -> dict[str, str]:
    """Return the text of every file that rests on the verdicts."""
    root = plan.project.root
    rows = all_rows(plan)
    tables = (root / TABLES).read_text(encoding="utf-8")
    tables = with_part(tables, "verdicts", verdict_table(rows))
    tables = with_part(tables, "own methods", own_table(rows))
    numbers = (root / NUMBERS).read_text(encoding="utf-8")
    readme = (root / README).read_text(encoding="utf-8")
    texts = {
        README: with_part(readme, "headline", headline(rows)),
        TABLES: tables,
        NUMBERS: with_part(numbers, "looks", looks_table(plan.project)),
    }
    for paper, mine in rows.items():
        note = f"papers/{paper.id}/note.md"
        text = (root / note).read_text(encoding="utf-8") if (root / note).is_file() else ""
        if "<!-- counts -->" in text:
            texts[note] = with_part(text, "counts", method_table(mine))
    return {**texts, PICTURE: picture(rows)}


def main() -> None:
    plan = Plan(Project.open())
    for name, text in renewed(plan).items():
        write_text(plan.project.root / name, text)


if __name__ == "__main__":
    main()
