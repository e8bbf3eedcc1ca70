use super::*;
use crate::token::Token;
use proptest::prelude::*;
use std::net::SocketAddr;

fn hash() -> impl Strategy<Value = blake3::Hash> {
    any::<[u8; 32]>().prop_map(blake3::Hash::from_bytes)
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..60)
}

fn time() -> impl Strategy<Value = Option<FileTime>> {
    let some = (any::<i64>(), 0u32..1_000_000_000);
    prop::option::of(some.prop_map(|(seconds, nanoseconds)| FileTime {
        seconds,
        nanoseconds,
    }))
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let kind = prop::sample::select(vec![Kind::File, Kind::Directory, Kind::Link, Kind::Other]);
    let attribute = ("[a-z]{1,20}", prop::collection::vec(any::<u8>(), 0..50));
    let attribute = attribute.prop_map(|(name, value)| Attribute {
        name: format!("user.{name}").into_bytes(),
        value,
    });
    let attributes = prop::collection::vec(attribute, 0..4);
    (kind, prop::option::of(0u16..=0o777), time(), attributes).prop_map(
        |(kind, mode, modified, attributes)| Metadata {
            kind,
            mode,
            modified,
            attributes,
        },
    )
}

fn refusal() -> impl Strategy<Value = Refusal> {
    let reason = prop::sample::select(vec![Reason::Token, Reason::Quota, Reason::Changed]);
    (reason, ".{0,300}").prop_map(|(reason, text)| Refusal::new(reason, text))
}

fn ranges() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1u64..1000, 1u64..1000), 0..20).prop_map(|gaps| {
        let mut at = 0;
        gaps.into_iter()
            .map(|(gap, length)| {
                let start = at + gap;
                at = start + length;
                (start, at)
            })
            .collect()
    })
}

fn message() -> impl Strategy<Value = Message> {
    let checked = (
        path(),
        any::<u64>(),
        time(),
        prop::option::of(any::<[u8; 32]>()),
    )
        .prop_map(|(path, size, modified, hash)| CheckedFile {
            path,
            size,
            modified,
            hash,
        });
    let entry =
        (path(), any::<u64>(), metadata(), path()).prop_map(|(path, size, metadata, target)| {
            Entry {
                path,
                remote: Remote { size, metadata },
                target,
            }
        });
    let unread = (path(), refusal()).prop_map(|(path, refusal)| Unread { path, refusal });
    let failure =
        || (any::<u32>(), refusal()).prop_map(|(index, refusal)| Failure { index, refusal });
    use prop::collection::vec as list;
    prop_oneof![
        (any::<u64>(), "[a-z:0-9é]{0,100}")
            .prop_map(|(answers, target)| Message::Pipe { answers, target }),
        any::<u8>().prop_map(|status| Message::Exited { status }),
        any::<u64>().prop_map(|transfer| Message::GetMany { transfer }),
        (list(path(), 0..9), any::<bool>())
            .prop_map(|(paths, last)| Message::Wanted { paths, last }),
        list(failure(), 0..9).prop_map(|failures| Message::Unsent { failures }),
        (any::<u16>(), any::<[u8; 20]>()).prop_map(|(version, token)| Message::Hello {
            version,
            token: Token::from_bytes(token),
        }),
        (any::<u16>(), any::<u64>())
            .prop_map(|(version, max_size)| Message::Welcome { version, max_size }),
        refusal().prop_map(Message::Refused),
        any::<u32>().prop_map(|position| Message::Queued { position }),
        (
            any::<[u8; 16]>(),
            path(),
            prop::option::of(any::<u64>()),
            metadata()
        )
            .prop_map(|(id, path, size, metadata)| Message::Put(Put {
                id,
                path,
                size,
                metadata,
            })),
        (any::<u64>(), ranges()).prop_map(|(transfer, have)| Message::Accepted { transfer, have }),
        Just(Message::Present),
        (16u8..=44, 0u64..1 << 40, 1u32..=1024)
            .prop_map(|(log, first, count)| Message::HashRequest { log, first, count }),
        (16u8..=44, any::<u64>(), list(any::<[u8; 32]>(), 0..5))
            .prop_map(|(log, first, hashes)| Message::Hashes { log, first, hashes }),
        ranges().prop_map(|ranges| Message::Written { ranges }),
        (any::<u64>(), any::<u64>(), hash())
            .prop_map(|(size, chunks, hash)| Message::Finish(Finish { size, chunks, hash })),
        (any::<u64>(), hash()).prop_map(|(bytes, hash)| Message::Stored { bytes, hash }),
        path().prop_map(|path| Message::Get { path }),
        (any::<u16>(), prop::collection::vec(any::<u8>(), 0..=64))
            .prop_map(|(version, message)| Message::Code { version, message }),
        (
            prop::collection::vec(any::<u8>(), 0..=64),
            any::<[u8; 32]>()
        )
            .prop_map(|(message, proof)| {
                Message::CodeAnswer {
                    message,
                    proof: proof.into(),
                }
            }),
        any::<[u8; 32]>().prop_map(|proof| Message::CodeProof {
            proof: proof.into()
        }),
        (any::<u16>(), any::<u16>(), any::<(bool, bool)>()).prop_map(
            |(version, place, (sender, direct))| Message::Meet {
                version,
                place,
                sender,
                direct,
            }
        ),
        any::<Option<SocketAddr>>().prop_map(|other| Message::Met { other }),
        (any::<[u8; 16]>(), path(), any::<u64>()).prop_map(|(id, path, bytes)| Message::Tree {
            id,
            path,
            bytes
        }),
        list(checked, 0..5).prop_map(|files| Message::Check { files }),
        list(any::<bool>(), 0..50).prop_map(|needed| Message::Need { needed }),
        (any::<u64>(), list(failure(), 0..3))
            .prop_map(|(pack, failures)| Message::Packed { pack, failures }),
        (path(), any::<bool>()).prop_map(|(path, recursive)| Message::List { path, recursive }),
        (list(entry, 0..4), list(unread, 0..4), any::<bool>()).prop_map(
            |(entries, unread, last)| Message::Entries {
                entries,
                unread,
                last,
            }
        ),
        (path(), any::<bool>()).prop_map(|(path, recursive)| Message::Remove { path, recursive }),
        any::<u64>().prop_map(|count| Message::Removed { count }),
    ]
}

