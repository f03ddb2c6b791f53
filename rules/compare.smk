rule compare:
    """Judge a paper: scores from predictions, a verdict for every printed number, its claims.

    `tables` and `folds` are what predictions are scored against; `reference` stands in for what
    has not run here. Figures, report and tracking read the answer and judge nothing.
    """
    input:
        units=RULES.paper_records,
        predictions=RULES.paper_predictions,
        tables=RULES.paper_tables,
        folds=RULES.paper_folds,
        experiments=RULES.paper_experiments,
        reference=local(RULES.paper_reference),
        printed=local(RULES.paper_printed),
    output:
        answer="results/compare/{paper}/answer.json",
        verdicts=report(
            "results/compare/{paper}/cells.csv",
            category="Verdicts",
            labels={"paper": "{paper}"},
            caption="captions/verdicts.rst",
        ),
        scores="results/compare/{paper}/scores.csv",
        claims="results/compare/{paper}/claims.csv",
        tables=directory("results/compare/{paper}/tables"),
        sums="results/compare/{paper}/SHA256SUMS",
    log:
        "logs/compare/{paper}.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(3000),
        runtime=RULES.grow(30),
        turns=1,
    params:
        methods=RULES.paper_methods,
        code=RULES.judge_code,
    shell:
        "ldlrepro compare {wildcards.paper} 2> {log}"


rule tidy:
    """Throw away the finished folds of complete units; their records hold them as well."""
    input:
        answer="results/compare/{paper}/answer.json",
    output:
        touch("results/tidy/{paper}.ok"),
    log:
        "logs/tidy/{paper}.log",
    group:
        "answer"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(1000),
        runtime=RULES.grow(30),
        turns=1,
    shell:
        "ldlrepro tidy {wildcards.paper} --of-workflow 2> {log}"
