"""Answers of the plan to the Snakefile: inputs, parameters and resources of every rule.

Everything here is cheap, for Snakemake reads it again in every job on a cluster.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ldlrepro import config, plan, report
from ldlrepro.audit.seals import unsealed_reference
from ldlrepro.catalogue import digests
from ldlrepro.catalogue.digests import tree_digest
from ldlrepro.config import plugins
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.fetch import MIRRORS, OFFLINE, default_mirrors, local_sources
from ldlrepro.experiments import module_name
from ldlrepro.judge import measures
from ldlrepro.plan import jobs, past_runs
from ldlrepro.report import findings, notebooks

DATA = Path("data")
WORKSPACE = Workspace(data=DATA)
FETCHING: tuple[str, ...] = ("ldlrepro.data.fetch",)
"""Code that brings raw files; it decides nothing about what is made of them."""
PHOTOGRAPHS: tuple[str, ...] = (
    "ldlrepro.data.images",
    "ldlrepro.data.features",
    "ldlrepro.data.photographs",
)
"""Code that reading tables does not need."""
TEXT_TABLES: tuple[str, ...] = ("ldlrepro.data.csv_tables",)
"""Code that reading anything but CSV files does not need."""
TEMPLATES = Path(report.__file__).with_name("templates")


def run_configuration(given: Mapping[str, Any], files: Sequence[str | Path]) -> dict[str, Any]:
    """Check Snakemake's merged configuration by our schema; ``files`` are its sources."""
    with _told():
        return config.check_run_config(dict(given), " + ".join(map(str, files)))


def check_files() -> None:
    """Refuse damaged files that inputs of rules are planned by: printed numbers, the reference.

    An error in a function of a rule is too late: Snakemake takes the rule's output as it is, and
    says that there is nothing to be done. What still has the checksum that was kept of it is whole.
    """
    with _told():
        for paper in config.paper_ids():
            plan.published(paper)
        changed = unsealed_reference(config.project_root())
        for table in sorted({path.with_suffix(".csv") for path in changed}):
            past_runs.of_table(table)


@contextmanager
def _told() -> Iterator[None]:
    """Let Snakemake show errors meant for people, without a traceback."""
    from snakemake.exceptions import WorkflowError

    try:
        yield
    except UserError as error:
        raise WorkflowError(str(error)) from None


