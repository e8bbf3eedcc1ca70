//! Runs one decoder under libFuzzer: `FUZZ_TARGET=NAME fuzz [OPTIONS OF LIBFUZZER] [FOLDERS]`.

#![no_main]

use std::sync::LazyLock;
use whimbrel_fuzz::{Target, targets};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = targets().into_iter().find(|target| target.name == name);
    found.unwrap_or_else(|| {
        let names: Vec<&str> = targets().iter().map(|target| target.name).collect();
        eprintln!("FUZZ_TARGET: `{name}` is none of {}", names.join(", "));
        std::process::exit(2);
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.decode)(bytes));
