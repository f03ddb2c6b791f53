"""Sentences that open an answer: what most people want to know, before the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ldlrepro.cli.output import counted
from ldlrepro.core.progress import duration

if TYPE_CHECKING:
    from ldlrepro.judge.verdicts import VerdictRow
    from ldlrepro.plan import Unit
    from ldlrepro.report.baselines import Baseline
    from ldlrepro.report.leaderboard import Standings


def of_verdicts(rows: Sequence[VerdictRow], whose: str = "", narrow: bool = False) -> str:
    """Say how many printed numbers hold; for a wide question, what that means."""
    from ldlrepro.judge.tallies import tally
    from ldlrepro.report.conclusions import HOLDS_WHEN

    found = tally(rows)
    shares = ""
    if found.judged:
        hold, met = (number / found.judged for number in (found.holds, found.met))
        shares = f"Of the judged numbers, {hold:.0%} hold and {met:.0%} are met. "
    return f"{shares}{found.sentence(whose)} {_simpler(rows) if narrow else HOLDS_WHEN}".strip()


def of_words() -> str:
    """Say what each verdict means."""
    from ldlrepro.judge.verdicts import SAME, SEED_DEVIATIONS

    return (
        "Exact: the printed digits, or one more or less in the last. Reproduced: within "
        f"{SAME:.0%}, or {SEED_DEVIATIONS:.0f} standard deviations over other seeds. Near: within "
        "one deviation over folds. Better and worse: beyond that. "
        "--show worse lists such numbers, and `ldlrepro explain CELL` says why."
    )


def _simpler(rows: Iterable[VerdictRow]) -> str:
    """Count the met numbers that simpler answers meet too; '' where none was compared."""
    from ldlrepro.judge.verdicts import MET, listed

    met = [row.yardsticks for row in rows if row.verdict in MET]
    names = dict.fromkeys(name for yardsticks in met for name in yardsticks)
    told = [f"{name} meets {sum(one.get(name) in MET for one in met)}" for name in names]
    return f"Of the met numbers, {listed(told)}." if told else ""


def of_cells(count: int, of: str, word: str) -> str:
    """Say how many cells a list has, of how many numbers."""
    words = {
        "holds": "hold",
        "quoted": "are quoted from another paper",
        "misprint": "are misprints",
        "not run": "were not run",
        "blind": "are met by settings that no printed number and no test row chose",
        "predicted": "are met by settings that the numbers of other data sets chose",
        "fitted": "are met by settings that the same data set's numbers chose",
        "exact": "are met exactly",
    }
    return f"{count:,} of {of} {words.get(word, f'are {word}')}."


def of_unexplained(rows: Sequence[VerdictRow], total: int) -> str:
    """Say how many missed numbers have no entry among the reasons, and how many one of no use."""
    unwritten = sum(not row.reason for row in rows)
    said = f"Of {counted(total, 'printed number')}, {unwritten or 'none'} "
    said += f"miss{'es' * (unwritten < 2)} without an entry in misses.yaml."
    if unknown := len(rows) - unwritten:
        said += f" For {unknown} no reason is known: what was tried stands below."
    return said


def of_readings(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what a list of readings shows."""
    methods = {(row["paper"], row["method"]) for row in rows}
    return (
        f"The text leaves settings open for {counted(len(methods), 'method')}. A reading is a "
        "protocol and a method with its settings; stated is the one that the text states. The "
        "lower the surprise, the better the printed digits fit it. The last column "
        "says for how many data sets the digits of the others choose it."
    )


