//! How a result was made: by which version, by which command.

/// The program and its version.
pub const VERSION: &str = concat!("whimbrel ", env!("CARGO_PKG_VERSION"));

/// The command that runs, as a shell takes it.
pub fn command() -> String {
    line(std::env::args())
}

fn line(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./+=:,%@".contains(c);
    let quoted = |(i, word): (usize, String)| match i {
        0 => "whimbrel".to_owned(),
        _ if !word.is_empty() && word.chars().all(plain) => word,
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let words: Vec<String> = words.enumerate().map(quoted).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again() {
        let words = [
            "/opt/bin/whimbrel",
            "sim",
            "a b.toml",
            "--set",
            "x='1 %'",
            "",
        ];
        assert_eq!(
            line(words.map(str::to_owned).into_iter()),
            r"whimbrel sim 'a b.toml' --set 'x='\''1 %'\''' ''"
        );
    }
}
