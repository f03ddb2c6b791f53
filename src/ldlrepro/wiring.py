"""What the Snakefile asks of the plan: inputs, parameters and resources of every rule.

Everything here is cheap, for Snakemake reads it again in every job on a cluster.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ldlrepro import config, jobs, notebooks, own, plan
from ldlrepro.compare import measures
from ldlrepro.data.fetch import default_mirrors, local_sources
from ldlrepro.errors import UserError
from ldlrepro.runs import provenance

DATA = Path("data")
FETCHING: tuple[str, ...] = ("ldlrepro.data.fetch",)
"""What brings raw files decides nothing that is made of them."""
PHOTOGRAPHS: tuple[str, ...] = ("ldlrepro.data.images", "ldlrepro.features")
"""What tables are read without."""


def run_configuration(given: Mapping[str, Any], files: Sequence[str | Path]) -> dict[str, Any]:
    """Snakemake's merged configuration, checked against our schema; ``files`` are its sources."""
    from snakemake.exceptions import WorkflowError

    try:
        return config.check_run_config(dict(given), " + ".join(map(str, files)))
    except UserError as error:
        raise WorkflowError(str(error)) from None  # which Snakemake shows without a traceback


class Wiring:
    """Answers rules' questions; wildcards come from Snakemake."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        self.run = dict(run)
        self.mirrors = default_mirrors(self.run["mirrors"])

    @staticmethod
    def grow(base: int) -> Callable[[Any, int], int]:
        """Memory or time of a rule: as much as ``base``, and more for every further attempt."""

        def asked(wildcards: Any, attempt: int) -> int:
            return base * jobs.growth(attempt)

        return asked

    # ------------------------------------------------------------------ data

    def own_files(self, wildcards: Any) -> list[str]:
        """What the user put into data/manual/ or beside an own data set's YAML.

        Not what mirrors hold: they come and go, and the raw files stay.
        """
        described = own.files("dataset").get(wildcards.dataset)
        places = [described.parent] if described else []
        return [str(path) for path in local_sources(wildcards.dataset, DATA, places)]

    def within_reach(self, wildcards: Any) -> bool:
        """Whether the raw files are here or there is somewhere to get them from.

        The same before and after they came, so only data that were out of reach are planned again.
        """
        spec = config.load_dataset(wildcards.dataset)
        if "images_of" in spec:
            return self.within_reach(SimpleNamespace(dataset=spec["images_of"]))
        raw = DATA / "raw" / wildcards.dataset
        found = {path.name for path in local_sources(wildcards.dataset, DATA, self.mirrors)}
        if spec["reader"] == "images":
            return bool(found) or (raw / "images").is_dir()
        return all(
            entry["name"] in found
            or (raw / entry["name"]).is_file()
            or (bool(entry.get("urls")) and not self.run["offline"])
            for entry in spec.get("files", [])
        )

    def dataset_source(self, wildcards: Any) -> str:
        """Digest of the data set's description without its texts."""
        tree = config.load_dataset(wildcards.dataset)
        texts = ("title", "description", "licence", "citation", "defects", "how_to_get")
        return _digest({key: value for key, value in tree.items() if key not in texts})

    def fetch_options(self, wildcards: Any, threads: int) -> str:
        """A change of these must not plan again what is here.

        Snakemake reruns nothing for parameters that depend on ``threads``, be it by name only.
        """
        options = ["--offline"] if self.run["offline"] else []
        for folder in self.run["mirrors"]:
            options += ["--mirror", folder]
        return shlex.join(options)

    def drawing_code(self, wildcards: Any) -> str:
        """Of what draws the raw files; others are what their checksums say."""
        spec = config.load_dataset(wildcards.dataset)
        drawn = spec["reader"].startswith("drawn_")
        return provenance.module_digest("ldlrepro.data.synthetic") if drawn else ""

    def reader_code(self, wildcards: Any) -> str:
        modules, without = ["ldlrepro.data.readers", "ldlrepro.data.registry"], FETCHING
        spec = config.load_dataset(wildcards.dataset)
        if config.only_photographs(spec):
            modules.append("ldlrepro.data.photographs")
        if spec["reader"] not in ("images", "drawn_images"):
            without += PHOTOGRAPHS
        return provenance.module_digest(*modules, without=without)

    def pixel_code(self, wildcards: Any) -> str:
        return provenance.module_digest("ldlrepro.data.pixels", without=FETCHING)

    def protocol_definition(self, wildcards: Any) -> str:
        definition = plan.protocol(wildcards.protocol)
        return _digest({key: value for key, value in definition.items() if key != "text"})

    def fold_code(self, wildcards: Any) -> str:
        modules = ["ldlrepro.protocols.persons", "ldlrepro.protocols.leaks"]
        if plan.protocol(wildcards.protocol)["scheme"] == "parts":
            modules.append("ldlrepro.protocols.parts")
        if config.only_photographs(config.load_dataset(wildcards.dataset)):
            modules.append("ldlrepro.data.photographs")  # tells rows apart by their images
        return provenance.module_digest(*modules, without=FETCHING)

    # ------------------------------------------------------------------ units

    def unit_pixels(self, wildcards: Any) -> list[str]:
        """The aligned faces, for methods that read images."""
        wanted = _method(wildcards.method).get("needs", {}).get("images")
        return [f"data/ready/{wildcards.dataset}.pixels.npy"] if wanted else []

    def unit_gpu(self, wildcards: Any) -> int:
        return plan.resources(_unit(wildcards))["gpu"]

    def method_spec(self, wildcards: Any) -> str:
        return plan.spec_digest(_unit(wildcards))

    def method_code(self, wildcards: Any) -> str:
        return provenance.method_digest(_method(wildcards.method))

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

    def paper_leaks(self, wildcards: Any) -> list[str]:
        pairs = {
            (unit.protocol, unit.dataset) for unit in plan.run_units(self.run, wildcards.paper)
        }
        return [f"results/folds/{protocol}/{name}.leaks.json" for protocol, name in sorted(pairs)]

    def paper_experiments(self, wildcards: Any) -> list[str]:
        names = plan.run_experiments(self.run, wildcards.paper)
        return [f"results/experiments/{wildcards.paper}/{name}.json" for name in names]

    def paper_definition(self, wildcards: Any) -> str:
        return _digest([config.load_paper(wildcards.paper), plan.published(wildcards.paper)])

    def compare_code(self, wildcards: Any) -> str:
        code = provenance.module_digest("ldlrepro.report.build", "ldlrepro.report.export")
        return _digest([code, measures.digests(), _templates("grid.html.j2")])

    # ------------------------------------------------------------------ experiments

    def experiment_inputs(self, wildcards: Any) -> list[str]:
        spec = _experiment(wildcards)
        folds = [f"results/folds/{spec['protocol']}/{d}.npz" for d in spec["datasets"]]
        ready = [f"data/ready/{d}.npz" for d in spec["datasets"]]
        pixels = [f"data/ready/{d}.pixels.npy" for d in spec["datasets"] if spec["images"]]
        return ready + pixels + (folds if spec["protocol"] else [])

    def experiment_threads(self, wildcards: Any) -> int:
        """What measures time takes the whole machine, which Snakemake cuts to --cores."""
        return (os.cpu_count() or 1) if _experiment(wildcards)["alone"] else 1

    def experiment_mem_mb(self, wildcards: Any, attempt: int) -> int:
        return int(_experiment(wildcards)["mem_mb"]) * jobs.growth(attempt)

    def experiment_runtime(self, wildcards: Any, attempt: int) -> int:
        return int(_experiment(wildcards)["runtime"]) * jobs.growth(attempt)

    def experiment_spec(self, wildcards: Any) -> str:
        spec = _experiment(wildcards)
        return _digest({k: spec[k] for k in ("datasets", "protocol", "parameters")})

    def experiment_code(self, wildcards: Any) -> str:
        return provenance.module_digest(_experiment(wildcards)["code"])

    def figure_code(self, wildcards: Any) -> str:
        return _drawing_code("ldlrepro.report.figures", papers=[wildcards.paper])

    # ------------------------------------------------------------------ report and gate

    def scope(self, wildcards: Any) -> list[str]:
        """The papers of a report: those of the configuration for `all`, else the one named."""
        return self.run["papers"] if wildcards.paper == "all" else [wildcards.paper]

    def scope_tracked(self, wildcards: Any) -> list[str]:
        return [f"results/track/{paper}.json" for paper in self.scope(wildcards)]

    def scope_notebooks(self, wildcards: Any) -> list[str]:
        """The report of everything has the notebooks; that of one paper does not wait for them."""
        return self.notebook_pages() if wildcards.paper == "all" else []

    def notebook_pages(self) -> list[str]:
        return [f"results/notebooks/{name}.html" for name in notebooks.names()]

    def notebook_inputs(self, wildcards: Any) -> list[str]:
        return [f"results/track/{paper}.json" for paper in self.run["papers"]]

    def report_code(self, wildcards: Any) -> str:
        modules = ["ldlrepro.report.build", "ldlrepro.report.html"]
        return _digest([_drawing_code(*modules, papers=config.paper_ids()), _templates("*")])


def _drawing_code(*modules: str, papers: Sequence[str]) -> str:
    """Of modules and of the experiments of papers, whose drawings are imported by their names."""
    experiments = [config.load_paper(paper).get("experiments", {}) for paper in papers]
    named = {spec["code"] for of_paper in experiments for spec in of_paper.values()}
    return provenance.module_digest(*modules, *sorted(named))


def _templates(pattern: str) -> dict[str, str]:
    """Digests of what pages are made from, by file name."""
    files = (provenance.PACKAGE / "report" / "templates").glob(pattern)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _unit(wildcards: Any) -> plan.Unit:
    return plan.Unit(wildcards.protocol, wildcards.dataset, wildcards.method)


@cache
def _method(method: str) -> dict[str, Any]:
    if not config.method_exists(method):  # only a full dry run plans methods to come
        return {"class": "ldl.base.LDLEstimator"}
    return config.load_method(method)


def _chunk(wildcards: Any) -> plan.Chunk:
    return plan.Chunk.parse(_unit(wildcards), wildcards.chunk)


def _experiment(wildcards: Any) -> dict[str, Any]:
    return plan.experiment(wildcards.paper, wildcards.experiment)


def _digest(tree: Any) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()
