# Three commands are enough: `make test`, `make lint`, and `make test-all` for everything. `make help` lists the rest.

# The tools, at the versions that this code is clean with. They are built into
# $(BIN), never required by a go.mod.
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION   := v1.8.0
BENCHSTAT_VERSION     := v0.0.0-20260908200009-22c9c6c9d4da

# What may be set on the command line: `make bench BENCH=Obtain`.
TESTFLAGS   ?= -timeout 8m
FIPS_PKG    ?= . ./test/quick ./proof/test/api
FIPS_RUN    ?= ^Test(FIPSCycle|Inspect|Obtain|Read|Queue|ReleaseCancelled)$$
BENCH       ?= .
BENCH_COUNT ?= 6
BENCH_PKG   ?= ./...
BENCH_DIR   ?= .
FUZZTIME    ?= 10s
DEFECTS     ?= .
PART        ?= 1/1
JOBS        ?= 1
MODELS      ?= .
SERVERS     ?=

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
export PATH := $(PATH):/usr/sbin:/sbin

# The directory names the Go version: a linter built by an older Go refuses newer code.
BIN           := $(CURDIR)/.bin/$(shell go env GOVERSION)
GOLANGCI_LINT := $(BIN)/golangci-lint@$(GOLANGCI_LINT_VERSION)
LINTER_CONFIG := --config .ci/golangci.yml
GOVULNCHECK   := $(BIN)/govulncheck@$(GOVULNCHECK_VERSION)
BENCHSTAT     := $(BIN)/benchstat@$(BENCHSTAT_VERSION)

# Every module of the repo, the root first.
MODULES := $(sort $(shell find . -name .git -prune -o -name .bin -prune -o -name testdata -prune \
	-o -name go.mod -exec dirname {} \;))

# The only packages that the root go.mod may require directly.
ALLOWED := \
	github.com/alicebob/miniredis/v2 \
	github.com/cenkalti/backoff/v4 \
	github.com/google/go-cmp \
	github.com/redis/go-redis/v9

.DEFAULT_GOAL := help
# The same flag everywhere: what one target has compiled, the next need not.
export GOFLAGS := $(GOFLAGS) -trimpath

.PHONY: help test lint lint-format lint-go lint-systems lint-lua lint-mod lint-text lint-vuln matrix bench fuzz defects mutants demo fmt clean

help: ## this list (the default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The packages that take long, the longest first, so that none runs alone at the end. Some wait for servers, and some compile, so
# these stand between those.
SLOWEST := $(addprefix ./proof/test/,line quorum) ./proof/dist $(addprefix ./proof/test/,topology install) ./cmd/redislock \
	$(addprefix ./proof/,server test/outcome torture mutants test/script test/api levels test/cost benchmarks/weigh test/election)

# How many packages at once: more than there are processors, because tests wait for servers most of the time.
AT_ONCE := $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) * 3 / 2 )))

# Every run writes to one report: lines of progress, what failed, and at the end
# one list of what was not run.
REPORT := $(BIN)/report
# What failed is added to this file as well: make test FAILURES=file.
FAILURES ?=
REPORTED  = $(REPORT) -failures='$(FAILURES)'

.PHONY: $(REPORT)
$(REPORT):
	@mkdir -p $(BIN)
	@GOWORK=$(CURDIR)/go.work go build -o $@ ./proof/report

# A program with the race detector sleeps for a second when it ends, to look for races on. All tests of the tool start some, and
# so does each package: that is minutes.
export GORACE ?= atexit_sleep_ms=10

# The race detector needs cgo, and that a C compiler, which may just have been installed. What was not run is said, and is a
# failure in the gate.
define with_race
	status=0; race=-race; \
	if [[ $$(go env CGO_ENABLED) != 1 ]]; then \
		race=; \
		echo 'not run: the race detector: no C compiler, or CGO_ENABLED=0'; \
		[[ $${CI:-} != true ]] || status=1; \
	fi
endef

# The quick suite: the module of the library alone, at the versions that its go.mod names, which in the workspace would be the
# highest of all modules. Only the hammers run with the race detector, for which everything is compiled once more: that goes on
# while tests of the others wait.
HAMMERS := ./test/hammer

