rule report:
    """Write the pages that a person reads, of one paper or, where `paper` is `all`, of all.

    Figures, and the pages of all papers but the front page, lie in a folder beside it.
    """
    input:
        answers=RULES.scope_answers,
        figures=RULES.scope_figures,
        notebooks=RULES.scope_notebooks,
        findings=local(RULES.scope_findings),
    output:
        page=report(
            "results/report/{paper}.html",
            category="Report",
            labels={"papers": "{paper}"},
            caption="captions/page.rst",
        ),
        beside=directory("results/report/{paper}"),
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
        "ldlrepro report {params.papers} --of-workflow --out {output.page}"
        " {params.notebooks} 2> {log}"


rule gate:
    """Say what was left out, and fail if a run failed."""
    input:
        page="results/report/{paper}.html",
        answers=RULES.scope_answers,
        tracked=RULES.scope_tracked,
    output:
        touch("results/gate/{paper}.ok"),
    log:
        "logs/gate/{paper}.log",
    conda:
        "../envs/ldlrepro.yaml"
    params:
        papers=RULES.scope,
    shell:
        "ldlrepro gate {params.papers} --of-workflow --page {input.page}"
        " --tracked {input.tracked} 2>&1 | tee {log}"
