# What people and CI run; `make` alone prints the list.

tools := target/cluster-tools
kube := kube-apiserver kube-controller-manager kube-scheduler kubectl
tables := schema cron cel
modules := tests/cluster
types := pkg/sandbox/schema/src/types.txt
schedules := pkg/api/testdata/cron.txt
declarations := pkg/cel/src/declarations.txt
warnings := pkg/cel/testdata/warnings.json.gz

# The release that the components say they are is the one that go.mod asks for.
kube_version = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2 }' $(modules)/kube/go.mod)
version_part = $(word $(1),$(subst ., ,$(patsubst v%,%,$(kube_version))))
version_package := k8s.io/component-base/version
kube_ldflags = -s -w -X $(version_package).gitVersion=$(kube_version) \
	-X $(version_package).gitMajor=$(call version_part,1) \
	-X $(version_package).gitMinor=$(call version_part,2)

# Debug information would be stripped: it is not made.
go_flags := -trimpath -gcflags=all=-dwarf=false

# CI builds what the lock file says, or nothing.
locked := $(if $(filter true,$(CI)),--locked)

# Each rung has a budget in minutes, for two cores and a cold start.
rung := .ci/rung

# Simulation has a profile of its own, and deliberate bugs that can be switched on.
simulation := _RJEM_MALLOC_CONF=prof:false,narenas:2,dirty_decay_ms:10000 \
	cargo test $(locked) --profile sim --features mutants -p cluster-tests --test simulation --
# Property tests try the same inputs each time: whether a change may be merged must not depend on
# luck. Any other seed, or `random`, tries others.
properties := $(if $(filter random,$(PROPERTIES)),,PROPTEST_RNG_SEED=$(or $(PROPERTIES),1))
# Takes long to build, and pays from some 20,000 seeds on.
long := CARGO_TARGET_DIR=target/long CARGO_PROFILE_SIM_LTO=fat CARGO_PROFILE_SIM_CODEGEN_UNITS=1 \
	CARGO_PROFILE_SIM_INCREMENTAL=false
# Tests of the tests package that need no cluster.
plain_suite := --bin bench --test process --test scripts --test tidy

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo check deny advisories alerts test test-cluster cluster-tools cluster \
	cluster-down bench schema cron cel sim sim-matrix sim-mutants

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile

demo: ## Play three minutes with a whole cluster in one process
	@cargo run --quiet --bin sandbox -- --script tests/scripts/demo/story.txt --speed 1x

check: ## Format, lints, docs and the rules of the tree
	cargo fmt --check
	$(rung) lints 6 cargo clippy $(locked) --workspace --all-targets --features cluster-tests/mutants \
		-- -D warnings
	$(rung) docs 2 env RUSTDOCFLAGS=-Dwarnings cargo doc $(locked) --workspace --no-deps
	$(rung) tidy 5 cargo test $(locked) -p cluster-tests --test tidy

deny: ## Licences, sources and duplicates of the dependencies
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny
	cargo deny --locked check --hide-inclusion-graph bans licenses sources

advisories: ## What is known against the dependencies; reads a database from the network
	@cargo deny --version >/dev/null 2>&1 || cargo install --locked cargo-deny
	cargo deny --locked check --hide-inclusion-graph advisories

alerts: ## What the alerts in deploy/ say to made-up metrics; needs promtool
	promtool check rules deploy/prometheus/alerts.yaml
	promtool test rules deploy/prometheus/alerts_test.yaml

test: ## All tests: those without a cluster, then those with one; PROPERTIES=random
	$(rung) units 9 env $(properties) cargo test $(locked) --workspace --exclude cluster-tests --no-fail-fast
	$(rung) processes 5 env $(properties) cargo test $(locked) -p cluster-tests --no-fail-fast --lib $(plain_suite)
	$(rung) simulation 15 env $(simulation)
	@if command -v go >/dev/null || $(MAKE) --question cluster-tools; then \
		$(MAKE) --no-print-directory test-cluster; \
	else \
		echo "skipped: the cluster tests, which need Go to build etcd and Kubernetes"; \
		test "$$CI" != true; \
	fi