test: $(REPORT) ## the quick suite: every promise of the README, on a real Redis, in three minutes
	@.ci/install quick
	@{ \
		$(with_race); \
		export GOWORK=off $(if $(MODFILE),GOFLAGS="$$GOFLAGS -modfile=$(MODFILE)"); \
		packages=$$(go list ./... | grep -v /test/hammer$$) || exit 1; \
		go test -json -vet=off -count=1 $$race $(TESTFLAGS) $(HAMMERS) >$(BIN)/hammers.json 2>&1 & \
		go test -json -count=1 $(TESTFLAGS) $$packages 2>&1 || status=1; \
		wait $$! || status=1; \
		cat $(BIN)/hammers.json; \
		exit $$status; \
	} | $(REPORTED) -promises test/promises.md

# The same with another go-redis than that of go.mod, which is the least. Everything else is tested with that of proof, which is
# older than the newest one: with v9.23 each package that imports it has 1 500 wrappers of its methods compiled, and a build of
# the tests took twice as long. go.mod is not to change, so the other version is in a copy.
GO_REDIS ?= v9.23.0
CLIENT   := $(CURDIR)/.bin/client/go.mod

define fetch_client
	mkdir -p $(dir $(CLIENT)) && cp go.mod go.sum $(dir $(CLIENT)) && \
		GOWORK=off go get -modfile=$(CLIENT) github.com/redis/go-redis/v9@$(GO_REDIS)
endef

.PHONY: test-client
test-client: ## the quick suite with the newest go-redis, or GO_REDIS=version
	@$(fetch_client)
	@$(MAKE) --no-print-directory test MODFILE=$(CLIENT)

# The newest servers stand in front of the PATH, where internal/redistest finds them. What runs on miniredis alone is left out.
NEWEST     := $(CURDIR)/.bin/newest
NEWEST_PKG := . ./test/quick $(addprefix ./proof/test/,api errors fence lease line outcome redistest topology)
NEWEST_RUN ?= .

# What newer servers may do differently: words, clocks, counters, rights, lines, slots.
NEWEST_SOME := Cluster|Convert|ErrorsInScriptsOfServers|Fence.*Clock.*|ClockShift|HostileReplies|Inspect|MinUptime
NEWEST_SOME := $(NEWEST_SOME)|MovingSlotIsWaitedFor|Obtain|OutOfMemoryReleases|QueueCluster|QueueCommands|QueueDowngrade|QueueRing
NEWEST_SOME := $(NEWEST_SOME)|QueueStandalone|QueueTurns|Read|Refresh|ReleaseKeys|ReplicasLease|ReplicasQueue|ACLIsSufficient
NEWEST_SOME := $(NEWEST_SOME)|ScriptFlushIsInvisible|SentinelFailover|ServersSay|SlotsAreThoseOfTheServer|Token

# $(call on_newest,regexp): those tests, on the newest servers, if they could be had: with the race detector where everything was
# compiled for it before, because to compile once more would take longer.
define on_newest
	if [[ -x $(NEWEST)/redis-server ]]; then \
		PATH=$(NEWEST):$$PATH; \
		redis-server --version; valkey-server --version; \
		go test -json -vet=off -tags proof -count=1 $${race:-} $(TESTFLAGS) -run '$(1)' -skip '/miniredis' $(NEWEST_PKG) 2>&1 || status=1; \
	fi
endef

.PHONY: test-newest
test-newest: export REDISLOCK_TESTS := all
test-newest: $(REPORT) ## the lock's tests on the newest Redis and Valkey, or NEWEST_RUN of them
	@.ci/install newest
	@{ status=0; $(call on_newest,$(NEWEST_RUN)); exit $$status; } | $(REPORT)

