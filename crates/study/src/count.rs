//! Numbers of things in words.

/// `1 connection`, `2 connections`, `3 windows or rates`.
pub fn count(n: u64, what: &str) -> String {
    match (n, what.split_once(" or ")) {
        (1, _) => format!("1 {what}"),
        (n, Some((first, other))) => format!("{n} {first}s or {other}s"),
        (n, None) => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural_and_either_of_two_things_has_one() {
        let all = [
            count(0, "file"),
            count(1, "window or rate"),
            count(2, "window or rate"),
            count(2, "dropped event"),
        ];
        let expected = [
            "0 files",
            "1 window or rate",
            "2 windows or rates",
            "2 dropped events",
        ];
        assert_eq!(all, expected);
    }
}
