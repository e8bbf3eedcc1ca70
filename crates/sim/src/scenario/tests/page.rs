//! The page that lists the keys of a file.

use super::super::{
    cellular, destination, kind, link, loss, low_orbit, run, service, settings, wifi, wireless,
};
use std::collections::BTreeSet;

/// Where users look keys up.
const PAGE: &str = include_str!("../../../../../docs/reference/scenario-keys.md");

#[test]
fn the_page_of_the_keys_has_each_key_of_the_readers() {
    // What stands between backquotes; the first part of a line does not.
    let code = PAGE
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words: BTreeSet<&str> = code.flat_map(|code| code.split(|c| !is_key(c))).collect();
    let keys = [
        &link::KEYS[..],
        &loss::KEYS,
        &loss::GILBERT_ELLIOTT,
        &service::DELAY_KEYS,
        &wifi::KEYS,
        &wireless::KEYS,
        &low_orbit::KEYS,
        &cellular::KEYS,
        &destination::KEYS,
        &run::KEYS,
    ];
    let keys = keys.concat().into_iter();
    let keys = keys.chain(kind::keys()).chain(settings::keys());
    let missing: Vec<&str> = keys.filter(|key| !words.contains(key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
