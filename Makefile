# Each target sets up what it needs: Python 3.11 or later, git and make are all that must be there.
SHELL := /bin/bash
PYTHON ?= python3
UV_VERSION := 0.13.8
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/rolecall-dev

UV := .tools/bin/uv
RUN := $(UV) run --locked --no-sync
# RETRY=1: what fails beside other tests is run again by itself, at most twice, and told each time.
PYTEST := $(if $(RETRY),scripts/retry_alone.sh )$(RUN) pytest -n logical --inline-snapshot=disable --durations=10
# More processes than cores: these tests wait for other processes, see tests/conftest.py.
PYTEST_MORE := $(PYTEST) -n auto
LIBRARY := $(CACHE)/inflection-0.5.1.tar.gz
TEAM_LIBRARIES := $(CACHE)/team
BENCH := $(CACHE)/bench
# What is played in VS Code besides the daily work; `make test` leaves it out.
VSCODE_AT_LENGTH := anew choosing contrast folder graph guest host moved restricted testing working

export UV_PYTHON_DOWNLOADS := never
export UV
export UV_COMPILE_BYTECODE := 1

.PHONY: demo test attack test-fast test-long test-e2e test-vscode test-pythons test-odd check format bench vsix clean system

# The plugins of this environment take longer to load than the library's tests to run.
demo: .venv/ready $(LIBRARY)
	@PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(RUN) rolecall demo --library $(LIBRARY) $(ARGS)

test: test-fast test-long test-e2e

# For the loop at the desk: no test of it runs a repository's code, or tries cases by the thousand.
test-fast: .venv/ready system
	@scripts/check_client.sh
	$(PYTEST) tests/analysis tests/server -m "not at_length" $(ARGS)

# Those that test-fast leaves out.
test-long: .venv/ready system
	$(PYTEST_MORE) tests/analysis tests/server tests/attack -m at_length $(ARGS)

# Every attack on every way of confinement, for a night; `make test` has a short form. ARGS=--randomly-seed=1234 repeats a run.
attack: .venv/ready system
	ROLECALL_CHANCE=1 ROLECALL_ATTACKS=long $(PYTEST) tests/attack $(ARGS)

test-e2e: .venv/ready $(LIBRARY) $(TEAM_LIBRARIES)/ready system
	-@scripts/install_code_server.sh >/dev/null
	-@scripts/install_helix.sh >/dev/null
	ROLECALL_TEST_LIBRARY=$(LIBRARY) ROLECALL_TEST_LIBRARIES=$(TEAM_LIBRARIES) $(PYTEST_MORE) tests/e2e -rs \
		$(VSCODE_AT_LENGTH:%=--ignore=tests/e2e/vscode/test_vscode_%.py) $(ARGS)

# All that is played in a real VS Code, one after the other: a quarter of an hour.
test-vscode: .venv/ready $(LIBRARY) system
	@scripts/install_code_server.sh
	ROLECALL_TEST_LIBRARY=$(LIBRARY) $(PYTEST) -n 0 tests/e2e/vscode $(ARGS)

# The tests of the server and the code graph with every Python from 3.11 on that this machine has; PYTHONS=ends: with the oldest and the newest.
test-pythons: .venv/ready system
	@PYTHONS=$(PYTHONS) scripts/with_pythons.sh $(PYTEST) tests/analysis tests/server $(ARGS)

# The same tests at times, in zones and with locales that show what depends on them; not part of what a landing must pass.
# Times of files are not shifted: the test that compares them with the clock is left out. So is one that waits for a
# timer of a thread, which never fires where libfaketime shifts the monotonic clock (where it does not, sleep() fails).
test-odd: .venv/ready system
	@ROLECALL_CHANCE=1 scripts/at_odd_times.sh $(PYTEST) tests/analysis tests/server $(ARGS) --deselect \
		tests/analysis/test_saved.py::test_a_later_index_has_the_same_graph_and_reads_only_what_changed --deselect \
		tests/analysis/test_workers.py::test_a_worker_that_does_not_answer_in_time_is_replaced

check: .venv/ready
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) pyright
	$(RUN) lint-imports
	$(RUN) python scripts/generate_client_settings.py --check

format: .venv/ready
	$(RUN) ruff format .
	$(RUN) ruff check --fix .

bench: .venv/ready $(BENCH)/libraries/ready $(BENCH)/anchors/ready $(BENCH)/probing/ready
	@$(RUN) python benchmarks/run.py
	@$(RUN) python benchmarks/start.py
	@$(RUN) python benchmarks/accepting.py $(BENCH)/libraries/django-5.2.19
	@$(RUN) python benchmarks/extraction.py $(BENCH)/libraries/django-5.2.19
	@ROLECALL_BENCH=$(BENCH) $(RUN) python benchmarks/graph.py $(ARGS)
	@ROLECALL_BENCH=$(BENCH) $(RUN) python benchmarks/others.py
	@$(RUN) python benchmarks/probing.py $(BENCH)/probing
	@$(RUN) python benchmarks/sandbox.py $(BENCH)/libraries/django-5.2.19
	@ROLECALL_BENCH=$(BENCH) $(RUN) python benchmarks/checks.py

vsix: .venv/ready
	@scripts/build_vsix.sh $(ARGS)

system:
	@scripts/install_system_packages.sh

clean:
	rm -rf .venv .venv-* .tools dist artifacts client-vscode/{dist,bundled,node_modules}

.venv/ready: pyproject.toml uv.lock $(UV)
	@$(UV) sync --locked --quiet --python "$$(command -v $(PYTHON))"
	@touch $@

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rolecall needs Python 3.11 or later: make PYTHON=python3.12")'
	@$(PYTHON) -m venv .tools || { echo "Python's venv module is missing (Debian: apt-get install python3-venv)."; exit 1; }
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# The libraries that the benchmarks read, as their authors published them, each in a folder of its own.
$(BENCH)/libraries/ready: benchmarks/libraries.txt | $(UV)
	@rm -rf $(@D) && mkdir -p $(@D)
	@.tools/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary django,flask \
		--require-hashes --requirement $< --dest $(@D)
	@cd $(@D) && for archive in *.tar.gz; do tar -xzf "$$archive" && rm "$$archive"; done
	@touch $@

# Other tools that the benchmarks are compared with; without them those lines are left out.
$(BENCH)/anchors/ready: benchmarks/anchors/requirements.txt | $(UV)
	-@$(UV) venv --quiet --clear --python "$$(command -v $(PYTHON))" $(@D) && \
		$(UV) pip install --quiet --python $(@D)/bin/python --requirement $< && touch $@

# The modules for which tests are written without a model, and what measures those tests.
$(BENCH)/probing/ready: benchmarks/probing.txt | $(UV)
	@$(UV) venv --quiet --clear --python "$$(command -v $(PYTHON))" $(@D)
	@$(UV) pip install --quiet --python $(@D)/bin/python --requirement $< && touch $@

# The library of the demo and of the end-to-end tests, as its authors published it.
$(LIBRARY): scripts/demo_library.txt | $(UV)
	@mkdir -p $(@D)
	@.tools/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary inflection \
		--require-hashes --requirement $< --dest $(@D)
	@touch $@

# The libraries on which runs of the whole team were recorded.
$(TEAM_LIBRARIES)/ready: scripts/team_libraries.txt | $(UV)
	@rm -rf $(@D) && mkdir -p $(@D)
	@.tools/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary xmltodict,cachetools,isodate \
		--require-hashes --requirement $< --dest $(@D)
	@touch $@
