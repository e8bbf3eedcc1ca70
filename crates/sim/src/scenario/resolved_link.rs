//! Both directions of a link with their defaults, ready to be copied into runs.

use super::ScenarioError;
use super::generated::{GeneratedPath, Generator};
use super::link::{Direction, Link};
use super::loss::ResolvedLoss;
use super::written::Written;
use crate::network::Helper;
use std::sync::Arc;
use whimbrel_net::{AqmSetting, Delay, LinkSpec, Queue, Schedule, ServiceSpec, WifiSpec};
use whimbrel_units::{Bytes, Duration, Rate};

/// Why `reverse.rate` is refused on a link that has one rate for both directions.
const ONE_CHANNEL: &str =
    "both directions of a Wi-Fi link share one channel; set its rate in `wifi`";
const ONE_RADIO: &str = "both directions of a radio link have the same rate; set it in `wireless`";

/// Both directions of a link.
#[derive(Debug, Clone)]
pub(super) struct ResolvedLink {
    pub name: String,
    /// The written direction.
    pub forward: ResolvedDirection,
    /// The mirrored one.
    pub reverse: ResolvedDirection,
    /// The channel that both directions share, if it is a Wi-Fi link. The service of the directions
    /// is then the rate of the channel, which is an upper bound.
    pub wifi: Option<WifiSpec>,
    /// If set, each run draws service and delay of both directions; until then they are nominal.
    pub generated: Option<GeneratedPath>,
    /// The helper at one of its ends.
    pub helper: Option<Helper>,
}

/// One direction. Queue and queue management of `spec` are set by [`Self::fit`], because they may
/// depend on the routes of flows; `spec.loss` is not used, because part of `loss` is drawn for each
/// run.
#[derive(Debug, Clone)]
pub(super) struct ResolvedDirection {
    pub spec: LinkSpec,
    pub loss: ResolvedLoss,
    queue: Option<Written<Queue>>,
    aqm: Option<Written<AqmSetting>>,
}

impl Link {
    /// Both directions on a path of this link alone, for an emulated path: without what each run
    /// draws by its seed. `packet` is the size of a full packet.
    ///
    /// # Errors
    /// If values cannot be combined, or a queue or its management needs a rate that the link does
    /// not have.
    pub fn path(&self, packet: Bytes) -> Result<[LinkSpec; 2], ScenarioError> {
        let mut link = self.resolve(Duration::ZERO, None)?;
        let delay = |direction: &ResolvedDirection| direction.spec.delay.nominal();
        let rtt = delay(&link.forward).saturating_add(delay(&link.reverse));
        link.fit(rtt, packet)?;
        let spec = |direction: ResolvedDirection| LinkSpec {
            loss: direction.loss.spec,
            ..direction.spec
        };
        Ok([spec(link.forward), spec(link.reverse)])
    }

    /// Checks which values are combined, and gives the mirrored direction what it inherits.
    /// `duration` is the run's; `queue` is the buffer of links that have a rate and no `queue`.
    pub(super) fn resolve(
        &self,
        duration: Duration,
        queue: Option<&Written<Queue>>,
    ) -> Result<ResolvedLink, ScenarioError> {
        self.check()?;
        let (forward, reverse) = (&self.forward, &self.reverse);
        let generated = self.generated.as_ref();
        let generated =
            generated.map(|path| path.value.over(duration).map_err(|why| path.fail(why)));
        let generated = generated.transpose()?;
        let [nominal, nominal_back] = self.nominal(generated.as_ref());
        let loss = ResolvedLoss::of(forward.loss.as_ref(), duration)?;
        let reverse_loss = loss.mirrored(reverse.loss.as_ref(), duration)?;
        let queue = queue.filter(|_| forward.rate.is_some());
        let mut there = ResolvedDirection::of(forward, nominal, loss);
        there.queue = there.queue.or(queue.cloned());
        // What the mirrored direction does not say of itself is as in the written one.
        let inherited = Direction {
            rate: reverse.rate.clone().or(forward.rate.clone()),
            delay: reverse.delay.clone().or(forward.delay.clone()),
            queue: reverse.queue.clone().or(there.queue.clone()),
            aqm: reverse.aqm.clone().or(forward.aqm.clone()),
            loss: None,
        };
        let mut back = ResolvedDirection::of(&inherited, nominal_back, reverse_loss);
        if let Some(keep) = &self.keep_order {
            for direction in [&mut there, &mut back] {
                direction.spec.delay = direction.spec.delay.clone().in_order(keep.value);
            }
        }
        Ok(ResolvedLink {
            name: self.name.clone(),
            forward: there,
            reverse: back,
            wifi: self.wifi.as_ref().map(|wifi| wifi.value.clone()),
            generated,
            helper: self.helper.as_ref().map(|helper| helper.value),
        })
    }

