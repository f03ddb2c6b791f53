rule ready:
    """Turn raw files into features and label distributions, checked and fingerprinted."""
    input:
        status="data/raw/{dataset}/fetch.json",
        weights=RULES.feature_weights,
        eyes=local(RULES.found_eyes),
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
        mem_mb=RULES.grow(4000),
        runtime=RULES.grow(60),
        turns=1,
    params:
        source=RULES.dataset_source,
        code=RULES.reader_code,
    shell:
        "ldlrepro prepare {wildcards.dataset} --of-workflow 2> {log}"


rule weights:
    """Check a network's weights and write them in the one form that networks begin with."""
    input:
        status="data/raw/{weights}/fetch.json",
    output:
        tensors="data/ready/{weights}.weights.pth",
        facts="data/ready/{weights}.weights.json",
    log:
        "logs/weights/{weights}.log",
    benchmark:
        "results/benchmarks/weights/{weights}.tsv"
    priority: FIRST
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(4000),
        runtime=RULES.grow(30),
    params:
        source=RULES.weights_source,
        code=RULES.weights_code,
    shell:
        "ldlrepro prepare {wildcards.weights} --of-workflow 2> {log}"


rule pixels:
    """Align faces into one file, for methods that read images instead of a table of features."""
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
        mem_mb=RULES.grow(4000),
        runtime=RULES.grow(240),
    params:
        source=RULES.dataset_source,
        code=RULES.pixel_code,
    shell:
        "ldlrepro pixels {wildcards.dataset} --threads {threads} --of-workflow 2> {log}"
