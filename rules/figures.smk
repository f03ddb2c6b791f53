rule figures:
    input:
        verdicts="results/compare/{paper}/cells.csv",
    output:
        drawings=report(
            directory("results/figures/{paper}"),
            patterns=["{name}.svg"],
            category="Figures",
            subcategory="{paper}",
            labels={"figure": "{name}"},
            caption="captions/figures.rst",
        ),
    log:
        "logs/figures/{paper}.log",
    group:
        "answer"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=PLAN.grow(2000),
        runtime=PLAN.grow(30),
        turns=1,
    params:
        code=PLAN.figure_code,
    shell:
        "ldlrepro figures {wildcards.paper} 2> {log}"
