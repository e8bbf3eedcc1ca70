//! One pipe: from the request to the end of its target.

use super::discard::Discard;
use super::options::Event;
use super::pipe_target::Opened;
use super::session::Session;
use super::users::Target;
use crate::connection::key_exchange::KeyExchange;
use crate::connection::{close, framing, parameters};
use crate::error::Error;
use crate::pipe::{Carried, PipeReader, PipeWriter, inward};
use crate::wire::{Message, PROBE, Reason, SOURCE};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use whimbrel_quic::endpoint::SendStream;

/// Maximum time that a server discards data for one probe.
const LONGEST: Duration = Duration::from_secs(60);
/// What a source sends at once. QUIC encrypts it, so no path compresses it.
static ZEROS: [u8; 16 << 10] = [0; 16 << 10];
/// Maximum number of pipes and transfers of one connection.
const MAX_ROUTES: usize = 64;

impl Session {
    /// Joins the client to a target. The client's own number of the pipe is `answers`.
    pub(super) async fn pipe(self, answers: u64, target: String, mut send: SendStream) {
        let started = Instant::now();
        match self.carry(answers, &target, &mut send).await {
            Ok((target, carried, status)) => {
                self.peer
                    .answer(&mut send, &Message::Exited { status })
                    .await;
                (self.peer.on_event)(Event::Piped {
                    peer: self.remote_user(),
                    key_exchange: KeyExchange::of(&self.connection),
                    target,
                    sent: whimbrel_units::Bytes::new(carried.sent),
                    received: whimbrel_units::Bytes::new(carried.received),
                    took: started.elapsed().into(),
                });
            }
            Err(error) => self.failed(&mut send, None, error).await,
        }
    }

    async fn carry(
        &self,
        answers: u64,
        requested: &str,
        send: &mut SendStream,
    ) -> Result<(String, Carried, u8), Error> {
        let shared = &self.peer.shared;
        let probe = matches!(requested, PROBE | SOURCE);
        let most = shared.limits.probe.get();
        if probe && most == 0 {
            let text = "this server does not permit measuring the path";
            return Err(Error::refused(Reason::Rights, text));
        }
        let permitted = &self.client.user.connect;
        let found = (!probe).then(|| find(permitted, requested)).transpose()?;
        let several = shared.users().are_several();
        let permit = shared.pipes.take(&self.client.user.name, several);
        if permit.is_none() {
            let text = "too many pipes are open; try again later";
            return Err(Error::refused(Reason::Busy, text));
        }
        // A probe fills the window as a transfer does.
        let _place = match probe {
            true => Some(self.place(send).await?),
            false => None,
        };
        let (route, streams) = self
            .routes
            .open(MAX_ROUTES)
            .ok_or_else(|| Error::refused(Reason::Busy, "this connection has too many pipes"))?;
        let opened = match found {
            None => None,
            Some((name, target)) => Some(Opened::open(target).await.map_err(|cause| {
                let text = format!("the server cannot open `{name}`: {cause}");
                Error::refused(Reason::Missing, text)
            })?),
        };
        parameters::admit(&self.connection);
        if !probe {
            self.connection.send_in_order();
        }
        self.connection.admit(self.client.user.max_priority);
        let accepted = Message::Accepted {
            transfer: route.transfer,
            have: Vec::new(),
        };
        // Whoever does not read holds the place no longer than this.
        framing::write_within(shared.limits.stall.into(), send, &accepted).await?;
        let mut writer = PipeWriter::new(self.connection.clone(), answers);
        let mut reader = PipeReader::new(streams);
        let work = async {
            match opened {
                Some(opened) => opened.run(&mut writer, &mut reader).await,
                None if requested == SOURCE => supply(most, &mut writer, &mut reader).await,
                None => discard(most, &mut writer, &mut reader).await,
            }
        };
        let (carried, status) = tokio::select! {
            result = work => result?,
            reason = self.connection.closed() => {
                return Err(close::lost(reason));
            }
        };
        let name = found.map_or(requested, |(name, _)| name);
        Ok((name.to_owned(), carried, status))
    }
}

