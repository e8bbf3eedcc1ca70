//! `whimbrel send FILE` without a host, and `whimbrel get THREE-WORDS`.

use crate::failure::{BadInput, FAILED, exit_code};
use crate::print;
use crate::show::{self, Show, ShowArgs};
use crate::stop::{ctrl_c, runtime};
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_study::sent::fetched_text;
use whimbrel_transfer::{
    ClientOptions, Code, Error, FetchOptions, OfferOptions, ServerAddress, Token, TreeOptions,
    default_controller, fetch, offer,
};

/// Where the two ends of a code meet.
#[derive(Debug, Clone, clap::Args)]
pub struct MeetArgs {
    /// With three words instead of a server: a server of `whimbrel serve --meet` at which both ends
    /// meet if they are not on one network; it cannot read what it passes on
    #[arg(long, value_name = "HOST", help_heading = "Three words")]
    meet: Option<ServerAddress>,
    /// Do not look for the other end on this network
    #[arg(long, requires = "meet", help_heading = "Three words")]
    no_lan: bool,
    /// Let the meeting server carry everything, so that the other end does not learn this one's
    /// address
    #[arg(long, requires = "meet", help_heading = "Three words")]
    no_direct: bool,
}

impl MeetArgs {
    /// Whether the other end is looked for on this network.
    fn lan(&self) -> bool {
        !self.no_lan && !self.no_direct
    }

    /// These are for three words.
    pub fn refuse(&self) -> Result<(), BadInput> {
        match self.meet {
            Some(_) => Err(BadInput::new("--meet is for three words: leave HOST out")),
            None => Ok(()),
        }
    }
}

/// Options for an end that is not known yet: the words replace its address and its token.
pub fn stranger() -> Result<ClientOptions, Error> {
    let nowhere = ServerAddress {
        host: String::new(),
        port: 0,
    };
    Ok(ClientOptions::new(
        nowhere,
        Token::random()?,
        default_controller(),
    ))
}

/// Says why nothing was stored, for a program as an object on standard output, too.
fn failed(error: &Error, as_json: bool) -> anyhow::Result<()> {
    print::note(format_args!("error: {error}"));
    if as_json {
        let value = json!({ "outcome": "not stored", "error": error.to_string() });
        print::json_line(&value)?;
    }
    Ok(())
}

/// Shows words and sends to the receiver that has them.
pub fn send(
    tree: TreeOptions,
    meet: MeetArgs,
    (as_json, shown): (bool, ShowArgs),
    runtime: &tokio::runtime::Runtime,
) -> anyhow::Result<ExitCode> {
    for source in &tree.sources {
        if let Err(error) = source.symlink_metadata() {
            let text = format!("{}: cannot send: {error}", source.display());
            return Err(BadInput::new(text).into());
        }
    }
    let mut show = Show::new(shown, as_json);
    let options = OfferOptions {
        tree,
        lan: meet.lan(),
        direct: !meet.no_direct,
        meet: meet.meet.clone(),
    };
    let on_code = |code: &Code| {
        let meet = meet
            .meet
            .map_or(String::new(), |meet| format!(" --meet {meet}"));
        // Standard output is for JSON.
        let text = format!("on the other machine:\n  whimbrel get {code}{meet}\n");
        match as_json {
            true => print::aside(text),
            false => drop(write!(io::stdout(), "{text}")),
        }
    };
    let report = runtime.block_on(offer(
        options,
        on_code,
        |update| show.update(update),
        ctrl_c(),
    ));
    show.end();
    match report {
        Ok(report) => {
            if let Some(error) = &report.error {
                print::note(format_args!("error: {error}"));
            }
            show::tree(&report, false, (as_json, shown))
        }
        Err(error) => {
            failed(&error, as_json)?;
            // A program that reads the JSON object gets one status for every failure.
            let code = if as_json { FAILED } else { exit_code(&error) };
            Ok(ExitCode::from(code))
        }
    }
}

/// Gets what is offered under these words.
pub fn get(
    code: Code,
    directory: PathBuf,
    overwrite: bool,
    meet: MeetArgs,
    (as_json, shown): (bool, ShowArgs),
) -> anyhow::Result<ExitCode> {
    let (lan, direct) = (meet.lan(), !meet.no_direct);
    let meet = match meet.meet {
        Some(server) => Some(ClientOptions {
            server,
            ..stranger()?
        }),
        None => None,
    };
    let options = FetchOptions {
        code,
        directory,
        overwrite,
        meet,
        lan,
        direct,
    };
    let note = |text: String| {
        if !shown.quiet {
            print::note(text);
        }
    };
    note("waiting for the sender; Ctrl-C stops".to_owned());
    let runtime = runtime()?;
    match runtime.block_on(fetch(options, note, ctrl_c())) {
        Ok(fetched) if as_json => print::json_line(&json!({
            "files": fetched.files,
            "bytes": fetched.bytes.get(),
            "seconds": fetched.took.as_secs_f64(),
            "direct": fetched.direct,
            "outcome": "stored",
        })),
        Ok(_) if shown.quiet => Ok(ExitCode::SUCCESS),
        Ok(fetched) => print::text(fetched_text(&fetched)),
        Err(error) => {
            failed(&error, as_json)?;
            Ok(ExitCode::from(exit_code(&error)))
        }
    }
}
