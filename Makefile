# Two commands do everything on a fresh machine: `make demo` and `make test`.

WHIMBREL := target/release/whimbrel
WIFI := target/release/wifi-speed
VENV := target/venv

.PHONY: stacks stacks-linux stacks-league test-stacks publish-check
.PHONY: demo test test-more test-all build full dist package lint referee referee-full referee-linux
.PHONY: test-at-once test-kills
.PHONY: referee-linux-quick referee-linux-virtual referee-nack results seconds
.PHONY: examples site test-unit
.PHONY: rank referee-aatp referee-ns2 referee-interruptions referee-points
.PHONY: pictures bench bench-tcp bench-transfers bench-fast-paths bpf clean
.PHONY: soak bench-connections world year attacks fuzz commands check-dependencies
.PHONY: python python-environment test-python test-python-library check-python bench-python

## The main job: real files over an emulated lossy path, four algorithms beside the prediction.
demo: build
	$(WHIMBREL) demo

## All tests but those of `make test-more`; the ones through the real command are included. What
## serves the next build, or a debugger, is left out: on a fresh machine it takes longer than the
## tests. `cargo test` makes it, and shares all dependencies.
test: export CARGO_INCREMENTAL = 0
test: export CARGO_PROFILE_DEV_DEBUG = false
# Many tests wait most of the time.
test: export RUST_TEST_THREADS ?= $(shell n=$$(nproc); echo $$((n > 4 ? n : 4)))
test: | cargo tshark
	cargo test --locked

## What both `make test` and `make test-more` run, compiled once: other features of a crate would
## compile it, and all that depends on it, again. `make lint` has the same features.
EVERYTHING := --workspace --features whimbrel-cli/parquet
KILLS := cargo test --locked $(EVERYTHING) --test cli -- --ignored after_100_kills_every
test-all: test-at-once
	$(KILLS)

## `make test-all` in two parts: the second one mostly waits, so other work can go on beside it.
test-at-once: | cargo browser tshark
	cargo test --locked $(EVERYTHING)
test-kills: | cargo
	$(KILLS)

## Tests that need a browser, a heavy library or minutes: the report's page, Parquet, 100 kills of
## servers and senders on loopback.
test-more: | cargo browser
	cargo test --locked -p whimbrel-browser-tests
	cargo test --locked -p whimbrel-report --features parquet
	cargo test --locked -p whimbrel-cli --features parquet formats
	cargo test --locked -p whimbrel-cli --test cli -- --ignored after_100_kills_every

## The Python package, as target/wheels/whimbrel-*.whl.
python: $(VENV)/ready | cargo
	cd crates/python && $(CURDIR)/$(VENV)/bin/maturin build --release --locked \
	  -o $(CURDIR)/target/wheels

## Tests of the Python package, and its notebooks, with the wheel in a virtual environment.
test-python: python build
	$(VENV)/bin/pip install -q --no-deps --force-reinstall target/wheels/whimbrel-*.whl
	$(PYTEST)

## The same with the library that was built beside the command (PACKAGES has whimbrel-python). A
## wheel needs other features of the dependencies, so it compiles all of them again.
test-python-library: export PYTHONPATH := $(CURDIR)/target/python
test-python-library: $(VENV)/ready build
	rm -rf target/python && mkdir -p target/python
	cp -r crates/python/python/whimbrel target/python/
	cp target/release/lib_whimbrel.so target/python/whimbrel/_whimbrel.abi3.so
	$(PYTEST)

PYTEST = cd crates/python && WHIMBREL=$(CURDIR)/$(WHIMBREL) RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0 \
  $(CURDIR)/$(VENV)/bin/pytest -q tests --nbmake notebooks

## Whether the Python library compiles alone: built beside the command it gets features of it.
check-python: | cargo
	cargo check --locked -p whimbrel-python

## Steps per second of the environments.
bench-python: python
	$(VENV)/bin/pip install -q --no-deps --force-reinstall target/wheels/whimbrel-*.whl
	$(VENV)/bin/python bench/environments.py

## What the tests of the Python package need.
python-environment: $(VENV)/ready

$(VENV)/ready: crates/python/requirements-test.txt
	@command -v python3 >/dev/null || $(call missing,Python 3.10 or newer,python3)
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q -r crates/python/requirements-test.txt
	touch $@

## docs/reference/commands.md, of the help of the command.
commands: | cargo
	WRITE_DOCS=1 cargo test --locked $(EVERYTHING) --lib the_page_of_the_commands

## The command, as target/release/whimbrel: quick to build and to build again.
build: | cargo
	cargo build --release --locked $(patsubst %,-p %,$(PACKAGES))

