rule figures:
    """Draw a paper's figures from its answer."""
    input:
        answer="results/compare/{paper}/answer.json",
    output:
        drawings=report(
            directory("results/figures/{paper}"),
            patterns=["{name}.svg"],
            category="Figures",
            subcategory="{paper}",
            labels={"figure": "{name}"},
            caption="captions/figures.rst",
        ),
    log:
        "logs/figures/{paper}.log",
    conda:
        "../envs/ldlrepro.yaml"
    resources:
        mem_mb=RULES.grow(2000),
        runtime=RULES.grow(30),
        turns=1,
    params:
        code=RULES.figure_code,
    shell:
        "ldlrepro figures {wildcards.paper} --of-workflow 2> {log}"
