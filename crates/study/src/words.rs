//! Errors in plain words: those of Rust's library, which some libraries pass on, are replaced.

/// What Rust's library says, and what it means to a user.
const WORDS: [(&str, &str); 11] = [
    (
        "stream did not contain valid UTF-8",
        "it is not a text in UTF-8",
    ),
    ("entity not found", "No such file or directory"),
    ("invalid digit found in string", "not a whole number"),
    (
        "cannot parse integer from empty string",
        "not a whole number",
    ),
    ("number too large to fit in target type", "too large"),
    ("number too small to fit in target type", "too small"),
    ("invalid float literal", "not a number"),
    ("cannot parse float from empty string", "not a number"),
    (
        "invalid socket address syntax",
        "not an address; write e.g. 127.0.0.1:9090 or [::1]:9090",
    ),
    (
        "invalid IP address syntax",
        "not an address; write e.g. 192.0.2.1 or 2001:db8::1",
    ),
    ("failed to lookup address information: ", ""),
];
/// How Rust's library begins the number of a system's error, which ends with a parenthesis.
const NUMBER: &str = " (os error ";

/// The text of an error in plain words.
pub fn plain(text: &str) -> String {
    let mut plain = WORDS
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut begin = 0;
    while let Some(at) = plain[begin..].find(NUMBER).map(|at| begin + at) {
        let digits = &plain[at + NUMBER.len()..];
        let end = digits.find(|c: char| !c.is_ascii_digit());
        match end.filter(|end| *end > 0 && digits[*end..].starts_with(')')) {
            Some(end) => {
                plain.replace_range(at..=at + NUMBER.len() + end, "");
                begin = at;
            }
            None => begin = at + NUMBER.len(),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn rusts_words_are_replaced() {
        let number = "x".parse::<u32>().expect_err("no number").to_string();
        assert_eq!(plain(&number), "not a whole number");
        let address = "x".parse::<std::net::SocketAddr>();
        let address = address.expect_err("no address").to_string();
        assert!(plain(&address).starts_with("not an address"), "{address}");
        let missing = io::Error::from_raw_os_error(2).to_string();
        assert_eq!(plain(&missing), "No such file or directory");
        assert_eq!(
            plain(&format!("a: {missing}; b: {missing}.")),
            "a: No such file or directory; b: No such file or directory."
        );
        let kind = io::Error::from(io::ErrorKind::NotFound).to_string();
        assert_eq!(plain(&kind), "No such file or directory");
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "cannot read é (os error x)",
            "(os error ",
            "a (os error )",
            "",
        ] {
            assert_eq!(plain(text), text);
        }
    }
}