## What is built: `.ci/run` needs more, and packages that are built at once share dependencies.
PACKAGES ?= whimbrel-cli

## The same with all optional formats (Parquet).
full: | cargo
	cargo build --release --locked -p whimbrel-cli --features parquet

## Protocol stacks of others on simulated paths, as target/release/whimbrel-stacks. BoringSSL (needs
## cmake, a C++ compiler and libclang) is built once, for quiche; TQUIC links the same library.
STACKS := quinn,smoltcp,s2n,quiche,older
WITH_TQUIC = library=$$(ls -t target/release/build/boring-sys-*/out/build/libssl.a | head -n 1) && \
  BORINGSSL_LIB_DIR="$(CURDIR)/$${library%/*}" cargo $(1) --release --locked -p whimbrel-stacks \
  --features $(STACKS),tquic
stacks: | cargo
	@command -v cmake >/dev/null || $(call missing,cmake,cmake)
	@command -v c++ >/dev/null || $(call missing,a C++ compiler,g++)
	@[ -n "$$LIBCLANG_PATH" ] || /sbin/ldconfig -p | grep -qE 'libclang(-[0-9.]+)?\.so' || \
	  $(call missing,libclang,libclang-dev)
	cargo build --release --locked -p whimbrel-stacks --features $(STACKS)
	$(call WITH_TQUIC,build)
	@target/release/whimbrel-stacks --list | grep 'not built' || true

## Linux 6.1 as a program, for whimbrel-stacks and `make referee-linux-virtual` (Debian's
## linux-source-6.1; minutes).
stacks-linux:
	referee/uml/build.sh

## Tests of the stacks, optimized: connections of all of them, and the known faults.
ONLY_STACKS := quiche|tquic|smoltcp|s2n-quic-core|whimbrel-quinn|whimbrel-stacks
test-stacks: stacks
	@! cargo tree --locked -e normal,build,dev --prefix none | grep -E '^($(ONLY_STACKS)) ' || \
	  { echo "a default member depends on a foreign stack" >&2; exit 1; }
	$(call WITH_TQUIC,test)

## The league of docs/stacks.md, into that page (it needs `make stacks-linux` too; minutes).
POINTS := a01,a05,b01,c02,c06,c07,d01,e01,f04,g01
stacks-league: stacks stacks-linux
	target/release/whimbrel-stacks all --points $(POINTS) --report docs/stacks.md

## Whether the libraries can be published (docs/use-in-your-quic.md); uploads nothing.
publish-check: | cargo
	cargo publish --dry-run --locked $(addprefix -p whimbrel-,units cc host net sim quic quinn)

## The command to give to others, as target/dist/whimbrel: all formats, smallest and fastest, slow
## to build.
dist: | cargo
	cargo build --profile dist --locked -p whimbrel-cli --features parquet

## A static binary as an archive, and a Debian package, in target/package.
package: | cargo
	tools/package

## The unit of that package under a booted systemd, in a container (needs root).
test-unit:
	tools/boot-unit

