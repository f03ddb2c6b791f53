"""``ldlrepro images``: what photographs hold; their eyes; their LBP beside a published file."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ldlrepro import config
from ldlrepro.cli.output import answer
from ldlrepro.core.errors import UserError, nearest
from ldlrepro.core.progress import ProgressLine
from ldlrepro.core.workspace import DATA
from ldlrepro.data.images.faces import KINDS, LEAVE_OUT, FaceSet
from ldlrepro.data.images.reading import distributions, load_faces
from ldlrepro.data.registry import ready_path, warning_of

USE = {True: "no", False: "yes"}


def images(args: argparse.Namespace) -> int:
    spec = config.load_dataset(args.dataset)
    if "layout" not in spec:
        raise UserError(f"{args.dataset} is no set of photographs. Type `ldlrepro datasets`.")
    if args.find_eyes:
        return _find_eyes(args)
    faces = load_faces(args.dataset, DATA)
    if args.compare:
        return _compare(args, spec, faces)
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
        f"{args.dataset}: {summary['used']} images of {summary['persons']} persons in use{parts}; "
        f"{summary['eye_points']} with eye points, the others are cropped at the centre"
    )
    warning = warning_of(ready_path(args.dataset, DATA))
    if args.json:
        return answer(args.json, [{**summary, "warning": warning}], ())
    print("\n".join([head, *faces.notes, *([warning] if warning else [])]))
    return answer(args.json, rows, ("problem", "images", "used", "meaning")) if rows else 0


def _find_eyes(args: argparse.Namespace) -> int:
    from ldlrepro.data.eyes.album import find_eyes
    from ldlrepro.data.eyes.sheet import write_sheet

    line = ProgressLine(f"{args.dataset}: images looked at")
    search = find_eyes(args.dataset, DATA, args.threads, line.update)
    line.close()
    sheet = search.table.with_name("doubtful.html")
    doubtful = search.doubtful
    if search.lines:
        title = f"{args.dataset}: doubtful eyes"
        write_sheet(sheet, search.images, doubtful, title)
    found = {
        "images": len(search.lines) + search.given,
        "points_given": search.given,
        "eyes_found": len(search.lines) - search.without,
        "without": search.without,
        "doubtful": len(doubtful),
    }
    counts = search.counts()
    if args.json:
        return answer(args.json, [{**found, "problems": counts}], ())
    print(
        f"{args.dataset}: of {found['images']} images {search.given} have eye points, "
        f"{found['eyes_found']} more have eyes that were found, {search.without} have none"
    )
    if not search.lines:
        return 0
    print(
        f"{search.table} holds them; {sheet} shows the {len(doubtful)} doubtful ones.\n"
        f"Type `ldlrepro prepare {args.dataset}` to use them."
    )
    rows = [{"problem": kind, "images": counts[kind], "meaning": KINDS[kind]} for kind in counts]
    return answer(args.json, rows, ("problem", "images", "meaning")) if rows else 0


def _show(args: argparse.Namespace, faces: FaceSet) -> int:
    if args.show not in KINDS:
        known = ", ".join(KINDS)
        raise UserError(f"no problem '{args.show}'.{nearest(args.show, KINDS)} They are: {known}")
    rows = [
        {"file": problem.file, "problem": problem.kind, "detail": problem.detail}
        for problem in faces.problems
        if problem.kind == args.show
    ]
    return answer(args.json, rows, ("file", "problem", "detail"))


def _compare(args: argparse.Namespace, spec: dict[str, Any], faces: FaceSet) -> int:
    from ldlrepro.data import load
    from ldlrepro.data.features.align import Crop
    from ldlrepro.data.features.extract import extract
    from ldlrepro.data.features.published import compare

    if spec.get("features", {}).get("extractor") != "lbp" or not faces.labels:
        raise UserError(f"{args.dataset} is not rated, or has no LBP features to compare.")
    published = load(args.compare)
    X, recipe = extract(faces, {**spec, "features": {"extractor": "lbp", "order": "runs"}}, DATA)
    D, _ = distributions(faces, spec)
    found = compare(X, D, np.asarray(published.X), published.D)
    if args.json:
        crop = Crop.of(spec["crop"]).to_dict()
        return answer(
            args.json, [{**found.to_dict(), "crop": crop, "placed": recipe["placed_by"]}], ()
        )
    print(
        f"{found.matched} of {found.rows} images have the labels of one of the "
        f"{found.published_rows} rows of {args.compare}. Distance with both rows sorted, which no "
        f"order of bins can better: {found.any_order:.4f}"
    )
    rows = [
        {"order of bins": r.order, "distance": f"{r.distance:.4f}", "nearest": f"{r.nearest:.2f}"}
        for r in found.readings[:5]
    ]
    return answer(args.json, rows, ("order of bins", "distance", "nearest"))