# Go vet is a part of make lint.
# The FIPS run asks whether a program can start, obtain, read, queue and release where only approved algorithms are allowed.
# -exec sets the mode for the test binary and not for the go command.
.PHONY: test-all
test-all: export REDISLOCK_TESTS := all
test-all: $(REPORT) ## every module under the race detector, on every server, the newest, too; a short campaign
	@.ci/install
	@.ci/install newest
	@{ \
		$(with_race); \
		command -v luacheck >/dev/null || echo 'not run: luacheck, a part of make lint: not installed'; \
		go test -json -vet=off -tags proof -count=1 -p $(AT_ONCE) $$race $(TESTFLAGS) $(SLOWEST) $(MODULES:%=%/...) 2>&1 || status=1; \
		echo 'with GODEBUG=fips140=only: $(FIPS_RUN)'; \
		go test -json -vet=off -tags proof -count=1 $$race -exec 'env GODEBUG=fips140=only' -run '$(FIPS_RUN)' $(FIPS_PKG) 2>&1 || status=1; \
		$(call on_newest,^Test($(NEWEST_SOME))$$); \
		echo 'with go-redis $(GO_REDIS): ./test/quick'; \
		if { $(fetch_client); } 2>&1; then \
			GOWORK=off go test -json -vet=off -count=1 -modfile=$(CLIENT) $(TESTFLAGS) ./test/quick 2>&1 || status=1; \
		else \
			echo 'not run: ./test/quick with go-redis $(GO_REDIS): it cannot be fetched'; \
			[[ $${CI:-} != true ]] || status=1; \
		fi; \
		exit $$status; \
	} | $(REPORTED) -proof docs/proof.md,proof/evidence.md

# Without it the scenarios run in make test-all, on the same servers, and compare what they find with the page.
.PHONY: servers
servers: ## every operation on every server, over every way: the table of docs/operating.md; SERVERS=name=path,…
	@.ci/install
	@.ci/install newest
	@REDISLOCK_SERVERS='$(SERVERS)' go test -count=1 -timeout 20m -run '^TestServers$$' ./proof/test/servers -update

lint: lint-format lint-go lint-systems lint-lua lint-mod lint-text lint-vuln ## every check that runs no test

lint-format: $(GOLANGCI_LINT) ## gofumpt and goimports
	@$(GOLANGCI_LINT) fmt $(LINTER_CONFIG) --diff .

# One run over the workspace: five would read the same packages five times. The linter has all of them compiled. The gate sets
# LINT_AS=-race, so that this is what its tests are compiled to anyway.
LINT_AS ?=

lint-go: $(GOLANGCI_LINT) ## golangci-lint, for every module
	@GOFLAGS='$(GOFLAGS) $(LINT_AS)' $(GOLANGCI_LINT) run $(LINTER_CONFIG) $(MODULES:%=%/...)

lint-systems: ## the tool, which has files for each system, and its tests compile for darwin and windows
	@go run ./proof/systems -systems darwin,windows ./cmd/redislock/...

lint-lua: ## luacheck, of the library's scripts as servers run them
	@if command -v luacheck >/dev/null; then \
		rm -rf $(BIN)/lua && go run ./proof/assembled $(BIN)/lua && \
			find $(BIN)/lua cmd fencing proof -name '*.lua' -not -path '*/mutants/testdata/*' -print0 | xargs -0 luacheck --config proof/assembled/.luacheckrc --no-color --quiet; \
	else \
		echo 'not run: luacheck: not installed, see .ci/install'; \
		[[ $${CI:-} != true ]]; \
	fi

# A module with replace or exclude cannot be installed by `go install …@latest`. What nested modules may contain is
# checked by proof/test/install.
lint-mod: ## go mod tidy for every module; what the root go.mod may contain
	@status=0; for dir in $(MODULES); do .ci/tidy "$$dir" -diff || status=1; done; exit $$status
	@extra=$$(GOWORK=off go list -m -f '{{if not (or .Main .Indirect)}}{{.Path}}{{end}}' all | \
		{ grep -vxF $(ALLOWED:%=-e %) || true; }); \
	if [[ -n $$extra ]]; then \
		echo "go.mod: no direct requirement on" $$extra "is allowed: it goes into a nested module"; \
		exit 1; \
	fi
	@if grep -nE '^(replace|exclude|tool)\b' go.mod; then \
		echo 'go.mod: no replace, exclude or tool in the root module'; \
		exit 1; \
	fi

