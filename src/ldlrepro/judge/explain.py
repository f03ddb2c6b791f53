"""Everything about one cell: what it rests on, the origin of each parameter, what moves it."""

from __future__ import annotations

import json
import shlex
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ldlrepro.catalogue import Method, Paper, Project
from ldlrepro.catalogue.project import plain
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.groups import grouped
from ldlrepro.judge.answer import PaperAnswer
from ldlrepro.judge.chosen import NO_PAPERS, VALIDATION, chosen_by
from ldlrepro.judge.misses import in_sentences
from ldlrepro.judge.scores import UnitScores
from ldlrepro.judge.verdicts import (
    BLIND,
    EXACT,
    FITTED,
    FOLDS,
    JUDGED,
    MET,
    MISPRINT,
    NEITHER,
    NOT_RUN,
    PERFECT,
    PREDICTED,
    REPEATS,
    SAME,
    SEED_DEVIATIONS,
    VerdictRow,
    difference,
    half_unit,
    listed,
    percent,
)

PLUMBING = {"random_state", "n_jobs", "device", "readers", "sha256", "verbose"}
"""Parameters that say nothing of a method, so that nobody has to say where they come from."""
CODE = "the original code"
OURS, OPEN = "our choice", "our choice, see open points"
LEAK = ", which sees test labels"
IN_WORDS = {
    BLIND: "blind, no printed number and no test row had a say in the settings",
    PREDICTED: "predicted, numbers or test rows of other data sets chose the settings",
    FITTED: "fitted, numbers or test rows of this data set had a say in the settings",
}
"""Evidence -> what it means."""
SAID = {NOT_RUN: "was not run", MISPRINT: "is a misprint"}
"""Verdict -> how a sentence says it, where `is` before it does not."""
FAR_OFF = 0.05
"""Relative difference of two distances from a perfect answer up to which it is not told."""
CANDIDATES = "candidates from "


def explain(cell: str, answer: PaperAnswer, project: Project) -> dict[str, Any]:
    """Return everything about a cell, by the name that ``ldlrepro verdicts --show`` gives it."""
    rows = {plain(row.cell): row for row in answer.rows}
    if plain(cell) not in rows:
        tables = dict.fromkeys(row.table for row in answer.rows)
        most, _ = Counter(row.verdict for row in answer.rows).most_common(1)[0]
        meant = nearest(cell, [row.cell for row in answer.rows]) if "/" in cell else ""
        raise UserError(
            f"no cell '{cell}'.{meant} The name of a "
            "cell is PAPER/TABLE/DATASET[/SETTING]/METHOD/MEASURE. "
            f"{answer.paper} has the tables {', '.join(tables)}; "
            f"`ldlrepro verdicts {answer.paper} --show {shlex.quote(most)}` lists some."
        )
    return facts_of(rows[plain(cell)], answer, project)


def facts_of(row: VerdictRow, answer: PaperAnswer, project: Project) -> dict[str, Any]:
    """Return all facts about a cell."""
    facts: dict[str, Any] = {"cell": row.cell}
    facts |= {key: value for key, value in asdict(row).items() if value not in ("", None)}
    facts["holds"] = row.whether_it_holds
    if row.metric in PERFECT:
        facts["loss difference"] = row.loss_difference
    if row.reason and (where := in_sentences(row.reason)[1]):
        facts["shown by"] = shown_by(where, project)
        if (run := answer.unit(where)) and (mean := run.mean(row.metric)) is not None:
            facts["shown by"] = f"{where}, which gives {mean:#.4g} ({facts['shown by']})"
    if row.stated:
        stated = {"unit": row.stated.unit_key, "measured": row.stated.measured}
        facts["stated"] = stated | {"verdict": row.stated.verdict}
    scored = answer.unit(row.unit_key)
    if row.source and scored is not None:
        paper, method = project.paper(row.paper), project.method(scored.method)
        facts |= _unit_facts(row, scored, method, paper)
        facts["what moves it"] = what_moves(row, answer, project)
        if not (method.draws or project.protocol(row.protocol).draws_folds(row.unit_dataset)):
            facts.pop("repeats_std", None)
    if row.method_id and project.has_method(row.method_id):
        choices = project.method(row.method_id).choices
        facts["open points"] = {name: point.plain() for name, point in choices.items()}
        unit = f"{row.protocol} {row.unit_dataset} {row.method_id}"
        facts["compute it again"] = f"ldlrepro run {unit} --inputs --fresh"
    if name := project.paper(answer.paper).tables[row.table].experiment:
        facts["compute it again"] = f"ldlrepro experiment {answer.paper} {name} --inputs"
    return facts


