# Restante. Two commands do everything on a fresh Debian 12: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
CTEST := tools/run_tests
# Two tests for each core: half of the time a test waits for a timeout, a process or the disk.
TEST_JOBS ?= $(shell expr $(JOBS) \* 2)
PAGE := web/dist/index.html
NEWER_POSTGRES := tests/newer_postgres/node_modules/.package-lock.json

# Configures once (CMake looks for new files itself) and builds.
define build_preset
	@[ -f build/$(1)/build.ninja ] || cmake --preset $(1)
	@cmake --build build/$(1) -j $(JOBS) $(2)
endef

.PHONY: help
help: ## List the targets
	@echo "Restante: make TARGET"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

.PHONY: run
run: build ## Build and start the server with a demo agent; prints the address to open (PORT=8080)
	@exec build/restante dev --port $${PORT:-8080} --data ./data

.PHONY: build
build: setup page ## Build the optimised binary, build/restante
	$(call build_preset,release,--target restante)
	@ln -sf release/restante build/restante

.PHONY: test
test: setup-test page mcp-clients typescript-client ## Every test, on one build with ASan and UBSan
	$(call build_preset,dev)
	@$(CTEST) --test-dir build/dev -j $(TEST_JOBS)

.PHONY: test-unit
test-unit: setup-test page ## Only the tests that start no server: seconds, for working on one layer
	$(call build_preset,dev)
	@$(CTEST) --test-dir build/dev -j $(JOBS) -L 'unit|store'

# Only what test-tsan runs is built for it.
TSAN_TESTS := base_test net_test desk_test store_test store_inline_test store_postgres_test store_s3_test conformance_test s3_test
.PHONY: test-tsan
test-tsan: setup-test page ## The concurrent parts (net, stores, desk and the server itself) under ThreadSanitizer
	$(call build_preset,tsan,--target restante $(TSAN_TESTS))
	@TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/tests/tsan.supp" \
	  $(CTEST) --test-dir build/tsan -j $(TEST_JOBS) -R '^(net|desk|base|store_|conformance|e2e\.(http|inbox))'

.PHONY: test-gcc
test-gcc: setup-test page ## The second opinion: g++ 12, unit tests (make test-long runs the store's tests with it, too)
	$(call build_preset,gcc,--target unit_tests)
	@$(CTEST) --test-dir build/gcc -j $(TEST_JOBS) -L unit

.PHONY: test-long
test-long: build setup-test ## What make test runs as a sample, at full length: a minute of writers, 200 kills, a storm of 1000, 1000 files for every agent, every store test on the newer PostgreSQL and with g++
	$(call build_preset,dev,--target conformance_test)
	@$(CTEST) --test-dir build/dev -C long -L long
	$(call build_preset,gcc,--target conformance_test)
	@$(CTEST) --test-dir build/gcc -j $(TEST_JOBS) -L store -R ^conformance
	@RESTANTE_BINARY=$(CURDIR)/build/restante RESTANTE_SOURCE=$(CURDIR) PYTHONPATH=$(CURDIR)/tests \
	  RESTANTE_ORDER_SECONDS=60 RESTANTE_KILLS=200 RESTANTE_PENDING=10000 RESTANTE_STORM=1000 RESTANTE_AGENT_FILES=1000 RESTANTE_AGENT_KILLS=100 \
	  /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/e2e/{inbox_order,kill,inbox,storm,agents,agents_faults}_test.py

.PHONY: test-flakes
test-flakes: setup-test page mcp-clients typescript-client ## Every walk of the page ten times, every other end-to-end test three times, while two compilers run: hours
	$(call build_preset,dev)
	@tools/find_flaky_tests build/dev $(PATTERN)

.PHONY: test-roots
test-roots: build setup-test ## The agent's executable in a minimal Debian 12 and a minimal Debian 13 (needs root and a mirror)
	@tools/make_roots build/roots bookworm trixie
	@RESTANTE_BINARY=$(CURDIR)/build/restante RESTANTE_SOURCE=$(CURDIR) PYTHONPATH=$(CURDIR)/tests \
	  RESTANTE_ROOTS=$(CURDIR)/build/roots/bookworm:$(CURDIR)/build/roots/trixie \
	  /usr/bin/python3 -m pytest -v -p no:cacheprovider tests/e2e/roots_test.py

.PHONY: coverage
coverage: setup-test page mcp-clients typescript-client ## Line and branch coverage of all tests, as text and as build/coverage/html
	$(call build_preset,coverage)
	@tools/coverage

.PHONY: bench
bench: setup-bench page ## Speed relative to nginx and to the design to beat, in one run on the same cores
	$(call build_preset,bench)
	@bench/run

.PHONY: fuzz
fuzz: setup-test page ## Every fuzz target, a minute each (SECONDS_EACH=60)
	$(call build_preset,fuzz,--target fuzz/all)
	@tools/fuzz $${SECONDS_EACH:-60}

.PHONY: fmt
fmt: setup-lint ## Format the C++ sources
	@git ls-files -co --exclude-standard '*.h' '*.cpp' | xargs clang-format-19 -i

.PHONY: lint
lint: setup-lint page ## clang-format, clang-tidy, shellcheck and the layer table, all without findings
	@tools/lint

.PHONY: page
page: $(PAGE) ## The page, built into web/dist

$(PAGE): $(shell find web -path web/node_modules -prune -o -path web/dist -prune -o -type f -print 2>/dev/null)
	@cd web && npm ci --no-progress --loglevel=error && npm run --silent build
	@touch $@

.PHONY: newer-postgres
newer-postgres: $(NEWER_POSTGRES) # For the tests: a newer major than Debian's

$(NEWER_POSTGRES): tests/newer_postgres/package.json tests/newer_postgres/package-lock.json
	@cd tests/newer_postgres && npm ci --no-progress --loglevel=error
	@touch $@

MCP_CLIENTS := tests/e2e/mcp/node_modules/.package-lock.json
.PHONY: mcp-clients
mcp-clients: $(MCP_CLIENTS) ## The official MCP client and inspector, for the tests

$(MCP_CLIENTS): tests/e2e/mcp/package-lock.json
	@cd tests/e2e/mcp && npm ci --no-progress --loglevel=error
	@touch $@

TYPESCRIPT_CLIENT := clients/typescript/dist/main.js
.PHONY: typescript-client
typescript-client: $(TYPESCRIPT_CLIENT) ## The agent for Node and the sender for browsers, built into clients/typescript/dist

$(TYPESCRIPT_CLIENT): $(wildcard clients/typescript/*.json clients/typescript/src/*.ts)
	@cd clients/typescript && npm ci --no-progress --loglevel=error && npm run --silent build
	@touch $@

.PHONY: setup setup-test setup-bench setup-lint
setup: ## Install the packages that a fresh Debian 12 lacks for building and running
	@tools/setup build
setup-test:
	@tools/setup test
	@$(MAKE) newer-postgres
setup-bench:
	@tools/setup bench
setup-lint:
	@tools/setup lint

.PHONY: clean
clean: ## Remove everything that was built; ./data stays
	@rm -rf build web/dist web/node_modules tests/e2e/mcp/node_modules tests/newer_postgres/node_modules \
	  clients/typescript/dist clients/typescript/build-test clients/typescript/node_modules
