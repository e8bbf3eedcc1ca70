//! Priorities on the command line.

use whimbrel_cc::fairness::Priority;

/// Parses a priority.
///
/// # Errors
/// If it is not an integer from 1 to 8.
pub fn priority(text: &str) -> Result<Priority, String> {
    let number = text.parse().ok().and_then(Priority::new);
    number.ok_or_else(|| {
        format!("`{text}` is no priority; write an integer from 1 (the lowest) to 8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_integers_from_1_to_8() {
        assert_eq!(priority("1"), Ok(Priority::LOWEST));
        assert_eq!(priority("8"), Ok(Priority::HIGHEST));
        for wrong in ["0", "9", "-1", "1.5", "", "high", "257"] {
            let error = priority(wrong).expect_err(wrong);
            assert!(error.contains("from 1 (the lowest) to 8"), "{error}");
        }
    }
}
