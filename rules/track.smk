# The only rule that talks to MLflow, after the training; safe to repeat, and a lock on the store
# lets one write at a time.


rule track:
    input:
        verdicts="results/compare/{paper}/cells.csv",
        figures="results/figures/{paper}",
    output:
        counts="results/track/{paper}.json",
    log:
        "logs/track/{paper}.log",
    group:
        "answer"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=PLAN.grow(2000),
        runtime=PLAN.grow(60),
        turns=1,
    params:
        uri=tracking_uri(RUN),
    shell:
        "ldlrepro sync {wildcards.paper} --tracking-uri {params.uri:q} --out {output.counts} 2> {log}"
