"""Rehearses the day on which somebody has MORPH, on drawn faces, and measures every step.

    python -m bench.morph_day ../rehearsal                 minutes, and 10 GB of disk
    python -m bench.morph_day ../rehearsal --rows 4000     less of both

Draws pictures in the folders and the CSV of MORPH, takes the eye points of every tenth one away
(cartoons are searched for longer than photographs), and gives the commands of docs/morph-day.md:
find the eyes, prepare, align, cut folds, train a small network, judge. In between an album with as
many lines as MORPH has, whose files are links to the drawn pictures, goes as far as folds: there
the size is measured. The paper that is judged says that it is a stand-in.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from ldlrepro.config import project_root
from ldlrepro.core.files import write_text
from ldlrepro.data.drawn.albums import write_album

PAPER, PICTURES, ALBUM = "morph_day", "morph_day_pictures", "morph_day_album"
LIST = "morph_2008_nonCommercial.csv"
TRAINED = "drf@tiny"
IMAGES_A_PERSON = 5
WITHOUT_EYES = 10
"""Every so many pictures have no eye points."""
DATASET = """\
title: Drawn faces as a stand-in for MORPH ({rows} lines)
description: Drawn faces, no photograph.
reader: images
layout:
  name: morph
  setup: {{name: {id}, rule: all}}
crop: {{width: 224, height: 224}}
ages: {{first: 16, last: 77, width: 2}}
licence: drawn here
how_to_get: python -m bench.morph_day
"""
PAPER_YAML = f"""\
title: "Stand-in: the day of MORPH rehearsed on drawn faces"
authors: nobody
venue: a rehearsal
year: 2026
protocols:
  {PAPER}:
    scheme: shuffle_split
    repeats: 1
    train_share: 0.8
    text: Drawn faces in place of MORPH; none of these numbers says anything of photographs.
datasets: [{PICTURES}]
own: [DRF]
methods:
  DRF: "{TRAINED}"
tables:
  "II": {{title: "stand-in on drawn faces", kind: ages}}
"""
CELLS = f"""\
table,dataset,method,metric,mean,std,note
II,{PICTURES},DRF,mae,2.14,,stand-in: printed for MORPH and measured on drawn faces
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.morph_day", description=__doc__)
    parser.add_argument("folder", type=Path, help="where to; it must not exist yet")
    parser.add_argument("--rows", type=int, default=55_000, help="lines of the large album")
    parser.add_argument("--pictures", type=int, default=2_000, help="pictures that are drawn")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    folder = given.folder.resolve()
    folder.mkdir(parents=True)
    describe(folder, given.rows, given.pictures)
    draw(folder, given.rows, given.pictures)
    print(f"{given.threads} processes")
    print(
        "| lines | command | seconds | seconds of CPU | most memory in a process, MB | wrote, MB |"
    )
    print("|---|---|---|---|---|---|")
    threads = ["--threads", str(given.threads)]
    step(folder, given.pictures, ["fetch", PICTURES])
    step(folder, given.pictures, ["images", PICTURES, "--find-eyes", *threads])
    step(folder, given.pictures, ["prepare", PICTURES])
    step(folder, given.pictures, ["pixels", PICTURES, *threads])
    step(folder, given.pictures, ["folds", PAPER, PICTURES])
    step(folder, given.rows, ["fetch", ALBUM])
    step(folder, given.rows, ["prepare", ALBUM])
    step(folder, given.rows, ["pixels", ALBUM, *threads])
    step(folder, given.rows, ["folds", PAPER, ALBUM])
    step(folder, given.pictures, ["run", PAPER, PICTURES, TRAINED])
    step(folder, given.pictures, ["compare", PAPER])
    step(folder, given.pictures, ["report", PAPER])


def describe(folder: Path, rows: int, pictures: int) -> None:
    mine = folder / "mine" / PAPER
    write_text(mine / "paper.yaml", PAPER_YAML)
    write_text(mine / "cells.csv", CELLS)
    for name, count in ((PICTURES, pictures), (ALBUM, rows)):
        write_text(mine / f"{name}.yaml", DATASET.format(id=name, rows=count))


def draw(folder: Path, rows: int, pictures: int) -> None:
    """Fill data/manual/ with the pictures, and with the album of links to them."""
    persons = max(1, pictures // IMAGES_A_PERSON)
    write_album(folder / "drawn", "morph", persons, IMAGES_A_PERSON, seed=1)
    drawn, manual = folder / "drawn" / "images", folder / "data" / "manual"
    shutil.copytree(drawn, manual / PICTURES)
    lines, eyes = _table(drawn / LIST), _table(drawn / "eyes.csv")
    header, points = list(lines[0]), list(eyes[0])
    with _writer(manual / PICTURES / "eyes.csv") as table:
        known = csv.DictWriter(table, points)
        known.writeheader()
        known.writerows(where for number, where in enumerate(eyes) if number % WITHOUT_EYES)
    with (
        _writer(manual / ALBUM / LIST) as list_,
        _writer(manual / ALBUM / "eyes.csv") as table,
    ):
        named, pointed = csv.DictWriter(list_, header), csv.DictWriter(table, points)
        named.writeheader()
        pointed.writeheader()
        for row in range(rows):
            turn, number = divmod(row, len(lines))
            line, where = dict(lines[number]), dict(eyes[number])
            person = f"{int(line['id_num']) + turn * persons:06d}"
            photo = line["photo"].replace(line["id_num"], person)
            (manual / ALBUM / photo).parent.mkdir(exist_ok=True)
            os.link(drawn / line["photo"], manual / ALBUM / photo)
            named.writerow({**line, "id_num": person, "photo": photo})
            pointed.writerow({**where, "file": photo})


def step(folder: Path, lines: int, words: list[str]) -> None:
    """Give one command, and print what it took."""
    before, start = _bytes_below(folder), time.monotonic()
    environment = {
        **os.environ,
        "LDLREPRO_OWN_FILES": str(folder / "mine"),
        "LDLREPRO_ROOT": str(project_root()),
    }
    entry = [sys.executable, "-c", "import sys, ldlrepro.entry; sys.exit(ldlrepro.entry.main())"]
    with open(folder / "log.txt", "a", encoding="utf-8") as log:
        process = subprocess.Popen([*entry, *words], cwd=folder, env=environment, stdout=log)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"`ldlrepro {' '.join(words)}` failed")
    wall, wrote = time.monotonic() - start, (_bytes_below(folder) - before) / 1e6
    print(
        f"| {lines} | `ldlrepro {' '.join(words)}` | {wall:.0f} | "
        f"{used.ru_utime + used.ru_stime:.0f} | {used.ru_maxrss / 1000:.0f} | {wrote:.0f} |",
        flush=True,
    )


def _table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def _writer(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(path, "w", encoding="utf-8", newline="")


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
