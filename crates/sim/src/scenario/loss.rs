//! `loss` of one direction of a link.

use super::ScenarioError;
use super::document::Value;
use super::fields::{Field, Fields};
use super::service::time;
use super::written::Written;
use std::fmt::Display;
use whimbrel_net::{GilbertElliott, LossSpec, Outage, RandomOutages};
use whimbrel_units::{Duration, Probability, Time};

/// Keys of a table of losses.
pub(super) const KEYS: [&str; 7] = [
    "random",
    "gilbert-elliott",
    "corrupt",
    "bit_errors",
    "outages",
    "random_outages",
    "drops",
];
/// Keys of the Gilbert-Elliott model, by time and by packet.
pub(super) const GILBERT_ELLIOTT: [&str; 6] = ["good", "bad", "p", "r", "good_loss", "bad_loss"];
/// Maximum number of random outages of one link.
const MAX_OUTAGES: u64 = 100_000;

/// The losses of one direction as written. The default is none.
#[derive(Debug, Clone, Default)]
pub struct Loss {
    /// As in the other direction; everything else here is then ignored. Of the mirrored direction
    /// only.
    pub same: bool,
    /// Each packet is lost with this probability.
    pub random: Probability,
    /// Each packet is corrupted with this probability: one of its bits arrives changed.
    pub corrupt: Probability,
    /// Each bit arrives changed with this probability.
    pub bit_errors: Probability,
    /// Loss in bursts.
    pub gilbert_elliott: Option<GilbertElliott>,
    /// Spans in which everything is lost, in order; `None`: those of the written direction.
    pub outages: Option<Vec<Outage>>,
    /// Outages that each run draws; `None`: those of the written direction.
    pub random_outages: Option<Written<DrawnOutages>>,
    /// Instants at which the next packet is lost, in order.
    pub drops: Vec<Time>,
}

/// Outages whose times each run draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnOutages {
    /// Their number.
    pub count: u32,
    /// The length of each.
    pub length: Duration,
    /// The span in which they lie; `None`: the whole run.
    pub within: Option<(Time, Time)>,
}

/// The losses of one direction. `spec.outages` are the written outages.
#[derive(Debug, Clone, Default)]
pub(super) struct ResolvedLoss {
    pub spec: LossSpec,
    pub drawn: Option<Drawn>,
}

/// Outages that are drawn for each run. They fit in their range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    spec: RandomOutages,
    /// They were written for the mirrored direction alone; otherwise both directions share them.
    pub mirrored: bool,
}

impl Drawn {
    /// The outages of the run with this seed.
    pub fn draw(&self, seed: u64) -> Vec<Outage> {
        // The constructor has checked that they fit.
        self.spec.draw(seed).unwrap_or_default()
    }
}

impl Loss {
    /// Random loss only.
    pub fn random(random: Probability) -> Self {
        Self {
            random,
            ..Self::default()
        }
    }
}

/// The table of a scenario file.
impl From<DrawnOutages> for Value {
    fn from(outages: DrawnOutages) -> Self {
        let mut keys = vec![
            ("count", Self::from(outages.count)),
            ("length", outages.length.into()),
        ];
        let within = outages.within.map(|(from, to)| span(from, to));
        keys.extend(within.map(|span| ("within", span)));
        Self::table(keys)
    }
}

/// Two instants of a scenario file: `["4 s", "5 s"]`.
fn span(from: Time, to: Time) -> Value {
    Value::from(vec![from.since(Time::ZERO), to.since(Time::ZERO)])
}

/// The table of a scenario file.
impl From<Loss> for Value {
    fn from(loss: Loss) -> Self {
        let at = |time: Time| Self::from(time.since(Time::ZERO));
        let mut keys: Vec<(&str, Self)> = Vec::new();
        for (key, probability) in [
            ("random", loss.random),
            ("corrupt", loss.corrupt),
            ("bit_errors", loss.bit_errors),
        ] {
            if !probability.is_zero() {
                keys.push((key, probability.into()));
            }
        }
        let bursts = loss.gilbert_elliott.map(|model| match model {
            GilbertElliott::ByTime {
                good,
                bad,
                good_loss,
                bad_loss,
            } => Self::table([
                ("good", good.into()),
                ("bad", bad.into()),
                ("good_loss", good_loss.into()),
                ("bad_loss", bad_loss.into()),
            ]),
            GilbertElliott::ByPacket {
                p,
                r,
                bad_loss,
                good_loss,
            } => Self::table([
                ("p", p.into()),
                ("r", r.into()),
                ("good_loss", good_loss.into()),
                ("bad_loss", bad_loss.into()),
            ]),
        });
        keys.extend(bursts.map(|table| ("gilbert-elliott", table)));
        let outages = loss
            .outages
            .map(|all| Self::list(all.into_iter().map(|outage| span(outage.from, outage.to))));
        keys.extend(outages.map(|list| ("outages", list)));
        let drawn = loss.random_outages.map(|drawn| drawn.source().clone());
        keys.extend(drawn.map(|table| ("random_outages", table)));
        if !loss.drops.is_empty() {
            keys.push(("drops", Self::list(loss.drops.into_iter().map(at))));
        }
        match loss.same {
            true => "same".into(),
            false => Self::table(keys),
        }
    }
}