def blocks(cell: str, facts: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return by heading what most people ask of a cell, with rounded numbers.

    The first one answers; what keeps a number from holding stands before what the verdict is worth.
    """
    said = SAID.get(facts["verdict"], f"is {facts['verdict']}")
    if facts["verdict"] == NOT_RUN and facts.get("measured") is not None:
        said = "is not judged"
    numbers = f"{cell} {said}: {_numbers(facts)}."
    answer = [numbers, *filter(None, [facts.get("holds")])]
    why, settings, near = [], [*filter(None, [facts.get("choice")])], [_deviation(facts)]
    if reason := facts.get("reason"):
        place = facts.get("shown by")
        why.append(in_sentences(reason)[0] + f" Shown by: {place}" * bool(place))
    others = facts.get("what moves it")
    if others and _is_nearer(others[0]["measured"], facts):
        closest = others[0]
        off = f" ({closest['difference']})" if closest["difference"] else ""
        why.append(
            f"The closest of {len(others)} other setting{'s' * (len(others) > 1)}, "
            f"{closest['setting']}, gives "
            f"{_rounded(closest['measured'], facts)}{off}."
        )
    if note := facts.get("note"):
        why.append(f"Note: {note}")
    if facts.get("other_settings"):
        why.append("The record was made with settings that have changed since.")
    if evidence := facts.get("evidence"):
        rests_on = facts.get("rests_on")
        why.append(f"Evidence: {IN_WORDS[evidence]}" + (f": {rests_on}." if rests_on else "."))
    if yardsticks := facts.get("yardsticks"):
        alike = grouped(yardsticks, yardsticks.__getitem__)
        told = [_judged(names, verdict) for verdict, names in alike.items()]
        why.append(f"For comparison, {listed(told)} here.")
    for name, verdict in facts.get("not_asked", {}).items():
        if verdict in MET:
            why.append(f"{name.capitalize()}, not asked of such a method, is {verdict} here too.")
    if stated := facts.get("stated"):
        number = _rounded(stated["measured"], facts)
        holds = ", which holds" * bool(facts.get("holds_by_text"))
        settings.append(f"By the first reading of the text: {number}, {stated['verdict']}{holds}.")
    if facts["verdict"] in JUDGED:
        near = [_tolerance(facts), _lost(facts), *near]
    if seeds := facts.get("seeds"):
        near.append(f"{facts['seeds_met']:.0%} of the {seeds} seeds meet the number.")
    found = {"": answer, "Why": why, "Which settings": settings, "How near": [*filter(None, near)]}
    return {heading: lines for heading, lines in found.items() if lines}


def _is_nearer(other: float, facts: Mapping[str, Any]) -> bool:
    """Tell whether another setting comes nearer to the print than the one that is judged."""
    printed = float(facts["printed"])
    return abs(other - printed) < abs(facts["measured"] - printed)


def shown_by(where: str, project: Project) -> str:
    """Return the file that shows a reason: of an experiment or a unit, the reference record."""
    name = where.removeprefix("experiment ")
    parts = name.partition("@")[0].split("/")
    path = f"reference/{parts[0]}/{parts[-1]}.csv"
    if name != where:
        path = f"reference/experiments/{name}.json"
    return path if (project.root / path).is_file() else where


def _judged(names: Sequence[str], verdict: str) -> str:
    several = len(names) > 1
    if not verdict:
        return f"{listed(names)} {'have' if several else 'has'} no number"
    return f"{listed(names)} {'are' if several else 'is'} judged {verdict}"


def _numbers(facts: Mapping[str, Any]) -> str:
    """Return the printed number beside the measured one."""
    printed = " ± ".join(facts[key] for key in ("printed", "printed_std") if facts.get(key))
    text = f"printed {printed or 'nothing'}"
    if "measured" not in facts:
        return f"{text}, nothing measured"
    measured, seeds = _rounded(facts["measured"], facts), facts.get("seeds")
    if facts.get("measured_std") is not None:
        measured += f" ± {_rounded(facts['measured_std'], facts)}"
    off = f", {percent(facts['difference'])}" if facts.get("difference") is not None else ""
    scatter = f"{seeds} seeds that scatter by {_rounded(facts['noise'], facts)}, " if seeds else ""
    folds = f"{scatter}{facts['n_folds']} folds, " if facts.get("n_folds") else ""
    return f"{text}, measured {measured}{off} ({folds}{facts.get('source', '')})"


def _tolerance(facts: Mapping[str, Any]) -> str:
    """Say how far from the print a mean may be that meets it, and why so far."""
    far = {
        f"{SAME:.0%} of it": SAME * abs(float(facts["printed"])),
        "two standard deviations over other seeds": SEED_DEVIATIONS * facts["noise"],
        "it rounds to the print or to its neighbour in the last digit": (
            3 * half_unit(facts["printed"])
        ),
    }
    why = max(far, key=far.__getitem__)
    return f"A mean within {far[why]:.2g} of the print meets it: {why}."


def _lost(facts: Mapping[str, Any]) -> str:
    """Say how far the distance from a perfect answer is off, where 1% of the number hides it."""
    off = facts.get("loss difference")
    if off is None or facts["verdict"] == EXACT:
        return ""
    told = f"{abs(off):.0%} {'larger' if off > 0 else 'smaller'} than in print"
    distance = (
        f"{PERFECT[facts['metric']]:g} - {facts['metric']}, the distance from a perfect answer"
    )
    return f"{distance}, is {told}." if abs(off) > FAR_OFF else ""


def _deviation(facts: Mapping[str, Any]) -> str:
    """Say what a printed deviation is over: folds, repeats, or neither."""
    if not facts.get("printed_std") or facts.get("measured_std") is None:
        return ""
    repeats, fits = facts.get("repeats_std"), facts.get("std_over", "")
    over = {
        FOLDS: "The printed one fits folds.",
        REPEATS: "The printed one fits repeats.",
        NEITHER: "The printed one fits neither: the paper probably used other folds or settings.",
    }.get(fits if fits == FOLDS or repeats else "", "The printed one does not fit it.")
    told = "" if repeats is None else f", over repeats about {repeats:.2g}"
    return f"Deviation over folds {facts['measured_std']:.2g}{told}. {over}"


def _rounded(value: float, facts: Mapping[str, Any]) -> str:
    """Return a number with one digit more than the printed one has, or five significant ones."""
    whole, point, decimals = facts.get("printed", "").partition(".")
    return f"{value:.{len(decimals) + 1}f}" if whole and point else f"{value:.5g}"


def _unit_facts(
    row: VerdictRow, scored: UnitScores, method: Method, paper: Paper
) -> dict[str, Any]:
    first = scored.rows[0]
    values = scored.values(row.metric.removeprefix("delta_"))  # none for seconds
    facts: dict[str, Any] = {}
    if values:
        facts["fold values"] = " ".join(f"{v:.4f}" for v in values)
        facts["median of folds"] = round(statistics.median(values), 6)
    return facts | {
        "parameters": parameters_of(paper, scored, method),
        "seed of the first fold": first.seed,
        "computed": first.started_at,
        "fit seconds": round(statistics.median(r.fit_s for r in scored.rows), 3),
        "data_sha256": first.data_sha256,
        "folds_sha256": first.folds_sha256,
        "spec_sha256": first.spec_sha256,
        "code_sha256": first.code_sha256,
        "lock_sha256": first.lock_sha256,
        "git_commit": first.git_commit,
        "versions": first.versions,
        "record": ", ".join(map(str, scored.files)),
    }


def parameters_of(paper: Paper, scored: UnitScores, method: Method) -> list[dict[str, str]]:
    """Return every parameter, its value (or values over the folds), why, and where it is from."""
    looks = method.origins.print
    found = []
    for name in sorted(set(scored.rows[0].params) - PLUMBING):
        counts = Counter(json.dumps(row.params.get(name), default=str) for row in scored.rows)
        values = [
            value if len(counts) == 1 else f"{value} ({times} folds)"
            for value, times in counts.most_common()
        ]
        why = chosen_by(name, method, paper)
        origin = CANDIDATES * (why == VALIDATION) + origin_of(name, method, paper)
        known = {"parameter": name, "value": ", ".join(values), "chosen_by": why, "from": origin}
        found.append(known | ({"looked at": looks[name].what} if name in looks else {}))
    return found


def origin_of(name: str, method: Method, paper: Paper) -> str:
    """Return where a value comes from: this paper, else the original code, else another paper."""
    sources = method.origins.sources_of(name)
    papers = sorted(sources - NO_PAPERS)
    if paper.states(method, name):
        return f"the paper, {paper.id}"
    if "code" in sources:
        return CODE
    if papers:
        return f"another paper, {papers[0]}"
    is_open = name in method.choices
    return OPEN if is_open else OURS


def what_moves(row: VerdictRow, answer: PaperAnswer, project: Project) -> list[dict[str, Any]]:
    """Return other settings and diagnostics of the method on the same folds.

    The one nearest to the print comes first.
    """
    family = row.method_id.partition("@")[0]
    metric = row.metric.removeprefix("delta_")
    found = []
    for scored in answer.units:
        if (scored.protocol, scored.dataset) != (row.protocol, row.unit_dataset):
            continue
        method = project.method(scored.method)
        if family not in (method.base, method.diagnoses):
            continue
        if scored.method == row.method_id:
            continue
        mean = scored.mean(metric)
        if mean is None or row.metric != metric:
            continue
        off = difference(mean, row.printed)
        found.append(
            {
                "setting": scored.method + (LEAK if method.sees_test_labels else ""),
                "measured": round(mean, 5),
                "difference": percent(off),
            }
        )
    return sorted(found, key=lambda entry: abs(entry["measured"] - float(row.printed)))
