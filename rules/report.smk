rule report:
    """Write the pages that a person reads, of one paper or, where `paper` is `all`, of all.

    One folder holds them with their figures, so that its links also work in the report that
    Snakemake itself packs.
    """
    input:
        answers=RULES.of_scope("results/compare/{paper}/answer.json"),
        figures=RULES.of_scope("results/figures/{paper}"),
        notebooks=RULES.scope_notebooks,
        written=local(RULES.scope_written),
        arena=local(RULES.scope_arena),
    output:
        pages=report(
            directory("results/report/{paper}"),
            htmlindex="index.html",
            category="Report",
            labels={"papers": "{paper}"},
            caption="captions/page.rst",
        ),
    log:
        "logs/report/{paper}.log",
    group:
        "answer"
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(3000),
        runtime=RULES.grow(30),
        turns=1,
    params:
        papers=RULES.scope,
        notebooks=RULES.notebooks_shown,
        code=RULES.report_code,
    shell:
        "ldlrepro report {params.papers} --of-workflow --out {output.pages}/index.html"
        " {params.notebooks} 2> {log}"


rule gate:
    """Say what was left out, and fail if a run failed."""
    input:
        pages="results/report/{paper}",
        answers=RULES.of_scope("results/compare/{paper}/answer.json"),
        tracked=RULES.of_scope("results/track/{paper}.json"),
    output:
        touch("results/gate/{paper}.ok"),
    log:
        "logs/gate/{paper}.log",
    conda:
        "../envs/ldlrepro.yaml"
    params:
        papers=RULES.scope,
    shell:
        "ldlrepro gate {params.papers} --of-workflow --page {input.pages}/index.html"
        " --tracked {input.tracked} 2>&1 | tee {log}"
