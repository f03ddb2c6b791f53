rule train:
    """Fit and predict one method on one data set under one protocol, in a chunk of its folds.

    `spec` and `code` are digests: changing a method's settings or source reruns its units and
    nothing else.
    """
    input:
        table="data/ready/{dataset}.npz",
        indices="results/folds/{protocol}/{dataset}.npz",
        pixels=RULES.unit_pixels,
        weights=RULES.unit_weights,
    output:
        record="results/units/{protocol}/{dataset}/{method}/folds_{chunk}.parquet",
        predictions="results/units/{protocol}/{dataset}/{method}/folds_{chunk}.npz",
    log:
        "logs/units/{protocol}/{dataset}/{method}/folds_{chunk}.log",
    benchmark:
        "results/benchmarks/units/{protocol}/{dataset}/{method}/folds_{chunk}.tsv"
    priority: RULES.unit_priority
    group:
        RULES.unit_group
    conda:
        "../envs/ldlrepro.yaml"
    threads: RULES.unit_threads
    resources:
        mem_mb=RULES.unit_mem_mb,
        runtime=RULES.unit_runtime,
        gpu=RULES.unit_gpu,
        turns=1,
    params:
        spec=RULES.method_spec,
        code=RULES.method_code,
        seed=RUN["seed"],
    shell:
        "ldlrepro run {wildcards.protocol} {wildcards.dataset} {wildcards.method}"
        " --folds {wildcards.chunk} --threads {threads} --seed {params.seed} --of-workflow 2> {log}"
