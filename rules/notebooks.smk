# Notebooks, run on what the papers left behind, and kept as pages that the report links to.


rule notebook:
    input:
        tracked=PLAN.notebook_inputs,
        notebook="notebooks/{notebook}.ipynb",
    output:
        page=report(
            "results/notebooks/{notebook}.html",
            category="Notebooks",
            labels={"notebook": "{notebook}"},
            caption="captions/notebook.rst",
        ),
    log:
        "logs/notebooks/{notebook}.log",
    group:
        "answer"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=PLAN.grow(3000),
        runtime=PLAN.grow(30),
        turns=1,
    params:
        paper=RUN["papers"][0],
    shell:
        "ldlrepro notebook {wildcards.notebook} --paper {params.paper} 2> {log}"


# Not part of a paper: snakemake --cores 4 notebooks
rule notebooks:
    input:
        PLAN.notebook_pages(),
    localrule: True
