# Waymark. Needs Go 1.26, git and make. `make` alone tells the targets.

GO   ?= go
# The directory whose context `make run` looks at.
ROOT ?= .
# More arguments for go test, as in: make test TESTFLAGS='-run TestResolve -v'
TESTFLAGS ?=
# What `make test`, `race` and `cover` look at.
PKGS ?= ./...
# How many packages `make test` tests at a time: tests wait more than they compute.
AT_ONCE ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
# How long `make fuzz` runs each target, and `make bench` each benchmark.
FUZZTIME  ?= 20s
BENCHTIME ?= 1s
BENCH     ?= .
# More arguments for `make bench-hub`, as in: -agents 100 -interval 1s
BENCHHUBFLAGS ?=
# More arguments for `make hostile`, as in: -run '^time/' -count 1 -json
HOSTILEFLAGS ?=
# More arguments for `make bench-latency`, as in: -run edits -skills 200 -json
LATENCYFLAGS ?=
# What `make clients` runs, as in: CLIENTS='claude codex@latest', or all
CLIENTS ?=
# What to compare with: another tree, as in make metrics BEFORE=../before, or another
# version, as in make bench-latency BEFORE=main
BEFORE ?=
# Where `make install-user` puts things, and the directory with the programs that
# it installs. A packager sets DESTDIR to a directory that stands for /.
PREFIX  ?= $(HOME)/.local
DESTDIR ?=
BIN     ?= bin
# What `make dist` makes (COMMANDS are all in cmd), and where. The version names
# the tarballs; the time of the commit is that of everything in them.
DIST      ?= dist
PLATFORMS ?= linux/amd64 linux/arm64 darwin/arm64
COMMANDS  ?=
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# Where goroutines meet: what `make race` looks at. The guests and what rewrites modules
# have none, the hostile corpus has deadlines that the race detector stretches too far,
# and the others of RACE_NOT start programs, which are built without it. What starts the
# test's own program again and again (launch), and the scripts of the commands, which put
# together what was looked at by itself, have their turn with WAYMARK_LONG.
RACE_NOT  ?= host/sandbox/meter host/sandbox/gowasm hub/page \
	test/hostile test/authors test/clients test/tools test/built test/chats \
	$(if $(WAYMARK_LONG),,workspace/launch test/e2e test/mcp cmd/agent cmd/hub cmd/harness)
RACE_PKGS ?= $(shell $(GO) list ./host/... ./hub/... ./wire/... ./cmd/... ./snapshot/... ./internal/... ./workspace/... ./agent/... ./agentapi/... ./test/... | grep -v $(RACE_NOT:%=-e '^waymark/%\(/\|$$\)'))
# `make stress`: how many busy loops run beside the tests, and how often the tests do.
LOAD  ?= 8
COUNT ?= 5

