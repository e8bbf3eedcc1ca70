//! `whimbrel measure`: the throughput to a server and back.

use crate::credentials::{CredentialArgs, Credentials};
use crate::failure::{BadInput, exit_code};
use crate::over_tcp::TransportArgs;
use crate::print;
use crate::rates::rate_above_zero;
use crate::stop::runtime;
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_cc::Spec;
use whimbrel_study::throughput::{as_json, heading, line, total};
use whimbrel_transfer::{
    ClientOptions, DEFAULT_CONTROLLER, Direction, Error, IntervalSample, MeasureOptions,
    MeasureReport, ServerAddress, measure,
};
use whimbrel_units::{Duration, ParseError, Rate};

/// The server ends a measurement after a minute.
const LONGEST: Duration = Duration::from_secs(55);

/// Measure the throughput to a server of `whimbrel serve`, and back
///
/// Sends data that the server discards, or gets data from it, over one connection, and prints a
/// line for each interval. The server may refuse it, and bounds its bytes (`serve --max-probe`).
#[derive(clap::Args)]
#[command(after_help = "\
--json prints one object with the names and units of `iperf3 -J`: start,
intervals [{streams: [{start, end, seconds, bytes, bits_per_second, retransmits,
snd_cwnd, rtt, rttvar, pmtu}], sum}], end {streams, sum_sent, sum_received, sum:
{packets, lost_packets, lost_percent}, min_rtt, ended_early}. Forward, bytes are
acknowledged bytes with QUIC's overhead, and retransmits are packets declared
lost; in reverse, bytes are those that arrived, and what only the sender knows
is left out. With --both: {forward, reverse}, one such object each.
Exit status: 0 measured; 1 failed; 2 wrong usage; 3 refused by the server; 4
unknown server or wrong fingerprint.

Examples:
  whimbrel measure example.org                    # forward, 10 s
  whimbrel measure example.org --reverse --time '20 s'
  whimbrel measure example.org --both --json
  whimbrel measure example.org --udp 5Mbit/s      # is it lost at this rate?
What the path is like, and which algorithm suits it: whimbrel advise example.org")]
pub struct MeasureArgs {
    /// The server: `HOST[:PORT]`
    #[arg(value_name = "HOST")]
    host: ServerAddress,
    /// From the server to here, under the server's --controller
    #[arg(long, short = 'R', conflicts_with = "both")]
    reverse: bool,
    /// Both directions at once
    #[arg(long)]
    both: bool,
    /// For how long, at most 55 s; a number without a unit is in seconds
    #[arg(long, short, value_name = "TIME", value_parser = time, default_value = "10 s")]
    time: Duration,
    /// Time between the lines
    #[arg(long, short, value_name = "TIME", value_parser = time, default_value = "1 s")]
    interval: Duration,
    /// Congestion controller of what is sent from here
    #[arg(long, default_value = DEFAULT_CONTROLLER)]
    controller: Spec,
    /// Send at this rate whatever is lost, as a source of UDP does
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "controller")]
    udp: Option<Rate>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    transport: TransportArgs,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// A time; a number without a unit is in seconds, as in iperf3.
fn time(text: &str) -> Result<Duration, ParseError> {
    match text.parse::<f64>() {
        Ok(_) => format!("{text} s").parse(),
        Err(_) => text.parse(),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    rate_above_zero(text, "must be above 0")
}

impl MeasureArgs {
    fn options(&self, direction: Direction, credentials: &Credentials) -> MeasureOptions {
        let (server, controller) = (self.host.clone(), self.controller.clone());
        MeasureOptions {
            client: credentials.client(ClientOptions::for_pipes, server, controller),
            direction,
            time: self.time,
            interval: self.interval,
            rate: self.udp.filter(|_| direction == Direction::Forward),
        }
    }

    /// One direction, with a line for each interval unless the result is JSON.
    async fn one(
        &self,
        direction: Direction,
        credentials: &Credentials,
    ) -> Result<MeasureReport, Error> {
        let mut before: Option<IntervalSample> = None;
        measure(self.options(direction, credentials), |now| {
            if !self.json {
                let mark = match (self.both, direction) {
                    (false, _) => "",
                    (true, Direction::Forward) => "> ",
                    (true, Direction::Reverse) => "< ",
                };
                let line = line(direction, before.as_ref(), now);
                write!(io::stdout(), "{mark}{line}").ok();
            }
            before = Some(now.clone());
        })
        .await
    }
}

/// Measures, and prints the result.
pub fn run(args: &MeasureArgs) -> anyhow::Result<ExitCode> {
    if args.time.is_zero() || args.time > LONGEST {
        return Err(BadInput::new(format!("--time must be above 0 and at most {LONGEST}")).into());
    }
    if args.interval < Duration::from_millis(10) {
        return Err(BadInput::new("--interval must be at least 10 ms").into());
    }
    if args.udp.is_some() && args.reverse {
        return Err(BadInput::new("--udp sends from here; leave out --reverse").into());
    }
    let credentials = args.credentials.find(&args.host, &args.transport)?;
    let runtime = runtime()?;
    let directions: &[Direction] = match (args.reverse, args.both) {
        (_, true) => &[Direction::Forward, Direction::Reverse],
        (true, _) => &[Direction::Reverse],
        (false, false) => &[Direction::Forward],
    };
    let host = args.host.to_string();
    if !args.json {
        let headings = directions
            .iter()
            .map(|direction| heading(*direction, &host));
        print::text(headings.collect::<String>())?;
    }
    let reports = runtime.block_on(async {
        let one = |direction| args.one(direction, &credentials);
        match directions {
            [only] => Ok(vec![one(*only).await?]),
            _ => {
                let both = (one(Direction::Forward), one(Direction::Reverse));
                let (forward, reverse) = tokio::try_join!(both.0, both.1)?;
                Ok(vec![forward, reverse])
            }
        }
    });
    let reports = match reports {
        Ok(reports) => reports,
        Err(error) => {
            credentials.report(&error);
            return Ok(ExitCode::from(exit_code(&error)));
        }
    };
    credentials.accepted();
    if !args.json {
        return print::text(reports.iter().map(total).collect::<String>());
    }
    let value = |report| as_json(report, args.interval, &host);
    match &reports[..] {
        [forward, reverse] => print::json(&json!({
            "forward": value(forward),
            "reverse": value(reverse),
        })),
        reports => print::json(&reports.first().map(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_unit_is_in_seconds() {
        assert_eq!(time("3"), Ok(Duration::from_secs(3)));
        assert_eq!(time("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(time("200 ms"), Ok(Duration::from_millis(200)));
        for bad in ["-3", "inf", "3 apples", ""] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_rate_of_zero_is_refused() {
        assert_eq!(rate("5 Mbit/s"), Ok(Rate::from_bits_per_sec(5_000_000)));
        assert_eq!(rate("0 bit/s"), Err("must be above 0".to_owned()));
    }
}
