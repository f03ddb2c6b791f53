# The page that a person reads, and the gate that fails when a run failed.


rule report:
    input:
        verdicts=PLAN.all_verdicts,
        figures=PLAN.all_figures,
    output:
        page="results/report/index.html",
    log:
        "logs/report.log",
    params:
        code=PLAN.report_code,
    resources:
        mem_mb=3000,
        runtime=30,
    shell:
        "ldlrepro report 2> {log}"


rule gate:
    input:
        tracked=PLAN.gate_tracked,
        page="results/report/index.html",
    output:
        "results/gate/{paper}.ok",
    log:
        "logs/gate/{paper}.log",
    params:
        papers=PLAN.gate_papers,
    shell:
        "ldlrepro gate {params.papers} && touch {output}"
