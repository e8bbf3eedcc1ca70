//! The algorithms, by family ([`Family`](crate::registry::Family)): one file or folder each.
//!
//! An algorithm imports `interface`, `registry::entry`, `building_blocks`, `estimators`,
//! `classifiers` and `path_change`; a variant also the algorithm that it modifies. None imports the
//! table or the parser.

pub(crate) mod adaptive;
pub(crate) mod bandwidth;
pub(crate) mod burst;
pub(crate) mod delay;
pub(crate) mod loss;
pub(crate) mod model;
pub(crate) mod random_loss;