class Rules:
    """Inputs, parameters and resources of the rules; wildcards come from Snakemake."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        self.run = dict(run)
        self.mirrors = default_mirrors(self.run["mirrors"])

    @staticmethod
    def grow(base: int) -> Callable[[Any, int], int]:
        """Return a rule's memory or time: ``base`` at first, more for every further attempt."""

        def asked(wildcards: Any, attempt: int) -> int:
            return base * jobs.growth(attempt)

        return asked

    # ------------------------------------------------------------------ data

    def own_files(self, wildcards: Any) -> list[str]:
        """Return the files that the user put into data/manual/ or beside an own data set's YAML.

        What mirrors hold is left out: mirrors come and go, and the raw files stay.
        """
        described = {**plugins.files("dataset"), **plugins.files("weight")}.get(wildcards.dataset)
        places = [described.parent] if described else []
        return [str(path) for path in local_sources(wildcards.dataset, DATA, places)]

    def within_reach(self, wildcards: Any) -> bool:
        """Tell whether the raw files are here or there is somewhere to get them from.

        The answer is the same before and after they came, so only data that were out of reach are
        planned again.
        """
        spec = config.load_source(wildcards.dataset)
        if "images_of" in spec:
            return self.within_reach(SimpleNamespace(dataset=spec["images_of"]))
        raw = DATA / "raw" / wildcards.dataset
        found = {path.name for path in local_sources(wildcards.dataset, DATA, self.mirrors)}
        if spec.get("reader") == "images":
            return bool(found) or (raw / "images").is_dir()
        return all(
            entry["name"] in found
            or (raw / entry["name"]).is_file()
            or (bool(entry.get("urls")) and not self.run["offline"])
            for entry in spec.get("files", [])
        )

    def dataset_source(self, wildcards: Any) -> str:
        """Return the digest of a description, of a data set or of weights, without its texts."""
        tree = config.load_source(wildcards.dataset)
        texts = ("title", "description", "licence", "citation", "defects", "how_to_get")
        return tree_digest({key: value for key, value in tree.items() if key not in texts})

    def weights_source(self, wildcards: Any) -> str:
        return self.dataset_source(SimpleNamespace(dataset=wildcards.weights))

    def weights_code(self, wildcards: Any) -> str:
        return digests.stage_digest("ldlrepro.data.weights:prepare_weights", without=FETCHING)

    def feature_weights(self, wildcards: Any) -> list[str]:
        """Return the weights of the network whose features a data set's YAML asks for."""
        named = config.load_dataset(wildcards.dataset).get("features", {}).get("weights")
        return self._weights([named] if named else [], wildcards)

    def unit_weights(self, wildcards: Any) -> list[str]:
        """Return the weights that a method's network begins with."""
        return self._weights(_method(wildcards.method).get("weights", {}), wildcards)

    def _weights(self, named: Iterable[str], wildcards: Any) -> list[str]:
        """Return files of weights; hundreds of megabytes are not fetched for photographs that are
        out of reach."""
        wanted = list(named)
        if not (wanted and self.within_reach(wildcards)):
            return []
        files = [WORKSPACE.weights(name) for name in wanted]
        return [str(path) for file in files for path in (file, file.with_suffix(".json"))]

    def environment(self) -> dict[str, str]:
        """Return the environment that tells jobs where raw files may come from.

        These are no parameters or options of the rules: another mirror must not plan again what is
        here, and Snakemake plans all units again whose command has another word.
        """
        mirrors = os.pathsep.join(str(folder) for folder in self.mirrors)
        if len(mirrors.split(os.pathsep)) > max(1, len(self.mirrors)):
            raise UserError(
                f"a mirror's path must not hold '{os.pathsep}', for {MIRRORS} lists them so"
            )
        offline = "1" if self.run["offline"] else ""
        return {MIRRORS: mirrors, OFFLINE: offline}

    def drawing_code(self, wildcards: Any) -> str:
        """Return the digest of what draws the raw files; for others their checksums say enough."""
        drawn = config.load_source(wildcards.dataset).get("reader", "").startswith("drawn_")
        return digests.stage_digest("ldlrepro.data.drawn:draw") if drawn else ""

    def reader_code(self, wildcards: Any) -> str:
        modules, without = ["ldlrepro.data.readers", "ldlrepro.data.registry"], FETCHING
        spec = config.load_dataset(wildcards.dataset)
        if spec["reader"] not in ("images", "drawn_images"):
            without += PHOTOGRAPHS
        if spec["reader"] != "csv":
            without += TEXT_TABLES
        return digests.stage_digest(*modules, without=without)

    def found_eyes(self, wildcards: Any) -> list[str]:
        """Return the table of eyes that a program found in the images, if somebody had it made."""
        spec = config.load_dataset(wildcards.dataset)
        path = DATA / "eyes" / spec.get("images_of", wildcards.dataset) / "eyes.csv"
        return [str(path)] if "layout" in spec and path.is_file() else []

    def pixel_code(self, wildcards: Any) -> str:
        return digests.stage_digest("ldlrepro.data.pixels", without=FETCHING)

    def protocol_definition(self, wildcards: Any) -> str:
        definition = plan.protocol(wildcards.protocol)
        return tree_digest({key: value for key, value in definition.items() if key != "text"})

    def published_folds(self, wildcards: Any) -> list[str]:
        """Return the table of folds that somebody else has drawn, where the protocol names one."""
        published = plan.published_folds(wildcards.protocol, wildcards.dataset)
        return [_from_here(published)] if published else []

    def fold_code(self, wildcards: Any) -> str:
        by_parts = plan.protocol(wildcards.protocol)["scheme"] == "parts"
        without = list(FETCHING)
        if not by_parts:
            without.append("ldlrepro.folds.parts")
        # Only photographs are told apart by their images, and have parts.
        if not by_parts and not config.only_photographs(config.load_dataset(wildcards.dataset)):
            without += PHOTOGRAPHS
        return digests.stage_digest("ldlrepro.folds.making", without=tuple(without))

    # ------------------------------------------------------------------ units

    def unit_pixels(self, wildcards: Any) -> list[str]:
        """Return the aligned faces, for methods that read images."""
        wanted = _method(wildcards.method).get("needs", {}).get("images")
        return [f"data/ready/{wildcards.dataset}.pixels.npy"] if wanted else []

    def unit_gpu(self, wildcards: Any) -> int:
        return plan.resources(_unit(wildcards))["gpu"]

    def method_spec(self, wildcards: Any) -> str:
        return plan.spec_digest(_unit(wildcards))

    def method_code(self, wildcards: Any) -> str:
        return digests.method_digest(config.current().method(wildcards.method))

    def unit_threads(self, wildcards: Any) -> int:
        return plan.resources(_unit(wildcards))["threads"]

    def unit_mem_mb(self, wildcards: Any, attempt: int) -> int:
        return jobs.mem_mb(_chunk(wildcards), attempt)

    def unit_runtime(self, wildcards: Any, attempt: int) -> int:
        return jobs.minutes(_chunk(wildcards), attempt)

    def unit_priority(self, wildcards: Any) -> int:
        return jobs.priority(_chunk(wildcards))

    def unit_group(self, wildcards: Any) -> str | None:
        return jobs.group(_chunk(wildcards))

    # ------------------------------------------------------------------ papers

    def paper_records(self, wildcards: Any) -> list[str]:
        return [
            str(plan.record_path("results", chunk))
            for unit in plan.run_units(self.run, wildcards.paper)
            for chunk in plan.chunks(unit)
        ]

    def paper_predictions(self, wildcards: Any) -> list[str]:
        return [str(Path(path).with_suffix(".npz")) for path in self.paper_records(wildcards)]

    def paper_tables(self, wildcards: Any) -> list[str]:
        """Return the prepared data that predictions are scored against, and their descriptions."""
        names = sorted({unit.dataset for unit in plan.run_units(self.run, wildcards.paper)})
        return [f"data/ready/{name}.{end}" for name in names for end in ("npz", "json")]

    def paper_folds(self, wildcards: Any) -> list[str]:
        pairs = {
            (unit.protocol, unit.dataset) for unit in plan.run_units(self.run, wildcards.paper)
        }
        ends = ("npz", "leaks.json")
        return [f"results/folds/{p}/{name}.{end}" for p, name in sorted(pairs) for end in ends]

    def paper_experiments(self, wildcards: Any) -> list[str]:
        names = plan.run_experiments(self.run, wildcards.paper)
        return [f"results/experiments/{wildcards.paper}/{name}.json" for name in names]

    def paper_reference(self, wildcards: Any) -> list[str]:
        """Return the maintainers' records that stand in for units and experiments not run here."""
        reference = config.project_root() / "reference"
        units = plan.paper_units(wildcards.paper)
        tables = {(unit.protocol, unit.method.partition("@")[0]) for unit in units}
        files = [
            reference / protocol / f"{method}.{end}"
            for protocol, method in sorted(tables)
            for end in ("csv", "json")
        ]
        files += sorted((reference / "experiments" / wildcards.paper).glob("*.json"))
        return [_from_here(path) for path in files if path.is_file()]

    def paper_printed(self, wildcards: Any) -> list[str]:
        """Return the files of the printed numbers, of the paper, its claims and its misses."""
        paper = wildcards.paper
        names = ("cells.csv", config.plugins.PAPER, "claims.yaml", "misses.yaml")
        files = [config.paper_file(paper, name) for name in names]
        copied = config.load_paper(paper).get("copied", [])
        files += [config.paper_file(entry["from"], "cells.csv") for entry in copied]
        return [_from_here(path) for path in files if path.is_file()]

    def paper_methods(self, wildcards: Any) -> str:
        """Return the digest of the methods' files, which hold titles, age rules and diagnoses."""
        names = {unit.method for unit in plan.paper_units(wildcards.paper)}
        return tree_digest({name: _method(name) for name in sorted(names)})

    def judge_code(self, wildcards: Any) -> str:
        entries = ("ldlrepro.judge.answer", "ldlrepro.report.build:paper_page")
        code = digests.stage_digest(*entries, "ldlrepro.report.export", "ldlrepro.audit.seals")
        return tree_digest([code, measures.digests(), _templates("grid.html.j2")])

    # ------------------------------------------------------------------ experiments

    def experiment_inputs(self, wildcards: Any) -> list[str]:
        spec = _experiment(wildcards)
        folds = [f"results/folds/{spec['protocol']}/{d}.npz" for d in spec["datasets"]]
        ready = [f"data/ready/{d}.npz" for d in spec["datasets"]]
        pixels = [f"data/ready/{d}.pixels.npy" for d in spec["datasets"] if spec["images"]]
        return ready + pixels + (folds if spec["protocol"] else [])

    def experiment_threads(self, wildcards: Any) -> int:
        """Return all threads for what measures time; Snakemake cuts them to --cores."""
        return (os.cpu_count() or 1) if _experiment(wildcards)["alone"] else 1

    def experiment_mem_mb(self, wildcards: Any, attempt: int) -> int:
        return int(_experiment(wildcards)["mem_mb"]) * jobs.growth(attempt)

    def experiment_runtime(self, wildcards: Any, attempt: int) -> int:
        return int(_experiment(wildcards)["runtime"]) * jobs.growth(attempt)

    def experiment_spec(self, wildcards: Any) -> str:
        spec = _experiment(wildcards)
        return tree_digest({k: spec[k] for k in ("datasets", "protocol", "parameters")})

    def experiment_code(self, wildcards: Any) -> str:
        code = _experiment(wildcards)["code"]
        name = module_name(wildcards.paper, code)
        return digests.stage_digest(name, modules=config.current().modules)

    def figure_code(self, wildcards: Any) -> str:
        return _drawing_code(
            "ldlrepro.report.figures", "ldlrepro.report.build", papers=[wildcards.paper]
        )

    # ------------------------------------------------------------------ report and gate

    def scope(self, wildcards: Any) -> list[str]:
        """Return the papers of a report: the configuration's for `all`, else the one named."""
        return self.run["papers"] if wildcards.paper == "all" else [wildcards.paper]

    def scope_answers(self, wildcards: Any) -> list[str]:
        return [f"results/compare/{paper}/answer.json" for paper in self.scope(wildcards)]

    def scope_figures(self, wildcards: Any) -> list[str]:
        return [f"results/figures/{paper}" for paper in self.scope(wildcards)]

    def scope_tracked(self, wildcards: Any) -> list[str]:
        return [f"results/track/{paper}.json" for paper in self.scope(wildcards)]

    def scope_notebooks(self, wildcards: Any) -> list[str]:
        """Return all notebooks for the report of everything; one paper's does not wait for them."""
        return self.notebook_pages() if wildcards.paper == "all" else []

    def scope_findings(self, wildcards: Any) -> list[str]:
        """Return the file of the findings, which the report of everything shows."""
        written = wildcards.paper == "all" and findings.source().is_file()
        return [_from_here(findings.source())] if written else []

    def notebooks_shown(self, wildcards: Any) -> str:
        """Return the option that names the notebooks of a page."""
        if wildcards.paper != "all":
            return ""
        return shlex.join(["--notebooks", *notebooks.names()])

    def notebook_pages(self) -> list[str]:
        return [f"results/notebooks/{name}.html" for name in notebooks.names()]

    def notebook_source(self, wildcards: Any) -> str:
        return _from_here(config.project_root() / "notebooks" / f"{wildcards.notebook}.ipynb")

    def notebook_answers(self, wildcards: Any) -> list[str]:
        return [f"results/compare/{paper}/answer.json" for paper in self.run["papers"]]

    def notebook_tracked(self, wildcards: Any) -> list[str]:
        return [f"results/track/{paper}.json" for paper in self.run["papers"]]

    def report_code(self, wildcards: Any) -> str:
        modules = ["ldlrepro.report.build", "ldlrepro.report.html", "ldlrepro.judge.answer"]
        return tree_digest([_drawing_code(*modules, papers=config.paper_ids()), _templates("*")])


