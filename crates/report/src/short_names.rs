//! Short names of the keys of a sweep.

/// Short names of the keys of a sweep: the last word if it is unique (`loss` for `link.L.loss`),
/// and the name of a flow for its count.
pub fn short_names(keys: &[&str]) -> Vec<String> {
    let last = |key: &str| {
        let mut words = key.rsplit('.');
        match (words.next(), words.next()) {
            (Some("count"), Some(name)) if name != "flow" && name.parse::<usize>().is_err() => {
                name.to_owned()
            }
            (last, _) => last.unwrap_or(key).to_owned(),
        }
    };
    let name = |key: &&str| {
        let short = last(key);
        let unique = keys.iter().filter(|k| last(k) == short).count() == 1;
        if unique { short } else { (*key).to_owned() }
    };
    keys.iter().map(name).collect()
}
