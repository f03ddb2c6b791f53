rule arena:
    """Compare every method on every public data set, with equal tuning."""
    input:
        expand("results/arena/{dataset}/scores.csv", dataset=RULES.arena_data_sets),


rule arena_set:
    """Run every method on a data set as the protocol of the arena says; finished folds stay."""
    input:
        table="data/ready/{dataset}.npz",
    output:
        scores="results/arena/{dataset}/scores.csv",
        facts="results/arena/{dataset}/facts.json",
    log:
        "logs/arena/{dataset}.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(3000),
        runtime=RULES.grow(240),
    params:
        code=RULES.arena_code,
    shell:
        "ldlrepro arena {wildcards.dataset} --of-workflow 2> {log}"
