"""The command line: help that teaches, answers for programs, and errors without tracebacks."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ldlrepro import cli
from ldlrepro.catalogue import Project
from ldlrepro.cli import parser
from tests.unit import judged

LISTED = "list fetch run verdicts status explain".split()  # noqa: SIM905
ROOT = Path(__file__).resolve().parents[2]
CELL = "structrf/16/sjaffe/SA-BFGS/kl"
HEAVY = {"torch", "sklearn", "scipy", "pandas", "mlflow", "matplotlib", "pyarrow", "xgboost"}


# ---------------------------------------------------------------------- help


@pytest.mark.parametrize("verb", LISTED)
def test_help_says_what_a_verb_does_explains_every_argument_and_gives_examples(ask, verb):
    status, text, _ = ask(verb, "--help")
    assert status == 0
    assert f"Examples:\n  ldlrepro {verb}" in text
    described = cli.verbs()[verb]
    assert len(described.description) > 25
    assert all(argument.help for argument in described._actions)


def listed(text: str) -> dict[str, list[str]]:
    """Verbs of a help text by the titles of their groups."""
    found: dict[str, list[str]] = {}
    for line in text.partition("Questions:")[0].splitlines():
        if re.fullmatch(r"\S.*:", line):
            verbs = found.setdefault(line, [])
        elif word := re.match(r"  (\S+) ", line):
            verbs.append(word.group(1))
    return found


def test_the_first_help_lists_few_verbs_in_groups_and_where_to_start(ask):
    status, text, _ = ask("--help")
    assert status == 0
    groups = listed(text)
    verbs = [verb for group in groups.values() for verb in group]
    assert len(groups) == 4
    assert set(LISTED) <= set(verbs)
    assert len(verbs) <= 20
    assert "Questions:" in text
    for more in ("--help` tells more about a verb", "ldlrepro --help --all"):
        assert more in text


def test_all_verbs_are_in_the_help_with_all(ask):
    for asked in (["--help", "--all"], ["--all", "-h"]):
        _, text, _ = ask(*asked)
        verbs = [verb for group in listed(text).values() for verb in group]
        assert verbs == list(cli.verbs())


def test_every_verb_of_a_rule_takes_what_its_rule_gives():
    called = set()
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for block in re.findall(r'shell:\n((?:\s+".*"\n)+)', path.read_text()):
            command = "".join(re.findall(r'"(.*)"', block)).partition(" 2>")[0]
            command = command.replace("{params.notebooks}", "--notebooks 1")
            words = [re.sub(r"\{.*\}", "1", word) for word in command.split()]
            if words[0] != "ldlrepro":
                continue
            assert parser.parse(words[1:]).handler
            called.add(words[1])
    assert {"fetch", "prepare", "folds", "run", "compare", "gate"} <= called


def test_commands_of_the_examples_are_understood():
    project = Project.open()
    lines = [line for name in cli.verbs() for line in parser.verb_of(name).examples]
    lines += [line.strip() for line in parser.QUESTIONS.splitlines() if "  ldlrepro" in line]
    for line in lines:
        words = shlex.split(line.partition("   ")[0])
        args = parser.parse(words[1:])
        for name, known in (
            ("dataset", project.data_set_ids),
            ("paper", [*project.paper_ids, "arena"]),
        ):
            value = getattr(args, name, None) or []
            assert set([value] if isinstance(value, str) else value) <= set(known), line
        if words[1] == "explain":
            rows = judged.verdicts(args.cell.partition("/")[0])
            assert args.cell in {row.cell for row in rows}
        if words[1] == "run":
            assert project.has_method(args.method)
            assert args.protocol in project.protocols


# ---------------------------------------------------------------------- mistakes


def test_no_verb_at_all_gives_the_help(checkout, ask):
    status, out, err = ask()
    assert (status, out) == (2, "")
    assert err.startswith("usage: ldlrepro VERB")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verdict"], "no verb 'verdict'. Did you mean 'verdicts'?"),
        (["run", "mslp"], "DATASET and METHOD are missing"),
        (["list", "method"], "no kind 'method'. Did you mean 'methods'?"),
        (["explain"], "For example: ldlrepro explain structrf"),
        (["explain", "structrf"], "no cell 'structrf'. The name of a cell is PAPER/"),
        (["verdicts", "mslp", "--dataset", "sjafe"], "Did you mean 'sjaffe'?"),
        (["explain", "structrf/16/sjaffe/SA-BFGS/kll"], f"Did you mean '{CELL}'?"),
        (["fetch", "sjafe", "--offline"], "unknown data set 'sjafe'. Did you mean 'sjaffe'?"),
        (["run", "mslp", "BU3DFE", "aa_knn"], "Did you mean 'sbu_3dfe'?"),
        (
            ["recommend", "yeast"],
            "These have it in their names: yeast_alpha, yeast_cdc, yeast_cold,",
        ),
        (["recommend", "my.csv"], "type `ldlrepro arena my.csv --labels A,B,C`"),
        (["run", "mslp", "sjaffe", "aa_knn@gird"], "Did you mean 'aa_knn@grid'?"),
        (["leaderboard", "structrf_persons"], "`ldlrepro leaderboard --protocol structrf_persons`"),
        (["status", "--paper", "mslp"], "Give the paper without --paper."),
        (["verdicts", "--methd", "CCA"], "no option --methd. Did you mean '--method'?"),
        (["verdicts", "mslp", "--method", "Sa-bgfs"], "Did you mean 'sa_bfgs'?"),
        (["contradictions", "mslp", "structrf", "--dataset", "sjafe"], "Did you mean 'sjaffe'?"),
        (["status", ""], "a name is empty"),
        (["experiment", "structrf", "split"], "Did you mean 'split_search'? Choose from: "),
        (["protocols", "demo"], "demo: its folds were not looked for"),
        (["ui", "mlsp"], "unknown paper 'mlsp'. Did you mean 'mslp'?"),
        (["ui"], "`ldlrepro sync mslp` copies"),
        (["arena", "sjaffe", "--methods", "SABGFS"], "Did you mean 'SABFGS'?"),
        (["arena", "sjaffe", "--labels", "a,b"], "sjaffe is a public set, which takes no --labels"),
        (["leaderboard", "mslp", "--protocol", "structrf"], "is a protocol of structrf."),
        (["gate", "structrf"], "nothing of structrf has run here. Type `snakemake --cores all"),
    ],
)
def test_a_mistake_ends_with_status_2_one_message_and_the_nearest_name(
    checkout, ask, arguments, words
):
    status, out, err = ask(*arguments)
    assert status == 2
    assert words in err
    assert err.startswith("ldlrepro")
    assert "Traceback" not in err
    assert out == ""


def test_where_snakemake_finds_no_workflow_a_message_names_the_checkout(
    checkout, refused, tmp_path, monkeypatch
):
    asked = (["gate", "mslp"], ["run", "mslp", "sjaffe", "aa_knn"])
    assert not any("cd " in refused(*words) for words in asked)
    monkeypatch.chdir(tmp_path)
    for words in asked:
        assert refused(*words).endswith(f"\nSnakemake runs in the checkout: `cd {checkout.root}`\n")
    assert "ldlrepro prepare drawn_faces` first." in refused("pixels", "drawn_faces")


def test_a_run_says_first_which_data_sets_its_protocol_has(checkout, ask, refused):
    err = refused("run", "structrf_persons", "jura", "mslp", "--inputs")
    assert "keeps persons whole, but jura does not say whose row each is. Choose another" in err
    err = refused("run", "structrf_persons", "fgnet_features", "mslp")
    err = " ".join(err.split())
    assert err.startswith("No paper asks for fgnet_features under the protocol structrf_persons")
    assert "Its data sets are sbu_3dfe and sjaffe." in err
    assert "No paper" not in ask("run", "structrf_persons", "sjaffe", "mslp")[2]


def test_a_place_where_nothing_can_be_written_is_named_in_one_line(checkout, refused):
    Path("taken").touch()
    shutil.copy(ROOT / "CITATION.cff", checkout.root)
    for verb in (["baselines", "--out"], ["new", "method", "mine", "--folder"]):
        err = refused(*verb, "taken")
        assert err.splitlines()[-1].startswith("ldlrepro: taken: nothing can be written there")


def test_a_folder_that_is_gone_or_a_file_is_named_in_one_line(checkout, ask, tmp_path):
    Path("data").touch()
    assert "a file lies where a folder should be" in ask("verdicts", "mslp")[2]
    (tmp_path / "left").mkdir()
    os.chdir(tmp_path / "left")
    (tmp_path / "left").rmdir()
    assert "the folder that you are in is gone" in ask("verdicts", "mslp")[2]


def test_a_parameter_that_the_class_lacks_is_refused_before_a_fold_is_run(tiny, refused):
    tiny.edit("config/methods/near.yaml", "n_neighbors: 4", "n_neighbours: 4")
    err = refused("run", "tiny", "toy", "near")
    for word in ("config/methods/near.yaml", "'n_neighbours'", "Did you mean 'n_neighbors'?"):
        assert word in err
    assert not (tiny.root / "results").exists()


@pytest.mark.parametrize("folds", ["5", "x-y", "2-9"])
def test_folds_that_are_not_there_are_refused(ready, refused, folds):
    refused("run", "tiny", "toy", "near", "--folds", folds)
    assert not (ready.root / "results" / "units").exists()


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "methods"],
        ["status"],
        ["verdicts"],
        ["verdicts", "mslp", "--show", "better"],
        ["verdicts", "mslp", "--show", "met"],
        ["explain", CELL],
    ],
)
def test_an_answer_in_json_is_json_and_nothing_else(checkout, ask, arguments):
    status, out, err = ask(*arguments, "--json")
    assert status == 0
    assert all(line.endswith("s so far") for line in err.splitlines()), "on a slow machine"
    answer = json.loads(out)
    if "--show" in arguments:
        assert answer == []
    else:
        assert answer


def test_a_fresh_clone_counts_every_cell_and_has_no_result(checkout, ask):
    status, out, _ = ask("verdicts", "--json")
    lines = {line["paper"]: line for line in json.loads(out)}
    assert status == 0
    total = lines["all"]
    assert total["cells"] == 4415
    assert (total["reproduced"], total["better"], total["worse"]) == (0, 0, 0)
    assert total["not run"] + total["quoted"] + total["misprint"] == 4415
    assert (total["local"], total["reference"]) == (0, 0)


BROKEN = """
from ldl.base import LDLEstimator


