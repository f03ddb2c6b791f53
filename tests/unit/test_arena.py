"""The arena: a table of one's own, the records of public sets, and what they recommend."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldl import metrics
from ldl.datasets import make_distributions
from ldlrepro import cli
from ldlrepro.arena import advice, runs
from ldlrepro.arena.standings import (
    BASE,
    BASE_ELO,
    Standings,
    behind_the_mean,
    cpu_seconds,
    lines,
    read,
    sentence,
    tables,
    worth_of_defaults,
)
from ldlrepro.arena.toolbox import FAMILY
from ldlrepro.core import numerics
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.own_table import read_own

LABELS = ["calm", "glad", "sad"]


@pytest.fixture
def table() -> pd.DataFrame:
    """Sixty rows of twenty persons."""
    X, D = make_distributions(60, 4, 3, random_state=1)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame[LABELS] = D
    return frame.assign(who=np.arange(60) // 3)


def write(table: pd.DataFrame, name: str = "mine.csv", **told) -> Path:
    path = Path(name)
    table.to_csv(path, index=False, **told)
    return path


# ---------------------------------------------------------------------- a table of one's own


def test_any_common_form_of_a_table_reads_alike(table, checkout):
    from scipy.io import savemat

    table.to_parquet("mine.parquet")
    parts = {"F": table[list("abcd")].to_numpy(), "L": table[LABELS].to_numpy()}
    savemat("mine.mat", parts)
    plain = read_own(write(table), LABELS, "who", [])
    semicolons = read_own(write(table, "semi.csv", sep=";", decimal=","), LABELS, "who", [])
    parquet = read_own(Path("mine.parquet"), LABELS, "who", [])
    matlab = read_own(Path("mine.mat"), ["L"], None, [])
    Path("spaced.csv").write_text(Path("mine.csv").read_text().replace(",", ", "))
    spaced = read_own(Path("spaced.csv"), LABELS, "who", [])
    for other in (semicolons, parquet, matlab, spaced):
        assert np.allclose(other.X, plain.X)
        assert np.allclose(other.D, plain.D)
    assert plain.groups.tolist() == table["who"].tolist()
    assert plain.seen == "60 rows, 4 features, 3 labels, 20 different values of who."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("a,b\n", "has no rows"),
        ("a,calm,glad,sad\n1,1,0,0\n2,0,1,0\n,0,0,1\n", "2 rows are too few .* 1 of 3 rows have g"),
        ("a,b\n1,2\n1,2,3\n", "read as a table: line 3 has 3 cells where 2 are expected"),
        ("a,b\n1,2,3\n1,2,3\n", "line 2 has 3 cells where 2 are expected"),
        ("a,a\n1,2\n", "two columns are called 'a'"),
        (
            "1;0;1\n2;0,5;0,5\n",
            "names of the 3 columns must stand. Put a line above it, such as x1;x2;x3",
        ),
        ('a,b\n1,2\n"1,2\n', "line 3 has a quotation mark that is never closed"),
    ],
)
def test_what_is_no_table_with_rows_is_refused(checkout, text, words):
    Path("mine.csv").write_text(text)
    with pytest.raises(UserError, match=words):
        read_own(Path("mine.csv"), LABELS, None, [])


def test_a_file_in_another_encoding_or_cut_off_says_what_to_do(checkout):
    from scipy.io import savemat

    Path("mine.csv").write_bytes("größe,b\n1,2\n".encode("latin1"))
    with pytest.raises(UserError, match=r"not text in UTF-8.*iconv -f latin1"):
        read_own(Path("mine.csv"), LABELS, None, [])
    savemat("mine.mat", {"F": np.ones((60, 4)), "L": np.ones((60, 3))})
    Path("mine.mat").write_bytes(Path("mine.mat").read_bytes()[:200])
    with pytest.raises(UserError, match="Is the file whole"):
        read_own(Path("mine.mat"), ["L"], None, [])


def test_a_label_that_was_forgotten_is_named(table, checkout):
    first, *others = LABELS
    said = " ".join(read_own(write(table), others, None, ["who"]).remarks)
    assert f"The feature {first} and the labels sum to one number." in said
    assert "sum to one number" not in " ".join(
        read_own(write(table), LABELS, None, ["who"]).remarks
    )


def test_what_misleads_is_said(table, checkout):
    table["copy"] = 3 * table["sad"] + 1
    table["still"] = 7
    table.loc[5, list("abcd")] = table.loc[4, list("abcd")]
    table.loc[5, "copy"] = table.loc[4, "copy"]
    table.loc[[0, 1], "a"] = np.nan
    table.loc[2, LABELS] = 0.0
    table[LABELS] *= 2
    found = read_own(write(table), LABELS, None, ["who"])
    said = " ".join(found.remarks)
    assert "2 of 60 rows have gaps and are left out." in said
    assert "1 of 60 rows have labels that are all zero" in said
    assert "each row is divided by its sum" in said
    assert "The feature copy is nearly the label sad" in said
    assert "never change: still" in said
    assert "Rows that repeat the features of another: 1, tested together." in said
    assert len(found.X) == 57
    assert len(np.unique(found.groups)) == 56


def test_odd_rows_are_counted_and_the_first_is_placed(table, checkout):
    table.loc[3, "a"] = np.nan
    table.loc[[7, 9], LABELS] *= 2
    found = read_own(write(table.assign(row=table.index)), LABELS, "row", [])
    said = " ".join(found.remarks)
    assert "2 of 59 rows do not sum to 1 (the first: line 9); each row is divided" in said
    assert "a value of its own in row: --groups row keeps no rows together" in said


@pytest.mark.parametrize(
    ("change", "asked", "words"),
    [
        ({}, {"labels": ["calm", "gald"]}, "no column 'gald'. Did you mean 'glad'?"),
        ({}, {"labels": ["calm"]}, "at least two columns"),
        ({}, {"groups": "sad"}, "the column 'sad' is a label already"),
        ({"who": [1, 2] * 30}, {"groups": "who"}, "column 'who' must tell at least 3 .* values: 2"),
        ({"who": None}, {"groups": "who"}, "line 2, column 'who' is empty. Each row needs a"),
        ({}, {"ignore": ["sad"]}, "the column 'sad' is a label already"),
        (
            {"a": "x"},
            {},
            "has the text 'x'. Write numbers, or leave columns with text out: --ignore a",
        ),
        ({"sad": -1.0}, {}, "line 2, column 'sad' has -1. The degrees"),
        ({"a": 59 * [1.0] + [np.inf]}, {}, "line 61, column 'a' has an infinite number"),
        (dict.fromkeys(LABELS, 1.0), {}, "all rows have the same labels"),
        (
            {**dict.fromkeys(LABELS, 1.0), "a": [np.nan] + 59 * [1.0]},
            {},
            "nothing to learn. 1 of 60 rows have gaps",
        ),
        ({"sad": "much"}, {}, "line 2, column 'sad' has the text 'much'. A label"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_type(table, checkout, change, asked, words):
    path = write(table.assign(**change))
    told = {"labels": LABELS, "groups": None, "ignore": [], **asked}
    with pytest.raises(UserError, match=words):
        read_own(path, **told)


def test_a_line_with_too_few_cells_is_named(table, checkout):
    path = write(table)
    lines = path.read_text().splitlines()
    wide = len(lines[0].split(","))
    lines[16] = ",".join(lines[16].split(",")[:3])
    path.write_text("\n".join([*lines[:9], "", *lines[9:]]))
    with pytest.raises(UserError, match=f"line 18 has 3 cells where {wide} are expected"):
        read_own(path, LABELS, None, [])


def test_one_command_names_the_winner_and_writes_it_down(table, checkout, capsys):
    table["remark"] = None
    table.loc[60] = [*[0.0] * 7, 20, "no label"]
    table.loc[61] = [None, *[0.3] * 6, 20, "a gap"]
    write(table)
    asked = ["arena", "mine.csv", "--labels", ",".join(LABELS), "--groups", "who"]
    asked += ["--ignore", "remark"]
    few = ["--methods", "SABFGS,AAKNN", "--time", "5m", "--threads", "1"]
    assert cli.main([*asked, *few]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Use SABFGS. Its KL is")
    assert "60 rows, 4 features, 3 labels" in err
    (folder,) = Path("results/arena/own").glob("mine-*")
    page = (folder / "index.html").read_text()
    assert "<h1>mine.csv</h1>" in page
    assert page.count('<td class="gain v-reproduced" style="--length: 100%">') == 1
    program = (folder / "best.py").read_text()
    assert len(program.splitlines()) <= 11
    check = f"{program}\nassert X.shape == (60, 4)\n"
    shown = subprocess.check_output([sys.executable, "-c", check], text=True)
    assert len(shown.splitlines()) == 6  # the labels, and the first five rows
    assert cli.main([*asked, *few, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in rows] == ["SABFGS", "AAKNN", "TrainMean"]
    few[1] = "SABFGS"
    assert cli.main([*asked, *few, "--time", "0.0001s"]) == 0  # its folds were done before
    write(table[::-1])
    assert cli.main([*asked, *few, "--time", "0.0001s"]) == 1
    assert "No method had the time to run." in capsys.readouterr().out
    assert (folder / "index.html").read_text() == page
    assert len(list(folder.parent.glob("mine-*"))) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.csv"], "nothing.csv: no such file"),
        (
            ["mine.csv"],
            "mine.csv: which columns are the labels? It has: a, b, c, d, calm, glad, sad, who. "
            "Type those that are, such as `ldlrepro arena mine.csv --labels calm,glad,sad`",
        ),
        (["mine.csv", "--ignore", "sad"], "`ldlrepro arena mine.csv --labels d,calm,glad`"),
        (
            ["wide one.csv"],
            "It has: x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, ..., x21, x22, x23, x24",
        ),
        (["wide one.csv"], "`ldlrepro arena 'wide one.csv' --labels x28,x29,x30`"),
        (["mine.csv", "--labels", "calm,glad,sad", "--measure", "kll"], "Did you mean 'kl'?"),
        (["mine.xlsx", "--labels", "calm,glad"], "the arena reads .csv"),
        (["papers"], "papers is a folder. The arena takes a table (.csv"),
    ],
)
def test_a_slip_is_answered_with_what_to_type(table, checkout, capsys, arguments, words):
    write(table)
    Path("mine.xlsx").touch()
    write(pd.DataFrame({f"x{number}": [0.5] for number in range(1, 31)}), "wide one.csv")
    assert cli.main(["arena", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_name_or_a_time_that_cannot_be_meant_is_refused(capsys):
    from ldlrepro.cli.verb import duration

    assert [duration(text) for text in ("90s", "10m", "1.5h", "20")] == [90, 600, 5400, 20]
    with pytest.raises(SystemExit):
        cli.main(["arena", "mine.csv", "--time", "soon"])
    assert "'soon' is no time; write 90s, 10m or 1.5h" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["arena", "mine.csv", "--labels", "calm,calm,sad"])
    assert "argument --labels: 'calm' is named twice" in capsys.readouterr().err


# ---------------------------------------------------------------------- public sets


@pytest.fixture
def arena(ready, tmp_path_factory) -> Path:
    """The arena's table of the toy data, with three methods; the first test computes it for all."""
    kept, here = tmp_path_factory.getbasetemp() / "arena", Path("results/arena")
    if not kept.is_dir():
        runs.run("toy", Workspace(), ["TrainMean", "AAKNN", "RandomForest"])
        shutil.copytree(here, kept)
    shutil.copytree(kept, here, dirs_exist_ok=True)
    return here / "toy/scores.csv"


