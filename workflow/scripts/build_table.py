"""Build one table and write it as CSV, Markdown and LaTeX."""

from ctxaudit import plugins
from ctxaudit.logs import log_to
from ctxaudit.report import formats, frames

log_to(snakemake.log[0])

module = plugins.load("report.tables", snakemake.wildcards.table)
table = module.build({kind: frames.read(kind, snakemake.input[kind]) for kind in module.READS})
formats.write_table(
    table,
    csv=snakemake.output.csv,
    markdown=snakemake.output.markdown,
    latex=snakemake.output.latex,
)