def of_folds(paper: str, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Say which folds printed digits tell: of a method on all data sets, and of how many rows."""
    from ldlrepro.experiments.printed_digits import NONE_FITS
    from ldlrepro.judge.verdicts import listed

    found = [row for rows in tables.values() for row in rows]
    rows = [row for row in found if "data set" in row]
    # What a method's data sets say together replaces what each says.
    of_method = {row["method"]: row for row in [*rows, *(row for row in found if row not in rows)]}
    told = [
        {
            "told": f"{method} ran on {row.get('folds')}",
            "likely": f"{method} likely ran on {row.get('folds')}",
            NONE_FITS: f"no folds fit {method}",
        }.get(row["verdict"], f"the folds of {method} cannot be told")
        for method, row in of_method.items()
    ]
    counts = Counter(row["verdict"].partition(":")[0] for row in rows)
    by_rows = listed([f"{number} {verdict}" for verdict, number in counts.most_common()])
    each = f" Of its {len(rows)} rows, each by itself: {by_rows}." * (len(rows) > 1)
    return f"By the printed digits of {paper}, {'; '.join(told)}.{each}"


def of_status(row: Mapping[str, Any], cores: int) -> str:
    """Say how much has run here, and how long the rest takes."""
    from ldlrepro.judge.verdicts import listed

    units, failed, never = counted(row["units"], "unit"), row["failed"], row["never timed"]
    said = f"{row['done here']:,} of {units} are complete here, {failed or 'none'} failed."
    on = counted(cores, "core")
    if row["jobs to do"]:
        takes = duration(60 * row["minutes to do"])
        rest = {
            "have complete reference records": row["in reference"],
            "were timed in part": row["timed in part"],
            "were never timed": never,
        }
        told = listed([f"{number:,} {what}" for what, number in rest.items() if number])
        said += f" Of the others, {told}. Computing what was timed takes about {takes} on {on}."
    elif never:
        most = duration(60 * row["minutes at most, with these"])
        said += f" None of the rest was ever timed. Their time limits allow {most} on {on}."
    return f"{said} A unit is a method on a data set under a protocol."


def of_table(file: str, numbers: int, states: Mapping[str, int], misprints: int) -> str:
    """Say whether a table is possible, and how much in it looks odd."""
    impossible, odd = states.get("impossible", 0), states.get("suspicious", 0)
    said = f"{file}: of {counted(numbers, 'number')} "
    if impossible:
        said += f"some are impossible ({counted(impossible, 'finding')})"
    else:
        said += "none contradicts another"
    said += f"; {odd or 'nothing'} look{'s' * (odd < 2)} suspicious"
    if misprints:
        said += f"; {counted(misprints, 'known misprint')} left out"
    return f"{said}."


def of_leaders(leaders: Sequence[Mapping[str, Any]], measure: str) -> str:
    """Say which methods are the best of most protocols."""
    from ldlrepro.judge.verdicts import listed

    if not leaders:
        return "Nothing has run that could be ranked. `snakemake --cores all PAPER` runs a paper."
    times = Counter(line["best to cite"].partition("@")[0] for line in leaders)
    most = max(times.values())
    best = [name for name, number in times.items() if number == most]
    each = " each" * (len(best) > 1)
    tested = sum(line["significantly better than"] is not None for line in leaders)
    poor = [line["protocol"] for line in leaders if str(line["gain over mean"]).startswith("-")]
    below = f"Under {listed(poor)}, the training mean is better. " if poor else ""
    return (
        f"Of methods that may be cited, {listed(best)} {'lead' if each else 'leads'} most often by "
        f"mean rank in {measure}, in {most}{each} of {counted(len(leaders), 'protocol')}, but in "
        f"{tested or 'none'} of these are there enough independent data sets to test a lead. "
        f"{below}Name a paper to see whole rankings; `ldlrepro recommend` says which method to use."
    )


def of_standings(outcome: Standings) -> str:
    """Say who leads a protocol, by how much it can be told, and where the user's own stand."""
    from ldlrepro.report import conclusions

    said = conclusions.of_board(outcome)
    if not said:
        return ""
    ranked = [line for line in outcome.lines if line.rank is not None]
    own = [
        f"{line.contestant.id} is number {place} of {len(ranked)}"
        for place, line in enumerate(ranked, start=1)
        if line.contestant.own
    ]
    return f"{outcome.protocol}: {said}" + f" Yours: {', '.join(own)}." * bool(own)


def of_baselines(
    found: Sequence[Baseline],
    measure: str,
    decimals: int,
    best_alone: bool,
    worse: Collection[Unit],
) -> str:
    """Say how many means can be cited, which is the first, and what must not be cited."""
    first = found[0]
    citable = sum(not one.unit.method.by_print for one in found)
    if citable:
        said = (
            f"You can cite {counted(citable, 'mean')} of {measure} over folds, such as "
            f"{first.mean:.{decimals}f} of {first.unit.method.id} on "
            f"{first.unit.data_set.title} under "
            f"{first.unit.protocol.id}{', worse than the training mean' * (first.unit in worse)}. "
        )
        said += (
            "The best of each protocol stands below; --protocol NAME lists all of one."
            if best_alone
            else "Each protocol has its best first."
        )
    else:
        said = f"None of {counted(len(found), 'mean')} of {measure} can be cited."
    said += " To cite, write a folder with --out: it has the folds and settings behind each."
    if others := len(found) - citable:
        said += (
            f"\n\nPrinted numbers, or a look at test rows, chose the settings of {others}"
            f"{' more' * bool(citable)}: do not cite those. --all lists them, too, with yes under "
            "by print."
        )
    return said