# Where tests do random things, and have a long form.
SOAK_PKGS ?= $(shell git grep --untracked -lE 'test/testenv"' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')

# Run from source, so that everybody has the same version. The first time it
# takes two to three minutes to build; later it is in Go's cache.
LINT = $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
DEADCODE = $(GO) run golang.org/x/tools/cmd/deadcode@v0.52.0

# The module of the built-in resolvers. The agent embeds it.
GUEST       := host/builtin/dist/builtin.wasm
# Its native code for this machine's architecture and CPU features; elsewhere
# the agent compiles the module once.
NATIVE      := host/builtin/dist/builtin.native
SHRINK_FILES := $(shell find host/sandbox/gowasm internal/tools/aot -name '*.go' ! -name '*_test.go' 2>/dev/null)
GUEST_FILES := $(shell find abi sdk-guest plugins -name '*.go' ! -name '*_test.go' 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
NATIVE_FILES := $(shell find host/sandbox internal/sealedstore internal/tools/aot -name '*.go' ! -name '*_test.go' 2>/dev/null)
.PHONY: help run build guest native test clients test-all test-programs race stress check fmt vet cross lint generate generated clean-tree bench bench-fleet faults bench-hub bench-latency bench-mcp fuzz soak hostile cover metrics contracts install-user uninstall-user dist clean

help: ## Say what the targets are.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build everything and run the agent with its own hub; ROOT=dir for another directory.
	bin/agent run --root '$(ROOT)'

build: guest native ## Build bin/agent, bin/hub, bin/harness and bin/supervisor.
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -o bin/ ./cmd/supervisor ./cmd/hub ./cmd/harness
	@$(GO) run ./internal/tools/aot -pack bin/_builtin.wasm $(GUEST) # with its digest, which is needed at each start
	@printf '{"Replace": {"%s": "%s"}}\n' '$(abspath $(GUEST))' '$(abspath bin/_builtin.wasm)' >bin/_overlay.json
	CGO_ENABLED=0 $(GO) build -overlay bin/_overlay.json -ldflags="$$(packaging/helper.sh bin/supervisor)" -o bin/ ./cmd/agent
	@$(GO) run ./internal/tools/aot -place bin/agent $(NATIVE) # so that the code can be mapped

guest: $(GUEST)

native: $(NATIVE)

# The YAML parser of guests, which is cut out of the library while they are built.
YAML        := bin/_yaml
YAML_FILES  := $(shell find internal/tools/generate -name yaml.go 2>/dev/null)

$(YAML)/overlay.json: go.mod go.sum $(YAML_FILES)
	@$(GO) run ./internal/tools/generate yaml -o $(YAML) -overlay $@

$(GUEST): go.mod go.sum $(GUEST_FILES) $(SHRINK_FILES) $(YAML)/overlay.json
	@rm -f $@ # or go build leaves what it knows as its own, though it was rewritten
	GOOS=wasip1 GOARCH=wasm $(GO) build -overlay $(YAML)/overlay.json -buildmode=c-shared -buildvcs=false -trimpath -ldflags='-s -w' -gcflags='waymark/...=-l' -o $@ ./plugins/builtin # not inlined, for less native code
	$(GO) run ./internal/tools/aot -shrink $@

$(NATIVE): $(GUEST) $(NATIVE_FILES)
	$(GO) run ./internal/tools/aot -o $@ $(GUEST)

test: ## Run the short form of all tests, without what isn't Go: between two edits.
	$(GO) test -short -p $(AT_ONCE) -timeout 20m $(TESTFLAGS) $(PKGS)

test-all: guest native ## Run all tests, with foreign programs and long random forms.
	$(GO) test -timeout 30m $(TESTFLAGS) $(PKGS)

clients: guest native ## Compare the rules of coding agents with recorded answers; CLIENTS= runs the programs.
	$(GO) test ./test/clients -run 'TestAnswers$$' -count=1 -v -timeout 90m -args -clients='$(CLIENTS)'

race: ## Run the short form with the race detector (needs a C compiler).
	$(GO) test -race -short -timeout 20m $(TESTFLAGS) $(RACE_PKGS)

test-programs: ## Build what most tests need, once per machine; they do it themselves otherwise.
	$(GO) run ./test/tools programs

stress: test-programs ## Run tests COUNT times beside LOAD busy loops: make stress PKGS=./hub LOAD=16.
	@loops=; trap 'kill $$loops' EXIT; for i in $$(seq $(LOAD)); do (while :; do :; done) & loops="$$loops $$!"; done; \
	$(GO) test -short -count $(COUNT) -failfast -timeout 2h $(TESTFLAGS) $(PKGS)

check: fmt vet cross lint generated test clean-tree ## All that must hold before a commit is done; the tree must be clean.

fmt:
	@files=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "not formatted, run gofmt -w on:"; echo "$$files"; exit 1; fi

vet: $(YAML)/overlay.json
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) vet -overlay $(YAML)/overlay.json -trimpath ./abi/... ./sdk-guest/... ./plugins/... ./examples/...

# The other systems that the code is for. Their types are checked; `make dist` builds.
cross:
	$(GO) run ./test/tools typecheck linux/arm64 darwin/arm64

lint: ## Run golangci-lint (built from source the first time), and look for code that no program reaches.
	$(LINT) run ./...
	@dead=$$($(DEADCODE) -filter '^waymark/(abi|agent/|cmd|host|hub|internal|snapshot|wire|workspace/(access|files|git|launch|mcp|output|process|supervisor))' ./cmd/... ./internal/tools/... ./test/tools) || { echo "$$dead"; exit 1; }; \
	dead=$$(echo "$$dead" | grep -v '^[^:]*test/'); \
	if [ -n "$$dead" ]; then echo "no program reaches:"; echo "$$dead"; exit 1; fi

generate: ## Generate code anew.
	$(GO) generate ./...

# Compares the tree with itself, so that it works before a commit, too.
SUMS = git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null
generated:
	@before=$$($(SUMS)); $(MAKE) --no-print-directory generate; after=$$($(SUMS)); \
	if [ "$$before" != "$$after" ]; then echo "generated code was not current: commit what make generate has changed"; exit 1; fi

clean-tree:
	@changes=$$(git status --porcelain); \
	if [ -n "$$changes" ]; then echo "the tree is not clean:"; echo "$$changes"; exit 1; fi

bench: guest ## Run the benchmarks; BENCH=regexp for some of them.
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PKGS)

