//! A path as the families write it, and its scenario file.

/// A scenario file in parts.
#[derive(Debug, Default)]
pub struct Draft {
    pub class: &'static str,
    pub score: &'static str,
    /// Milliseconds.
    pub rtt: f64,
    /// Further lines of `[point]`.
    pub scored: String,
    pub tested: &'static [&'static str],
    /// Links and flows.
    pub body: String,
    /// Seconds.
    pub duration: f64,
    /// Further lines of `[run]`.
    pub run: &'static str,
}

impl Draft {
    /// The file.
    pub fn text(&self, claim: &str) -> String {
        let Self {
            class,
            score,
            rtt,
            scored,
            body,
            duration,
            run,
            ..
        } = self;
        let tested: Vec<String> = self
            .tested
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect();
        let tested = tested.join(", ");
        format!(
            "[point]\nclass = \"{class}\"\nclaim = \"{claim}\"\nflows = [{tested}]\n\
             score = \"{score}\"\nrtt = \"{rtt} ms\"\n{scored}\n{body}[run]\n\
             duration = \"{duration} s\"\n{run}"
        )
    }
}
