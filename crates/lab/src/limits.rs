//! Limits of one request, so that none takes more than some seconds. What is larger runs with
//! `whimbrel sim`.

use crate::FieldError;
use whimbrel_net::ServiceSpec;
use whimbrel_sim::scenario::Link;
use whimbrel_study::compare::Request;
use whimbrel_units::{Duration, Rate};

/// Maximum number of algorithms.
pub const ALGORITHMS: usize = 24;
/// Maximum number of fades.
pub const FADES: u32 = 200;
/// Maximum number of flows of a run, neighbours included.
const FLOWS: u64 = 50;
/// Minimum and maximum length of a run.
const DURATION: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(300));
/// Maximum base RTT.
const RTT: Duration = Duration::from_secs(10);
/// Maximum data that the link can carry in a run, bytes: 30 s at 1 Gbit/s.
const CARRIED: f64 = 4e9;
/// The same over the runs of all algorithms.
const ALL_CARRIED: f64 = 16e9;
/// Maximum time that the runs of a request take. What is not done then is not shown.
pub const WALL: std::time::Duration = std::time::Duration::from_secs(15);

/// Refuses a request that is too large.
pub fn check(request: &Request, link: &Link) -> Result<(), FieldError> {
    let wrong = |field: &str, why: String| Err(FieldError::new(field, why));
    if request.controllers.len() > ALGORITHMS {
        let count = request.controllers.len();
        return wrong(
            "algorithms",
            format!("choose at most {ALGORITHMS}, not {count}"),
        );
    }
    let own = u64::from(request.flows.value);
    if own == 0 {
        return wrong("flows", "must be at least 1".to_owned());
    }
    let others = request.neighbours.iter().map(|n| u64::from(n.count));
    let others: u64 = others.sum();
    if own + others > FLOWS {
        let field = if own > FLOWS { "flows" } else { "neighbours" };
        return wrong(
            field,
            format!("at most {FLOWS} flows fit into a run, not {}", own + others),
        );
    }
    let duration = request.duration.value;
    if duration < DURATION.0 || duration > DURATION.1 {
        return wrong(
            "duration",
            format!("must be from {} to {}", DURATION.0, DURATION.1),
        );
    }
    if request.path.rtt.iter().any(|rtt| rtt.value > RTT) {
        return wrong("rtt", format!("must be at most {RTT}"));
    }
    let (field, rate) = highest_rate(link);
    let carried = rate.as_bits_per_sec() as f64 / 8.0 * duration.as_secs_f64();
    let all = carried * request.controllers.len() as f64;
    if carried > CARRIED || all > ALL_CARRIED {
        let most = (CARRIED / carried).min(ALL_CARRIED / all) * duration.as_secs_f64();
        return wrong(
            field,
            format!(
                "{rate} for {duration} with {} algorithms takes too long here; at this rate at \
                 most {:.1} s are possible. `whimbrel sim` has no such limit: save the scenario \
                 at a lower rate and change it there",
                request.controllers.len(),
                most
            ),
        );
    }
    Ok(())
}

/// The maximum rate of the link, and its field.
fn highest_rate(link: &Link) -> (&'static str, Rate) {
    match link.forward.rate.as_ref().map(|rate| &rate.value) {
        Some(ServiceSpec::Rate(rates)) => {
            let highest = rates.all().iter().map(|(_, rate)| *rate).max();
            let field = if rates.is_constant() { "rate" } else { "rates" };
            (field, highest.unwrap_or(Rate::ZERO))
        }
        Some(ServiceSpec::Trace(trace)) => ("trace", trace.mean_rate()),
        _ => ("rate", Rate::ZERO),
    }
}
