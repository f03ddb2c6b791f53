"""The verbs that Snakemake's rules call. Each reads files, calls a pure function, writes files."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldlrepro import config, plan
from ldlrepro.errors import UNREADABLE, UserError
from ldlrepro.files import write_text

if TYPE_CHECKING:
    from ldlrepro.compare.collect import UnitScores

RESULTS, DATA = Path("results"), Path("data")


def say(line: str) -> None:
    """Progress and logs go to stderr; stdout is for answers."""
    print(line, file=sys.stderr, flush=True)


def fetch(args: argparse.Namespace) -> int:
    from ldlrepro.data.fetch import default_mirrors, fetch

    mirrors = default_mirrors(args.mirror)
    for dataset in args.dataset:
        status = fetch(dataset, DATA, mirrors, offline=args.offline)
        if args.json:
            print(
                json.dumps(
                    {
                        "dataset": dataset,
                        "available": status.available,
                        "reason": status.reason,
                        "files": status.files,
                    }
                )
            )
        elif status.available:
            say(f"{dataset}: here, {len(status.files)} file(s) checked")
        else:
            say(f"{dataset}: not available: {status.reason}")
    return 0


def prepare(args: argparse.Namespace) -> int:
    from ldlrepro.data.photographs import prepare
    from ldlrepro.data.registry import warning_of

    path = prepare(args.dataset, DATA)
    say(f"{args.dataset}: {path}")
    if warning := warning_of(path):
        say(f"{args.dataset}: {warning}")
    return 0


def pixels(args: argparse.Namespace) -> int:
    from ldlrepro.data.pixels import make_pixels
    from ldlrepro.runs.progress import ProgressLine

    line = ProgressLine(f"{args.dataset}: images aligned")
    path = make_pixels(args.dataset, DATA, args.threads, line.update)
    line.close()
    say(f"{args.dataset}: {path}")
    return 0


def folds(args: argparse.Namespace) -> int:
    from ldlrepro.data import DataUnavailable, load_ready
    from ldlrepro.data.photographs import rows_to_compare
    from ldlrepro.protocols import folds, leaks
    from ldlrepro.protocols.schemes import protocol_folds

    plan.protocol(args.protocol)
    config.load_dataset(args.dataset)
    path = RESULTS / "folds" / args.protocol / f"{args.dataset}.npz"
    seed = folds.folds_seed(global_seed(args), args.protocol, args.dataset)
    meta: dict[str, object] = {"protocol": args.protocol, "dataset": args.dataset}
    try:
        data = load_ready(DATA / "ready" / f"{args.dataset}.npz")
    except FileNotFoundError as error:
        raise UserError(
            f"{error.filename}: no such file. Type `ldlrepro fetch {args.dataset}` and "
            f"`ldlrepro prepare {args.dataset}` first."
        ) from None
    except DataUnavailable as error:
        made, found = [], {"available": False, "text": str(error)}
    else:
        made = protocol_folds(args.protocol, data, global_seed(args), DATA)
        rows = rows_to_compare(data, DATA)
        report = leaks.check_leaks(rows, data.D, made, data.groups)
        if report.broken:
            raise UserError(f"protocol {args.protocol} on {args.dataset}: {report.text()}")
        found = {"available": True, **report.to_dict()}
        meta |= {
            "data_sha256": data.fingerprint["data_sha256"],
            "folds_sha256": folds.folds_digest(made),
            "seed": [str(part) for part in seed],
        }
    folds.write_folds(path, made, meta)
    text = json.dumps({**meta, **found}, indent=1, sort_keys=True) + "\n"
    write_text(path.with_suffix(".leaks.json"), text)
    say(f"{args.protocol} on {args.dataset}: {len(made)} folds; leaks: {found['text']}")
    return 0


def run(args: argparse.Namespace) -> int:
    from ldlrepro import models
    from ldlrepro.runs.records import FAILED, UNAVAILABLE
    from ldlrepro.runs.unit import UnitJob, process_age, run_unit

    unit = plan.Unit(args.protocol, args.dataset, args.method)
    plan.protocol(unit.protocol)
    config.load_dataset(unit.dataset)
    models.load(unit.method)  # a mistake in its file is no failed fold
    # Only by hand: of the jobs of a workflow, which name their folds, each would try it again.
    again = not args.folds
    make_inputs(unit.dataset, unit.protocol, args.seed, again)
    make_pixels_of(unit, args.threads, again)
    chunks = [plan.Chunk.parse(unit, args.folds)] if args.folds else plan.chunks(unit)
    since, lacking = 0.0, ""
    for chunk in chunks:
        job = UnitJob(
            chunk=chunk,
            ready=DATA / "ready" / f"{unit.dataset}.npz",
            folds=RESULTS / "folds" / unit.protocol / f"{unit.dataset}.npz",
            record=plan.record_path(RESULTS, chunk),
            journal=_journal(unit),
            seed=global_seed(args),
            threads=args.threads,
            fresh=args.fresh,
            since=since,
        )
        rows = run_unit(job, say)
        since = process_age()
        failed = sum(row.status == FAILED for row in rows)
        lacking = next((row.error for row in rows if row.status == UNAVAILABLE), "")
        outcome = "not run" if lacking else f"{len(rows)} folds, {failed} failed"
        say(f"{job.record}: {outcome}")
    if lacking:
        command = f"ldlrepro run {unit.protocol} {unit.dataset} {unit.method}"
        say(f"not run: {lacking}\nOnce there is what it lacks, type `{command}`.")
    return 0


def make_pixels_of(unit: plan.Unit, threads: int, again: bool = True) -> None:
    """Where the method reads images and the pixels are missing."""
    from ldlrepro.data import DataUnavailable
    from ldlrepro.data.pixels import load_pixels, pixels_path

    if not config.load_method(unit.method).get("needs", {}).get("images"):
        return
    try:
        if pixels_path(unit.dataset, DATA).is_file():
            load_pixels(pixels_path(unit.dataset, DATA))
            return
    except DataUnavailable:
        if not again:
            return
    if "layout" in config.load_dataset(unit.dataset) and _holds_rows(unit.dataset):
        _refuse_without_weights(unit)
    pixels(argparse.Namespace(dataset=unit.dataset, threads=threads))


def _refuse_without_weights(unit: plan.Unit) -> None:
    """Before hours of pixels, what the first fold would say after them."""
    from ldlrepro import models

    given = models.load(unit.method).get_params()
    searched = {"weights", "random_weights"} & set(config.load_method(unit.method).get("grid", {}))
    if searched or given.get("weights") or given.get("random_weights", True):
        return
    from ldl.deep._networks import image_network

    try:
        image_network(given["network"], (), None, None, random_weights=False, seed=0)
    except UserError as error:
        raise UserError(f"{unit.protocol}/{unit.dataset}/{unit.method}: {error}") from None


def make_inputs(dataset: str, protocol: str, seed: int | None = None, again: bool = True) -> None:
    """By hand, data and folds may be missing; under Snakemake other rules have made them.

    With ``again``, what only says that the data were missing is made again, too.
    """
    there = (DATA / "ready" / f"{dataset}.npz").is_file()
    if not there or (again and not _holds_rows(dataset)):
        # What an earlier fetch has found need not be copied again.
        if not (there and is_fetched(dataset)):
            run = config.load_run_config()
            where = {"mirror": run["mirrors"], "offline": run["offline"]}
            fetch(argparse.Namespace(dataset=[dataset], json=False, **where))
        prepare(argparse.Namespace(dataset=dataset))
    if not protocol:
        return
    path = RESULTS / "folds" / protocol / f"{dataset}.npz"
    if not path.is_file() or (again and _holds_rows(dataset) and _made_without_rows(path)):
        folds(argparse.Namespace(protocol=protocol, dataset=dataset, seed=seed))


def is_fetched(dataset: str) -> bool:
    from ldlrepro.data.fetch import read_status

    try:
        return read_status(DATA / "raw" / dataset).available
    except UserError:  # not fetched yet
        return False


def _holds_rows(dataset: str) -> bool:
    """Or only the reason why there are none."""
    return bool(_meta(DATA / "ready" / f"{dataset}.npz").get("available", True))


def _made_without_rows(folds: Path) -> bool:
    meta = _meta(folds)
    return bool(meta) and "data_sha256" not in meta


def _meta(path: Path) -> dict[str, Any]:
    """What a file says of itself; nothing of a damaged one, for whoever reads it all will tell."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(json.loads(str(stored["meta"])))
    except UNREADABLE:
        return {}