proptest! {
    #[test]
    fn messages_read_back(message in message()) {
        let bytes = message.encode();
        let length = u32::from_be_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
        prop_assert_eq!(length, bytes.len() - 4);
        prop_assert!(length <= MAX_MESSAGE);
        let again = Message::decode(&bytes[4..]).expect("a message");
        prop_assert_eq!(again.encode(), bytes);
    }

    #[test]
    fn truncated_messages_and_trailing_bytes_are_errors(
        message in message(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = message.encode();
        let body = &bytes[4..];
        prop_assert!(Message::decode(&body[..cut.index(body.len())]).is_err());
        let mut longer = body.to_vec();
        longer.push(0);
        prop_assert!(Message::decode(&longer).is_err());
    }

    #[test]
    fn any_bytes_decode_or_are_an_error(
        kind in 0u8..30,
        mut bytes in prop::collection::vec(any::<u8>(), 1..3000),
    ) {
        bytes[0] = kind;
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert!(message.encode().len() <= MAX_MESSAGE + 4);
        }
    }

    #[test]
    fn a_changed_message_decodes_or_is_an_error(
        message in message(),
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
    ) {
        let mut body = message.encode()[4..].to_vec();
        let at = at.index(body.len());
        body[at] = to;
        let _ = Message::decode(&body);
    }

    #[test]
    fn packs_read_back_and_changed_ones_are_rejected(
        entries in prop::collection::vec(
            (path(), metadata(), prop::collection::vec(any::<u8>(), 0..200)), 0..10),
        at in any::<prop::sample::Index>(),
    ) {
        let entries: Vec<PackEntry> = entries
            .into_iter()
            .map(|(path, metadata, content)| PackEntry { path, metadata, content: content.into() })
            .collect();
        let mut pack = BytesMut::new();
        entries.iter().for_each(|entry| entry.encode(&mut pack));
        let pack = PackReader::seal(pack);
        let read: Result<Vec<_>, _> = PackReader::open(pack.clone()).expect("its hash").collect();
        prop_assert_eq!(read.expect("entries"), entries);
        let mut damaged = pack.to_vec();
        damaged[at.index(pack.len())] ^= 1;
        prop_assert!(PackReader::open(damaged.into()).is_none());
    }

    #[test]
    fn any_bytes_with_their_hash_are_a_pack_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..500),
    ) {
        let mut pack = BytesMut::from(&[0; 32][..]);
        pack.put_slice(&bytes);
        let reader = PackReader::open(PackReader::seal(pack)).expect("its hash");
        prop_assert!(reader.count() <= bytes.len());
    }

    #[test]
    fn chunk_headers_read_back(transfer: u64, offset: u64, length: u32) {
        let header = ChunkHeader { transfer, offset, length };
        let bytes: [u8; CHUNK_HEADER] = header.encode()[..].try_into().expect("its length");
        prop_assert_eq!(ChunkHeader::decode(bytes), header);
    }
}

