# `make demo` and `make test` need nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# A file's tests share what they set up. Files come in order, so that the many short ones at the end fill every core.
SIDE_BY_SIDE := --dist loadfile --no-loadscope-reorder

# Programs that tests start share what one of them has compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test whole lint pages board docs setup clean

setup: $(VENV)/.installed

# What tests take, and the fraction of it that trains and scores.
$(VENV)/.installed: EXTRAS := test
$(VENV)/.demo: EXTRAS := train,board

$(VENV)/.installed $(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Offaxis needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $@

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Without TensorFlow, jax, Ray and browsers: what one runs between two edits.
check: lint
	$(BIN)/python .ci/lines.py
	$(BIN)/pytest --light --numprocesses 2 $(SIDE_BY_SIDE)

test: lint
	$(BIN)/pytest --numprocesses auto $(SIDE_BY_SIDE)

# With what `make test` leaves out because it takes long, such as clusters of two machines.
whole: setup
	$(BIN)/pytest --whole

# What pages list, from the files that they list.
pages: setup
	$(BIN)/python docs/pages.py

# The pages of the board, in docs/board/, from the published results. `make docs` after it puts them into the site.
board: setup
	$(BIN)/offaxis board build --to docs/board

# The documentation site, in site/. Any warning is an error: a link that leads nowhere, a docstring that does not fit.
docs: setup
	$(BIN)/mkdocs build --strict --clean

demo: $(VENV)/.demo
	$(BIN)/python -m baselines.demo

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
