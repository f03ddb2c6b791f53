"""The tables of the documentation that come from records, and a picture of the verdicts.

``python -m ldlrepro.report.summary`` renews them, from ``reference/`` and ``config/``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ldlrepro.arena import standings as standings_of_arena
from ldlrepro.arena.advice import of_arena
from ldlrepro.arena.standings import Standings as Arena
from ldlrepro.arena.standings import spoken
from ldlrepro.catalogue import Paper, Project
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_text
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.answer import PaperAnswer
from ldlrepro.judge.chosen import all_looks
from ldlrepro.judge.evidence import ReadingRow
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.tallies import WITHIN, Tally, tally
from ldlrepro.judge.verdicts import (
    EVIDENCE,
    JUDGED,
    MET,
    PERFECT,
    REPRODUCED,
    SAME,
    SEED_DEVIATIONS,
    VerdictRow,
    listed,
)
from ldlrepro.plan import Plan
from ldlrepro.report import citation, conclusions
from ldlrepro.report.arena import leading, trade_off
from ldlrepro.report.svg import INK, Sheet, for_any_page, text_width

README, TABLES, LOOKS = "README.md", "docs/verdicts.md", "docs/looks.md"
CHOOSING, DEFAULTS, NUMBERS = "docs/choosing.md", "docs/defaults.md", "docs/numbers.md"
PICTURE, ARENA_PICTURE = "docs/verdicts.svg", "docs/arena.svg"
DEFAULTS_TABLE = "docs/defaults.csv"
WIDTH, BAND, LETTERS = 560, 54, 16
"""In pixels: as wide as the window of a phone, its letters are still 10 high."""
WORTH = {
    "holds": ("#2a7f62", "white"),
    "met, but does not hold": ("#9bd0b9", INK),
    "not met": ("#f3b799", INK),
    "not judged": ("#c3ccd8", INK),
}
"""Worth of a number -> the colour of its part of a bar, and of the count in it."""

Rows = dict[Paper, list[VerdictRow]]
"""Paper -> its cells."""


def one_commit(rows: Rows, records: Mapping[str, UnitScores]) -> str:
    """Say how many records, and how many of those that judge, one commit computed."""
    commits = {key: unit.rows[0].git_commit for key, unit in records.items()}
    judging = {row.unit_key for row in _every(rows)} & set(commits)
    (commit, count), *_ = Counter(commits[key] for key in judging).most_common(1)
    return (
        f"Printed numbers are judged by {len(judging):,} records. Commit `{commit[:8]}` computed "
        f"{count:,} of them, and {Counter(commits.values())[commit]:,} of all {len(commits):,} "
        "records.\n"
    )


def verdict_table(rows: Rows) -> str:
    """Return the counts of verdicts in Markdown, and what the met numbers are worth."""
    lines = [{"paper": paper.id, **tally(mine).line} for paper, mine in rows.items()]
    lines.append({"paper": "all", **tally(_every(rows)).line})
    return _markdown([lines[0], *(line.values() for line in lines)])


def paper_table(rows: Rows, project: Project) -> str:
    """Return the papers in Markdown, each with its address and how many of its numbers hold."""
    address = citation.addresses(project)
    lines: list[Iterable[object]] = [("paper", "name here", "printed", "judged", "met", "hold")]
    for paper, mine in rows.items():
        cited = f"{short_title(paper)}, {paper.authors.partition(',')[0]} {paper.year}"
        lines.append((f"[{cited}]({address[paper.title]})", f"`{paper.id}`", *_brief(mine)))
    return _markdown([*lines, ("all", "", *_brief(_every(rows)))])


def _brief(rows: Iterable[VerdictRow]) -> tuple[int, ...]:
    counts = tally(rows)
    return counts.total, counts.judged, counts.met, counts.holds


def _every(rows: Rows) -> list[VerdictRow]:
    return [row for mine in rows.values() for row in mine]


def under_doubt(rows: Rows) -> str:
    """Say how many of the numbers that hold would not before a stricter judge."""
    hold = [row for mine in rows.values() for row in mine if row.holds]
    known = Counter(name for row in hold for name in row.not_asked)
    met = Counter(name for row in hold for name in row.not_asked if row.not_asked[name] in MET)
    chosen = [row for row in hold if row.choice]
    told = [
        f"- {name.capitalize()} is a simpler answer to methods of its own kind alone. It also ran "
        f"on the folds of {known[name]} numbers of other methods that hold, and would meet "
        f"{met[name]}."
        for name in sorted(known)
    ]
    every = _every(rows)
    by_text = sum(row.holds_by_text for row in every)
    both = sum(row.holds_by_text for row in hold)
    far = [row for row in every if row.verdict == REPRODUCED and _is_far_from_perfect(row)]
    folds = {paper.id: {row.protocol for row in mine if row.holds} for paper, mine in rows.items()}
    several = [paper for paper, protocols in folds.items() if len(protocols) > 1]
    told += [
        f"- {len(chosen)} are judged by a reading that other data sets chose. For "
        f"{sum(row.hinges for row in chosen)} of these the choice is not certain, and the second "
        "best reading would not meet the number.",
        f"- If the paper as stated judged every number, {by_text} would hold. {both} of these hold "
        "here, too.",
        f"- Each method has its own choice of folds. In {listed(several)}, some numbers hold on "
        "one kind of folds and some on another.",
        f"- {len(hold) - conclusions.different(hold)} repeat another one: the same number of the "
        "same run, printed again.",
        f"- {sum(row.holds for row in far)} are cosines, intersections or fidelities, whose "
        "perfect value is 1. They are within 1% of the print, but their distance from 1 is not, "
        f"and other seeds do not explain it. So are {len(far)} of all reproduced numbers.",
    ]
    return "\n".join(told) + "\n"


def _is_far_from_perfect(row: VerdictRow) -> bool:
    """Tell whether a measure whose perfect value is 1 meets the print only by its size."""
    off = abs(row.difference or 0.0) * float(row.printed)
    is_far = abs(row.loss_difference or 0.0) > SAME and off > SEED_DEVIATIONS * row.noise
    return row.metric in PERFECT and is_far


def own_table(rows: Rows) -> str:
    """Return the counts of each paper's own methods in Markdown."""
    shares = [f"within {100 * share:.0f}%" for share in WITHIN]
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