/// Discards what a probe sends, within the server's limits.
async fn discard(
    most: u64,
    writer: &mut PipeWriter,
    reader: &mut PipeReader,
) -> Result<(Carried, u8), Error> {
    let discarding = async {
        writer.finish().await?;
        inward(Discard::new(most), reader).await
    };
    let received = timeout(LONGEST, discarding).await.map_err(too_long)??;
    Ok((Carried { sent: 0, received }, 0))
}

/// Sends zeros until the client ends its direction, within the server's limits.
async fn supply(
    most: u64,
    writer: &mut PipeWriter,
    reader: &mut PipeReader,
) -> Result<(Carried, u8), Error> {
    let mut sent = 0;
    {
        let enough = timeout(LONGEST, inward(tokio::io::sink(), reader));
        tokio::pin!(enough);
        while sent < most {
            tokio::select! {
                biased;
                result = &mut enough => {
                    result.unwrap_or(Ok(0))?;
                    break;
                }
                more = writer.write(Bytes::from_static(&ZEROS)) => {
                    if !more? {
                        break;
                    }
                }
            }
            sent += ZEROS.len() as u64;
        }
    }
    // A client that lets the server open no stream keeps its place no longer than this.
    let finishing = timeout(LONGEST, writer.finish()).await;
    finishing.map_err(too_long)??;
    Ok((Carried { sent, received: 0 }, 0))
}

fn too_long(_: Elapsed) -> Error {
    Error::refused(
        Reason::Stalled,
        "the probe took longer than the server permits",
    )
}

/// The target that a user means: by its name, or the only one.
fn find<'a>(
    permitted: &'a BTreeMap<String, Target>,
    requested: &str,
) -> Result<(&'a str, &'a Target), Error> {
    let refused = |text: String| Err(Error::refused(Reason::Rights, text));
    let listed = || {
        let names: Vec<_> = permitted.keys().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    if permitted.is_empty() {
        return refused("this token permits no pipes here".to_owned());
    }
    if requested.is_empty() {
        let mut all = permitted.iter();
        return match (all.next(), all.next()) {
            (Some((name, target)), None) => Ok((name, target)),
            _ => refused(format!("which target? This token permits {}", listed())),
        };
    }
    // Another way to write the same address is as good.
    let same = |target: &Target| {
        requested
            .parse()
            .is_ok_and(|wanted: Target| wanted == *target)
    };
    let found = permitted
        .iter()
        .find(|(name, target)| *name == requested || same(target));
    match found {
        Some((name, target)) => Ok((name, target)),
        None => refused(format!("this token permits {} here, not this", listed())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(names: &[&str]) -> BTreeMap<String, Target> {
        let target = |name: &&str| ((*name).to_owned(), name.parse().expect("a target"));
        names.iter().map(target).collect()
    }

    #[test]
    fn only_permitted_targets_are_found() {
        let none = targets(&[]);
        let one = targets(&["127.0.0.1:22"]);
        let mut two = targets(&["127.0.0.1:22", "[::1]:80"]);
        two.insert("borg".to_owned(), Target::Command(vec!["borg".to_owned()]));
        let name =
            |permitted, requested| find(permitted, requested).map(|(name, _)| name.to_owned());
        assert!(name(&none, "").is_err() && name(&none, "127.0.0.1:22").is_err());
        assert_eq!(name(&one, "").expect("the only one"), "127.0.0.1:22");
        assert!(name(&one, "127.0.0.1:23").is_err());
        let error = name(&two, "").expect_err("which?").to_string();
        assert!(
            error.contains("`127.0.0.1:22`, `[::1]:80`, `borg`"),
            "{error}"
        );
        assert_eq!(name(&two, "borg").expect("by name"), "borg");
        assert_eq!(name(&two, "[0:0::1]:80").expect("the same"), "[::1]:80");
        assert!(name(&two, "bor").is_err(), "a part of a name");
        // A command is not found by its program.
        assert!(name(&two, "sh").is_err());
    }
}
