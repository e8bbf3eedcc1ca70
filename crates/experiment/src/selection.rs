//! Points of a sweep, selected by the values of its keys.

use whimbrel_sim::scenario::Parameter;

/// Points of a sweep: for each key, the values that are selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(Vec<(String, Vec<String>)>);

impl Selection {
    /// Selects, for each key, any of the values.
    pub(crate) fn new(choices: Vec<(String, Vec<String>)>) -> Self {
        Self(choices)
    }

    /// Whether a point with these parameters is selected.
    pub fn takes(&self, parameters: &[Parameter]) -> bool {
        self.0.iter().all(|(key, values)| {
            parameters
                .iter()
                .any(|p| p.key == *key && values.contains(&p.value.to_string()))
        })
    }

    /// Whether it selects every point.
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The values selected for a key; `None` if any value is.
    pub(crate) fn values(&self, key: &str) -> Option<&[String]> {
        let (_, values) = self.0.iter().find(|(k, _)| k == key)?;
        Some(values)
    }

    /// The only value selected for a key; `None` if there is not exactly one.
    pub(crate) fn only(&self, key: &str) -> Option<&str> {
        match self.values(key)? {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The same selection with one value for a key.
    pub(crate) fn with(&self, key: &str, value: &str) -> Self {
        let mut all = self.0.clone();
        all.retain(|(k, _)| k != key);
        all.push((key.to_owned(), vec![value.to_owned()]));
        Self(all)
    }
}
