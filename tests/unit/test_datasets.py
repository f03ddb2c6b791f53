"""The configured data sets: their YAML, and the real files where a local mirror holds them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldl import datasets as public
from ldlrepro.catalogue import DataSet
from ldlrepro.data import Dataset, DataUnavailable, load_ready, prepare
from ldlrepro.data.fetch import default_mirrors, fetch, local_sources
from tests.unit.judged import PROJECT

TABLES = [data_set.id for data_set in PROJECT.data_sets if data_set.reader == "mat"]


@pytest.mark.parametrize("data_set", PROJECT.data_sets, ids=lambda data_set: data_set.id)
def test_every_data_set_can_be_had_drawn_or_asked_for(data_set: DataSet) -> None:
    files = data_set.files
    assert sum([bool(files), data_set.is_drawn, data_set.reader == "images"]) == 1
    assert not files or files[0].urls
    if data_set.reader == "images" or (files and files[0].git_blob):
        assert f"data/manual/{data_set.owner_of_images.id}/" in data_set.how_to_get
        assert f"`ldlrepro fetch {data_set.id}`" in data_set.how_to_get


def test_absent_data_never_raise_and_say_what_to_do(tmp_path: Path) -> None:
    for data_set in PROJECT.data_sets:
        if data_set.is_drawn:
            continue
        status = fetch(data_set, tmp_path, [], offline=True)
        assert not status.available
        assert f"ldlrepro fetch {data_set.id}" in status.reason
        with pytest.raises(DataUnavailable, match=f"{data_set.id} is not available"):
            load_ready(prepare(data_set, tmp_path))


# ---------------------------------------------------------------------- real files


def ready(dataset: str, data_dir: Path) -> Dataset:
    described, mirrors = PROJECT.data_set(dataset), default_mirrors(PROJECT)
    if not local_sources(described, data_dir, mirrors):
        pytest.skip(f"no local mirror holds {dataset}; set LDLREPRO_DATA_MIRROR to a folder of it")
    status = fetch(described, data_dir, mirrors, offline=True)
    assert status.available, status.reason
    return load_ready(prepare(described, data_dir))


@pytest.mark.realdata
@pytest.mark.parametrize("dataset", TABLES)
def test_the_library_reads_the_same_rows_as_the_workflow(dataset: str, tmp_path: Path) -> None:
    ours = ready(dataset, tmp_path)  # which has the checksum and the shape of the config
    if dataset not in public.names():
        return
    (file,) = PROJECT.data_set(dataset).files
    near = tmp_path / "raw" / dataset
    theirs = public.load(dataset, data_home=tmp_path / "home", mirror=near)
    assert theirs.filename == str(tmp_path / "home" / file.name)
    dense = (data.toarray() if hasattr(data, "tocsr") else data for data in (ours.X, theirs.data))
    np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(ours.D, theirs.target)
    for one, other in ((ours.groups, theirs.groups), (ours.target, theirs.target_number)):
        np.testing.assert_array_equal(one, other)
    assert ours.labels in ([], theirs.label_names)
