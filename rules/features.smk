# Raw files to features and label distributions, checked and fingerprinted.


rule ready:
    input:
        status="data/raw/{dataset}/fetch.json",
    output:
        table="data/ready/{dataset}.npz",
        facts="data/ready/{dataset}.json",
    log:
        "logs/ready/{dataset}.log",
    benchmark:
        "results/benchmarks/ready/{dataset}.tsv"
    priority: FIRST
    group:
        "prepare"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=PLAN.grow(4000),
        runtime=PLAN.grow(60),
        turns=1,
    params:
        source=PLAN.dataset_source,
        code=PLAN.reader_code,
    shell:
        "ldlrepro prepare {wildcards.dataset} 2> {log}"


# Aligned faces in one file, for methods that read images instead of a table of features.


rule pixels:
    input:
        table="data/ready/{dataset}.npz",
    output:
        pixels="data/ready/{dataset}.pixels.npy",
        facts="data/ready/{dataset}.pixels.json",
    log:
        "logs/pixels/{dataset}.log",
    benchmark:
        "results/benchmarks/pixels/{dataset}.tsv"
    conda:
        "../envs/ldlrepro.yaml"
    threads: 8
    resources:
        mem_mb=PLAN.grow(4000),
        runtime=PLAN.grow(240),
    params:
        source=PLAN.dataset_source,
        code=PLAN.pixel_code,
    shell:
        "ldlrepro pixels {wildcards.dataset} --threads {threads} 2> {log}"
