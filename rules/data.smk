rule fetch:
    """Get raw files from local folders or the internet, each checked before it gets its name.

    Data that cannot be had are recorded as such, with how to get them; that fails nothing.
    """
    input:
        local=local(RULES.own_files),
    output:
        status="data/raw/{dataset}/fetch.json",
    log:
        "logs/fetch/{dataset}.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(1000),
        runtime=RULES.grow(120),
    params:
        source=RULES.dataset_source,
        reach=RULES.within_reach,
        code=RULES.drawing_code,
    shell:
        "ldlrepro fetch {wildcards.dataset} --of-workflow 2> {log}"
