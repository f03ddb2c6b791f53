"""Mistakes in configuration files: the message names file, key, what is allowed, nearest name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ldlrepro.catalogue.complaints import PATTERNS
from ldlrepro.core.errors import UserError

METHOD = "config/methods/near.yaml"
PAPER = "papers/tiny/paper.yaml"
DATASET = "config/datasets/toy.yaml"
RUN = "config/config.yaml"


def load_everything(checkout) -> None:
    """What Snakemake reads before it plans, and what planning reads."""
    plan = checkout.plan
    plan.project.check(plan.project.run, RUN)
    paper = plan.project.paper("tiny")
    plan.cells(paper)
    plan.units(paper)


MISTAKES = [
    # file, old, new, and what the message must hold
    (METHOD, "title: n", "titel: n", ["'titel'", "Did you mean 'title'?", "missing key title"]),
    (METHOD, "class:", "scaling: minmax\nclass:", ["'minmax'", "'minmax01'?", "l2row"]),
    (METHOD, "threads: 1", "threads: many", ["resources.threads", "'many'", "integer"]),
    (DATASET, "drawn_table", "drawn_tabel", ["'drawn_tabel'", "Did you mean 'drawn_table'?"]),
    (METHOD, "threads: 1", "threads: 0", ["resources.threads: 0 should be greater than or equal"]),
    (METHOD, "class: ", "class: my_method #", ["class: 'my_method' is no class. Write FILE.CLASS"]),
    (PAPER, "folds: 4, ", "", ["protocols.tiny", "missing key folds"]),
    (PAPER, "datasets: [toy]", "datasets: [toyy]", ["datasets: 'toyy'", "'toy'?"]),
    ("papers/mslp/claims.yaml", "text:", "txet:", ["'txet'", "Did you mean 'text'?"]),
    (RUN, "papers:", "paper:", ["'paper'", "Did you mean 'papers'?", "missing key papers"]),
    (RUN, "methods: []", "methods: [sa_bfg]", ["only.methods", "Did you mean 'sa_bfgs'?"]),
]


@pytest.mark.parametrize(
    ("path", "old", "new", "words"), MISTAKES, ids=[f"{m[0][7:]}-{m[2]}" for m in MISTAKES]
)
def test_a_mistake_is_named_with_its_file_its_key_and_the_nearest_name(tiny, path, old, new, words):
    load_everything(tiny)
    tiny.edit(path, old, new)
    with pytest.raises(UserError) as caught:
        load_everything(tiny)
    message = str(caught.value)
    for word in [path, *words]:
        assert word in message


def with_pattern(schema: Any, key: str = "") -> Iterator[str]:
    """Yield the keys whose text, or the items of whose list, must match a pattern."""
    for name, value in schema.items() if isinstance(schema, dict) else ():
        if name == "pattern":
            yield key
        yield from with_pattern(value, key if name == "items" else name)


def test_every_key_with_a_pattern_has_words_for_what_does_not_match():
    schemas = Path(__file__).resolve().parents[2].glob("config/schemas/*.json")
    keys = {key for path in schemas for key in with_pattern(json.loads(path.read_text()))}
    assert keys == set(PATTERNS)


def test_all_mistakes_of_a_file_are_listed_at_once(tiny):
    tiny.edit(METHOD, "threads: 1", "threads: many")
    tiny.edit(METHOD, "parameters:", "scalling: none\nparameters:")
    with pytest.raises(UserError) as caught:
        tiny.project.method("near")
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{METHOD}: ") for line in lines)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "expected keys and values, found NoneType"),
        (b"title: \xff\xfe\n", "line 1: not valid YAML"),
        (b"title: t\nclass: [a\nscaling: b\n", "line 3: not valid YAML: did not find expected"),
        (b"title: t\nclass: \x07\n", "line 2: not valid YAML: control characters"),
    ],
)
def test_a_file_that_is_no_mapping_is_named(tiny, content, words):
    (tiny.root / METHOD).write_bytes(content)
    with pytest.raises(UserError, match=words) as caught:
        tiny.project.method("near")
    assert METHOD in str(caught.value)
