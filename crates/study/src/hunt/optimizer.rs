//! The search within a family: random places first, then CMA-ES from the best of them.
//!
//! CMA-ES (N. Hansen, A. Ostermeier, "Completely Derandomized Self-Adaptation in Evolution
//! Strategies", Evolutionary Computation 9(2), 2001) asks for a generation of places and is told
//! how good each is. The generation is evaluated on all cores; neither their number nor their order
//! changes what is asked next.

use fcmaes_core::{Cmaes, CmaesParams, Fitness};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The standard deviation of the first generation, of a range of 1.
const SIGMA: f64 = 0.25;

/// A place: a number from 0 to 1 for each knob.
pub type Coordinates = Vec<f64>;

/// The search of one family.
pub struct Optimizer {
    dims: usize,
    seed: u64,
    random: Xoshiro256PlusPlus,
    /// Random places that are still to be asked for.
    draws: usize,
    strategy: Option<Cmaes>,
    best: Option<(f64, Coordinates)>,
    ended: bool,
}

impl Optimizer {
    /// Over `dims` numbers, with so many random places first; at least one.
    pub fn new(dims: usize, draws: usize, seed: u64) -> Self {
        Self {
            dims,
            seed,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            draws: draws.max(1),
            strategy: None,
            best: None,
            ended: false,
        }
    }

    /// The next places; empty when the strategy has converged.
    pub fn ask(&mut self) -> Vec<Coordinates> {
        if self.ended {
            return Vec::new();
        }
        match &mut self.strategy {
            Some(strategy) => strategy.ask(),
            None => {
                let (dims, draws) = (self.dims, self.draws);
                let mut place = || (0..dims).map(|_| self.random.random::<f64>()).collect();
                (0..draws).map(|_| place()).collect()
            }
        }
    }

    /// The values of the places that were asked for, in their order; less is better.
    pub fn tell(&mut self, places: &[Coordinates], values: &[f64]) {
        for (place, value) in places.iter().zip(values) {
            if self.best.as_ref().is_none_or(|(best, _)| value < best) {
                self.best = Some((*value, place.clone()));
            }
        }
        match (&mut self.strategy, &self.best) {
            (Some(strategy), _) => self.ended = strategy.tell(values) != 0,
            (None, Some((_, from))) => {
                let dims = self.dims;
                let bounds = Fitness::bounded(dims, 1, &vec![0.0; dims], &vec![1.0; dims]);
                let params = CmaesParams {
                    // The default of the algorithm for this number of dimensions.
                    popsize: 0,
                    seed: self.seed,
                    ..CmaesParams::default()
                };
                self.strategy = Some(Cmaes::new(bounds, from, &[SIGMA], &params));
            }
            (None, None) => self.ended = true,
        }
    }

    /// The best value and its place.
    pub fn best(&self) -> Option<(f64, &Coordinates)> {
        self.best.as_ref().map(|(value, place)| (*value, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds until a bowl's lowest place is known, with the values that were asked for.
    fn bowl(seed: u64) -> (f64, Vec<Coordinates>) {
        let mut optimizer = Optimizer::new(5, 16, seed);
        let mut asked = Vec::new();
        for _ in 0..40 {
            let places = optimizer.ask();
            let value = |place: &Coordinates| place.iter().map(|x| (x - 0.8).powi(2)).sum::<f64>();
            let values: Vec<f64> = places.iter().map(value).collect();
            optimizer.tell(&places, &values);
            asked.extend(places);
        }
        let (best, _) = optimizer.best().expect("a best place");
        (best, asked)
    }

    #[test]
    fn a_bowl_is_found_and_the_seed_decides_the_way() {
        let (best, asked) = bowl(1);
        assert!(best < 1e-3, "{best}");
        assert!(asked.iter().flatten().all(|x| (0.0..=1.0).contains(x)));
        assert_eq!(bowl(1).1, asked);
        assert_ne!(bowl(2).1, asked);
    }
}
