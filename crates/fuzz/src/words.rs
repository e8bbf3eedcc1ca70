//! Small formats: recorded rates, known servers, keys, tokens, targets, and values with units.

use crate::text;
use whimbrel_net::{DelayTrace, Trace};
use whimbrel_transfer::users::Target;
use whimbrel_transfer::{Fingerprint, Pins, Token, TokenHash};
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// A recorded rate or delay. An error names one of its lines.
pub fn trace(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let lines = text.lines().count().max(1);
    for wrong in [Trace::parse(text).err(), DelayTrace::parse(text).err()] {
        let line = wrong.map_or(1, |wrong| wrong.line);
        assert!((1..=lines).contains(&line), "line {line} of {lines}");
    }
}

/// Known servers: a line for each, with its keys.
pub fn hosts(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    whimbrel_transfer::decoders::hosts(text);
}

/// What stands in files and on command lines.
pub fn words(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Ok(pins) = text.parse::<Pins>() {
        assert_eq!(pins.to_string().parse(), Ok(pins));
    }
    if let Ok(print) = text.parse::<Fingerprint>() {
        assert_eq!(print.to_string().parse(), Ok(print));
    }
    if let Ok(target) = text.parse::<Target>() {
        assert_eq!(target.to_string().parse(), Ok(target));
    }
    if let Ok(hash) = text.parse::<TokenHash>() {
        assert_eq!(hash.to_string().parse(), Ok(hash));
    }
    text.parse::<Token>().ok();
    text.parse::<Rate>().ok();
    text.parse::<Bytes>().ok();
    text.parse::<Duration>().ok();
    text.parse::<Probability>().ok();
}
