//! Puts small files into packs.

use super::walk::Item;
use crate::error::Error;
use crate::file_sender::{Pack, Packing, open_regular, read_small};
use crate::path::printable;
use crate::wire::{Kind, PackEntry};
use std::os::unix::ffi::OsStrExt;
use tokio::sync::mpsc;

/// A pack, or an item that cannot be sent and why.
pub(super) enum Packed {
    Pack(Pack<usize>),
    Failed(usize, String),
}

/// Reads files into packs. Blocks.
pub(super) fn pack_all(
    items: &[(usize, Item)],
    attributes: bool,
    to: &mpsc::Sender<Packed>,
) -> Result<(), Error> {
    let mut packing = Packing::new();
    let stopped = |_| Error::Stopped;
    for (number, item) in items {
        let packed = match read(item, attributes) {
            Ok(entry) => packing.add(*number, &entry).map(Packed::Pack),
            Err(error) => {
                let shown = printable(item.local.as_os_str().as_bytes());
                // The path stands in most errors already.
                let text = error.to_string();
                let text = text
                    .strip_prefix(&format!("{shown}: "))
                    .unwrap_or(&text)
                    .to_owned();
                Some(Packed::Failed(*number, text))
            }
        };
        if let Some(packed) = packed {
            to.blocking_send(packed).map_err(stopped)?;
        }
    }
    if let Some(last) = packing.finish() {
        to.blocking_send(Packed::Pack(last)).map_err(stopped)?;
    }
    Ok(())
}

fn read(item: &Item, attributes: bool) -> Result<PackEntry, Error> {
    let (metadata, content) = match item.metadata.kind {
        Kind::File => read_small(|| open_regular(&item.local), &item.local, attributes)?,
        _ => (item.metadata.clone(), item.target.clone().into()),
    };
    Ok(PackEntry {
        path: item.path.clone(),
        metadata,
        content,
    })
}
