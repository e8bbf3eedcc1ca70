//! Links whose rate, and perhaps delay, each run draws by its seed.

use whimbrel_net::{Cellular, Delay, LinkSpec, LowOrbit, Schedule, ServiceSpec};
use whimbrel_units::{Duration, Rate};

/// Length of a path that only stands for its means.
const SHORTEST: Duration = Duration::from_secs(1);

/// What a run draws.
#[derive(Debug, Clone, PartialEq)]
pub enum Generator {
    /// A path over satellites in low Earth orbit: rate and delay.
    LowOrbit(LowOrbit),
    /// A cellular path: the rate. The delay is the link's.
    Cellular(Cellular),
}

/// A generated path in runs of one length.
#[derive(Debug, Clone)]
pub(super) struct GeneratedPath {
    generator: Generator,
    /// The run's duration.
    length: Duration,
}

/// One direction of a drawn path.
pub(super) struct DrawnDirection {
    pub service: ServiceSpec,
    /// `None`: the link's own.
    pub delay: Option<Delay>,
}

impl Generator {
    /// The key of a link that selects it.
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::LowOrbit(_) => "low_orbit",
            Self::Cellular(_) => "cellular",
        }
    }

    /// Mixed into the run's seed, so that this stream differs from the others of the run.
    fn salt(&self) -> u64 {
        match self {
            Self::LowOrbit(_) => 0x1E0_0B17_0000_0004,
            Self::Cellular(_) => 0x0CE1_1A50_0000_0005,
        }
    }

    /// The path in runs of this length; of no length, one that only stands for its means.
    ///
    /// # Errors
    /// Why it cannot be drawn.
    pub(super) fn over(&self, length: Duration) -> Result<GeneratedPath, &'static str> {
        let path = GeneratedPath {
            generator: self.clone(),
            length: if length.is_zero() { SHORTEST } else { length },
        };
        // A path that can be drawn once can always be drawn.
        path.drawn(0).map(|_| path)
    }
}

impl GeneratedPath {
    /// Both directions as they are on average: what queues in `bdp` are resolved with.
    pub fn nominal(&self) -> [LinkSpec; 2] {
        let (rates, delay) = match &self.generator {
            Generator::LowOrbit(path) => ([path.rate, path.reverse_rate], path.nominal_delay()),
            Generator::Cellular(path) => ([path.rate, path.reverse_rate], Duration::ZERO),
        };
        rates.map(|rate: Rate| LinkSpec {
            service: ServiceSpec::Rate(Schedule::constant(rate)),
            delay: Delay::constant(delay),
            ..LinkSpec::default()
        })
    }

    /// How many steps each drawn direction has, about.
    pub fn steps(&self) -> u64 {
        match &self.generator {
            Generator::LowOrbit(path) => path.steps(self.length),
            Generator::Cellular(path) => path.steps(self.length),
        }
    }

    /// Both directions of link number `link` in the run with this seed; `copy` numbers a flow's
    /// copies of it.
    pub fn draw(&self, seed: u64, link: usize, copy: u64) -> Option<[DrawnDirection; 2]> {
        // Odd factors far apart keep the seeds of links, copies and runs apart.
        let link = (link as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let copy = copy.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let seed = (seed ^ self.generator.salt())
            .wrapping_add(link)
            .wrapping_add(copy);
        self.drawn(seed).ok()
    }

    fn drawn(&self, seed: u64) -> Result<[DrawnDirection; 2], &'static str> {
        Ok(match &self.generator {
            Generator::LowOrbit(path) => {
                let path = path.draw(self.length, seed)?;
                [path.forward, path.reverse].map(|direction| DrawnDirection {
                    service: ServiceSpec::Rate(direction.rate),
                    delay: Some(direction.delay),
                })
            }
            Generator::Cellular(path) => {
                let path = path.draw(self.length, seed)?;
                [path.forward, path.reverse].map(|trace| DrawnDirection {
                    service: ServiceSpec::Trace(trace),
                    delay: None,
                })
            }
        })
    }
}
