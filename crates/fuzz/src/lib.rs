//! Every decoder and parser that sees bytes of others, each as a function of bytes.
//!
//! `corpora` has inputs, a folder for each; the tests of this crate decode all of them. `make fuzz`
//! runs the decoders under libFuzzer, which looks for inputs that reach new code. A decoder may
//! refuse any input; it must not panic, wait, or take more memory than its input justifies. Where a
//! value can be written again, it must come back the same.

mod files;
mod lab;
mod peers;
mod words;

/// A decoder under its name.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, that of the folder of its inputs.
    pub name: &'static str,
    /// Decodes bytes; panics if the decoder does not hold what it promises.
    pub decode: fn(&[u8]),
}

/// All decoders: first of what peers send, then of what files have.
pub fn targets() -> Vec<Target> {
    let mut targets = Vec::new();
    let mut add = |name, decode| targets.push(Target { name, decode });
    add("message", peers::message as fn(&[u8]));
    add("messages", peers::messages);
    add("pack", peers::pack);
    add("frames", peers::frames);
    add("feedback", peers::feedback);
    add("path", peers::path);
    add("trace", words::trace);
    add("hosts", words::hosts);
    add("words", words::words);
    add("lab-state", lab::state);
    add("lab-opened", lab::opened);
    add("lab-recording", lab::recording);
    add("scenario", files::scenario);
    add("topology", files::topology);
    add("users", files::users);
    add("recording", files::recording);
    targets
}

/// The text of an input, if it is one.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it decoders of texts would hold whatever they do.
    #[test]
    fn what_is_utf_8_is_a_text() {
        assert_eq!(text("µ = 1\n".as_bytes()), Some("µ = 1\n"));
        assert_eq!(text(b"\xff"), None);
    }
}
