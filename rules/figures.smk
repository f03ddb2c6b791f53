rule figures:
    input:
        verdicts="results/compare/{paper}/cells.csv",
    output:
        agreement="results/figures/{paper}/agreement.svg",
        methods="results/figures/{paper}/methods.svg",
    log:
        "logs/figures/{paper}.log",
    params:
        code=PLAN.figure_code,
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "ldlrepro figures {wildcards.paper} 2> {log}"
