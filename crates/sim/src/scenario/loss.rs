//! `loss` of one direction of a link.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields};
use super::link::time;
use whimbrel_net::{GilbertElliott, LossSpec, Outage, RandomOutages};
use whimbrel_units::{Duration, Probability, Time};

/// Keys of a table of losses.
const KEYS: [&str; 7] = [
    "random",
    "gilbert-elliott",
    "corrupt",
    "bit_errors",
    "outages",
    "random_outages",
    "drops",
];
/// Keys of the Gilbert-Elliott model, by time and by packet.
const GILBERT_ELLIOTT: [&str; 6] = ["good", "bad", "p", "r", "good_loss", "bad_loss"];
/// Maximum number of random outages of one link.
const MAX_OUTAGES: u64 = 100_000;

/// The losses of one direction. `spec.outages` are the written outages.
#[derive(Debug, Clone, Default)]
pub(super) struct Loss {
    pub spec: LossSpec,
    pub drawn: Option<DrawnOutages>,
}

/// Outages that are drawn for each run. They fit in their range.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrawnOutages {
    pub spec: RandomOutages,
    /// They were written for the mirrored direction alone; otherwise both directions share them.
    pub mirrored: bool,
}

impl DrawnOutages {
    /// The outages of the run with this seed.
    pub fn draw(&self, seed: u64) -> Vec<Outage> {
        // The reader has checked that they fit.
        self.spec.draw(seed).unwrap_or_default()
    }
}

impl Loss {
    /// The part that the mirrored direction inherits: outages.
    pub fn outages_only(&self) -> Self {
        Self {
            spec: LossSpec {
                outages: self.spec.outages.clone(),
                ..LossSpec::default()
            },
            drawn: self.drawn,
        }
    }

    /// Number of outages and drops in a run.
    pub fn events(&self) -> u64 {
        let drawn = self.drawn.map_or(0, |drawn| u64::from(drawn.spec.count));
        (self.spec.outages.len() + self.spec.drops.len()) as u64 + drawn
    }
}

/// Reads `"1 %"` or a table. Outages that are not written are those of `inherited`. `duration` is
/// the duration of the run.
pub(super) fn read(
    field: &Field<'_>,
    inherited: &Loss,
    mirrored: bool,
    duration: Duration,
) -> Result<Loss, ScenarioError> {
    let mut loss = inherited.outages_only();
    let Value::Table(_) = field.value() else {
        loss.spec.random = field.parse()?;
        return Ok(loss);
    };
    let fields = field.fields()?;
    fields.only(&KEYS)?;
    loss.spec.random = probability(&fields, "random")?.unwrap_or_default();
    loss.spec.corrupt = probability(&fields, "corrupt")?.unwrap_or_default();
    loss.spec.bit_errors = probability(&fields, "bit_errors")?.unwrap_or_default();
    if let Some(field) = fields.get("gilbert-elliott") {
        loss.spec.gilbert_elliott = Some(gilbert_elliott(&field)?);
    }
    if let Some(field) = fields.get("outages") {
        loss.spec.outages = outages(&field)?;
    }
    if let Some(field) = fields.get("random_outages") {
        let spec = random_outages(&field, duration)?;
        loss.drawn = Some(DrawnOutages { spec, mirrored });
    }
    if let Some(field) = fields.get("drops") {
        loss.spec.drops = drops(&field)?;
    }
    Ok(loss)
}

fn probability(fields: &Fields<'_>, key: &str) -> Result<Option<Probability>, ScenarioError> {
    fields.get(key).map(|field| field.parse()).transpose()
}

/// By time, with the mean durations of both states; or by packet, with the transition
/// probabilities.
fn gilbert_elliott(field: &Field<'_>) -> Result<GilbertElliott, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&GILBERT_ELLIOTT)?;
    let good_loss = probability(&fields, "good_loss")?.unwrap_or(Probability::ZERO);
    let bad_loss = probability(&fields, "bad_loss")?.unwrap_or(Probability::ONE);
    let written = GILBERT_ELLIOTT.map(|key| fields.get(key));
    match written {
        [Some(good), Some(bad), None, None, ..] => Ok(GilbertElliott::ByTime {
            good: good.parse()?,
            bad: bad.parse()?,
            good_loss,
            bad_loss,
        }),
        [None, None, Some(p), Some(r), ..] => Ok(GilbertElliott::ByPacket {
            p: p.parse()?,
            r: r.parse()?,
            bad_loss,
            good_loss,
        }),
        _ => Err(field.fail(
            "needs either the mean durations `good` and `bad` of the two states, e.g. \
             `{ good = \"10 s\", bad = \"0.5 s\" }`, or the probabilities per packet `p` (good to \
             bad) and `r` (bad to good), e.g. `{ p = \"1 %\", r = \"20 %\" }`",
        )),
    }
}

fn outages(field: &Field<'_>) -> Result<Vec<Outage>, ScenarioError> {
    let mut outages: Vec<Outage> = Vec::new();
    for item in field.list()? {
        let (from, to) = item.pair("[\"4 s\", \"5 s\"]")?;
        let outage = Outage {
            from: time(&from)?,
            to: time(&to)?,
        };
        if outage.from >= outage.to {
            return Err(item.fail(format!(
                "the outage from {} to {} must end after it begins",
                outage.from, outage.to
            )));
        }
        if outages.last().is_some_and(|last| last.to > outage.from) {
            return Err(item.fail("outages must be in time order and must not overlap"));
        }
        outages.push(outage);
    }
    Ok(outages)
}

/// `["38 s", "40 s"]`.
fn drops(field: &Field<'_>) -> Result<Vec<Time>, ScenarioError> {
    let mut drops: Vec<Time> = Vec::new();
    for item in field.list()? {
        let at = time(&item)?;
        if drops.last().is_some_and(|last| *last >= at) {
            return Err(item.fail("drops must be in time order, each later than the one before"));
        }
        drops.push(at);
    }
    Ok(drops)
}

/// `{ count = 10, length = "0.5 s", within = ["0 s", "60 s"] }`.
fn random_outages(field: &Field<'_>, duration: Duration) -> Result<RandomOutages, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&["count", "length", "within"])?;
    let count = fields.required("count", "10")?.integer(0..=MAX_OUTAGES)?;
    let (from, to) = match fields.get("within") {
        None => (Time::ZERO, Time::ZERO + duration),
        Some(field) => {
            let (from, to) = field.pair("[\"0 s\", \"60 s\"]")?;
            (time(&from)?, time(&to)?)
        }
    };
    let outages = RandomOutages {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        length: fields.required("length", "\"0.5 s\"")?.parse()?,
        from,
        to,
    };
    // The result of this check does not depend on the seed.
    match outages.draw(0) {
        Ok(_) => Ok(outages),
        Err(why) => Err(field.fail(why)),
    }
}