## Licences and sources of all that Whimbrel is built of (needs cargo-deny; deny.toml).
check-dependencies: | cargo
	@command -v cargo-deny >/dev/null || { \
	  echo "cargo-deny is needed: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check bans licenses sources

## Formatting, lints, documentation, and whether the checked-in BPF objects are what their source
## makes; warnings are errors.
lint: | cargo
	cargo fmt --all --check
	cargo clippy --locked $(EVERYTHING) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked $(EVERYTHING) --no-deps
	crates/linux/bpf/build --check

## Compares the simulator with ns-3 (downloads ns-3's wheel on the first run).
referee: | cargo
	cargo build --release --locked $(patsubst %,-p %,$(sort $(PACKAGES) wifi-speed))
	referee/compare.py --whimbrel $(WHIMBREL)
	referee/laws.py --whimbrel $(WHIMBREL)
	referee/wifi.py --whimbrel $(WIFI)

## The same, with all kept results of ns-3 run again, and more of Wi-Fi.
referee-full: referee
	referee/compare.py --full --whimbrel $(WHIMBREL)
	referee/laws.py --full --whimbrel $(WHIMBREL)
	referee/wifi.py --full --whimbrel $(WIFI)
	referee/wifi.py --all --whimbrel $(WIFI)

## Runs all algorithms on the Linux kernel's TCP over emulated paths, and compares them with the
## simulator and with the kernel's own (needs root; three quarters of an hour).
referee-linux: build
	referee/linux.py --whimbrel $(WHIMBREL)

## Compares the simulator with Linux 6.1's own algorithms in virtual time. Builds that kernel once,
## as a program (Debian's linux-source-6.1; minutes), then runs for minutes.
referee-linux-virtual: build
	referee/linux_virtual.py --whimbrel $(WHIMBREL)

## Two of them on one path, in seconds.
referee-linux-quick: build
	referee/linux.py --whimbrel $(WHIMBREL) --quick

## Table 6 of the TCP-NACK paper on the kernel's TCP (needs root; minutes).
referee-nack: build
	referee/nack.py --whimbrel $(WHIMBREL)

## Compares the preset `ns-2.35` with ns-2.35 itself (needs `ns`, Debian's package `ns2`; minutes).
referee-ns2: build
	referee/ns2.py --whimbrel $(WHIMBREL)

## Sends files with Enhanced-AATP over emulated paths, and compares them with the simulator (needs
## root; half an hour).
referee-aatp: build
	referee/aatp.py --whimbrel $(WHIMBREL)

## Transfers through an outage, cuts around the answer, changing sources, and 100 kills on a lossy
## path (needs root; half an hour).
referee-interruptions: build
	cargo test --locked -p whimbrel-cli --test cli -- --ignored after_100_kills_on_a_lossy_path
	referee/interruptions.py --whimbrel $(WHIMBREL)

## Points of the matrix with real packets, over QUIC and on Linux TCP, beside the simulator (needs
## root; half an hour). One of them: `make referee-points TRANSPORT=tcp`.
TRANSPORT := quic,tcp
referee-points: build
	referee/points.py --whimbrel $(WHIMBREL) --transport $(TRANSPORT)

## Runs every experiment of the papers (minutes) and writes the results: docs/results.md, the table
## in README.md, experiments/seconds.toml.
results: build
	mkdir -p target
	$(WHIMBREL) reproduce --json > target/results.json
	tools/results.py target/results.json --version "$$($(WHIMBREL) --version)"

## Scores all algorithms on the matrix of paths (20 minutes on two cores) and writes
## docs/ranking.md.
rank: build
	mkdir -p target
	$(WHIMBREL) rank --controllers all --matrix 2 --json --report target/ranking.html > target/ranking.json
	tools/ranking.py target/ranking.json --version "$$($(WHIMBREL) --version)"

## Writes what the examples in the documentation print now; CHECK=--check only says what differs.
CHECK :=
examples: build
	tools/examples.py --whimbrel $(WHIMBREL) $(CHECK)

## The documentation as a web site in target/site, with MkDocs in a virtual environment.
site:
	python3 -m venv target/site-venv
	target/site-venv/bin/pip install -q mkdocs==1.6.1
	target/site-venv/bin/python tools/site.py

## Times every experiment again, on an idle machine, and writes experiments/seconds.toml.
seconds: build
	mkdir -p target
	$(WHIMBREL) reproduce --again --json > target/results.json
	tools/results.py target/results.json --version "$$($(WHIMBREL) --version)" --only-seconds

## Draws the pictures of the papers' pages again, from a report.
pictures: build
	mkdir -p target
	$(WHIMBREL) reproduce --report target/report > target/reproduced.txt
	@echo "$$PICTURES" | while read -r figure picture; do \
	  $(WHIMBREL) figure target/report/index.html $$figure --out target/pictures --format svg \
	    --width 226mm --titles > /dev/null || exit 1; \
	  cp "target/pictures/$$(echo $$figure | tr / -).svg" docs/$$picture.svg || exit 1; \
	done

define PICTURES
cerl/fig-3.5/mean-flow-goodput-over-loss cerl-fig-3.5
cerl/neighbours/time cerl
emfast/fig-8/time emfast
enhanced-aatp/fig-9-leaving/shares enhanced-aatp
rta/fig-1/time tcp-rta
tcp-nack/table-6/mean-flow-goodput-over-corrupt tcp-nack
endef
export PICTURES

## Speed of the simulator, beside ns-3, and of transfers.
bench: build
	bench/run.py --whimbrel $(WHIMBREL)

## Speed of `whimbrel tcp`: events a second, delays, CPU time, hand-overs (needs root).
bench-tcp: build
	bench/tcp.py --whimbrel $(WHIMBREL)

## `whimbrel send` beside rsync and scp over emulated paths (needs root, openssh-server and rsync;
## half an hour).
bench-transfers: build
	bench/transfers.py --whimbrel $(WHIMBREL)

## `whimbrel send` beside rsync and scp on loopback and between namespaces (needs root,
## openssh-server and rsync; five minutes, on an idle machine).
bench-fast-paths: build
	bench/fast_paths.py --whimbrel $(WHIMBREL)

## Transfers under faults for two hours; the server must not grow.
soak: build
	bench/soak.py --whimbrel $(WHIMBREL)

## Lives in simulated worlds, with faults and crashes from seeds (docs/limits.md): of the storage on
## a simulated disk (LIVES=storage), of a server with its clients (LIVES=whole), and of a busy server
## for MINUTES, whose clients pause for PAUSE seconds on average between two jobs (LIVES=busy).
## SEEDS is a number of lives or FROM..TO, of which THREADS are lived at once, by default one for
## each core. RECORD is a file that remembers the lives that ended well, which are not lived again.
## A failure prints the command that repeats it.
SEEDS ?= 5000
LIVES ?= storage
# Busy lives last long: they keep memory that was freed, and look for it in one place.
WORLD_MALLOC = glibc.malloc.tcache_count=1000:glibc.malloc.mmap_threshold=67108864
WORLD_MALLOC := $(WORLD_MALLOC):glibc.malloc.trim_threshold=268435456
IS_BUSY = $(filter busy,$(LIVES))
# A life is the same whatever was lived before it: without this tokio counts its runtimes.
WORLD_TOKIO = --config 'build.rustflags=["--cfg","tokio_unstable"]'
world: | cargo
	$(if $(IS_BUSY),GLIBC_TUNABLES=$(WORLD_MALLOC)) \
	  WORLD_LIVES=$(LIVES) WORLD_SEEDS=$(SEEDS) WORLD_STEPS=$(STEPS) WORLD_FAULTS=$(FAULTS) \
	  WORLD_CLIENTS=$(CLIENTS) WORLD_FILES=$(FILES) WORLD_MINUTES=$(MINUTES) \
	  WORLD_PAUSE=$(PAUSE) WORLD_THREADS=$(THREADS) WORLD_RECORD=$(abspath $(RECORD)) \
	  cargo $(if $(filter-out storage,$(LIVES)),$(WORLD_TOKIO)) test --locked \
	  $(if $(IS_BUSY),--profile world) -p whimbrel-transfer --lib world -- --nocapture

## A year of a busy server, in as many parts as you like: it goes on where the last run was stopped.
## Remove target/year to begin anew, as after a change of the code.
year: | cargo
	mkdir -p target
	$(MAKE) world LIVES=busy SEEDS=8760 RECORD=target/year

## Looks for inputs on which a decoder of foreign bytes fails (libFuzzer; needs a C++ compiler).
## TARGETS are names of crates/fuzz, by default all, each for SECONDS. MERGE=1 adds what reaches new
## code to crates/fuzz/corpora, which `make test` decodes.
FUZZ = target/fuzz/$(FUZZ_HOST)/fuzz/fuzz
FUZZ_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# What cargo-fuzz sets, without a sanitizer, which stable Rust does not have.
COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
SECONDS ?= 60
fuzz: | cargo
	@command -v c++ >/dev/null || $(call missing,A C++ compiler,g++)
	RUSTFLAGS="$(COVERAGE)" cargo build --locked --profile fuzz -p whimbrel-fuzz \
	  --features engine --bin fuzz --target-dir target/fuzz --target $(FUZZ_HOST)
	bench/fuzz.py --fuzz $(FUZZ) --seconds $(SECONDS) $(if $(MERGE),--merge) $(TARGETS)

## The memory of a server under attacks by clients, as docs/limits.md states it.
attacks: build
	cargo build --locked --release -p whimbrel-transfer --example attack
	bench/attacks.py --whimbrel $(WHIMBREL) --attack target/release/examples/attack

## What a server uses with 1,000 connections.
bench-connections: build
	cargo build --locked --release -p whimbrel-transfer --example connections
	bench/connections.py --whimbrel $(WHIMBREL) --client target/release/examples/connections

## Compiles the programs that run in the Linux kernel (needs clang); the objects are checked in.
bpf:
	crates/linux/bpf/build

clean:
	rm -rf target

# Tools that every build needs.
.PHONY: cargo
cargo:
	@command -v cargo >/dev/null || $(call missing,Rust 1.88 or newer,from https://rustup.rs)
	@command -v cc >/dev/null || $(call missing,A C linker,gcc (Debian: apt-get install gcc))
missing = { echo "$(1) is needed: install $(2) and try again" >&2; exit 1; }

# Programs that tests run: a browser for the report's page, tshark for captures.
.PHONY: browser tshark
browser:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do \
	  command -v "$$name" >/dev/null && exit 0; done; \
	$(call fetch,chromium,the tests of the report's page)
tshark:
	@command -v tshark >/dev/null && exit 0; $(call fetch,tshark,the tests of captures)

# Installs a Debian package if this user may do so; otherwise says in one line what to install.
fetch = if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1) >/dev/null; \
	else echo "$(1) is needed for $(2): install it (Debian: apt-get install $(1)) and try again" \
	  >&2; exit 1; fi