def method_table(mine: Sequence[VerdictRow]) -> str:
    """Return a paper's counts by printed method in Markdown, of the cells that are judged."""
    lines: list[Iterable[object]] = [("method", "cells judged", "holds", *JUDGED)]
    for method in dict.fromkeys(row.method for row in mine):
        found = tally(row for row in mine if row.method == method)
        if found.judged:
            counts = [found.counts[verdict] for verdict in JUDGED]
            lines.append((method, found.judged, found.holds, *counts))
    return _markdown(lines)


def readings_table(readings: Iterable[ReadingRow]) -> str:
    """Return the readings of what a paper leaves open in Markdown."""
    lines: list[Iterable[object]] = [("method", "reading", "surprise", "chosen for")]
    for row in readings:
        reading = f"`{row.reading}`" + ", as stated" * row.stated
        lines.append((row.method, reading, f"{row.surprise:.2f}", f"{row.chosen} of {row.of}"))
    return _markdown(lines)


def arena_table(board: Arena, first: int = 10) -> str:
    """Return the first methods of the arena in Markdown."""
    rows = leading(board, first)
    return _markdown([rows[0], *(row.values() for row in rows)])


def worth_table(board: Arena) -> str:
    """Return in Markdown what the defaults of each estimator gain and cost."""
    lines = standings_of_arena.worth_of_defaults(board)
    return _markdown([lines[0], *(line.values() for line in lines)])


def sets_table(board: Arena, paths: Mapping[str, Path]) -> str:
    """Return in Markdown who leads on each data set of the arena, beside who leads overall."""
    overall = board.table["method"].iloc[0]
    lines: list[Iterable[object]] = [
        ("data set", "rows used", "features", "labels", "leads", "gain", "tied", spoken(overall))
    ]
    for name, rows in board.counted.groupby("dataset"):
        facts = json.loads(paths[str(name)].with_name("facts.json").read_text(encoding="utf-8"))
        size = (facts["rows"], facts["features"], facts["labels"])
        found = of_arena(rows, board.measure, apart=facts["persons"] > 0)
        gain, usual = (f"{found.gain(method):.0%}" for method in (found.first, overall))
        lines.append((name, *size, spoken(found.first), gain, len(found.tied), usual))
    return _markdown(lines)


def persons_table(answers: Iterable[PaperAnswer], project: Project) -> str:
    """Return in Markdown which method is best for people that training has not seen.

    The best that may be cited follows where it may not. A star marks settings that printed
    numbers chose.
    """
    lines: list[Iterable[object]] = [
        ("protocol", "data set", "method", "KL, same people", "KL, new people", "rank")
    ]
    for found in (one for answer in answers for one in answer.persons):
        by_print = {each.method for each in found.lines if project.method(each.method).by_print}
        order = sorted(found.lines, key=lambda line: line.rank_apart)
        citable = [line for line in order if line.method not in by_print]
        for line in dict.fromkeys([*order[:1], *citable[:1]]):
            ranks = f"{line.rank_mixed} to {line.rank_apart} of {len(found.lines)}"
            star = r" \*" * (line.method in by_print)
            lines.append(
                (
                    *(found.protocol, found.dataset, f"`{line.method}`{star}"),
                    *(f"{line.mixed:.4f}", f"{line.apart:.4f}", ranks),
                )
            )
    note = "Printed numbers, or a look at test rows, chose its settings: do not cite it."
    return f"{_markdown(lines)}\n\\* {note}\n"


def looks_table(project: Project) -> str:
    """Return every choice by the print in Markdown."""
    return _markdown([("whose", "what", "suggested by", "what was looked at"), *all_looks(project)])


