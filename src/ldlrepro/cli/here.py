"""The project, the plan and the judge of a call; each verb opens them once."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro.core.progress import paragraph, say, waiting
from ldlrepro.core.workspace import Workspace

if TYPE_CHECKING:
    from ldlrepro.catalogue import Paper, Project
    from ldlrepro.judge.answer import PaperAnswer
    from ldlrepro.judge.judging import Judge
    from ldlrepro.plan import Plan

HERE = Workspace()
NAMED = {"paper": "paper", "dataset": "dataset", "method": "method"}
"""Arguments that may be names as papers print them -> the kind of thing they name."""


def plan_here(args: argparse.Namespace) -> Plan:
    """Open the project of this folder and environment; turn printed names into ids."""
    from ldlrepro.catalogue import from_environment
    from ldlrepro.plan import Plan

    project = from_environment()
    for argument, kind in NAMED.items():
        given = getattr(args, argument, None)
        if isinstance(given, str):
            setattr(args, argument, project.id_called(kind, given))
        elif given:
            setattr(args, argument, [project.id_called(kind, name) for name in given])
    return Plan(project)


def judge_here(args: argparse.Namespace) -> Judge:
    """Open the project and the results in this folder; name records that nothing here explains."""
    from ldlrepro.judge.judging import Judge

    judge = Judge(plan_here(args), HERE)
    if not judge.has_own_folder:
        yours = f"\nYour own are in the checkout: cd {judge.project.root}"
        there = (judge.project.root / HERE.results / "units").is_dir()
        say(f"No results are here, so the reference records answer.{yours * there}")
    if not getattr(args, "of_workflow", False) and (unknown := judge.unknown_records()):
        places = " ".join(map(_in_shell, unknown.values()))
        say(
            paragraph(
                f"Records of what is not known here are left out: {', '.join(unknown)}. To count "
                "them, name your own files again: `export LDLREPRO_OWN_FILES=FOLDER`. To be rid of "
                f"them: `rm -r {places}`"
            )
        )
    return judge


def _in_shell(folders: Sequence[Path]) -> str:
    """Write folders as one word of the shell, with a star where they differ."""
    levels = (set(level) for level in zip(*(folder.parts for folder in folders), strict=True))
    return "/".join("*" if len(names) > 1 else shlex.quote(*names) for names in levels)


def tell_new_folders() -> None:
    """Say where results and data go, if there are none yet and this is not the checkout."""
    from ldlrepro.catalogue.project import checkout_here

    here = Path.cwd()
    if not (HERE.results.exists() or HERE.data.exists() or here == checkout_here()):
        say(f"Results and data go to new folders in {here}")


def with_checkout(text: str) -> str:
    """Say in which folder the commands of Snakemake in a text work, if this is another one."""
    from ldlrepro.catalogue.project import checkout_here

    elsewhere = "snakemake" in text and Path.cwd() != (root := checkout_here())
    return f"{text}\nSnakemake runs in the checkout: `cd {root}`" if elsewhere else text


def papers_of(project: Project, asked: Sequence[str]) -> list[Paper]:
    """Return the papers that were asked for; all that print numbers, where none was."""
    return [project.paper(name) for name in asked] or project.real_papers()


def answers_of(judge: Judge, papers: Sequence[Paper]) -> list[PaperAnswer]:
    """Return the answers of papers, with a line of progress where that takes long."""
    with waiting(f"judging {papers[0].id if len(papers) == 1 else 'papers'}") as line:
        return judge.answers(papers, line.update)
