//! A server that is not known yet: on a terminal the user confirms its fingerprint, as with ssh.

use crate::over_tcp::TransportArgs;
use crate::stop::runtime;
use anyhow::Context;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use whimbrel_transfer::{
    ClientOptions, Error, Fingerprint, ServerAddress, Token, default_controller, fingerprint_of,
};

/// The terminal, even where standard input is a file that is sent.
const TERMINAL: &str = "/dev/tty";

/// Shows the fingerprint of the server that answers, and returns it if the user trusts it. `None`
/// without a terminal: the connection then fails with the fingerprint in its error.
///
/// # Errors
/// If no server answers, or the user does not trust it.
pub fn confirm(
    server: &ServerAddress,
    transport: &TransportArgs,
) -> anyhow::Result<Option<Fingerprint>> {
    if !io::stderr().is_terminal() {
        return Ok(None);
    }
    let Ok(terminal) = File::open(TERMINAL) else {
        return Ok(None);
    };
    let mut options = ClientOptions::new(server.clone(), Token::random()?, default_controller());
    transport.apply(&mut options);
    let runtime = runtime()?;
    let found = runtime.block_on(fingerprint_of(&options))?;
    let mut out = io::stderr().lock();
    writeln!(
        out,
        "The server {server} is not known. Its fingerprint is\n  {found}\nCompare it with the one \
         that the server printed when it started, or prints with `whimbrel key show`."
    )?;
    let mut answers = BufReader::new(terminal).lines();
    loop {
        write!(out, "Connect, and remember the fingerprint (yes/no)? ")?;
        out.flush()?;
        let answer = answers.next().transpose();
        let answer = answer.with_context(|| format!("cannot read {TERMINAL}"))?;
        match trusts(answer.as_deref().unwrap_or("no"), found) {
            Some(true) => return Ok(Some(found)),
            Some(false) => {
                let host = server.to_string();
                return Err(Error::UnknownServer { host, found }.into());
            }
            None => writeln!(out, "Type yes, no, or the fingerprint that is expected.")?,
        }
    }
}

/// What an answer means; the right fingerprint is a yes, another one a no.
fn trusts(answer: &str, found: Fingerprint) -> Option<bool> {
    let answer = answer.trim();
    match answer.to_ascii_lowercase().as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => Some(answer.parse::<Fingerprint>().ok()? == found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_yes_no_or_the_fingerprint() {
        let print = |digit: &str| digit.repeat(64);
        let found: Fingerprint = print("a").parse().expect("a fingerprint");
        for (answer, means) in [
            ("yes", Some(true)),
            (" YES ", Some(true)),
            ("no", Some(false)),
            ("y", None),
            ("", None),
            (&print("a"), Some(true)),
            (&print("b"), Some(false)),
        ] {
            assert_eq!(trusts(answer, found), means, "{answer:?}");
        }
    }
}
