"""Texts of `ldlrepro --help` besides the verbs and their options."""

HEAD = """\
usage: ldlrepro VERB ...

Reproduces five label-distribution-learning papers, cell by cell.
"""
EPILOG = """\
Examples:
  ldlrepro verdicts                      which printed numbers hold, per paper
  ldlrepro verdicts mslp --show worse    the cells of one paper that miss
  ldlrepro schedule                      how long the five papers take on 32 cores
  ldlrepro explain structrf/16/sjaffe/SA-BFGS/kl
  ldlrepro lint table.csv                is a printed table possible?
  ldlrepro fetch sjaffe                  get and check one data set
  ldlrepro run structrf sjaffe sa_bfgs --inputs   compute one unit by hand
  snakemake --cores 32 structrf          compute a whole paper
Exit codes:
  0    done
  1    done, but not all is well: a fold failed, data are not available, a check found something
       wrong; what could be done is kept
  2    not begun: a name, an option, a file or the machine stands in the way; the message says what
       to type
  130  interrupted; finished folds are kept
In the jobs of the workflow, failed folds and missing data end with 0, for they are rows of the
results: `gate`, at the end, fails for them.
Run it in the checkout, where results/ and data/ are. `ldlrepro VERB --help` tells more;
`ldlrepro --help --all` also lists the verbs that the rules call; `--version` tells the version.
"""

EXAMPLES = {
    "list": ["ldlrepro list methods", "ldlrepro list datasets --json"],
    "images": [
        "ldlrepro images drawn_fgnet",
        "ldlrepro images drawn_fgnet --show grayscale",
        "ldlrepro images morph --find-eyes --threads 8",
        "ldlrepro images jaffe_images --from ~/jaffe --find-eyes --compare sjaffe --place-eyes",
    ],
    "new": ["ldlrepro new paper wang_2026", "ldlrepro new method my_method --folder ../mine"],
    "check": ["ldlrepro check ../mine/my_method.yaml"],
    "verdicts": ["ldlrepro verdicts", "ldlrepro verdicts mslp --show worse --dataset sjaffe"],
    "contradictions": ["ldlrepro contradictions", "ldlrepro contradictions --dataset sjaffe"],
    "claims": ["ldlrepro claims structrf"],
    "lint": ["ldlrepro lint ../table.csv --folds 10", "ldlrepro lint ldldf --misprints"],
    "leaderboard": ["ldlrepro leaderboard structrf", "ldlrepro leaderboard mslp --measure cosine"],
    "baselines": [
        "ldlrepro baselines --dataset sjaffe --method structrf sa_bfgs",
        "ldlrepro baselines --dataset sjaffe yeast_alpha --out ../baselines",
    ],
    "experiment": ["ldlrepro experiment structrf split_search --inputs"],
    "protocols": ["ldlrepro protocols structrf"],
    "status": ["ldlrepro status"],
    "schedule": ["ldlrepro schedule", "ldlrepro schedule mslp drf --cores 8 --printed"],
    "explain": [
        "ldlrepro explain structrf/16/sjaffe/SA-BFGS/kl",
        'ldlrepro explain "ldldf/4/sjaffe/combination RF+RF/LDLDF/kl"',
    ],
    "fetch": ["ldlrepro fetch sjaffe movie", "ldlrepro fetch movie --mirror /data --offline"],
    "run": [
        "ldlrepro run structrf sjaffe sa_bfgs --inputs",
        "ldlrepro run mslp m2b aa_knn@grid --inputs --folds 0-4",
    ],
    "try": [
        "ldlrepro try ldldf sjaffe ldldf ldldf@no_reuse ldldf@learning_rate=0.1",
        "ldlrepro try structrf movie sa_bfgs my_method --cuts 10 --measure chebyshev",
    ],
    "ui": ["ldlrepro ui structrf", "ldlrepro ui --port 5001"],
    "sync": ["ldlrepro sync mslp", "ldlrepro sync mslp --tracking-uri http://localhost:5000"],
}
IDS = {
    "dataset": "data set id; `ldlrepro list datasets` lists them",
    "source": "id of a data set or of weights; `ldlrepro list datasets` and `list weights`",
    "method": "method id, maybe with @variant; `ldlrepro list methods` lists them",
    "paper": "paper id; `ldlrepro list papers` lists them",
    "protocol": "protocol id; `ldlrepro list papers` lists them",
}
INPUTS = "first fetch, prepare and split what is missing"
STORE = "MLflow store; default: config, MLFLOW_TRACKING_URI"
