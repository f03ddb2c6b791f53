rule notebook:
    """Run a notebook on what the papers left behind, and keep it as a page."""
    input:
        answers=expand("results/compare/{paper}/answer.json", paper=RULES.run.papers),
        notebook=local(RULES.notebook_source),
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
        mem_mb=RULES.grow(3000),
        runtime=RULES.grow(30),
        turns=1,
    params:
        paper=RULES.run.papers[0],
    shell:
        "ldlrepro notebook {wildcards.notebook} --paper {params.paper} 2> {log}"


rule notebooks:
    """Run all notebooks: snakemake --cores 4 notebooks."""
    input:
        RULES.notebook_pages(),
    localrule: True
