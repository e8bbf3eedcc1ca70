# Two commands do everything on a fresh machine: `make demo` and `make test`.

WHIMBREL := target/release/whimbrel
WIFI := target/release/examples/wifi_speed

.PHONY: demo test build lint referee referee-full referee-linux results seconds pictures bench clean

## The main job: a real file over an emulated lossy path, CUBIC beside CERL, beside the simulator's prediction.
demo: build
	$(WHIMBREL) demo

## All tests, the ones through the real command included.
test: | cargo browser tshark
	cargo test --workspace --locked

build: | cargo
	cargo build --release --locked -p whimbrel-cli

## Formatting, lints and documentation; warnings are errors.
lint: | cargo
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

## Holds the simulator against ns-3 (downloads ns-3's wheel on the first run).
referee: build
	cargo build --release --locked -p whimbrel-net --example wifi_speed
	referee/compare.py --whimbrel $(WHIMBREL)
	referee/laws.py --whimbrel $(WHIMBREL)
	referee/wifi.py --whimbrel $(WIFI)

## The same, with all that is kept of ns-3's answers run again, and more of Wi-Fi.
referee-full: referee
	referee/laws.py --full --whimbrel $(WHIMBREL)
	referee/wifi.py --all --whimbrel $(WIFI)

## Holds the simulator against the Linux kernel's TCP, sent through an emulated path (needs the rights that takes).
referee-linux: build
	referee/linux.py --whimbrel $(WHIMBREL)

## Runs every experiment of the papers (minutes), and writes what came of it: docs/results.md, README.md's table, experiments/seconds.toml.
results: build
	mkdir -p target
	$(WHIMBREL) reproduce --json > target/results.json
	tools/results.py target/results.json --version "$$($(WHIMBREL) --version)"

## Times every experiment anew, on an idle machine, and writes experiments/seconds.toml.
seconds: build
	mkdir -p target
	$(WHIMBREL) reproduce --again --json > target/results.json
	tools/results.py target/results.json --version "$$($(WHIMBREL) --version)" --only-seconds

## Draws the pictures of the papers' pages anew, out of a report.
pictures: build | browser
	mkdir -p target
	$(WHIMBREL) reproduce --report target/report > target/reproduced.txt
	cargo run --locked -p whimbrel-browser-tests --example pictures -- target/report/index.html \
	  cerl/fig-3.5/mean-flow-goodput-over-loss docs/cerl-fig-3.5.svg \
	  cerl/neighbours/time docs/cerl.svg \
	  emfast/fig-8/time docs/emfast.svg \
	  enhanced-aatp/fig-9-leaving/shares docs/enhanced-aatp.svg \
	  rta/fig-1/time docs/tcp-rta.svg \
	  tcp-nack/table-6/mean-flow-goodput-over-corrupt docs/tcp-nack.svg

## Speed of the simulator, beside ns-3, and of transfers.
bench: build
	bench/run.py --whimbrel $(WHIMBREL)

clean:
	rm -rf target

# What everything else is built with, asked for in one line.
.PHONY: cargo
cargo:
	@command -v cargo >/dev/null || { echo "Rust 1.88 or newer is needed: install it from https://rustup.rs and try again" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "A C linker is needed: install gcc (Debian: apt-get install gcc) and try again" >&2; exit 1; }

# What the tests look at the report's page with, and read captures with.
.PHONY: browser tshark
browser:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome; do command -v "$$name" >/dev/null && exit 0; done; \
	$(call fetch,chromium,the tests of the report's page)
tshark:
	@command -v tshark >/dev/null && exit 0; $(call fetch,tshark,the tests of captures)

# Installs a Debian package where that can be done without asking, and else asks for it in one line.
fetch = if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1) >/dev/null; \
	else echo "$(1) is needed for $(2): install it (Debian: apt-get install $(1)) and try again" >&2; exit 1; fi
