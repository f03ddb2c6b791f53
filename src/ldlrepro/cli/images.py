"""``ldlrepro images``: what photographs hold, their eyes, their LBP beside a published file."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ldlrepro.cli.here import HERE, plan_here
from ldlrepro.cli.output import answer, counted, paragraph
from ldlrepro.cli.verb import DATASET, count, flag, takes, verb
from ldlrepro.core.errors import UserError, unknown
from ldlrepro.core.progress import ProgressLine, StatusLine

if TYPE_CHECKING:
    import numpy as np

    from ldlrepro.catalogue import DataSet, Project
    from ldlrepro.data.dataset import Dataset
    from ldlrepro.data.images.faces import FaceSet

LOOKED_AT = 40
"""Images on which places of the eyes are tried."""
USE = {True: "no", False: "yes"}


@verb(
    DATASET,
    takes(
        "--from",
        dest="folder",
        metavar="FOLDER",
        type=Path,
        help="first take the photographs from this folder and prepare them",
    ),
    takes("--show", metavar="PROBLEM", help="list the images with this problem"),
    takes(
        "--compare", metavar="PUBLISHED", help="compare LBP features with this published data set"
    ),
    flag(
        "--place-eyes",
        "with --compare: find the position of the eyes in the crop that fits best",
    ),
    flag("--find-eyes", "find the eyes in images without eye points"),
    count("--threads", 1, "processes that find eyes"),
    table=True,
    examples=[
        "ldlrepro images drawn_fgnet",
        "ldlrepro images drawn_fgnet --show grayscale",
        "ldlrepro images morph --find-eyes --threads 8",
        "ldlrepro images jaffe_images --from ~/jaffe --compare sjaffe --place-eyes",
    ],
)
def images(args: argparse.Namespace) -> int:
    """Say what a prepared set of photographs holds: how many can be used, and which are missing,
    broken, unlabelled, grey or duplicates.
    """
    from ldlrepro.data.images.faces import KINDS, LEAVE_OUT
    from ldlrepro.data.images.reading import load_faces
    from ldlrepro.data.registry import prepare, warning_of

    project = plan_here(args).project
    data_set = project.data_set(args.dataset)
    if data_set.layout is None:
        raise UserError(
            f"{args.dataset} is not a set of photographs. Type `ldlrepro list datasets`."
        )
    if args.place_eyes and not args.compare:
        raise UserError("--place-eyes needs --compare with a published data set, such as sjaffe")
    if args.folder:
        _bring(data_set, args.folder)
    if args.find_eyes:
        code = _find_eyes(args, data_set)
        if not args.compare:
            return code
        prepare(data_set, HERE.data)
    faces = load_faces(data_set, HERE.data)
    if args.compare:
        return _compare(args, project, data_set, faces)
    if args.show:
        return _show(args, faces)
    found = faces.counts()
    rows = [
        {"problem": kind, "images": found[kind], "used": USE[kind in LEAVE_OUT], "meaning": text}
        for kind, text in KINDS.items()
        if kind in found
    ]
    summary = faces.summary()
    parts = "".join(f", {count} {name}" for name, count in summary["subsets"].items())
    head = (
        f"{args.dataset}: {counted(summary['used'], 'image')} of "
        f"{counted(summary['persons'], 'person')} can be used{parts}. {summary['eye_points']} have "
        "eye points; the others are cropped at the centre."
    )
    warning = warning_of(HERE.ready(args.dataset))
    if args.json:
        return answer(args, [{**summary, "warning": warning}])
    said = [head, *faces.notes, *filter(None, [warning])]
    print("\n".join(map(paragraph, said)))
    return answer(args, rows) if rows else 0


def _bring(data_set: DataSet, folder: Path) -> None:
    """Fetch a folder of photographs and prepare them."""
    from ldlrepro.data.fetch import fetch
    from ldlrepro.data.registry import prepare

    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    status = fetch(data_set, HERE.data, [], offline=True, images_from=folder)
    if not status.available:
        raise UserError(f"{data_set.id}: {status.reason}")
    prepare(data_set, HERE.data)


def _find_eyes(args: argparse.Namespace, data_set: DataSet) -> int:
    from ldlrepro.data.eyes.album import find_eyes
    from ldlrepro.data.images.faces import KINDS

    line = ProgressLine(f"{args.dataset}: images looked at")
    search = find_eyes(data_set, HERE.data, args.threads, line.update)
    line.close()
    found = {
        "images": len(search.lines) + search.given,
        "points_given": search.given,
        "eyes_found": len(search.lines) - search.without,
        "without": search.without,
        "doubtful": search.doubtful,
    }
    counts = search.counts()
    if args.json:
        return answer(args, [{**found, "problems": counts}])
    said = (
        f"{args.dataset}: of {counted(found['images'], 'image')}, {search.given} have eye points, "
        f"eyes were found in {found['eyes_found']} more, and {search.without} have none."
    )
    print(paragraph(said))
    if not search.lines:
        return 0
    said = (
        f"They are in {search.table}, whose last column says what is doubtful in "
        f"{counted(search.doubtful, 'line')}. Type `ldlrepro prepare {args.dataset}` to use them."
    )
    print(paragraph(said))
    rows = [{"problem": kind, "images": counts[kind], "meaning": KINDS[kind]} for kind in counts]
    return answer(args, rows) if rows else 0


def _show(args: argparse.Namespace, faces: FaceSet) -> int:
    from ldlrepro.data.images.faces import KINDS

    if args.show not in KINDS:
        raise unknown("problem", args.show, KINDS)
    rows = [
        {"file": problem.file, "problem": problem.kind, "detail": problem.detail}
        for problem in faces.problems
        if problem.kind == args.show
    ]
    return answer(args, rows, f"{args.dataset}: {counted(len(rows), 'image')}.")


def _compare(args: argparse.Namespace, project: Project, data_set: DataSet, faces: FaceSet) -> int:
    import numpy as np

    from ldlrepro.data import load
    from ldlrepro.data.features.align import Crop
    from ldlrepro.data.features.extract import extract
    from ldlrepro.data.features.published import compare
    from ldlrepro.data.images.reading import distributions

    features = data_set.features
    if features is None or not features.order or not faces.labels:
        raise UserError(f"{args.dataset} is not rated, or has no LBP features to compare.")
    published = load(project.data_set(args.compare).id)
    # Scikit-image's order of bins: that of the published features is what is looked for.
    in_runs = data_set.model_copy(
        update={"features": features.model_copy(update={"extractor": "lbp"})}
    )
    if args.place_eyes:
        return _place_eyes(args, in_runs, faces, published)
    X, recipe = extract(faces, in_runs, HERE.data)
    D, _ = distributions(faces, data_set)
    found = compare(X, D, np.asarray(published.X), published.D)
    if args.json:
        crop = Crop.of(data_set).to_dict()
        return answer(args, [{**found.to_dict(), "crop": crop, "placed": recipe["placed_by"]}])
    said = (
        f"{found.matched} of {counted(found.rows, 'image')} have the labels of one of the "
        f"{found.published_rows} rows of {args.compare}. With both rows sorted their distance is "
        f"{found.any_order:.4f}; no order of bins can be closer."
    )
    rows = [
        {"order of bins": r.order, "distance": f"{r.distance:.4f}", "nearest": f"{r.nearest:.2f}"}
        for r in found.readings[:5]
    ]
    return answer(args, rows, said)


def _place_eyes(
    args: argparse.Namespace, data_set: DataSet, faces: FaceSet, published: Dataset
) -> int:
    """Look for the place of the eyes that the published features fit best."""
    import numpy as np

    from ldlrepro.data.features.extract import extract
    from ldlrepro.data.features.published import place_eyes
    from ldlrepro.data.images.reading import distributions

    known = [row for row, face in enumerate(faces.faces) if face.eyes is not None]
    if not known:
        raise UserError(
            f"{args.dataset}: no image has eye points, so none can be moved. Add --find-eyes, or "
            "an eyes.csv as docs/images.md describes it."
        )
    chosen = np.linspace(0, len(known) - 1, min(len(known), LOOKED_AT)).round().astype(int)
    some = faces.chosen([known[place] for place in chosen], "a few, to look for the eyes' place")
    D, _ = distributions(some, data_set)

    def features(eye_x: float, eye_y: float) -> np.ndarray:
        return extract(some, data_set.model_copy(update={"eyes": (eye_x, eye_y)}), HERE.data)[0]

    line = StatusLine()
    found = place_eyes(
        features,
        D,
        np.asarray(published.X),
        published.D,
        lambda count: line.show(f"{args.dataset}: {count} positions of the eyes tried", False),
    )
    line.close()
    rows = [asdict(place) for place in found]
    if args.json:
        return answer(args, rows)
    best = found[0]
    said = (
        f"{args.dataset}: of {counted(len(found), 'position')} of the eyes on "
        f"{counted(len(some), 'image')}, [{best.eye_x:g}, {best.eye_y:g}] gives features closest "
        f"to {args.compare}. Write `eyes: [{best.eye_x:g}, {best.eye_y:g}]` into "
        f"config/datasets/{args.dataset}.yaml. That is fitted to the published file, not taken "
        "from the paper."
    )
    rows = [{**row, "distance": f"{row['distance']:.4f}"} for row in rows[:5]]
    names = ("eye_x", "eye_y", "distance", "order")
    return answer(args, [{name: row[name] for name in names} for row in rows], said)
