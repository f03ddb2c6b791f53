rule experiment:
    """Measure what is no unit: timings, traces, embeddings, diagnostics."""
    input:
        data=RULES.experiment_inputs,
    output:
        measured="results/experiments/{paper}/{experiment}.json",
    log:
        "logs/experiments/{paper}/{experiment}.log",
    conda:
        "../envs/ldlrepro.yaml"
    threads: RULES.experiment_threads
    resources:
        mem_mb=RULES.experiment_mem_mb,
        runtime=RULES.experiment_runtime,
    params:
        spec=RULES.experiment_spec,
        code=RULES.experiment_code,
    shell:
        "ldlrepro experiment {wildcards.paper} {wildcards.experiment} --of-workflow 2> {log}"
