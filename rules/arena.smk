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


rule arena_predictions:
    """Write every prediction of a data set, with the truth."""
    input:
        table="data/ready/{dataset}.npz",
        scores="results/arena/{dataset}/scores.csv",
    output:
        "results/arena/{dataset}/predictions.parquet",
    log:
        "logs/arena/{dataset}_predictions.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(3000),
        runtime=RULES.grow(30),
    shell:
        "ldlrepro arena {wildcards.dataset} --of-workflow --predictions {output} 2> {log}"


rule arena_archive:
    """Pack predictions, scores, facts and their checksums, to be published."""
    input:
        expand(
            "results/arena/{dataset}/{file}",
            dataset=RULES.arena_data_sets,
            file=["facts.json", "predictions.parquet", "scores.csv"],
        ),
    output:
        "results/arena.tar",
    log:
        "logs/arena_archive.log",
    conda:
        "../envs/ldlrepro.yaml"
    shell:
        "(sha256sum {input} > results/arena/SHA256SUMS"
        " && tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner"
        " -cf {output} {input} results/arena/SHA256SUMS) 2> {log}"
