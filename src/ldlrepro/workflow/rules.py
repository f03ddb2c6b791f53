"""Answers the Snakefile's questions to the plan: inputs, parameters and resources of every rule.

Everything here is cheap, because Snakemake reads it again in every job on a cluster.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ldlrepro import report
from ldlrepro.audit.seals import unsealed_reference
from ldlrepro.catalogue import (
    DataSet,
    Experiment,
    Paper,
    RunConfig,
    Weights,
    digests,
    from_environment,
)
from ldlrepro.catalogue.digests import tree_digest
from ldlrepro.catalogue.own_files import PAPER, absolute
from ldlrepro.catalogue.project import OWN_FILES
from ldlrepro.catalogue.yaml_files import checked
from ldlrepro.core.errors import UserError
from ldlrepro.core.workspace import Workspace
from ldlrepro.data.fetch import MIRRORS, OFFLINE, default_mirrors, local_sources
from ldlrepro.experiments import code_digest, module_name
from ldlrepro.judge import measures
from ldlrepro.plan import Chunk, Plan, Unit, jobs
from ldlrepro.report import notebooks, written

DATA = Path("data")
WORKSPACE = Workspace(data=DATA)
FETCHING: tuple[str, ...] = ("ldlrepro.data.fetch",)
"""Code that fetches raw files. It does not decide what is made of them."""
PHOTOGRAPHS: tuple[str, ...] = (
    "ldlrepro.data.images",
    "ldlrepro.data.features",
    "ldlrepro.data.photographs",
)
"""Code that is not needed for reading tables."""
TEXT_TABLES: tuple[str, ...] = ("ldlrepro.data.csv_tables",)
"""Code that is needed only for reading CSV files."""
TEMPLATES = Path(report.__file__).with_name("templates")


def open_rules(given: Mapping[str, Any], files: Sequence[str | Path]) -> Rules:
    """Check Snakemake's merged configuration and all YAML files; ``files`` are its sources."""
    source = " + ".join(map(str, files))
    with _told():
        run = checked(RunConfig, dict(given), source)
        project = from_environment(run.own_files)
        project.check(run, source)
        return Rules(Plan(project), run)


@contextmanager
def _told() -> Iterator[None]:
    """Let Snakemake show errors meant for people, without a traceback."""
    from snakemake.exceptions import WorkflowError

    try:
        yield
    except UserError as error:
        raise WorkflowError(str(error)) from None


