//! The three words of a code; [`pake`]: how both ends prove that they have the same words.
//!
//! Each is one of the 2048 of BIP 39, which differ in their first four letters: 33 bits. The first
//! word is public: it says which of several codes is meant. The other two are the secret, 22 bits.
//! Each code allows one guess, so whoever tries is right once in 4,194,304 codes, however many
//! computers do it: the words never leave the two ends, and nothing that does allows to try them.

pub(crate) mod pake;

use crate::random::{self, NoRandomness};
use bip39::Language;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use whimbrel_units::nearest;

/// How long a code is valid.
pub(crate) const LIFETIME: Duration = Duration::from_secs(3600);
/// Words of a code.
const WORDS: usize = 3;
/// Bits of a word.
const BITS: u64 = 11;
/// With so many letters a word may be cut.
const PREFIX: usize = 4;

/// Three words that stand for one transfer.
#[derive(Clone, PartialEq, Eq)]
pub struct Code([u16; WORDS]);

fn list() -> &'static [&'static str; 1 << BITS] {
    Language::English.word_list()
}

impl Code {
    /// Random words.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn random() -> Result<Self, NoRandomness> {
        let random = u64::from_be_bytes(random::bytes()?);
        let word = |n| (random >> (n * BITS)) as u16 & ((1 << BITS) - 1);
        Ok(Self([word(0), word(1), word(2)]))
    }

    /// The number of the first word, which is public.
    pub(crate) fn place(&self) -> u16 {
        self.0[0]
    }

    /// What both ends must have.
    pub(crate) fn secret(&self) -> String {
        self.to_string()
    }
}

/// Does not show the secret.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({}-...)", list()[usize::from(self.0[0])])
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.0.map(|word| list()[usize::from(word)]);
        write!(f, "{a}-{b}-{c}")
    }
}

impl FromStr for Code {
    type Err = String;

    /// Reads words between dashes or spaces, in any case; four letters of each are enough.
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text
            .split(['-', ' '])
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let words: [String; WORDS] = words.try_into().map_err(|words: Vec<_>| {
            format!(
                "`{text}`: a code has three words, as in `apple-river-stone`, not {}",
                words.len()
            )
        })?;
        let mut found = [0; WORDS];
        for (found, word) in found.iter_mut().zip(&words) {
            let is_meant = |known: &&str| {
                *known == word || (word.len() >= PREFIX && known.starts_with(word.as_str()))
            };
            let exact = list().iter().position(|known| *known == word);
            let number = exact.or_else(|| list().iter().position(is_meant));
            *found = number.map(|number| number as u16).ok_or_else(|| {
                let near = nearest(word, list().iter().copied());
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                format!("`{word}` is not a word of a code{near}")
            })?;
        }
        Ok(Self(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_people_write_them() {
        for _ in 0..100 {
            let code = Code::random().expect("randomness");
            let text = code.to_string();
            for written in [text.clone(), text.to_uppercase(), text.replace('-', "  ")] {
                assert_eq!(written.parse::<Code>(), Ok(code.clone()), "{written}");
            }
            let shown = format!("{code:?}");
            assert!(!shown.contains(&text), "{shown}");
        }
        let code: Code = "act-zoo-abandon".parse().expect("words");
        assert_eq!("act zoo aban".parse::<Code>(), Ok(code.clone()));
        assert_ne!("action-zoo-abandon".parse::<Code>(), Ok(code));
        for (wrong, says) in [
            ("act-zoo", "three words"),
            ("a-b-c-d", "three words"),
            ("act-zoo-abandonn", "did you mean `abandon`?"),
            ("host.example.org", "three words"),
        ] {
            let error = wrong.parse::<Code>().expect_err(wrong);
            assert!(error.contains(says), "{error}");
        }
    }

    /// The bound on guesses counts on it.
    #[test]
    fn words_are_uniform_over_the_list() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..20_000 {
            seen.extend(Code::random().expect("randomness").0);
        }
        // 60,000 draws of 2048 miss one with a probability of 4e-10.
        assert_eq!(seen.len(), 2048);
    }
}