def test_every_kind_of_every_fold_has_a_row(arena):
    rows = pd.read_csv(arena)
    counts = rows.groupby(["method", "kind"]).size().to_dict()
    expected = {("RandomForest", "default"): 5}  # a slow method has its defaults only
    for method in ("TrainMean", "AAKNN"):
        expected |= {(method, kind): 5 for kind in ("default", "tuned", "ensemble")}
    assert counts == expected
    facts = json.loads(arena.with_name("facts.json").read_text())
    assert facts["protocol"]["seconds"] == runs.PROTOCOL.seconds
    assert set(facts["methods"]) == {"TrainMean", "AAKNN", "RandomForest"}


def test_a_finished_fold_is_not_computed_again_unless_what_decides_it_changes(arena, monkeypatch):
    done = []
    monkeypatch.setattr(runs, "search", lambda contender, task: done.append(contender.name))
    runs.run("toy", Workspace(), ["AAKNN"])
    assert done == []
    monkeypatch.setattr(runs, "code_of", lambda contender: "other")
    with pytest.raises(AttributeError):  # nothing was found, for nothing was searched
        runs.run("toy", Workspace(), ["AAKNN"])
    assert done == ["AAKNN"]


def test_a_process_that_is_not_pinned_records_nothing(arena, monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", *numerics.KERNELS):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError, match=r"OPENBLAS_NUM_THREADS.*numerics\.pin\(\)"):
        runs.run("toy", Workspace(), ["AAKNN"])


def test_predictions_taken_away_give_the_scores_of_the_table(arena, tmp_path):
    path = tmp_path / "toy.parquet"
    count = runs.write_predictions("toy", Workspace(), path)
    found = pd.read_parquet(path)
    assert len(found) == count
    rows = pd.read_csv(arena).set_index(["method", "kind", "fold"])
    names = list(found.columns[4:])
    truth = found[found["method"] == "truth"].set_index("row")[names]
    assert sorted(truth.index) == list(range(60))
    for (method, kind, fold), part in found[found["method"] != "truth"].groupby(
        ["method", "kind", "fold"]
    ):
        D, P = truth.loc[part["row"]].to_numpy(), part[names].to_numpy()
        assert metrics.kl(D, P) == pytest.approx(rows.loc[(method, kind, fold), "kl"], rel=1e-9)


def test_a_table_is_checked_by_computing_folds_again(arena, capsys):
    assert cli.main(["arena", "toy", "--again", "6"]) == 0
    out, err = capsys.readouterr()
    assert err.count("the same predictions") == 6
    assert "6 folds of results/arena/toy/scores.csv computed again: 0 differ." in out
    rows = pd.read_csv(arena)
    rows["predictions_sha256"] = "0" * 64
    rows.to_csv(arena, index=False)
    assert cli.main(["arena", "toy", "--again", "2"]) == 1
    assert "2 differ" in capsys.readouterr().out


def test_without_python_ldl_its_rows_are_not_computed_again(arena, capsys):
    rows = pd.read_csv(arena)[:2]
    rows.loc[1, "method"] = f"S_KLD ({FAMILY})"
    rows.to_csv(arena, index=False)
    assert cli.main(["arena", "toy", "--again", "2"]) == 0
    out, err = capsys.readouterr()
    assert err.count("the same predictions") == 1
    assert out.startswith("1 fold of ")
    assert FAMILY not in out + err


def test_a_method_that_cannot_be_fitted_counts_as_the_training_mean(ready, monkeypatch):
    def fails(*asked):
        raise FloatingPointError("no optimum")

    with monkeypatch.context() as patched:
        patched.setattr("ldl.comparison.search._fitted", fails)
        rows = pd.read_csv(runs.run("toy", Workspace(), ["AAKNN"]))
    assert set(rows["error"]) == {"FloatingPointError: no optimum"}
    mean = pd.read_csv(runs.run("toy", Workspace(), ["TrainMean"]))
    mean = mean[(mean["method"] == "TrainMean") & (mean["kind"] == "default")]
    assert np.allclose(sorted(rows["kl"]), sorted(mean["kl"]))


# ---------------------------------------------------------------------- standings


def board(losses: dict[str, dict[str, float]], families: dict[str, str] | None = None) -> Standings:
    """Standings of methods by data set, each with one fold; the forest and the mean stand by."""
    rows = []
    for dataset, by_method in losses.items():
        told = {"TrainMean": 1.0, "RFRegression": 0.5, **by_method}
        rows += [
            {"dataset": dataset, "method": m, "kind": "default", "fold": 0, "kl": loss}
            | {"family": FAMILY if m == "Theirs" else "", "fit_s": 1.0, "predict_s": 0.1}
            | {"search_s": 2.0}
            for m, loss in told.items()
        ]
    return Standings(pd.DataFrame(rows), families or {})


def test_the_base_has_its_rating_and_winners_stand_above_it():
    found = board({name: {"A": 0.2, "B": 0.8} for name in "pqrs"})
    table = found.table.set_index("method")
    assert table.loc[BASE, "elo"] == pytest.approx(BASE_ELO)
    assert list(table.index) == ["A, default", BASE, "B, default", "TrainMean, default"]
    assert table.loc["A, default", "gain"] == pytest.approx(0.8)
    assert table.loc["A, default", "win_rate"] == 1.0
    assert table.loc["B, default", "improvability"] == pytest.approx(0.75)


def test_a_fit_that_failed_took_no_time(tmp_path):
    times = {"fit_s": [1.0, None], "predict_s": [0.5, None], "search_s": [2.0, None]}
    rows = pd.DataFrame({"method": "A", "fold": [0, 1], **times})
    rows.to_csv(tmp_path / "scores.csv", index=False)
    assert cpu_seconds(tmp_path / "scores.csv") == 3.5


def test_a_family_counts_once():
    family = {f"y{n}": "yeast" for n in range(8)}
    losses = {name: {"A": 0.6} for name in family} | {"p": {"A": 0.1}, "q": {"A": 0.1}}
    table = board(losses, family).table.set_index("method")
    assert table.loc["A, default", "leads"] == 2
    assert table.index[0] == "A, default"  # eight sets of one family lose, two others win


def test_a_set_counts_when_every_method_has_run():
    found = board({name: {"A": 0.2} for name in "pqr"} | {"s": {}})
    assert found.unfinished == ["s"]
    assert list(found.losses.index) == ["p", "q", "r"]


@pytest.mark.parametrize("name", ["Theirs", "CatBoost"])
def test_a_method_that_setup_does_not_install_counts_when_it_has_run_on_every_set(name):
    begun = board({"p": {"A": 0.2, name: 0.1}, "q": {"A": 0.2}})
    assert list(begun.losses.index) == ["p", "q"]
    assert f"{name}, default" not in begun.losses
    assert f"they have not run on all sets: {name}." in sentence(begun)
    assert f"{name}, default" in board({"p": {name: 0.1}, "q": {name: 0.1}}).losses


def test_few_families_give_a_leader_and_no_interval():
    found = board({name: {"A": 0.2} for name in "pqrs"})
    assert found.table["low"].notna().all()
    some = found.on("pq")
    assert some.table["low"].isna().all()
    assert {line["95% interval"] for line in lines(some)} == {""}
    assert "over 2 public sets of 2 families" in sentence(some)
    assert "So few families cannot tell how sure that is." in sentence(some)


def test_defaults_that_often_lose_to_the_mean_are_named():
    often = {"AAKNN": 1.2, "SABFGS": 1.001, "CatBoost": 1.5}
    hard = {**often, "RFRegression": 0.95}
    found = board({"p": hard, "q": {**often, "AAKNN": 1.1}, "r": {**often, "AAKNN": 0.5}})
    said = behind_the_mean(found)
    assert "3 estimators ran" in said  # CatBoost is no estimator of the library
    assert "more than one set in ten: AAKNN, SABFGS, at most by 20.0%." in said
    assert "Of all 9 means over folds, 5 are worse, at most by 20.0%, that of AAKNN on p." in said
    never = behind_the_mean(board({"p": {"AAKNN": 0.9}, "q": {"AAKNN": 0.5}}))
    assert "None is worse than the training mean on more than one set in ten." in never
    assert never.endswith("Of all 4 means over folds, none is worse.")


def test_defaults_are_worth_what_they_gain_on_the_middle_set():
    found = board({"p": {"AAKNN": 1.2}, "q": {"AAKNN": 0.9}, "r": {"AAKNN": 0.6}})
    found.rows["chebyshev"] = found.rows["kl"] / 2
    first, last = worth_of_defaults(found)
    assert (first["estimator"], last["estimator"]) == ("RFRegression", "AAKNN")
    assert (last["gain, KL"], last["gain, Chebyshev"]) == ("+10.0%", "+10.0%")
    assert (last["sets lost to the mean"], last["by at most"]) == ("1 of 3", "20.0%")
    assert (first["sets lost to the mean"], first["by at most"]) == ("0 of 3", "")


def test_losses_of_any_size_count_alike():
    small = board({"p": {"A": 0.4}, "q": {"A": 0.4}})
    wide = small.rows.copy()
    wide.loc[wide["dataset"] == "p", "kl"] *= 1000
    pd.testing.assert_frame_equal(small.losses, Standings(wide, {}).losses)


def test_halves_that_agree_have_one_leader():
    alike = board({name: {"A": 0.2, "B": 0.4} for name in "pqrs"})
    assert alike.halves == (1.0, pytest.approx(1.0))
    split = board({name: {"A": 0.2 + 0.6 * (name in "pq")} for name in "pqrs"})
    assert split.halves[0] < 1.0


def test_local_tables_stand_in_front_of_the_maintainers(tmp_path):
    for folder in ("results", "reference"):
        path = tmp_path / folder / "arena" / "toy" / "scores.csv"
        path.parent.mkdir(parents=True)
        path.write_text("method,kind\n")
    found = tables(tmp_path / "results", tmp_path / "reference")
    assert found == {"toy": tmp_path / "results" / "arena" / "toy" / "scores.csv"}
    with pytest.raises(UserError, match="snakemake --cores all arena"):
        read({})


# ---------------------------------------------------------------------- advice


def test_the_records_recommend_a_method(arena, capsys):
    assert cli.main(["recommend", "toy"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "better than the mean of the training labels" in out
    assert "Folds: arena." in out
    assert "ensemble a mixture of at most 4 settings" in out
    assert "Elo" not in out


def test_people_are_kept_whole_where_they_are_known(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["recommend", "sjaffe"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "persons whole." in said
    assert "other methods from it. The column tied marks them." in said
    assert said.endswith(".best"), "and how to fit it"
    assert cli.main(["recommend"]) == 0
    assert "Elo is a rating by wins" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["recommend", "--measure", "cosine"]) == 2
    assert "only losses are compared over several data sets" in capsys.readouterr().err


@pytest.mark.parametrize(("spread", "chance"), [(0.001, False), (0.1, True)])
def test_a_gain_over_the_mean_that_chance_could_give_is_called_so(checkout, spread, chance):
    noise = spread * np.array([1, -1, 1, -1, 0.5])
    scores = {"near": 0.98 + noise, "far": 1.2 - noise, "mean": np.ones(5)}
    seconds = {"near": 9.0, "far": 7.0, "mean": 0.0}
    found = advice.SameFolds("tiny", "kl", scores, seconds, "mean", train=80, test=20, apart=False)
    said = advice._advice(checkout.project.data_set("toy"), found).said
    opening = "No method is surely better here" if chance else "Use near: no other method is tied"
    assert said.startswith(opening)
    assert ("Chance alone could give that gain." in said) == chance
    scores["close"] = scores["near"] + 1e-4 * np.array([1, -1, 1, -1, 0.5])
    found = advice.SameFolds("tiny", "kl", scores, seconds | {"close": 1.0}, "mean", 80, 20, False)
    said = advice._advice(checkout.project.data_set("toy"), found).said
    assert ("other methods from it. Tied: close.\n\nIt is" in said) == (not chance)


def test_protocols_with_equal_folds_are_one_comparison(tiny):
    text = (tiny.root / "papers/tiny/paper.yaml").read_text()
    in_order = text.replace("scheme: kfold", "scheme: kfold, shuffle: false")
    for paper in ("tiny", "second"):
        tiny.write(f"papers/{paper}/paper.yaml", in_order.replace("  tiny:", f"  {paper}:"))
    for unit in ("tiny toy near", "second toy train_mean", "second toy near"):
        assert cli.main(["run", *unit.split(), "--inputs"]) == 0
    (found,) = advice._of_protocols(tiny.judge, tiny.project.data_set("toy"), "kl")
    assert set(found.scores) == {"near", "train_mean"}
    assert set(found.sources.split(", ")) == {"tiny", "second"}


def test_settings_that_the_print_chose_are_not_recommended(checkout):
    project = checkout.project
    assert not advice._may_be_used(project.method("structrf"))
    assert not advice._may_be_used(project.method("ldldf_oracle"))
    assert advice._may_be_used(project.method("rf_reg"))


def test_nothing_is_recommended_without_records(ready, capsys):
    assert cli.main(["recommend", "toy"]) == 2
    assert "Type `ldlrepro arena toy`" in capsys.readouterr().err
    assert cli.main(["recommend", "toy", "--measure", "kll"]) == 2
    assert "Did you mean 'kl'?" in capsys.readouterr().err
