//! Prints how many events a second one instance answers: `flood [CONTROLLER [EVENTS]]`. Needs the
//! privileges of `whimbrel tcp`.

use std::error::Error;
use whimbrel_linux::{Agent, Datapath, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let controller = arguments.next().unwrap_or_else(|| "newreno".to_owned());
    let events = arguments
        .next()
        .map_or(Ok(10_000_000), |text| text.parse())?;
    let options = Options::new(controller.parse()?);
    let agent = Agent::start(Datapath::load(&options)?, options)?;
    let flood = agent.flood(events)?;
    println!(
        "{controller}: {} events in {}, {:.0} a second, {} dropped",
        flood.events,
        flood.elapsed,
        flood.events as f64 / flood.elapsed.as_secs_f64(),
        flood.dropped,
    );
    Ok(())
}
