//! Reads what a peer chooses within its bounds: memory grows with what is there, and stops at the
//! maximum.

use crate::token::Token;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

struct AtMost<const MAX: usize, T>(PhantomData<T>);

impl<'de, const MAX: usize, T: Deserialize<'de>> Visitor<'de> for AtMost<MAX, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = from.next_element()? {
            if list.len() >= MAX {
                return Err(A::Error::custom(format!("more than {MAX} elements")));
            }
            list.push(element);
        }
        Ok(list)
    }
}

/// A list of at most `MAX` elements.
pub(super) fn at_most<'de, const MAX: usize, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(AtMost::<MAX, T>(PhantomData))
}

/// Text of at most `MAX` bytes.
pub(super) fn text<'de, const MAX: usize, D: Deserializer<'de>>(
    from: D,
) -> Result<String, D::Error> {
    String::from_utf8(at_most::<MAX, D, u8>(from)?).map_err(D::Error::custom)
}

/// A list of paths.
pub(super) fn paths<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<u8>>, D::Error> {
    #[derive(Deserialize)]
    struct Path(#[serde(deserialize_with = "at_most::<{ super::MAX_PATH }, _, _>")] Vec<u8>);
    let paths = at_most::<{ super::MAX_LIST }, D, Path>(from)?;
    Ok(paths.into_iter().map(|path| path.0).collect())
}

/// A token, which becomes bytes here only.
pub(super) mod secret {
    use super::*;

    pub fn serialize<S: Serializer>(token: &Token, to: S) -> Result<S::Ok, S::Error> {
        token.bytes().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Token, D::Error> {
        Deserialize::deserialize(from).map(Token::from_bytes)
    }
}

/// A hash.
pub(super) mod digest {
    use super::*;

    pub fn serialize<S: Serializer>(hash: &blake3::Hash, to: S) -> Result<S::Ok, S::Error> {
        hash.as_bytes().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<blake3::Hash, D::Error> {
        Deserialize::deserialize(from).map(blake3::Hash::from_bytes)
    }
}
