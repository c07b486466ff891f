# Every target sets up what it needs in .venv by itself, once, from Python 3.11, make and pip alone.

VENV := .venv
RUN := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
AT_RISK := $(VENV)/stamps-at-risk
PYTHONS := $(or $(PYTHON),python3.11 python3)
# A module stays in one worker, and so does a document, whose examples build on each other.
PYTEST_ARGS ?= -n 2 --dist loadscope

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs bench speed clean
# Two pips at work in one environment would step on each other.
.NOTPARALLEL:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMPS)/core ## train on the built-in data, print the comparison, write a report
	@$(VENV)/bin/cladist demo

test: $(STAMPS)/dev ## run all tests, the examples in docstrings and documents included
	$(RUN) -m pytest $(PYTEST_ARGS)

lint: $(STAMPS)/dev ## check style, format and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

docs: $(STAMPS)/docs ## build the documentation into docs/_build/html
	@rm -rf docs/_build docs/api/generated
	$(RUN) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

bench: $(STAMPS)/core ## measure what is missing of the papers' tables, and write docs/guides/results.md
	@$(VENV)/bin/cladist bench all $(BENCH_ARGS)

speed: $(STAMPS)/core ## run the benchmarks of speed, one after the other
	@failed=; \
	for script in benchmarks/speed/*.py; do \
	  echo "== $$script"; \
	  $(RUN) "$$script" || failed="$$failed $$script"; \
	done; \
	if [ -n "$$failed" ]; then echo "These benchmarks failed:$$failed" >&2; exit 1; fi

clean: ## remove .venv and everything else that these targets make
	rm -rf $(VENV) docs/_build docs/api/generated cladist-demo
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache

# The stamp is written last, so an environment cut short is made anew. Some systems ship a venv that
# cannot bring pip along; there the pip outside puts one in.
$(VENV)/ready:
	@python=; for p in $(PYTHONS); do \
	  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python=$$p; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "cladist needs Python 3.11 or newer, and none of these is: $(PYTHONS); install it, or name yours with 'make PYTHON=...'." >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV) >/dev/null 2>&1 || { \
	  $$python -m venv --clear --without-pip $(VENV) && $$python -m pip --python $(RUN) install --quiet pip; \
	}
	@touch $@

# $(call install,extras,stamps): while pip works, no stamp stands, since pip may break what they vouch for;
# the old ones come back, with their old dates, once it has succeeded.
define install
@echo "Installing cladist$(1) into $(VENV) (once, about a minute)"
@mkdir -p $(STAMPS) && rm -rf $(AT_RISK) && mv $(STAMPS) $(AT_RISK)
@$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.$(1)'
@mv $(AT_RISK) $(STAMPS) && touch $(2)
endef

$(STAMPS)/core: $(VENV)/ready pyproject.toml
	$(call install,,$@)

$(STAMPS)/dev: $(VENV)/ready pyproject.toml
	$(call install,[dev],$@ $(STAMPS)/core)

$(STAMPS)/docs: $(VENV)/ready pyproject.toml
	$(call install,[docs],$@ $(STAMPS)/core)
