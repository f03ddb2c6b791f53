# Reproduces nine papers on label distribution learning. Start here:
#   snakemake --cores 32             everything whose data can be had
#   snakemake --cores 32 structrf    one paper
#   snakemake -n                     what would run
# What runs is decided by config/config.yaml; README.md and config/README.md explain the rest.
import os

from snakemake.utils import min_version

from ldlrepro.workflow.rules import open_rules
from ldlrepro.workflow.storage import keep_copies_here

min_version("9.0")


configfile: "config/config.yaml"


RULES = open_rules(config, workflow.configfiles)
if workflow.is_main_process:
    RULES.check_files()
os.environ.update(RULES.environment())
keep_copies_here(workflow)


# Data and folds before any unit, for the longest unit may wait for them.
FIRST = 10**9


# Jobs of a group take turns, where a profile gives them one turn at a time.
resource_scopes:
    turns="local",


wildcard_constraints:
    dataset=r"[a-z0-9_]+",
    weights=r"[a-z0-9_]+",
    protocol=r"[a-z0-9_]+",
    method=r"[a-z0-9_]+(@[A-Za-z0-9_=,.+-]+)?",
    chunk=r"all|\d+-\d+",
    paper=r"[a-z0-9_]+",
    experiment=r"[a-z0-9_]+",
    notebook=r"[a-z0-9_]+",


include: "rules/data.smk"
include: "rules/features.smk"
include: "rules/folds.smk"
include: "rules/train.smk"
include: "rules/experiments.smk"
include: "rules/compare.smk"
include: "rules/figures.smk"
include: "rules/track.smk"
include: "rules/notebooks.smk"
include: "rules/report.smk"
include: "rules/arena.smk"


localrules:
    all,
    gate,
    fetch,


rule all:
    default_target: True
    input:
        "results/gate/all.ok",
        expand("results/tidy/{paper}.ok", paper=RULES.run.papers),


# One target per paper: snakemake --cores 32 structrf
for paper in RULES.project.paper_ids:

    rule:
        name:
            paper
        input:
            f"results/gate/{paper}.ok",
            f"results/tidy/{paper}.ok",
        localrule: True
