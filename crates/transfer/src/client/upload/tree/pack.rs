//! Puts small files into packs.

use super::walk::Item;
use crate::blocking::blocking;
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

/// Reads files into packs.
pub(super) async fn pack_all(
    items: Vec<(usize, Item)>,
    attributes: bool,
    to: mpsc::Sender<Packed>,
) -> Result<(), Error> {
    let mut packing = Packing::new();
    let mut items = items.into_iter();
    loop {
        let packed;
        (packing, items, packed) = blocking(move || {
            let packed = pack_some(&mut packing, &mut items, attributes);
            Ok((packing, items, packed))
        })
        .await?;
        let Some(packed) = packed else { break };
        to.send(packed).await.map_err(|_| Error::Stopped)?;
    }
    if let Some(last) = packing.finish() {
        let last = Packed::Pack(last);
        to.send(last).await.map_err(|_| Error::Stopped)?;
    }
    Ok(())
}

/// Reads files until a pack is full or one cannot be read; `None` if all are read. Blocks.
fn pack_some(
    packing: &mut Packing<usize>,
    items: &mut std::vec::IntoIter<(usize, Item)>,
    attributes: bool,
) -> Option<Packed> {
    for (number, item) in items {
        let packed = match read(&item, attributes) {
            Ok(entry) => packing.add(number, &entry).map(Packed::Pack),
            Err(error) => {
                let shown = printable(item.local.as_os_str().as_bytes());
                // The path stands in most errors already.
                let text = error.to_string();
                let text = text
                    .strip_prefix(&format!("{shown}: "))
                    .unwrap_or(&text)
                    .to_owned();
                Some(Packed::Failed(number, text))
            }
        };
        if packed.is_some() {
            return packed;
        }
    }
    None
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