/// The format is fixed: a change here needs a new version.
#[test]
fn version_4_has_these_bytes() {
    let hello = Message::Hello {
        version: VERSION,
        token: Token::from_bytes([7; 20]),
    };
    let mut expected = vec![0, 0, 0, 22, 0, 4];
    expected.extend([7; 20]);
    assert_eq!(hello.encode(), expected);
    let put = Message::Put(Put {
        id: [9; 16],
        path: b"a/b".to_vec(),
        size: Some(0x0102),
        metadata: Metadata {
            mode: Some(0o644),
            ..Metadata::plain(Kind::File)
        },
    });
    let mut expected = vec![0, 0, 0, 30, 4];
    expected.extend([9; 16]);
    expected.extend([3, b'a', b'/', b'b', 1, 0x82, 2, 0, 1, 0xa4, 3, 0, 0]);
    assert_eq!(put.encode(), expected);
    let header = ChunkHeader {
        transfer: 1,
        offset: 258,
        length: 3,
    };
    assert_eq!(
        header.encode()[..],
        [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3]
    );
}

/// Lists, texts and numbers beyond their limits are errors, however they are encoded.
#[test]
fn what_a_peer_chooses_is_bounded() {
    let body = |message: &Message| message.encode()[4..].to_vec();
    let needed = vec![true; MAX_LIST + 1];
    assert!(Message::decode(&body(&Message::Need { needed })).is_err());
    let path = vec![b'a'; MAX_PATH + 1];
    assert!(Message::decode(&body(&Message::Get { path })).is_err());
    // A list that announces 2^32 elements and has none.
    assert!(Message::decode(&[15, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
    for (log, first, count) in [
        (15, 0, 1),
        (45, 0, 1),
        (16, 0, 0),
        (16, 0, 1025),
        (16, u64::MAX, 1),
    ] {
        let request = Message::HashRequest { log, first, count };
        assert!(Message::decode(&body(&request)).is_err());
    }
    for ranges in [
        vec![(1, 1)],
        vec![(2, 1)],
        vec![(5, 7), (1, 3)],
        vec![(1, 3), (3, 4)],
    ] {
        assert!(Message::decode(&body(&Message::Written { ranges })).is_err());
    }
}

#[test]
fn metadata_outside_of_their_limits_are_errors() {
    type Change = fn(&mut Metadata);
    let changes: [(Change, bool); 8] = [
        (|m| m.mode = Some(0o777), true),
        (|m| m.mode = Some(0o1777), false),
        (|m| m.modified = Some(time(999_999_999)), true),
        (|m| m.modified = Some(time(1_000_000_000)), false),
        (|m| m.attributes = vec![named(b"user.a")], true),
        (|m| m.attributes = vec![named(b"trusted.a")], false),
        (|m| m.attributes = vec![named(b"user.")], false),
        (|m| m.attributes = vec![named(b"user.a\0b")], false),
    ];
    fn time(nanoseconds: u32) -> FileTime {
        let seconds = 7;
        FileTime {
            seconds,
            nanoseconds,
        }
    }
    fn named(name: &[u8]) -> Attribute {
        Attribute {
            name: name.to_vec(),
            value: b"value".to_vec(),
        }
    }
    for (n, (change, valid)) in changes.into_iter().enumerate() {
        let mut metadata = Metadata::plain(Kind::File);
        change(&mut metadata);
        let put = Message::Put(Put {
            id: [1; 16],
            path: b"a".to_vec(),
            size: None,
            metadata: metadata.clone(),
        });
        let decoded = Message::decode(&put.encode()[4..]);
        assert_eq!(decoded.is_ok(), valid, "message {n}");
        let mut pack = BytesMut::new();
        let entry = PackEntry {
            path: b"a".to_vec(),
            metadata,
            content: Bytes::new(),
        };
        entry.encode(&mut pack);
        let mut read = PackReader::open(PackReader::seal(pack)).expect("its hash");
        assert_eq!(read.next().expect("an entry").is_ok(), valid, "pack {n}");
    }
}