bench-latency: build ## Measure edit → hub, CPU per edit, starts and memory, end to end; BEFORE=rev (or a program) to compare with.
	$(GO) run ./test/latency $(if $(BEFORE),-before '$(BEFORE)') $(LATENCYFLAGS)

fuzz: guest ## Run every fuzz target for FUZZTIME (20s).
	@git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | { failed=0; while IFS=: read -r file func; do \
		echo "== $${file%/*} $${func#func }"; \
		$(GO) test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s "./$${file%/*}" </dev/null || failed=1; \
	done; exit $$failed; }

soak: guest ## Run the random tests for long, with cases that nobody has tried; hours on a busy machine.
	WAYMARK_LONG=1 $(GO) test -count 1 -timeout 4h $(TESTFLAGS) $(SOAK_PKGS)

metrics: ## Count lines, files, exported names and repetitions of each package; BEFORE=dir to compare.
	@$(GO) run ./test/tools metrics $(BEFORE) .

contracts: ## Say which packages are held to which suite of test/contracts.
	@$(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{.}} {{$$p}}{{"\n"}}{{end}}{{range .XTestImports}}{{.}} {{$$p}}{{"\n"}}{{end}}' ./... | \
	sed -n 's,^waymark/test/contracts/\([^ ]*\) waymark/,\1 ,p' | sort -u | awk '$$1 != suite { suite = $$1; print suite } { print "  " $$2 }'

bench-hub: ## Measure a hub under a thousand agents, on SQLite and on PostgreSQL.
	$(GO) test ./test/pushtest -run 'TestHub|TestStorm' -count 1 -v -timeout 30m -args -agents 1000 -interval 10s -steady 20s -saturate 10s -workers 32 $(BENCHHUBFLAGS)

bench-fleet: ## Measure agents that storm three hubs, with PostgreSQL's commits made slow; BENCHHUBFLAGS='-agents 10000'.
	$(GO) test ./test/pushtest -run TestStorm -count 1 -v -timeout 30m -args -agents 2000 -resources 5 -size 512 -saturate 3s -hubs 3 -delay 20000 $(BENCHHUBFLAGS)

# What kills, cuts, fills, slows down and misleads hubs, databases and agents.
FAULTS = Kill|Cut|NotAnswered|Restart|Chaos|Loris|Slow|Silent|Clock|Full|Drain|Hostile
faults: guest ## Break hubs, databases, lines and clocks, and compare what is left with what was acknowledged.
	$(GO) test -count 1 -p 1 -timeout 1h $(TESTFLAGS) -run '$(FAULTS)' ./hub ./hub/store/... ./hub/transport ./host/push ./cmd/hub ./test/e2e

bench-mcp: guest ## Measure MCP servers: their catalogue cold and cached, memory, calls. BEFORE=agent to compare.
	$(if $(BEFORE),WAYMARK_BENCH_BEFORE=$(abspath $(BEFORE)) )$(GO) test ./test/mcp -run '^$$' -bench . -benchtime 20x -timeout 30m

hostile: guest ## Run the hostile modules and workspaces, and print outcomes, times and memory.
	$(GO) run ./test/tools hostile $(HOSTILEFLAGS)

cover: guest ## Measure what the tests cover, into cover.html.
	$(GO) test -coverprofile cover.out -coverpkg ./... $(PKGS)
	$(GO) tool cover -html cover.out -o cover.html
	$(GO) tool cover -func cover.out | tail -n 1

# Other programs than our own are taken as they are.
install-user: $(if $(filter bin,$(BIN)),build) ## Install agent, hub and harness for yourself, with systemd user units and shell completions; PREFIX=dir.
	@BIN='$(BIN)' PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install-user.sh install

uninstall-user: ## Remove what install-user has put in place.
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' packaging/install-user.sh uninstall

dist: $(GUEST) $(NATIVE) ## Make static binaries as tarballs in dist/, the same bytes each time; PLATFORMS="linux/amd64 …".
	@DIST='$(DIST)' PLATFORMS='$(PLATFORMS)' COMMANDS='$(COMMANDS)' VERSION='$(VERSION)' EPOCH='$(SOURCE_DATE_EPOCH)' GO='$(GO)' \
		GUEST='$(abspath $(GUEST))' NATIVE='$(abspath $(NATIVE))' packaging/dist.sh

clean: ## Remove what was built.
	rm -rf bin dist cover.out cover.html $(GUEST) $(NATIVE)