sim: ## Simulate all controllers under faults: SEEDS=1000 FROM=0, FRESH=1000, LONG=1, or SEED=42
	$(if $(LONG),$(long)) $(simulation) --nocapture --exact seeds_keep_the_promises

sim-matrix: ## Let each write of each controller meet each fault, and print the table
	MATRIX=1 $(simulation) --nocapture --exact no_fault_at_a_write_shows_at_the_end

sim-mutants: ## Let seeds find each deliberate bug, and print the table: ONLY=NoFence, UPDATE=1
	MUTANTS=$${MUTANTS:-2000} $(simulation) --nocapture --exact mutants::deliberate_bugs_are_found

# Two clusters at a time, since each waits a lot.
test-cluster: cluster-tools
	$(rung) cluster 30 cargo test $(locked) -p cluster-tests --test cluster -- --test-threads=2

cluster-tools: $(addprefix $(tools)/,etcd kwok $(kube) $(tables)) ## Build etcd, Kubernetes and kwok

cluster: cluster-tools ## Start a cluster without controllers and leave it running
	@cargo run --quiet -p cluster-tests --bin cluster -- up

cluster-down: ## End that cluster
	@cargo run --quiet -p cluster-tests --bin cluster -- down

# The words of the bench: see `cargo run -p cluster-tests --bin bench -- --help`.
bench_args = $(if $(RUNS),--runs=$(RUNS)) $(if $(NODES),--nodes=$(NODES)) \
	$(if $(SCALE),--scale=$(SCALE)) $(if $(ONLY),--only=$(ONLY)) \
	$(if $(MANAGERS),--managers=$(MANAGERS)) $(if $(DEFAULT_RATES),--default-rates)

bench: cluster-tools ## Measure ours beside upstream's: RUNS=3 NODES=500 SCALE=1 ONLY=jobs,services
	cargo run $(locked) --release -p cluster-tests --bin bench -- $(bench_args)

# Moved into place when it is whole.
schema: $(tools)/schema ## Write the table of the API's types anew, from the Kubernetes of go.mod
	cd $(modules)/kube && $(CURDIR)/$< >$(CURDIR)/target/types.txt
	mv target/types.txt $(types)

cron: $(tools)/cron ## Write the table of what upstream makes of schedules anew, with the zones of its Go
	cd $(modules)/kube && ZONEINFO=$$(go env GOROOT)/lib/time/zoneinfo.zip \
		$(CURDIR)/$< 1 4000 >$(CURDIR)/target/cron.txt
	mv target/cron.txt $(schedules)

cel: $(tools)/cel ## Write anew what upstream's checker of expressions knows and warns of
	$< declarations >target/declarations.txt
	mv target/declarations.txt $(declarations)
	$< warnings 1 1500 >target/warnings.json.gz
	mv target/warnings.json.gz $(warnings)

$(tools)/etcd: $(modules)/etcd/go.mod $(modules)/etcd/go.sum
	cd $(<D) && go build $(go_flags) -ldflags "-s -w" -o $(CURDIR)/$@ go.etcd.io/etcd/server/v3

$(tools)/kwok: $(modules)/kwok/go.mod $(modules)/kwok/go.sum
	cd $(<D) && go build $(go_flags) -ldflags "-s -w" -o $(CURDIR)/$@ sigs.k8s.io/kwok/cmd/kwok

# In one build, so that one is linked while another one is compiled.
$(addprefix $(tools)/,$(kube)) &: $(modules)/kube/go.mod $(modules)/kube/go.sum
	mkdir -p $(tools)
	cd $(<D) && go build $(go_flags) -ldflags "$(kube_ldflags)" -o $(CURDIR)/$(tools)/ \
		$(addprefix k8s.io/kubernetes/cmd/,$(kube))

# What they have in common with the components is compiled by then.
$(addprefix $(tools)/,$(tables)): $(tools)/%: $(modules)/kube/%/main.go $(tools)/kube-apiserver
	cd $(modules)/kube && go build $(go_flags) -ldflags "-s -w" -o $(CURDIR)/$@ ./$*

$(tools)/cel: $(wildcard $(modules)/kube/cel/*.go)
