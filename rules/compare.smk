# Scores from predictions, and a verdict for every printed number of a paper.


rule compare:
    input:
        units=PLAN.paper_records,
        leaks=PLAN.paper_leaks,
        experiments=PLAN.paper_experiments,
    output:
        verdicts=report(
            "results/compare/{paper}/cells.csv",
            category="Verdicts",
            labels={"paper": "{paper}"},
            caption="captions/verdicts.rst",
        ),
    log:
        "logs/compare/{paper}.log",
    group:
        "answer"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=PLAN.grow(3000),
        runtime=PLAN.grow(30),
        turns=1,
    params:
        paper=PLAN.paper_definition,
        code=PLAN.compare_code,
    shell:
        "ldlrepro compare {wildcards.paper} 2> {log}"