def global_seed(args: argparse.Namespace) -> int:
    return int(config.load_run_config()["seed"] if args.seed is None else args.seed)


def experiment(args: argparse.Namespace) -> int:
    from ldlrepro import experiments
    from ldlrepro.data.pixels import pixels_path

    spec = plan.experiment(args.paper, args.experiment)
    for dataset in spec["datasets"]:
        # As its rule may have called: what lacks there is for the rules before it to fetch.
        make_inputs(dataset, spec["protocol"], args.seed, again=False)
        if spec["images"] and not pixels_path(dataset, DATA).is_file():
            pixels(argparse.Namespace(dataset=dataset, threads=1))
    inputs = experiments.Inputs(
        RESULTS, DATA, spec["datasets"], spec["protocol"], say, spec["images"]
    )
    missing = sorted(set(spec["datasets"]) - set(inputs.available()))
    if missing:
        say(f"data not available, left out: {', '.join(missing)}")
    path = experiments.write(experiments.run(args.paper, args.experiment, inputs), RESULTS)
    say(f"{args.paper}: {args.experiment}: {path}")
    return 0


def compare(args: argparse.Namespace) -> int:
    from ldlrepro import experiments
    from ldlrepro.audit.seals import write_seals
    from ldlrepro.compare.collect import Places
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.export import write_tables

    folder = RESULTS / "compare" / args.paper
    page = paper_page(args.paper, RESULTS, DATA)
    written = write_tables(page, folder)
    measured = [experiments.place(RESULTS, args.paper, name) for name in page.experiments]
    write_seals(folder, Places(RESULTS, DATA), page.units, [*written, *measured])
    _forget_journals(page.units)
    say(f"{args.paper}: {len(page.rows)} cells, {len(written)} files")
    return 0


