//! Takes the place of measurements of the path in a build without transports.

use super::{AdviseArgs, Wanted};
use crate::failure::BadInput;
use serde_json::Value;
use std::process::ExitCode;
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// What would be measured of a path.
pub struct Measured {
    pub rate: Rate,
    pub rtt: Duration,
    pub loss: Probability,
}

impl Measured {
    pub fn queue(&self) -> String {
        String::new()
    }

    pub fn sentence(&self) -> String {
        String::new()
    }

    pub fn as_json(&self) -> Value {
        Value::Null
    }
}

/// Would measure the path to a server.
pub fn measure(_: &AdviseArgs, _: &str) -> anyhow::Result<Result<Measured, ExitCode>> {
    Err(without("HOST"))
}

/// Would simulate a file as the transports send it.
pub fn takes(_: &Wanted, _: Bytes, _: &str) -> anyhow::Result<f64> {
    Err(without("--size"))
}

fn without(what: &str) -> anyhow::Error {
    BadInput::new(format!("{what}: this program was built without transports")).into()
}