def _drawing_code(*modules: str, papers: Sequence[str]) -> str:
    """Return the digest of modules and of papers' experiments, which are imported by name."""
    named = {
        module_name(paper, spec["code"])
        for paper in papers
        for spec in config.load_paper(paper).get("experiments", {}).values()
    }
    beside = config.current().modules
    own = [digests.stage_digest(module, modules=beside) for module in sorted(named)]
    return tree_digest([digests.stage_digest(*modules), sorted(own)])


def _templates(pattern: str) -> dict[str, str]:
    """Return digests of the templates that pages are made from, by file name."""
    files = (TEMPLATES).glob(pattern)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _unit(wildcards: Any) -> plan.Unit:
    return plan.Unit(wildcards.protocol, wildcards.dataset, wildcards.method)


def _from_here(path: Path) -> str:
    """Return a path as it is in a checkout wherever that lies, so that moving it reruns nothing."""
    here = Path.cwd().resolve()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


@cache
def _method(method: str) -> dict[str, Any]:
    if not config.method_exists(method):  # only a full dry run plans methods to come
        return {"class": "ldl.base.LDLEstimator"}
    return config.load_method(method)


def _chunk(wildcards: Any) -> plan.Chunk:
    return plan.Chunk.parse(_unit(wildcards), wildcards.chunk)


def _experiment(wildcards: Any) -> dict[str, Any]:
    return plan.experiment(wildcards.paper, wildcards.experiment)