class Rules:
    """Inputs, parameters and resources of the rules. Wildcards come from Snakemake."""

    def __init__(self, plan: Plan, run: RunConfig) -> None:
        self.plan, self.project, self.run = plan, plan.project, run
        self.mirrors = default_mirrors(plan.project, run.mirrors)

    def check_files(self) -> None:
        """Refuse damaged files that the inputs of rules depend on: printed numbers, the reference.

        An error in a function of a rule comes too late: Snakemake then takes the rule's output as
        it is and says that nothing is to be done. A file that still matches its checksum is whole.
        """
        with _told():
            for paper in self.project.papers:
                self.plan.published(paper)
            changed = unsealed_reference(self.project.root)
            for table in sorted({path.with_suffix(".csv") for path in changed}):
                self.plan.past_runs.of_table(table)

    def tracking_uri(self) -> str:
        """Return where runs are tracked. MLFLOW_TRACKING_URI overrides the configuration."""
        return os.environ.get("MLFLOW_TRACKING_URI") or self.run.tracking_uri

    @staticmethod
    def grow(base: int) -> Callable[[Any, int], int]:
        """Return a rule's memory or time: ``base`` at first, more for every further attempt."""

        def asked(wildcards: Any, attempt: int) -> int:
            return base * jobs.growth(attempt)

        return asked

    # ------------------------------------------------------------------ data

    def own_files(self, wildcards: Any) -> list[str]:
        """Return the files that the user put into data/manual/ or beside an own data set's YAML.

        Files in mirrors are left out, because mirrors come and go while the raw files stay.
        """
        described = self.project.source(wildcards.dataset)
        places = [described.file.parent] if described.is_own else []
        return [str(path) for path in local_sources(described, DATA, places)]

    def within_reach(self, wildcards: Any) -> bool:
        """Tell whether the raw files are here, or can be fetched from somewhere.

        The answer is the same before and after fetching, so only data that were out of reach are
        planned again.
        """
        return self._within_reach(self.project.source(wildcards.dataset))

    def _within_reach(self, source: DataSet | Weights) -> bool:
        raw = DATA / "raw" / source.id
        found = {path.name for path in local_sources(source, DATA, self.mirrors)}
        if isinstance(source, DataSet):
            if source.images_of:
                return self._within_reach(source.owner_of_images)
            if source.reader == "images":
                return bool(found) or (raw / "images").is_dir()
        return all(
            entry.name in found
            or (raw / entry.name).is_file()
            or (bool(entry.urls) and not self.run.offline)
            for entry in source.files
        )

    def dataset_source(self, wildcards: Any) -> str:
        """Return the digest of the description of a data set or of weights, without its texts."""
        return tree_digest(self.project.source(wildcards.dataset).decisive())

    def weights_source(self, wildcards: Any) -> str:
        return self.dataset_source(SimpleNamespace(dataset=wildcards.weights))

    def weights_code(self, wildcards: Any) -> str:
        return digests.stage_digest("ldlrepro.data.weights:prepare_weights", without=FETCHING)

    def feature_weights(self, wildcards: Any) -> list[str]:
        """Return the weights of the network whose features a data set's YAML asks for."""
        features = self.project.data_set(wildcards.dataset).features
        named = [features.weights] if features and features.weights else []
        return self._weights(named, wildcards)

    def unit_weights(self, wildcards: Any) -> list[str]:
        """Return the weights that a method's network starts from."""
        return self._weights(self.project.method(wildcards.method).weights, wildcards)

    def _weights(self, named: Iterable[str], wildcards: Any) -> list[str]:
        """Return files of weights.

        Photographs that are out of reach do not cause hundreds of megabytes to be fetched.
        """
        wanted = list(named)
        if not (wanted and self.within_reach(wildcards)):
            return []
        files = [WORKSPACE.weights(name) for name in wanted]
        return [str(path) for file in files for path in (file, file.with_suffix(".json"))]

    def environment(self) -> dict[str, str]:
        """Return the environment that tells jobs where raw files may come from.

        These are not parameters or options of the rules. A new mirror must not plan existing files
        again, and Snakemake plans all units again when their command changes.
        """
        mirrors = os.pathsep.join(str(folder) for folder in self.mirrors)
        if len(mirrors.split(os.pathsep)) > max(1, len(self.mirrors)):
            raise UserError(
                f"a mirror's path must not hold '{os.pathsep}', for {MIRRORS} lists them so"
            )
        offline = "1" if self.run.offline else ""
        own = os.pathsep.join(dict.fromkeys(str(absolute(p)) for p in self.project.own_paths))
        return {OWN_FILES: own, MIRRORS: mirrors, OFFLINE: offline}

    def drawing_code(self, wildcards: Any) -> str:
        """Return the digest of what generates the raw files; others have their checksums."""
        source = self.project.source(wildcards.dataset)
        drawn = isinstance(source, DataSet) and source.is_drawn
        return digests.stage_digest("ldlrepro.data.drawn:draw") if drawn else ""

    def reader_code(self, wildcards: Any) -> str:
        modules, without = ["ldlrepro.data.readers", "ldlrepro.data.registry"], FETCHING
        reader = self.project.data_set(wildcards.dataset).reader
        if reader not in ("images", "drawn_images"):
            without += PHOTOGRAPHS
        if reader != "csv":
            without += TEXT_TABLES
        return digests.stage_digest(*modules, without=without)

    def found_eyes(self, wildcards: Any) -> list[str]:
        """Return the table of eyes that a program found in the images, where there is one."""
        data_set = self.project.data_set(wildcards.dataset)
        path = DATA / "eyes" / (data_set.images_of or data_set.id) / "eyes.csv"
        return [str(path)] if data_set.layout and path.is_file() else []

    @property
    def arena_data_sets(self) -> tuple[str, ...]:
        from ldlrepro.arena.runs import DATA_SETS

        return DATA_SETS

    def arena_code(self, wildcards: Any) -> str:
        """Return the digest of every method of the arena, and of what compares them."""
        from ldlrepro.arena.runs import code_of_all

        return code_of_all()

    def pixel_code(self, wildcards: Any) -> str:
        return digests.stage_digest("ldlrepro.data.pixels", without=FETCHING)

    def protocol_definition(self, wildcards: Any) -> str:
        definition = self.project.protocol(wildcards.protocol).plain()
        return tree_digest({key: value for key, value in definition.items() if key != "text"})

    def published_folds(self, wildcards: Any) -> list[str]:
        """Return the table of folds that somebody else has drawn, where the protocol names one."""
        protocol = self.project.protocol(wildcards.protocol)
        published = protocol.published_folds(wildcards.dataset)
        return [_from_here(published)] if published else []

    def fold_code(self, wildcards: Any) -> str:
        by_parts = self.project.protocol(wildcards.protocol).scheme == "parts"
        without = list(FETCHING)
        if not by_parts:
            without.append("ldlrepro.folds.parts")
        # Only photographs are told apart by their images, and have parts.
        data_set = self.project.data_set(wildcards.dataset)
        if not by_parts and (data_set.layout is None or data_set.features):
            without += PHOTOGRAPHS
        return digests.stage_digest("ldlrepro.folds.making", without=tuple(without))

    # ------------------------------------------------------------------ units

    def _unit(self, wildcards: Any) -> Unit:
        return self.plan.unit(wildcards.protocol, wildcards.dataset, wildcards.method)

    def _chunk(self, wildcards: Any) -> Chunk:
        return Chunk.parse(self._unit(wildcards), wildcards.chunk)

    def unit_pixels(self, wildcards: Any) -> list[str]:
        """Return the aligned faces, for methods that read images."""
        wanted = self.project.method(wildcards.method).needs.images
        return [f"data/ready/{wildcards.dataset}.pixels.npy"] if wanted else []

    def unit_gpu(self, wildcards: Any) -> int:
        return self._unit(wildcards).resources.gpu

    def method_spec(self, wildcards: Any) -> str:
        return self._unit(wildcards).spec_sha256

    def method_code(self, wildcards: Any) -> str:
        return digests.method_digest(self.project.method(wildcards.method))

    def unit_threads(self, wildcards: Any) -> int:
        return self._unit(wildcards).resources.threads

    def unit_mem_mb(self, wildcards: Any, attempt: int) -> int:
        return jobs.mem_mb(self.plan, self._chunk(wildcards), attempt)

    def unit_runtime(self, wildcards: Any, attempt: int) -> int:
        return jobs.minutes(self.plan, self._chunk(wildcards), attempt)

    def unit_priority(self, wildcards: Any) -> int:
        return jobs.priority(self.plan, self._chunk(wildcards))

    def unit_group(self, wildcards: Any) -> str | None:
        return jobs.group(self.plan, self._chunk(wildcards))

    # ------------------------------------------------------------------ papers

    def _paper(self, wildcards: Any) -> Paper:
        return self.project.paper(wildcards.paper)

    def _run_units(self, wildcards: Any) -> list[Unit]:
        return self.plan.run_units(self.run, self._paper(wildcards))

    def paper_records(self, wildcards: Any) -> list[str]:
        return [
            str(chunk.record("results"))
            for unit in self._run_units(wildcards)
            for chunk in self.plan.chunks(unit)
        ]

    def paper_predictions(self, wildcards: Any) -> list[str]:
        return [str(Path(path).with_suffix(".npz")) for path in self.paper_records(wildcards)]

    def paper_tables(self, wildcards: Any) -> list[str]:
        """Return the prepared data that predictions are scored against, and their descriptions."""
        names = sorted({unit.data_set.id for unit in self._run_units(wildcards)})
        return [f"data/ready/{name}.{end}" for name in names for end in ("npz", "json")]

    def paper_folds(self, wildcards: Any) -> list[str]:
        pairs = sorted({unit.ids[:2] for unit in self._run_units(wildcards)})
        ends = ("npz", "leaks.json")
        return [f"results/folds/{p}/{name}.{end}" for p, name in pairs for end in ends]

    def paper_experiments(self, wildcards: Any) -> list[str]:
        names = self.plan.run_experiments(self.run, self._paper(wildcards))
        return [f"results/experiments/{wildcards.paper}/{name}.json" for name in names]

    def paper_reference(self, wildcards: Any) -> list[str]:
        """Return the maintainers' records that stand in for units and experiments not run here."""
        reference = self.project.root / "reference"
        units = self.plan.units(self._paper(wildcards))
        tables = {(unit.protocol.id, unit.method.base) for unit in units}
        files = [
            reference / protocol / f"{method}.{end}"
            for protocol, method in sorted(tables)
            for end in ("csv", "json")
        ]
        files += sorted((reference / "experiments" / wildcards.paper).glob("*.json"))
        return [_from_here(path) for path in files if path.is_file()]

    def paper_printed(self, wildcards: Any) -> list[str]:
        """Return the files of the printed numbers, of the paper, its claims and its misses."""
        paper = self._paper(wildcards)
        names = ("cells.csv", PAPER, "claims.yaml", "misses.yaml")
        files = [paper.beside(name) for name in names]
        files += [self.project.paper(c.source).beside("cells.csv") for c in paper.copied]
        return [_from_here(path) for path in files if path.is_file()]

    def paper_methods(self, wildcards: Any) -> str:
        """Return the digest of the methods' files, which hold titles, age rules and diagnoses."""
        methods = {unit.method for unit in self.plan.units(self._paper(wildcards))}
        return tree_digest({method.id: method.plain() for method in sorted(methods)})

    def judge_code(self, wildcards: Any) -> str:
        entries = ("ldlrepro.judge.judging", "ldlrepro.report.content")
        code = digests.stage_digest(*entries, "ldlrepro.report.export", "ldlrepro.audit.seals")
        return tree_digest([code, measures.digests(self.project)])

    # ------------------------------------------------------------------ experiments

    def _experiment(self, wildcards: Any) -> Experiment:
        return self._paper(wildcards).experiment(wildcards.experiment)

    def experiment_inputs(self, wildcards: Any) -> list[str]:
        asked = self._experiment(wildcards)
        folds = [f"results/folds/{asked.protocol}/{d}.npz" for d in asked.datasets]
        ready = [f"data/ready/{d}.npz" for d in asked.datasets]
        pixels = [f"data/ready/{d}.pixels.npy" for d in asked.datasets if asked.images]
        return ready + pixels + (folds if asked.protocol else [])

    def experiment_threads(self, wildcards: Any) -> int:
        """Return all threads for a measurement of time. Snakemake limits them to --cores."""
        return (os.cpu_count() or 1) if self._experiment(wildcards).alone else 1

    def experiment_mem_mb(self, wildcards: Any, attempt: int) -> int:
        return self._experiment(wildcards).mem_mb * jobs.growth(attempt)

    def experiment_runtime(self, wildcards: Any, attempt: int) -> int:
        return self._experiment(wildcards).runtime * jobs.growth(attempt)

    def experiment_spec(self, wildcards: Any) -> str:
        asked = self._experiment(wildcards)
        parts = {"datasets": asked.datasets, "protocol": asked.protocol}
        return tree_digest({**parts, "parameters": dict(asked.parameters)})

    def experiment_code(self, wildcards: Any) -> str:
        return code_digest(self._paper(wildcards), wildcards.experiment)

    def figure_code(self, wildcards: Any) -> str:
        modules = ("ldlrepro.report.figures", "ldlrepro.report.build")
        return self._drawing_code(*modules, papers=[self._paper(wildcards)])

    def _drawing_code(self, *modules: str, papers: Iterable[Paper]) -> str:
        """Return the digest of modules and of papers' experiments, which are imported by name."""
        named = {module_name(p, each.code) for p in papers for each in p.experiments.values()}
        beside = self.project.modules
        own = [digests.stage_digest(module, modules=beside) for module in sorted(named)]
        return tree_digest([digests.stage_digest(*modules), sorted(own)])

    # ------------------------------------------------------------------ report and gate

    def scope(self, wildcards: Any) -> list[str]:
        """Return the papers of a report: the configuration's for `all`, else the one named."""
        return list(self.run.papers) if wildcards.paper == "all" else [wildcards.paper]

    def of_scope(self, pattern: str) -> Callable[[Any], list[str]]:
        """Return the files of a report's papers: ``pattern`` with each paper in it."""

        def files(wildcards: Any) -> list[str]:
            return [pattern.format(paper=paper) for paper in self.scope(wildcards)]

        return files

    def scope_notebooks(self, wildcards: Any) -> list[str]:
        """Return all notebooks for the full report; the report of one paper needs none."""
        return self.notebook_pages() if wildcards.paper == "all" else []

    def scope_written(self, wildcards: Any) -> list[str]:
        """Return the written pages of a report: its papers' notes; of the full one the findings."""
        found = [written.note(self.project.paper(name)) for name in self.scope(wildcards)]
        if wildcards.paper == "all":
            found += written.sources(self.project).values()
        return [_from_here(path) for path in found if path and path.is_file()]

    def scope_arena(self, wildcards: Any) -> list[str]:
        """Return the maintainers' tables of the arena, which every report shows."""
        found = sorted((self.project.root / "reference" / "arena").glob("*/scores.csv"))
        return [_from_here(path) for path in found]

    def notebooks_shown(self, wildcards: Any) -> str:
        """Return the option that names the notebooks of a page."""
        if wildcards.paper != "all":
            return ""
        return shlex.join(["--notebooks", *notebooks.names(self.project)])

    def notebook_pages(self) -> list[str]:
        return [f"results/notebooks/{name}.html" for name in notebooks.names(self.project)]

    def notebook_source(self, wildcards: Any) -> str:
        return _from_here(self.project.root / "notebooks" / f"{wildcards.notebook}.ipynb")

    def report_code(self, wildcards: Any) -> str:
        modules = ["ldlrepro.report.build", "ldlrepro.report.html", "ldlrepro.judge.judging"]
        return tree_digest([self._drawing_code(*modules, papers=self.project.papers), _templates()])


def _templates() -> dict[str, str]:
    """Return digests of the templates that pages are made from, by file name."""
    files = TEMPLATES.iterdir()
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _from_here(path: Path) -> str:
    """Return a path relative to the checkout, so that moving the checkout reruns nothing."""
    here = Path.cwd().resolve()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
