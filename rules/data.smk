# Raw files from local folders or the internet, each checked before it gets its name. Data that
# cannot be had are recorded as such, with how to get them; that fails nothing.


rule fetch:
    input:
        local=PLAN.own_files,
    output:
        status="data/raw/{dataset}/fetch.json",
    log:
        "logs/fetch/{dataset}.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=PLAN.grow(1000),
        runtime=PLAN.grow(120),
    params:
        source=PLAN.dataset_source,
        reach=PLAN.within_reach,
        options=PLAN.fetch_options,
        code=PLAN.drawing_code,
    shell:
        "ldlrepro fetch {wildcards.dataset} {params.options} 2> {log}"
