rule folds:
    """Say who is in which fold, once per protocol and data set, and search for leaks."""
    input:
        table="data/ready/{dataset}.npz",
        published=local(RULES.published_folds),
    output:
        indices="results/folds/{protocol}/{dataset}.npz",
        leaks="results/folds/{protocol}/{dataset}.leaks.json",
    log:
        "logs/folds/{protocol}/{dataset}.log",
    priority: FIRST
    group:
        "prepare"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(2000),
        runtime=RULES.grow(30),
        turns=1,
    params:
        protocol=RULES.protocol_definition,
        code=RULES.fold_code,
        seed=RUN["seed"],
    shell:
        "ldlrepro folds {wildcards.protocol} {wildcards.dataset} --seed {params.seed}"
        " --of-workflow 2> {log}"
