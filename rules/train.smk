# A unit: one method on one data set under one protocol, with a chunk of its folds. `spec` and
# `code` are digests: changing a method's settings or source reruns its units and nothing else.


rule train:
    input:
        table="data/ready/{dataset}.npz",
        indices="results/folds/{protocol}/{dataset}.npz",
        pixels=PLAN.unit_pixels,
    output:
        record="results/units/{protocol}/{dataset}/{method}/folds_{chunk}.parquet",
        predictions="results/units/{protocol}/{dataset}/{method}/folds_{chunk}.npz",
    log:
        "logs/units/{protocol}/{dataset}/{method}/folds_{chunk}.log",
    benchmark:
        "results/benchmarks/units/{protocol}/{dataset}/{method}/folds_{chunk}.tsv"
    priority: PLAN.unit_priority
    group:
        PLAN.unit_group
    conda:
        "../envs/ldlrepro.yaml"
    threads: PLAN.unit_threads
    resources:
        mem_mb=PLAN.unit_mem_mb,
        runtime=PLAN.unit_runtime,
        gpu=PLAN.unit_gpu,
        turns=1,
    params:
        spec=PLAN.method_spec,
        code=PLAN.method_code,
        seed=RUN["seed"],
    shell:
        "ldlrepro run {wildcards.protocol} {wildcards.dataset} {wildcards.method}"
        " --folds {wildcards.chunk} --threads {threads} --seed {params.seed} 2> {log}"