impl DrawnOutages {
    /// The outages in runs of this duration.
    fn over(&self, duration: Duration) -> Result<RandomOutages, impl Display> {
        let whole = (Time::ZERO, Time::ZERO + duration);
        let (from, to) = self.within.unwrap_or(whole);
        let outages = RandomOutages {
            count: self.count,
            length: self.length,
            from,
            to,
        };
        // The result of this check does not depend on the seed.
        outages.draw(0).map(|_| outages)
    }
}

impl ResolvedLoss {
    /// The losses of the written direction in runs of this duration.
    pub fn of(written: Option<&Written<Loss>>, duration: Duration) -> Result<Self, ScenarioError> {
        Self::default().with(written, false, duration)
    }

    /// The losses of the mirrored direction. If none are written it has the same outages.
    pub fn mirrored(
        &self,
        written: Option<&Written<Loss>>,
        duration: Duration,
    ) -> Result<Self, ScenarioError> {
        match written {
            Some(loss) if loss.value.same => Ok(self.clone()),
            other => self.with(other, true, duration),
        }
    }

    /// The written losses, with the outages of `self` where none are written.
    fn with(
        &self,
        written: Option<&Written<Loss>>,
        mirrored: bool,
        duration: Duration,
    ) -> Result<Self, ScenarioError> {
        let none = Loss::default();
        let loss = written.map_or(&none, |loss| &loss.value);
        let outages = loss.outages.as_ref().unwrap_or(&self.spec.outages);
        let drawn = loss.random_outages.as_ref().map(|drawn| {
            let spec = drawn.value.over(duration).map_err(|why| drawn.fail(why))?;
            Ok(Drawn { spec, mirrored })
        });
        Ok(Self {
            spec: LossSpec {
                random: loss.random,
                corrupt: loss.corrupt,
                bit_errors: loss.bit_errors,
                gilbert_elliott: loss.gilbert_elliott,
                outages: outages.clone(),
                drops: loss.drops.clone(),
            },
            drawn: drawn.transpose()?.or(self.drawn),
        })
    }

    /// Number of outages and drops in a run.
    pub fn events(&self) -> u64 {
        let drawn = self.drawn.map_or(0, |drawn| u64::from(drawn.spec.count));
        (self.spec.outages.len() + self.spec.drops.len()) as u64 + drawn
    }
}

/// Reads `"1 %"`, a table, or of the mirrored direction `"same"`.
pub(super) fn read(field: &Field<'_>) -> Result<Loss, ScenarioError> {
    match field.value() {
        Value::Text(text) if text == "same" && field.path().ends_with(".reverse.loss") => {
            return Ok(Loss {
                same: true,
                ..Loss::default()
            });
        }
        Value::Table(_) => {}
        _ => return field.parse().map(Loss::random),
    }
    let fields = field.fields()?;
    fields.only(&KEYS)?;
    let probability = |key| Ok(probability(&fields, key)?.unwrap_or_default());
    Ok(Loss {
        same: false,
        random: probability("random")?,
        corrupt: probability("corrupt")?,
        bit_errors: probability("bit_errors")?,
        gilbert_elliott: fields
            .get("gilbert-elliott")
            .map(|field| gilbert_elliott(&field))
            .transpose()?,
        outages: fields
            .get("outages")
            .map(|field| outages(&field))
            .transpose()?,
        random_outages: fields.read("random_outages", random_outages)?,
        drops: fields
            .get("drops")
            .map_or(Ok(Vec::new()), |field| drops(&field))?,
    })
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
fn random_outages(field: &Field<'_>) -> Result<DrawnOutages, ScenarioError> {
    let fields = field.fields()?;
    fields.only(&["count", "length", "within"])?;
    let count = fields.required("count", "10")?.integer(0..=MAX_OUTAGES)?;
    let within = fields.get("within").map(|field| {
        let (from, to) = field.pair("[\"0 s\", \"60 s\"]")?;
        Ok((time(&from)?, time(&to)?))
    });
    Ok(DrawnOutages {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        length: fields.required("length", "\"0.5 s\"")?.parse()?,
        within: within.transpose()?,
    })
}
