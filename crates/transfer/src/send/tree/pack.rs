//! Puts small files into packs.

use super::walk::Item;
use crate::Error;
use crate::path::printable;
use crate::sending::{FileSource, open_regular};
use crate::wire::{Kind, MAX_PACK, PackEntry, PackReader};
use bytes::{Bytes, BytesMut};
use std::os::unix::ffi::OsStrExt;
use tokio::sync::mpsc;

/// Files up to this size go into packs, bytes.
pub(super) const SMALL: u64 = 256 << 10;
/// A file that changes while it is read is read again so many times.
const CHANGES: u32 = 3;

/// A pack, and which items are in it, in order.
pub(super) struct Pack {
    pub content: Bytes,
    pub items: Vec<usize>,
    /// Bytes of file data.
    pub bytes: u64,
}

/// A pack, or an item that cannot be sent and why.
pub(super) enum Packed {
    Pack(Pack),
    Failed(usize, String),
}

/// Reads files into packs. Blocks.
pub(super) fn pack_all(
    items: &[(usize, Item)],
    attributes: bool,
    to: &mpsc::Sender<Packed>,
) -> Result<(), Error> {
    let mut pack = BytesMut::new();
    let mut inside = Vec::new();
    let mut bytes = 0;
    let stopped = |_| Error::Stopped;
    for (number, item) in items {
        let entry = match read(item, attributes) {
            Ok(entry) => entry,
            Err(error) => {
                let shown = printable(item.local.as_os_str().as_bytes());
                // The path stands in most errors already.
                let text = error.to_string();
                let text = text
                    .strip_prefix(&format!("{shown}: "))
                    .unwrap_or(&text)
                    .to_owned();
                to.blocking_send(Packed::Failed(*number, text))
                    .map_err(stopped)?;
                continue;
            }
        };
        let attributes: usize = entry
            .metadata
            .attributes
            .iter()
            .map(|a| 4 + a.name.len() + a.value.len())
            .sum();
        let length = PackEntry::encoded_len(entry.path.len(), entry.content.len()) + attributes;
        if pack.len() + length > MAX_PACK {
            let sealed = seal(&mut pack, &mut inside, &mut bytes);
            to.blocking_send(sealed).map_err(stopped)?;
        }
        entry.encode(&mut pack);
        if entry.metadata.kind == Kind::File {
            bytes += entry.content.len() as u64;
        }
        inside.push(*number);
        if inside.len() >= MAX_ITEMS {
            let sealed = seal(&mut pack, &mut inside, &mut bytes);
            to.blocking_send(sealed).map_err(stopped)?;
        }
    }
    if !inside.is_empty() {
        let sealed = seal(&mut pack, &mut inside, &mut bytes);
        to.blocking_send(sealed).map_err(stopped)?;
    }
    Ok(())
}

/// Entries of a pack, at most: the answer lists those that failed.
const MAX_ITEMS: usize = 1000;

fn seal(pack: &mut BytesMut, inside: &mut Vec<usize>, bytes: &mut u64) -> Packed {
    Packed::Pack(Pack {
        content: PackReader::seal(std::mem::take(pack)),
        items: std::mem::take(inside),
        bytes: std::mem::take(bytes),
    })
}

fn read(item: &Item, attributes: bool) -> Result<PackEntry, Error> {
    let entry = |metadata, content| PackEntry {
        path: item.path.clone(),
        metadata,
        content,
    };
    if item.metadata.kind != Kind::File {
        return Ok(entry(item.metadata.clone(), item.target.clone().into()));
    }
    for _ in 0..=CHANGES {
        let file = FileSource::at_once(open_regular(&item.local)?, &item.local)?;
        let metadata = file.metadata(attributes)?;
        if file.size() > 2 * SMALL {
            break;
        }
        let content = file.whole()?;
        if let Some(content) = content
            && !file.changed()?
        {
            return Ok(entry(metadata, content));
        }
    }
    Err(Error::Changed(item.local.clone()))
}
