//! Tests of scenario files: what can be written, what it becomes, and the errors for mistakes.

mod aatp;
mod delay;
mod flows;
mod loss;
mod mistakes;
mod page;
mod presets;
mod print;
mod queue;
mod robustness;
mod routes;
mod streams;
mod sweep;
mod topology;
mod typed;
mod wifi;
mod with;

use super::*;

/// The example of the design document.
const DESIGN: &str = r#"
[link.access]                    # a '*' in a route gives each flow its own copy
rate = "1 Mbit/s"
delay = "10 ms"
[link.L]
rate = "8 Mbit/s"                # or { trace = "starlink.down" } in mahimahi's format
delay = "50 ms"                  # or a schedule: [["0 s", "25 ms"], ["5 s", "300 ms"]]
queue = "50 packets"             # or bytes, or "1 bdp"
loss = "1 %"                     # or a table: random, corrupt, outages, gilbert-elliott
[[flow]]
count = 10                       # default: 1
controller = "cerl"              # or "cerl?A=0.6"
route = ["access*", "L", "access*"]
start = "0 s .. 5 s"             # drawn uniformly for each flow; default: 0 s
size = "1 GB"                    # default: endless
[run]
recovery = "rack"                # or "sack", "newreno"; a flow may override it
duration = "100 s"
seeds = 10
[sweep]
"link.L.loss" = ["0 %", "0.1 %", "1 %", "5 %"]
"flow.controller" = ["newreno", "cubic", "cerl"]
"#;

/// Burst loss, a Wi-Fi access link, and flows of all kinds that share a destination.
const SHARED: &str = r#"
[link.core]
rate = "148.608 Mbit/s"
delay = "10 ms"
queue = "1 bdp"
aqm = { kind = "red", min = "20 kB", max_p = 0.05, gentle = false }
loss = { gilbert-elliott = { good = "10 s", bad = "20 ms" }, random_outages = { count = 5, length = "2 s", within = ["5 s", "60 s"] } }
[link.home]
wifi = { rate = "300 Mbit/s" }
reverse = { loss = { gilbert-elliott = { p = "1 %", r = "20 %", bad_loss = "50 %" } } }
[[flow]]
kind = "aatp"
priority = 8
destination = "client"
route = ["home*", "core"]
[[flow]]
count = 3
controller = "cubic"
route = ["core", "home"]
[[flow]]
kind = "udp"
rate = "20 Mbit/s"
route = ["core"]
[destination.client]
gamma = 4
bandwidth = "100 Mbit/s"
[run]
timer = "2 ms"
circuit_breaker = "3 s"
reestimate = "off"
[sweep]
"flow.1.controller" = ["enhanced-aatp", "cubic"]
"destination.client.beta" = [0, 0.05]
"link.home.wifi.rate" = ["6.5 Mbit/s"]
"#;

/// Two connections over two routes each, and a flow with one route.
const SEVERAL: &str = r#"
[link.access]
rate = "100 Mbit/s"
[link.wifi]
rate = "20 Mbit/s"
delay = "15 ms"
queue = "100 packets"
[link.lte]
rate = "10 Mbit/s"
delay = "40 ms"
queue = "1 bdp"
[[flow]]
count = 2
routes = [["access*", "wifi"], ["access*", "lte"]]
[[flow]]
name = "alone"
route = ["wifi"]
[run]
duration = "30 s"
[sweep]
"flow.0.controller" = ["newreno", "lia"]
"#;

/// Streams and messages in every notation.
const MESSAGES: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "10 ms"
[[flow]]
name = "short"
route = ["L"]
streams = 8
messages = "1 kB .. 20 kB every 10 ms"
[[flow]]
name = "table"
route = ["L"]
interleave = false
messages = { size = "20 kB", every = "5 ms", exponential = true, count = 7 }
[[flow]]
name = "bulk"
route = ["L"]
streams = 3
size = "1 MB"
[run]
duration = "1 s"
[sweep]
"flow.table.messages.size" = ["1 kB", "2 kB"]
"#;

/// A minimal scenario.
const MINIMAL: &str = "[link.L]\n[[flow]]\nroute = [\"L\"]\n";

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("scenario.toml"))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn error(text: &str) -> String {
    Scenario::parse(text, Path::new("scenario.toml"))
        .expect_err(text)
        .to_string()
}

fn network(text: &str) -> Network {
    parse(text).points()[0].network(1)
}

fn link<'a>(network: &'a Network, name: &str) -> &'a whimbrel_net::LinkSpec {
    let found = network
        .links
        .iter()
        .find(|link| link.name.to_string() == name);
    &found
        .unwrap_or_else(|| panic!("no {name} in {:?}", names(network)))
        .spec
}

fn names(network: &Network) -> Vec<String> {
    let links = network.links.iter();
    links.map(|link| link.name.to_string()).collect()
}
