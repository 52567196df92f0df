"""Draw one figure and write it as PDF and PNG."""

from ctxaudit import plugins
from ctxaudit.logs import log_to
from ctxaudit.report import frames, style

log_to(snakemake.log[0])

module = plugins.load("report.figures", snakemake.wildcards.figure)
figure = module.draw({kind: frames.read(kind, snakemake.input[kind]) for kind in module.READS})
style.write(figure, pdf=snakemake.output.pdf, png=snakemake.output.png)
