# The page that a person reads, and the gate that fails when a run failed. `paper` may be `all`.


rule report:
    input:
        tracked=PLAN.scope_tracked,
        notebooks=PLAN.scope_notebooks,
    output:
        page=report(
            "results/report/{paper}.html",
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
        mem_mb=PLAN.grow(3000),
        runtime=PLAN.grow(30),
        turns=1,
    params:
        code=PLAN.report_code,
    shell:
        "ldlrepro report --out {output.page} 2> {log}"


rule gate:
    input:
        page="results/report/{paper}.html",
    output:
        touch("results/gate/{paper}.ok"),
    log:
        "logs/gate/{paper}.log",
    conda:
        "../envs/ldlrepro.yaml"
    params:
        papers=PLAN.scope,
    shell:
        "ldlrepro gate {params.papers} --page {input.page} 2>&1 | tee {log}"
