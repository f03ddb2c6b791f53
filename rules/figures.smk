rule figures:
    input:
        verdicts="results/compare/{paper}/cells.csv",
    output:
        drawings=directory("results/figures/{paper}"),
    log:
        "logs/figures/{paper}.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=PLAN.figure_code,
    shell:
        "ldlrepro figures {wildcards.paper} 2> {log}"
