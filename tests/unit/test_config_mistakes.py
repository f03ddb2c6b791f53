"""Mistakes in configuration files: the message names file, key, what is allowed, nearest name."""

from __future__ import annotations

import pytest

from ldlrepro.core.errors import UserError

METHOD = "config/methods/mine.yaml"
PAPER = "papers/mine/paper.yaml"
DATASET = "config/datasets/mine.yaml"
PRINTED = "papers/mine/cells.csv"
RUN = "config/config.yaml"


FILES = {
    METHOD: """
title: Mine
class: ldl.AAKNN
parameters: {n_neighbors: 4}
scaling: none
resources: {threads: 1}
variants:
  more: {title: More, grid: {n_neighbors: [5, 10]}}
""",
    DATASET: """
title: Mine
reader: mat
files: [{name: a.mat, sha256: "%s"}]
sparse: true
licence: free
"""
    % ("0" * 64),
    PAPER: """
title: Mine
authors: me
venue: here
year: 2026
protocols:
  own: {scheme: kfold, folds: 10, validation: holdout, select_by: kl, text: ten}
  split: {scheme: shuffle_split, repeats: 5, train_share: 0.8, text: five}
datasets: [sjaffe]
use_dataset: {m2b: m2b_lngoo}
methods:
  One: uniform
  Two: {method: train_mean, note: the mean}
extra:
  - {methods: [uniform], datasets: [yeast_cdc], protocol: split}
tables:
  "1": {title: first, protocol: own}
  "2": {title: second, settings: {plain: {}, other: {protocol: split}}}
""",
    PRINTED: """paper,table,dataset,setting,method,metric,mean,std,better,quoted_from,note
mine,1,sjaffe,,One,kl,0.1,,lower,,
mine,1,m2b,,Two,kl,0.1,,lower,,
mine,2,sjaffe,plain,One,kl,0.1,,lower,,
mine,2,sjaffe,other,One,kl,0.1,,lower,,
""",
    RUN: """
papers: [mine]
only: {datasets: [], methods: []}
seed: 1
offline: no
""",
}


@pytest.fixture
def mine(checkout):
    for path, text in FILES.items():
        checkout.write(path, text)
    return checkout


def load_everything(checkout) -> None:
    """What Snakemake reads before it plans, and what planning reads."""
    plan = checkout.plan
    plan.project.check(plan.project.run, RUN)
    for paper in plan.project.papers:
        plan.cells(paper)
        plan.units(paper)


def test_the_files_that_the_mistakes_are_made_in_are_right(mine):
    load_everything(mine)
    cells = mine.plan.cells(mine.project.paper("mine"))
    assert [c.unit.protocol.id for c in cells] == ["own", "own", "own", "split"]


MISTAKES = [
    # file, old, new, and what the message must hold
    (
        METHOD,
        "title: Mine",
        "titel: Mine",
        ["'titel'", "Did you mean 'title'?", "missing key title"],
    ),
    (METHOD, "scaling: none", "scaling: minmax", ["'minmax'", "'minmax01'?", "l2row"]),
    (METHOD, "threads: 1", "threads: many", ["resources.threads", "'many'", "integer"]),
    (DATASET, "reader: mat", "reader: matt", ["'matt'", "Did you mean 'mat'?", "drawn_table"]),
    (PAPER, "folds: 10, ", "", ["protocols.own", "missing key folds"]),
    (PAPER, "datasets: [sjaffe]", "datasets: [sjafe]", ["datasets: 'sjafe'", "'sjaffe'?"]),
    (PAPER, "plain: {}", "plan: {}", ["tables.2.settings", "'plain'", "Did you mean 'plan'?"]),
    (RUN, "papers:", "paper:", ["'paper'", "Did you mean 'papers'?", "missing key papers"]),
    (RUN, "methods: []", "methods: [sa_bfg]", ["only.methods", "Did you mean 'sa_bfgs'?"]),
]


@pytest.mark.parametrize(
    ("path", "old", "new", "words"), MISTAKES, ids=[f"{m[0][7:]}-{m[2]}" for m in MISTAKES]
)
def test_a_mistake_is_named_with_its_file_its_key_and_the_nearest_name(mine, path, old, new, words):
    mine.edit(path, old, new)
    with pytest.raises(UserError) as caught:
        load_everything(mine)
    message = str(caught.value)
    for word in [path, *words]:
        assert word in message


def test_all_mistakes_of_a_file_are_listed_at_once(mine):
    mine.edit(METHOD, "threads: 1", "threads: many")
    mine.edit(METHOD, "scaling: none", "scalling: none")
    with pytest.raises(UserError) as caught:
        mine.project.method("mine")
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{METHOD}: ") for line in lines)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "expected keys and values, found NoneType"),
        (b"title: \xff\xfe\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_mapping_is_named(checkout, content, words):
    (checkout.root / METHOD).write_bytes(content)
    with pytest.raises(UserError, match=words) as caught:
        checkout.project.method("mine")
    assert METHOD in str(caught.value)


def test_a_mistake_in_a_file_of_claims_is_named_with_that_file(mine):
    mine.write("papers/mslp/claims.yaml", "claims:\n  - {id: a, text: b, untestd: c}\n")
    with pytest.raises(UserError, match=r"papers/mslp/claims\.yaml: .*untestd"):
        load_everything(mine)
