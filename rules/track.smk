rule track:
    """Bring MLflow in line with a paper's answer, with records and figures as artifacts.

    The only rule that talks to MLflow, after the training. It is safe to repeat, and a lock on the
    store lets one write at a time.
    """
    input:
        answer="results/compare/{paper}/answer.json",
        verdicts="results/compare/{paper}/cells.csv",
        scores="results/compare/{paper}/scores.csv",
        claims="results/compare/{paper}/claims.csv",
        tables="results/compare/{paper}/tables",
        units=RULES.paper_records,
        figures="results/figures/{paper}",
    output:
        counts="results/track/{paper}.json",
    log:
        "logs/track/{paper}.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(2000),
        runtime=RULES.grow(60),
        turns=1,
    params:
        uri=RULES.tracking_uri(),
    shell:
        "ldlrepro sync {wildcards.paper} --of-workflow --tracking-uri {params.uri:q}"
        " --out {output.counts} 2> {log}"
