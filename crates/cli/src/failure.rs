//! Exit status of a failed command: 2 for wrong input, 130 if Ctrl-C stopped it, 1 for other
//! errors; success if the reader of a pipe has closed it.

use crate::print;
use std::process::ExitCode;
use whimbrel_sim::scenario::ScenarioError;
pub use whimbrel_study::BadInput;
use whimbrel_study::words;
use whimbrel_transfer::Error;

/// Exit status: the transfer failed.
pub const FAILED: u8 = 1;
/// Exit status: the server refused the file.
pub const REFUSED: u8 = 3;
/// Exit status: the server is unknown, or its fingerprint is wrong.
pub const UNTRUSTED: u8 = 4;
/// Exit status: stopped by Ctrl-C, 128 + SIGINT.
pub const STOPPED: u8 = 130;

/// Prints an error to stderr and returns its exit status.
pub fn report(error: &anyhow::Error) -> ExitCode {
    // `whimbrel … | head`: the reader has closed the pipe.
    let pipe = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    if error
        .chain()
        .any(|cause| cause.downcast_ref().is_some_and(pipe))
    {
        return ExitCode::SUCCESS;
    }
    print::note(format_args!("error: {}", words::plain(&text(error))));
    if let Some(error) = error.chain().find_map(|cause| cause.downcast_ref()) {
        return ExitCode::from(exit_code(error));
    }
    let bad_input = |cause: &(dyn std::error::Error + 'static)| {
        let of_study = cause.downcast_ref::<whimbrel_study::Error>();
        cause.is::<BadInput>()
            || cause.is::<ScenarioError>()
            || of_study.is_some_and(whimbrel_study::Error::is_bad_input)
    };
    ExitCode::from(if error.chain().any(bad_input) { 2 } else { 1 })
}

/// Positional arguments, which have no flag.
const POSITIONAL: [&str; 2] = ["ids", "name"];
/// Where a user of the command finds more, by the wrong key or argument.
const SEE: [(&str, &str); 2] = [
    (
        "run.preset",
        "`whimbrel sim --list-presets` shows what they set",
    ),
    ("ids", "see `whimbrel reproduce --list`"),
];

/// An error as the user of the command knows it: the libraries name arguments, which are flags
/// here.
fn text(error: &anyhow::Error) -> String {
    let of_study = error.downcast_ref::<whimbrel_study::Error>();
    let input = match of_study {
        Some(whimbrel_study::Error::Input(input)) => Some(input),
        _ => error.downcast_ref(),
    };
    let argument = input.and_then(BadInput::argument);
    let text = match (input, argument) {
        (Some(input), Some(argument)) if POSITIONAL.contains(&argument) => input.why().to_owned(),
        (Some(input), Some(argument)) => {
            format!("--{}: {}", argument.replace('_', "-"), input.why())
        }
        _ => format!("{error:#}"),
    };
    let key = match error.downcast_ref::<ScenarioError>() {
        Some(error) => Some(error.key()),
        None => of_study.and_then(whimbrel_study::Error::key),
    };
    let key = key.or(argument).unwrap_or_default();
    match SEE.iter().find(|(of, _)| key == *of) {
        Some((_, see)) if text.ends_with('?') => format!("{text} {see}"),
        Some((_, see)) => format!("{text}; {see}"),
        None => text,
    }
}

/// The exit status of an error of a transfer.
pub fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Refused(_) => REFUSED,
        Error::UnknownServer { .. }
        | Error::FingerprintMismatch { .. }
        | Error::KeyExchange { .. } => UNTRUSTED,
        Error::Stopped => STOPPED,
        _ => FAILED,
    }
}

/// Prints what is wrong with the arguments, or the help that they ask for, and returns the exit
/// status.
pub fn of_arguments(error: &clap::Error) -> ExitCode {
    let text = error.render().ansi().to_string();
    if error.use_stderr() {
        print::aside(words::plain(&text));
    } else if let Err(error) = print::text(text) {
        return report(&error);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