def _markdown(lines: Iterable[Iterable[object]]) -> str:
    head, *body = (
        [f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|") for cell in line]
        for line in lines
    )
    texts = [f"| {' | '.join(line)} |" for line in [head, *body]]
    return "\n".join([texts[0], "|" + "---|" * len(head), *texts[1:]]) + "\n"


def _worth(counts: Tally) -> dict[str, int]:
    """Return how many numbers hold, are only met, are missed, and were not judged."""
    met, judged = counts.met - counts.holds, counts.judged
    numbers = (counts.holds, met, judged - counts.met, counts.total - judged)
    return dict(zip(WORTH, numbers, strict=True))


def short_title(paper: Paper) -> str:
    """Return the names of a paper's own methods, without what tells their variants apart."""
    return ", ".join(dict.fromkeys(re.split("[+*]", name)[0] for name in paper.own))


def picture(rows: Rows) -> str:
    """Draw for each paper how its numbers divide."""
    sheet, left, top = Sheet(), 8, 68.0
    height = top + BAND * len(rows)
    sheet.rectangle(0, 0, WIDTH, height, "white")
    sheet.legend(left, 16.5, {name: colour for name, (colour, _) in WORTH.items()}, LETTERS)
    sheet.text(left, 42, "Each bar is 100% of the printed numbers of a paper.", LETTERS)
    for paper, mine in rows.items():
        worth = _worth(tally(mine))
        hold = f"{worth['holds']} of {len(mine):,} printed numbers hold"
        title = f"{short_title(paper)} ({paper.year}): {hold}"
        sheet.text(left, top + 12, title, LETTERS)
        _bar(sheet, left, top + 34, worth)
        top += BAND
    return sheet.svg(WIDTH, height)


def _bar(sheet: Sheet, x: float, middle: float, counts: Mapping[str, int]) -> None:
    """Draw a bar of parts to scale, with their numbers where these have room."""
    unit = (WIDTH - 2 * x) / sum(counts.values())
    for name, count in counts.items():
        colour, ink = WORTH[name]
        length = unit * count
        sheet.rectangle(x, middle - 11, length, 22, colour)
        if text_width([str(count)], LETTERS) < length:
            sheet.text(x + length / 2, middle, str(count), LETTERS, "middle", fill=ink)
        x += length


def with_part(text: str, name: str, part: str) -> str:
    """Return a page with a part between its marks renewed."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise UserError(f"put back the marks {start.strip()} and {end}")
    return f"{before}{start}{part}{end}{after}"


def renewed(plan: Plan) -> dict[str, str]:
    """Return the text of every file that rests on the records."""
    project = plan.project
    judge = Judge(plan, Workspace(Path("no results"), Path("no data")))  # as in a fresh clone
    answers = {paper: judge.anew(paper) for paper in project.real_papers()}
    rows = {paper: answer.rows for paper, answer in answers.items()}
    paths = standings_of_arena.tables(Path("no results"), project.root / "reference")
    arena = Arena(standings_of_arena.read(paths), project.families)
    parts = {
        README: {
            "papers": paper_table(rows, project),
            "headline": f"{conclusions.of_own_methods(rows)}\n",
            "arena": f"{standings_of_arena.headline(arena)}\n",
        },
        TABLES: {
            "headline": f"{tally(_every(rows)).sentence(conclusions.of_papers(rows))}\n",
            "verdicts": verdict_table(rows),
            "doubt": under_doubt(rows),
            "own methods": own_table(rows),
        },
        LOOKS: {"looks": looks_table(project)},
        NUMBERS: {"records": one_commit(rows, judge.reference)},
        CHOOSING: {
            "arena": f"{standings_of_arena.sentence(arena)}\n",
            "arena methods": arena_table(arena),
            "arena sets": sets_table(arena, paths),
            "persons": persons_table(answers.values(), project),
        },
        DEFAULTS: {
            "arena": f"{standings_of_arena.behind_the_mean(arena)}\n",
            "worth": worth_table(arena),
        },
    }
    texts = {}
    for name, mine in parts.items():
        text = (project.root / name).read_text(encoding="utf-8")
        for mark, part in mine.items():
            text = with_part(text, mark, part)
        texts[name] = text
    for paper, answer in answers.items():
        note = project.root / "papers" / paper.id / "note.md"
        text = note.read_text(encoding="utf-8") if note.is_file() else ""
        tables = {
            "headline": f"{tally(answer.rows).sentence()}\n",
            "counts": method_table(answer.rows),
            "readings": readings_table(answer.readings),
        }
        shown = {m: part for m, part in tables.items() if f"<!-- {m} -->" in text}
        for mark, part in shown.items():
            text = with_part(text, mark, part)
        if shown:
            texts[note.relative_to(project.root).as_posix()] = text
    tables = {DEFAULTS_TABLE: standings_of_arena.defaults_table(arena)}
    pictures = {PICTURE: picture(rows), ARENA_PICTURE: trade_off(arena)}
    return {**texts, **tables, **{name: for_any_page(one) for name, one in pictures.items()}}


def main() -> None:
    plan = Plan(Project.open())
    for name, text in renewed(plan).items():
        write_text(plan.project.root / name, text)


if __name__ == "__main__":
    main()