def _journal(unit: plan.Unit) -> Path:
    return RESULTS / "journal" / unit.protocol / unit.dataset / unit.method


def _forget_journals(units: Sequence[UnitScores]) -> None:
    """Throw away the finished folds of complete units, and half files that kills left there.

    Not earlier: a unit whose record is written may still be run again, when Snakemake was killed
    before it took note. Here it has, for it compares only after all units.
    """
    from ldlrepro.compare.collect import LOCAL, is_complete

    for scored in units:
        unit = plan.Unit(*scored.key)
        if scored.source == LOCAL and is_complete(unit, scored):
            shutil.rmtree(_journal(unit), ignore_errors=True)
            for half in {p for file in scored.files for p in file.parent.glob(".*.part")}:
                half.unlink(missing_ok=True)


def figures(args: argparse.Namespace) -> int:
    from ldlrepro.report.build import paper_page
    from ldlrepro.report.figures import write_figures

    page = paper_page(args.paper, RESULTS, DATA)
    for path in write_figures(page, RESULTS / "figures" / args.paper):
        say(str(path))
    return 0


def sync(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from ldlrepro import track
    from ldlrepro.compare.collect import Places, local_units
    from ldlrepro.compare.reference import chosen_units, reference_units

    reference = reference_units(config.project_root() / "reference")
    uri = _tracking_uri(args)
    for paper in args.paper:
        planned = plan.paper_units(paper)
        units = chosen_units(planned, local_units(Places(RESULTS, DATA), planned), reference)
        title = config.load_paper(paper)["title"]
        files = sorted((RESULTS / "figures" / paper).glob("*.svg"))
        files += sorted((RESULTS / "compare" / paper).glob("*.csv"))
        counts = track.sync(paper, title, units, uri, files)
        say(f"{paper}: {asdict(counts)}")
        if args.out:
            write_text(Path(args.out), json.dumps({"paper": paper, "units": len(units)}) + "\n")
    say(f"To look at the runs: {track.open_hint(uri)}")
    return 0


def stream(args: argparse.Namespace) -> int:
    """Started by a long training, which closes our input when it is done or dies."""
    import select
    import signal

    from ldlrepro import track
    from ldlrepro.runs.watch import FoldName

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the training

    def ended(seconds: float) -> bool:
        return bool(select.select([sys.stdin], [], [], seconds)[0])

    names = (args.protocol, args.dataset, args.method)
    fold = FoldName(names, args.repeat, args.fold)
    paper = plan.protocols()[args.protocol][0]
    uri = config.tracking_uri(config.load_run_config())
    title = config.load_paper(paper)["title"]
    track.stream_curve(paper, title, "/".join(names), str(fold), args.curve, uri, ended, say)
    return 0


def ui(args: argparse.Namespace) -> int:
    from ldlrepro import track

    track.serve(_tracking_uri(args), args.port, say, args.paper, args.browser)
    return 0


def _tracking_uri(args: argparse.Namespace) -> str:
    return str(args.tracking_uri or config.tracking_uri(config.load_run_config()))


def report(args: argparse.Namespace) -> int:
    from ldlrepro.report.build import report_content
    from ldlrepro.report.html import write_report

    path = write_report(report_content(RESULTS, DATA), Path(args.out))
    say(f"report: {path}")
    return 0


def record(args: argparse.Namespace) -> int:
    """Renews reference/ and its checksums; without a paper, the checksums alone."""
    from ldlrepro import experiments
    from ldlrepro.audit.seals import REFERENCE_SUMS, refuse_changed_reference, seal_reference
    from ldlrepro.compare.collect import Places, local_units
    from ldlrepro.compare.reference import write_reference

    root = config.project_root()
    refuse_changed_reference(root)
    for paper in args.paper:
        planned = [unit for unit in plan.paper_units(paper) if not plan.is_own(unit)]
        units = local_units(Places(RESULTS, DATA), planned)
        command = args.command_line or f"snakemake --cores all {paper}"
        written = write_reference(root / "reference", units.values(), command)
        for name in config.load_paper(paper).get("experiments", {}):
            measured = experiments.read(paper, name, RESULTS)
            if measured and measured.pop("source") == experiments.LOCAL:
                written.append(experiments.write(measured, root / "reference"))
        say(f"{paper}: {len(written)} reference files")
    seal_reference(root)
    say(f"checksums: {root / REFERENCE_SUMS}")
    return 0