    /// Refuses values that cannot be combined.
    fn check(&self) -> Result<(), ScenarioError> {
        let Self {
            forward,
            reverse,
            wifi,
            wireless,
            generated,
            ..
        } = self;
        let polled = wifi.is_some() || forward.aqm.is_some() || self.reverse.aqm.is_some();
        if let Some(helper) = self.helper.as_ref().filter(|_| polled) {
            return Err(helper.fail("cannot be combined with `wifi` or `aqm`"));
        }
        let rate = forward.rate.as_ref();
        if let (Some(_), Some(rate)) = (wifi, rate) {
            return Err(rate.fail("cannot be combined with `wifi`, which sets the rate"));
        }
        let why = "cannot be combined with `wireless`, which sets the rate";
        match (wireless, wifi, rate) {
            (Some(_), Some(wifi), _) => return Err(wifi.fail(why)),
            (Some(_), _, Some(rate)) => return Err(rate.fail(why)),
            _ => {}
        }
        if let Some(path) = generated {
            path.value.check(self)?;
        }
        let shared = wifi.is_some().then_some(ONE_CHANNEL);
        let shared = shared.or(wireless.is_some().then_some(ONE_RADIO));
        if let (Some(why), Some(rate)) = (shared, &reverse.rate) {
            return Err(rate.fail(why));
        }
        let mut managed = [&forward.aqm, &reverse.aqm].into_iter().flatten();
        match managed.find(|aqm| aqm.value != AqmSetting::None) {
            Some(aqm) if wifi.is_some() => Err(aqm.fail(
                "a Wi-Fi link has DropTail queues; write `aqm` on a link with a `rate`, e.g. the \
                 next one",
            )),
            _ => Ok(()),
        }
    }

    /// Both directions where nothing is written about rate and delay.
    fn nominal(&self, generated: Option<&GeneratedPath>) -> [LinkSpec; 2] {
        if let Some(generated) = generated {
            return generated.nominal();
        }
        let constant = |rate: Rate| ServiceSpec::Rate(Schedule::constant(rate));
        let radio = self.wireless.as_ref().map(|radio| &radio.value);
        let [there, back] = match (&self.wifi, radio) {
            (Some(wifi), _) => [constant(wifi.value.rate()), constant(wifi.value.rate())],
            (None, Some(radio)) => [radio.clone(), radio.mirrored()]
                .map(|radio| ServiceSpec::Wireless(Arc::new(radio))),
            (None, None) => [ServiceSpec::Unlimited, ServiceSpec::Unlimited],
        };
        // The default delay of a radio link is the propagation time of its signal.
        let propagation = radio.map(|radio| radio.spec().propagation());
        let delay = Delay::constant(propagation.unwrap_or_default());
        [there, back].map(|service| LinkSpec {
            service,
            delay: delay.clone(),
            ..LinkSpec::default()
        })
    }
}

impl Generator {
    /// Refuses values that the generated path sets itself.
    fn check(&self, link: &Link) -> Result<(), ScenarioError> {
        let (why, one) = match self {
            Self::LowOrbit(_) => (
                "`low_orbit` sets rate and delay; leave this key out",
                "write `reverse_rate` of `low_orbit`; its delay is of both ways",
            ),
            Self::Cellular(_) => (
                "`cellular` sets the rate; leave this key out",
                "write `reverse_rate` of `cellular`",
            ),
        };
        let (forward, reverse) = (&link.forward, &link.reverse);
        let own_delay = matches!(self, Self::LowOrbit(_));
        let fails = [
            forward.rate.as_ref().map(|rate| rate.fail(why)),
            link.wifi.as_ref().map(|wifi| wifi.fail(why)),
            link.wireless.as_ref().map(|radio| radio.fail(why)),
            forward
                .delay
                .as_ref()
                .filter(|_| own_delay)
                .map(|delay| delay.fail(why)),
            link.keep_order
                .as_ref()
                .filter(|_| own_delay)
                .map(|keep| keep.fail(why)),
            reverse.rate.as_ref().map(|rate| rate.fail(one)),
            reverse
                .delay
                .as_ref()
                .filter(|_| own_delay)
                .map(|delay| delay.fail(one)),
        ];
        fails.into_iter().flatten().next().map_or(Ok(()), Err)
    }
}

impl ResolvedLink {
    /// Sets the queues and their management on paths of this base RTT, whose largest packets have
    /// this size. A queue of x bdp holds x times the link's rate (maximum of a schedule, mean of a
    /// trace) times the base RTT, and at least one packet.
    pub fn fit(&mut self, rtt: Duration, packet: Bytes) -> Result<(), ScenarioError> {
        self.forward.fit(rtt, packet)?;
        self.reverse.fit(rtt, packet)
    }
}

impl ResolvedDirection {
    fn of(written: &Direction, nominal: LinkSpec, loss: ResolvedLoss) -> Self {
        let Direction {
            rate,
            delay,
            queue,
            aqm,
            ..
        } = written;
        Self {
            spec: LinkSpec {
                service: rate
                    .as_ref()
                    .map_or(nominal.service, |rate| rate.value.clone()),
                delay: delay
                    .as_ref()
                    .map_or(nominal.delay, |delay| delay.value.clone()),
                ..LinkSpec::default()
            },
            loss,
            queue: queue.clone(),
            aqm: aqm.clone(),
        }
    }

    fn fit(&mut self, rtt: Duration, packet: Bytes) -> Result<(), ScenarioError> {
        let service = &self.spec.service;
        if let Some(aqm) = &self.aqm {
            let managed = aqm.value.resolve(service, rtt, packet);
            self.spec.aqm = managed.map_err(|why| aqm.fail(why))?;
        }
        if let Some(queue) = &self.queue {
            let limit = queue.value.limit(service, rtt, packet);
            self.spec.queue = limit.ok_or_else(|| {
                queue.fail(
                    "a queue in `bdp` needs a `rate` of the link; add it, or write the queue in \
                     packets or bytes",
                )
            })?;
        }
        Ok(())
    }

    /// The rate that a policer lets through.
    pub fn policed(&self) -> Option<Rate> {
        match self.aqm.as_ref()?.value {
            AqmSetting::Policer { rate, .. } => rate,
            _ => None,
        }
    }
}
