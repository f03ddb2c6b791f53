# Who is in which fold, once per protocol and data set, with the search for leaks.


rule folds:
    input:
        table="data/ready/{dataset}.npz",
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
        mem_mb=PLAN.grow(2000),
        runtime=PLAN.grow(30),
        turns=1,
    params:
        protocol=PLAN.protocol_definition,
        code=PLAN.fold_code,
        seed=RUN["seed"],
    shell:
        "ldlrepro folds {wildcards.protocol} {wildcards.dataset} --seed {params.seed} 2> {log}"