.PHONY: tidy
tidy: ## go mod tidy for every module
	@for dir in $(MODULES); do .ci/tidy "$$dir"; done

# The host names are those that this machine is set up with, read when the
# check runs, so that the check itself names none.
lint-text: ## no host name of a package registry and no path of one machine in any file
	@hosts=$$({ \
		go env GOPROXY GOSUMDB | tr ',|' '\n\n' | sed -E 's|^https?://||'; \
		{ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null; npm config get registry 2>/dev/null; } | \
			sed -nE 's|.*https?://([^/: ]+).*|\1|p'; \
	} | { grep -oE '^[a-z0-9-]+(\.[a-z0-9-]+)+' || true; } | sort -u | sed 's/\./\\./g' | paste -sd'|'); \
	paths='(^|[^[:alnum:]_.-])/(work|root|home|Users)/'; \
	! git grep --no-index --exclude-standard -nIE "$${hosts:+$$hosts|}$$paths" -- .

# It takes long to build, so it is built where the database can be reached.
lint-vuln: ## govulncheck, where its database can be reached
	@db=$${GOVULNDB:-https://vuln.go.dev}; \
	if [[ $$db == http* ]] && command -v curl >/dev/null && ! curl -sf -m 20 -o /dev/null "$$db/index/db.json"; then \
		echo 'not run: govulncheck: its database cannot be reached'; \
		exit 0; \
	fi; \
	make --no-print-directory $(GOVULNCHECK); \
	for dir in $(MODULES); do \
		out=$$(cd "$$dir" && $(GOVULNCHECK) ./... 2>&1) && continue; \
		if grep -q 'fetching vulnerabilities' <<<"$$out"; then \
			echo 'not run: govulncheck: its database cannot be reached'; \
			break; \
		fi; \
		echo "$$out"; \
		exit 1; \
	done

fmt: $(GOLANGCI_LINT) ## gofumpt -w and goimports -w, as golangci-lint has them
	@$(GOLANGCI_LINT) fmt $(LINTER_CONFIG) .

# Without the race detector: a sample of it is in `make test`, with that. Real servers keep it waiting most of the time,
# so they have a process of their own.
matrix: ## every request that may come late, before and after all that may follow it; UPDATE=1 writes its list anew
	@.ci/install
	@export MATRIX=all; status=0; \
	go test -count=1 -timeout 10m -run '^TestMatrixReal$$' -v ./proof/matrix & \
	go test -count=1 -timeout 10m -run '^TestMatrix$$' -v ./proof/matrix $(if $(UPDATE),-update) || status=1; \
	wait $$! || status=1; \
	exit $$status

bench: $(BENCHSTAT) ## benchmarks against a real server, summed up by benchstat: BENCH_DIR=module
	@.ci/install
	@mkdir -p $(BIN)
	@cd $(BENCH_DIR) && go test -run '^$$' -bench '$(BENCH)' -benchmem -count=$(BENCH_COUNT) $(BENCH_PKG) | \
		tee $(BIN)/bench.txt
	@$(BENCHSTAT) $(BIN)/bench.txt

# What may be set: make compare COMPARE="-rows 'free|sets' -for 500ms". The page stays as it is unless all rows are
# measured.
COMPARE ?=

.PHONY: compare
compare: ## what grows, beside other libraries: tables, docs/charts, docs/costs.md: COMPARE=flags
	@.ci/install
	@cd proof/benchmarks && go run . -o ../../docs/charts -page ../../docs/costs.md $(COMPARE)

# What may be set: make levels LEVELS="-kinds fenced -rounds 60". The page stays as it is unless all kinds are measured. Not by `go
# run`, which would not pass on that it is to end.
LEVELS ?=

.PHONY: levels
levels: ## what operations cost beside earlier commits, of which none may cost 10 % more: docs/measurements.md: LEVELS=flags
	@.ci/install
	@mkdir -p $(BIN)
	@go build -o $(BIN)/levels ./proof/levels
	@exec $(BIN)/levels -page docs/measurements.md $(LEVELS)

# What may be set: make turns TURNS="-parts 'crowds|holds'". The page stays as it is unless all parts are measured.
TURNS ?=

.PHONY: turns
turns: ## what waiting in one process is worth, beside the version before and other libraries: docs/measurements.md: TURNS=flags
	@.ci/install
	@mkdir -p $(BIN)
	@go build -o $(BIN)/turns ./proof/benchmarks/turns
	@exec $(BIN)/turns -page docs/measurements.md -chart docs/charts/turns.svg $(TURNS)

# With REDIS, the url of an empty server, what the tool writes is written anew before.
.PHONY: pictures
pictures: ## the pictures of the README and of docs: REDIS=url
	@mkdir -p $(BIN)
	@[ -z "$(REDIS)" ] || { go build -o $(BIN)/redislock ./cmd/redislock && \
		go run ./proof/pictures -redis "$(REDIS)" -tool $(BIN)/redislock proof/pictures; }
	@go run ./proof/pictures proof/pictures

.PHONY: layout
layout: ## how simple the core is: what calls enter, lines, knots, fields; LIST=1 names the functions of each walk
	@.ci/install
	@go run ./proof/layout $(if $(LIST),-list)

.PHONY: weigh
weigh: ## by how much a program grows with this library, and by what: the tables of docs/measurements.md
	@cd proof/benchmarks && go run ./weigh -page ../../docs/measurements.md

fuzz: ## every fuzz target, for FUZZTIME each
	@for package in $$(go list work); do \
		for target in $$(go test -list '^Fuzz' "$$package" | { grep '^Fuzz' || true; }); do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package"; \
		done; \
	done

# Those that are written by hand. Not by `go run`, which would not pass on that it is to end.
defects: ## that tests notice planted defects: DEFECTS=regexp PART=2/4 JOBS=2 LIST=1
	@.ci/install
	@mkdir -p $(BIN)
	@go build -o $(BIN)/defects ./proof/defects
	@exec $(BIN)/defects -run '$(DEFECTS)' -part '$(PART)' -jobs '$(JOBS)' $(if $(LIST),-list)

# Which defects there are is said by rules: see proof/mutants. What may be set: IN and ONLY, regular expressions for paths and
# for hashes, PART=2/4, SAMPLE=200 SEED=7, CHANGED=branch, FOR=10m, MOST=2s, JOBS=2, LEDGER=file,
# TESTS='proof/' EACH='regexp of tests', and LIST=1, STALE=1, STRICT=1 or QUICK=1 (without the tests of proof/test).
mutants: MUTANT_FLAGS = -in '$(IN)' -only '$(ONLY)' -part '$(PART)' -sample $(or $(SAMPLE),-1) -seed $(or $(SEED),0) \
	$(if $(filter command line,$(origin JOBS)),-jobs $(JOBS)) $(if $(CHANGED),-changed '$(CHANGED)') $(if $(filter command line,$(origin FOR)),-for $(FOR)) \
	$(if $(MOST),-most $(MOST)) $(if $(LIST),-list) $(if $(STALE),-stale) $(if $(STRICT),-strict) $(if $(QUICK),-wide=false) \
	-ledger '$(LEDGER)' -tests '$(TESTS)' -each '$(EACH)'
mutants: ## which defects the tests do not notice: IN=regexp SAMPLE=200 CHANGED=main PART=2/4 LIST=1

# For the gate: all defects on lines that were changed since the branch began, which have to be caught, then some of the others,
# which are only reported; a minute at most. The branch began where it left origin/main; without that, or on it, with the last
# commit. What is not tried in time is counted as left.
BASE ?= $(shell base=$$(git merge-base HEAD origin/main 2>/dev/null || true); \
	[[ -n $$base && $$base != $$(git rev-parse HEAD) ]] && echo $$base || echo HEAD~1)

.PHONY: mutants-changed
mutants-changed: MUTANT_FLAGS = -changed '$(BASE)' -sample 20 -for 60s
mutants-changed: ## defects on changed lines, which the tests have to notice, and a sample of the others: BASE=commit

mutants mutants-changed:
	@.ci/install
	@mkdir -p $(BIN)
	@go build -o $(BIN)/mutants ./proof/mutants
	@exec $(BIN)/mutants $(MUTANT_FLAGS)

.PHONY: soak
soak: FOR ?= 30m
soak: ## that nothing grows while the library works, in calm and under faults: FOR=5m; the figures are in .bin/soak.md
	@.ci/install
	@mkdir -p .bin
	@cd proof/torture && go test -count=1 -timeout 0 -v -run '^TestSoak$$' ./soak -for $(FOR) -page $(CURDIR)/.bin/soak.md
	@cat .bin/soak.md

.PHONY: fuzz-server
fuzz-server: FOR ?= 1h
fuzz-server: ## that the scripts do what the model server does, on courses by chance: FOR=10m SEED=7 for one
	@.ci/install
	@go test -count=1 -timeout 0 -v -run '^TestScriptsAreAsTheModel$$' ./proof/server \
		$(if $(filter command line,$(origin SEED)),-seed=$(SEED),-for=$(FOR))

.PHONY: models
models: ## that the protocol holds, by trying every order in small models of it: MODELS=regexp
	@go run ./proof/models -run '$(MODELS)'

# What may be set: make torture FOR=30m TOPOLOGY=cluster SEED=7. LOAD names workloads, ROUND and FAULTS one round and how many
# of its faults, SHRINK for how long a round that fails is done again, REPORT_FILE where the report is written.
FOR         ?= 2m
TOPOLOGY    ?= all
SEED        ?= 0
LOAD        ?=
ROUND       ?= 0
FAULTS      ?= -1
SHRINK      ?= 2m
REPORT_FILE ?=

.PHONY: torture
torture: ## processes under faults, and whether what they saw keeps the promises: FOR=30m TOPOLOGY=cluster SEED=7
	@.ci/install
	@cd proof/torture && go test -count=1 -timeout 0 -run '^TestTorture$$' -v . -for=$(FOR) -topology=$(TOPOLOGY) -seed=$(SEED) \
		-load='$(LOAD)' -round=$(ROUND) -faults=$(FAULTS) -shrink=$(SHRINK) \
		-report='$(if $(REPORT_FILE),$(abspath $(REPORT_FILE)))'

# Everything that users without Go download, in a folder that git ignores.
VERSION ?= $(shell git describe --tags --always --dirty --match 'v[0-9]*' 2>/dev/null || echo unknown)

.PHONY: dist
dist: ## the tool for linux, darwin and windows, with man page, completions and checksums: VERSION=v1.2.3
	@go run ./proof/dist -o $(CURDIR)/.bin/dist -version '$(VERSION)'
	@ls -l .bin/dist

# The version that is to be released has to be said.
release-list: VERSION = v0.0.0
release-list: ## all that a version has to pass, a night long, for docs/proof.md: VERSION=v0.1.0 ONLY=regexp FOR=5m LIST=1
	@go run ./proof/release -version '$(VERSION)' -only '$(ONLY)' $(if $(filter command line,$(origin FOR)),-for $(FOR)) $(if $(LIST),-list)

.PHONY: man
man: ## the manual page of the tool, in a terminal
	@go run ./cmd/redislock man | man -l -

demo: ## the library at work, against a server inside the program
	@go run ./cmd/redislock demo

clean: ## what make has built
	@rm -rf .bin

# $(call install,package,file): a tool under a name that holds its version. It is built with the flag of all else here, because it
# needs much of the same.
define install
	@echo 'building $(notdir $(2)), once'
	@rm -rf $(2).tmp && mkdir -p $(2).tmp
	@GOBIN=$(2).tmp GOFLAGS=-trimpath go install $(1)@$(lastword $(subst @, ,$(2)))
	@mv $(2).tmp/* $(2) && rmdir $(2).tmp
endef

$(GOLANGCI_LINT):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$@)

$(GOVULNCHECK):
	$(call install,golang.org/x/vuln/cmd/govulncheck,$@)

$(BENCHSTAT):
	$(call install,golang.org/x/perf/cmd/benchstat,$@)