class Broken(LDLEstimator):
    def _fit(self, X, D):
        raise ValueError("no rows like these")
"""


def test_status_names_what_failed_and_how_long_the_rest_takes(tiny, ask):
    tiny.module("broken", BROKEN)
    tiny.write("config/methods/near.yaml", "title: Broken\nclass: broken.Broken\n")
    ask("run", "tiny", "toy", "near", "--inputs")
    _, text, _ = ask("status", "tiny")
    assert text.splitlines()[-1] == "FAILED tiny/toy/near: ValueError: no rows like these"
    _, out, _ = ask("status", "tiny", "--json")
    (row,) = json.loads(out)
    assert (row["failed"], row["never timed"]) == (1, 2)
    ask("run", "tiny", "toy", "train_mean")
    ask("record", "tiny")
    shutil.rmtree(tiny.root / "results" / "units")
    _, out, _ = ask("status", "tiny", "--json")
    (row,) = json.loads(out)
    assert row["never timed"] == 1
    assert row["minutes to do"] > 0


def test_a_page_of_runs_has_the_records_of_its_paper(tiny, ask, monkeypatch):
    from ldlrepro.track import page

    offered = []
    monkeypatch.setattr(page, "serve", lambda uri, *_: offered.extend(page.pages_of(uri)))
    ask("run", "tiny", "toy", "near", "--inputs")
    assert "its records are copied first" in ask("ui", "tiny", "--no-browser")[2]
    assert offered == ["tiny"]
    assert "Copying" not in ask("ui", "tiny", "--no-browser")[2]


def test_a_record_of_an_own_file_that_is_not_named_any_more_is_told(tiny, ask):
    ask("run", "tiny", "toy", "near", "--inputs")
    assert "not known here" not in ask("status", "tiny")[2]
    units = tiny.root / "results/units/tiny/toy"
    shutil.copytree(units / "near", units / "my_method")
    said = "Records of what is not known here are left out: method my_method."
    for verb in ("status", "verdicts", "leaderboard"):
        _, _, err = ask(verb, "tiny")
        assert said in err
        assert "`export LDLREPRO_OWN_FILES=FOLDER`" in err
        assert "To be rid of them: `rm -r results/units/tiny/toy/my_method`\n" in err
    shutil.copytree(units / "near", units.parent / "sjaffe" / "my_method")
    shutil.copytree(units / "near", units.parent.parent / "mine" / "toy" / "near")
    rid = "`rm -r results/units/mine/toy/near results/units/tiny/*/my_method`\n"
    assert rid in ask("status", "tiny")[2]
    assert ask("status", "tiny", "--quiet")[2] == ""


def test_names_as_papers_print_them_work_wherever_an_id_does(checkout, ask):
    name = "s-JAFFE"
    status, out, _ = ask("verdicts", "MSLP", "--dataset", name, "--json")
    (row,) = json.loads(out)
    assert (status, row["cells"]) == (0, 78)
    printed = ask("verdicts", "mslp", "--method", "SA-BFGS", "--json")[1]
    assert printed == ask("verdicts", "mslp", "--method", "sa_bfgs", "--json")[1]
    _, out, _ = ask("verdicts", "mslp", "--method", "sa-bfgs")
    assert out.startswith("None of 30 printed numbers of sa-bfgs in mslp ")
    assert "A number holds when" not in out
    _, out, _ = ask("explain", CELL.replace("sjaffe", name).replace("kl", "KL"), "--json")
    assert json.loads(out)["cell"] == CELL
    _, _, err = ask("run", "mslp", name, "AA-kNN")
    assert "data/ready/sjaffe.npz: no such file" in err


def test_explain_tells_what_a_measured_cell_rests_on(tiny, ask):
    header = "paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note\n"
    cells = "tiny,1,toy,,Near,kl,0.5,,lower,,\ntiny,1,toy,,Near,clark,0.5,,lower,mslp,\n"
    tiny.write("papers/tiny/cells.csv", header + cells)
    ask("run", "tiny", "toy", "near", "--inputs")
    status, out, _ = ask("explain", "tiny/1/toy/Near/kl", "--json")
    facts = json.loads(out)
    assert status == 0
    assert facts["compute it again"] == "ldlrepro run tiny toy near --inputs --fresh"
    assert len(facts["fold values"].split()) == 4
    (parameter,) = [p for p in facts["parameters"] if p["parameter"] == "n_neighbors"]
    assert parameter["value"] == "4"
    assert len(facts["code_sha256"]) == 64
    _, text, _ = ask("verdicts", "tiny", "--show", facts["verdict"])
    assert text.startswith("1 of 1 judged number ")
    _, text, _ = ask("verdicts", "tiny", "--show", "quoted")
    assert text.startswith("1 of 2 printed numbers ")
    assert ": 0 here, " in ask("list", "datasets")[1]  # toy is made on this machine
    _, text, _ = ask("explain", "tiny/1/toy/Near/kl", "--full")
    headings = re.findall(r"(?m)^\n(\w.*)$", text)
    assert headings[-3:] == ["Versions", "The record", "What to type"]
    assert headings.index("How near") < headings.index("Parameters (value; chosen by; from)")
    assert "  method: near\n" in text
    assert text.index("digest of the code: ") > text.index("  folds: ")
    assert text.endswith(f"\n  {facts['compute it again']}\n")
    assert "_" not in "".join(re.findall(r"(?m)^  ([^:;]*): ", text.partition("The record")[2]))
    assert not re.search(r": (yes|no|True|False)\n", text)
    _, text, _ = ask("explain", "tiny/1/toy/Near/kl")
    said = " ".join(text.split())
    measured = f"{facts['measured']:.2f} ± {facts['measured_std']:.2f}"
    told = f"printed 0.5, measured {measured}, {facts['difference']:+.1%} (4 folds, local)."
    assert said.startswith(f"tiny/1/toy/Near/kl is {facts['verdict']}: {told}")


# ---------------------------------------------------------------------- cost and pipes


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_planning_a_whole_paper_imports_nothing_heavy():
    code = """
import sys
from ldlrepro.catalogue import Project
from ldlrepro.plan import Plan
from ldlrepro.workflow.rules import Rules
from types import SimpleNamespace as Of
project = Project.open()
rules = Rules(Plan(project), project.run)
for paper in project.paper_ids:
    of = Of(paper=paper)
    rules.paper_records(of), rules.paper_tables(of), rules.paper_folds(of), rules.paper_methods(of)
    rules.paper_reference(of), rules.paper_printed(of), rules.paper_experiments(of)
for method in {method.class_path: method.id for method in project.methods}.values():
    job = Of(paper="mslp", protocol="mslp", dataset="sjaffe", method=method)
    rules.method_spec(job), rules.method_code(job), rules.unit_threads(job)
rules.judge_code(job), rules.figure_code(job), rules.report_code(job), rules.reader_code(job)
print(*{name.partition('.')[0] for name in sys.modules})
"""
    assert HEAVY.isdisjoint(run_python(code).split())


def test_a_reader_that_closes_the_pipe_gets_no_traceback(checkout):
    command = [sys.executable, "-m", "ldlrepro.cli", "verdicts", "--show", "not run"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert "printed numbers were not run." in process.stdout.readline()
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    assert process.wait() == 0
