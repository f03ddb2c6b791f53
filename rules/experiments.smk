# What is measured without being a unit: timings, traces, embeddings, diagnostics.


rule experiment:
    input:
        data=PLAN.experiment_inputs,
    output:
        measured="results/experiments/{paper}/{experiment}.json",
    log:
        "logs/experiments/{paper}/{experiment}.log",
    conda:
        "../envs/ldlrepro.yaml"
    threads: PLAN.experiment_threads
    resources:
        mem_mb=PLAN.experiment_mem_mb,
        runtime=PLAN.experiment_runtime,
    params:
        spec=PLAN.experiment_spec,
        code=PLAN.experiment_code,
    shell:
        "ldlrepro experiment {wildcards.paper} {wildcards.experiment} 2> {log}"
