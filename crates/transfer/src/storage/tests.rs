//! What the storage does with single files, names and directories.

use super::partial::partial_name;
use super::*;
use crate::file_calls;
use crate::ranges::RangeSet;
use crate::scratch_directory::{ScratchDirectory, Unprivileged, file_names};
use crate::simulated::calls::{self, Fault, World};
use crate::simulated::disk::{Disk, Order};
use crate::simulated::random::Random;
use crate::wire::{Metadata, PackEntry};
use std::os::unix::fs::symlink;

fn opened(scratch: &ScratchDirectory) -> Storage {
    Storage::open(scratch.path(), StorageOptions::default()).expect("opened")
}

fn path(text: &str) -> RemotePath {
    text.parse().expect("a path")
}

fn ours(storage: &Storage, user: &str, at: &str) -> Partial {
    match storage.partial(user, &path(at)).expect("opened") {
        Lock::Ours(partial) => partial,
        Lock::Taken => panic!("locked"),
    }
}

#[test]
fn an_incomplete_file_is_of_one_user_and_one_path() {
    let name = |user, at| partial_name(user, &path(at));
    let all = [name("u", "a"), name("v", "a"), name("u", "b")];
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    assert_ne!(name("ua", "b"), name("u", "ab"));
    for (name, is) in [
        (&*all[0], true),
        (".whimbrel-x.part", false),
        (&all[0][1..], false),
        (&all[0].replace(".part", ".tmp"), false),
    ] {
        assert_eq!(partial::is_partial(name), is, "{name}");
    }
}

#[test]
fn an_incomplete_file_is_of_one_transfer_and_stays_while_it_is_used() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let used = ours(&storage, "u", "a");
    assert!(matches!(storage.partial("u", &path("a")), Ok(Lock::Taken)));
    let far = SystemTime::now() + Duration::from_secs(365 * 24 * 3600);
    storage.remove_leftovers(far).expect("removed");
    assert_eq!(file_names(scratch.path()).len(), 1, "it is used");
    drop(used);
    storage.remove_leftovers(far).expect("removed");
    assert!(file_names(scratch.path()).is_empty());
}

#[test]
fn a_link_with_a_hidden_name_is_not_followed() {
    let scratch = ScratchDirectory::new();
    let (inside, victim) = (scratch.subdirectory("in"), scratch.path().join("victim"));
    let storage = Storage::open(&inside, StorageOptions::default()).expect("opened");
    symlink(&victim, inside.join(partial_name("u", &path("a")))).expect("linked");
    assert!(storage.partial("u", &path("a")).is_err());
    assert!(!victim.exists());
}

#[test]
fn what_is_there_is_found_in_whole_parts_and_up_to_the_end() {
    const KIB: u64 = 1 << 10;
    let scratch = ScratchDirectory::new();
    let partial = ours(&opened(&scratch), "u", "a");
    let size = 1024 * KIB + 100;
    partial.set_len(size).expect("set");
    for (from, to) in [(0, 200 * KIB), (520 * KIB, 640 * KIB), (960 * KIB, size)] {
        let data = vec![7; (to - from) as usize];
        partial.write_at(&data, from).expect("written");
    }
    let mut expected = RangeSet::of(0..192 * KIB);
    expected.insert(576 * KIB..640 * KIB);
    expected.insert(960 * KIB..size);
    assert_eq!(partial.have().expect("found"), expected);
}

#[test]
fn what_a_directory_takes_counts_entries_content_and_attributes() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    assert_eq!(storage.used(), 0);
    scratch.subdirectory("d/e");
    std::fs::write(scratch.path().join("d/e/file"), [7; 1000]).expect("written");
    symlink("file", scratch.path().join("d/e/link")).expect("linked");
    let sparse = File::create(scratch.path().join("sparse")).expect("created");
    sparse.set_len(1 << 30).expect("set");
    assert_eq!(storage.used(), 5 * ENTRY + 1000 + 1);
    let mut freed = 0;
    storage
        .remove(&path("sparse"), false, &mut freed)
        .expect("removed");
    assert_eq!(freed, ENTRY + 1);
    let attribute = crate::wire::Attribute {
        name: b"user.name".to_vec(),
        value: vec![1; 100],
    };
    let file = File::open(scratch.path().join("d/e/file")).expect("opened");
    resolve::set_attributes(&file, &[attribute]).expect("set");
    // A file system need not have attributes.
    let attributes = attributes(&file);
    let bytes: usize = attributes
        .iter()
        .map(|a| a.name.len() + a.value.len())
        .sum();
    assert_eq!(storage.used(), 4 * ENTRY + 1000 + bytes as u64);
    storage
        .remove(&path("d"), true, &mut freed)
        .expect("removed");
    assert_eq!(storage.used(), 0);
    assert_eq!(freed, 5 * ENTRY + 1000 + 1 + bytes as u64);
}

#[test]
fn a_file_that_is_replaced_counts_with_its_attributes() {
    let scratch = ScratchDirectory::new();
    let options = StorageOptions {
        overwrite: true,
        ..StorageOptions::default()
    };
    let storage = Storage::open(scratch.path(), options).expect("opened");
    let stage = storage.stage().expect("created");
    let attribute = crate::wire::Attribute {
        name: b"user.name".to_vec(),
        value: vec![1; 100],
    };
    let metadata = Metadata {
        attributes: vec![attribute],
        ..Metadata::plain(Kind::File)
    };
    let grown = |content: &'static [u8]| {
        let entry = PackEntry {
            path: b"a".to_vec(),
            metadata: metadata.clone(),
            content: content.into(),
        };
        let staged = stage.write(&path("a"), &entry, &mut Directories::new());
        let staged = staged.expect("written").expect("new content");
        stage.commit(&[&staged]).remove(0).expect("named");
        staged.growth()
    };
    assert_eq!(storage.counted(&path("a")).expect("nothing"), 0);
    let all = 4 + ENTRY + 109;
    assert_eq!(grown(b"text"), all as i64);
    // A file system need not have attributes.
    if !attributes(File::open(scratch.path().join("a")).expect("there")).is_empty() {
        assert_eq!(storage.counted(&path("a")).expect("found"), all);
        assert_eq!(grown(b"more text"), 5);
    }
}

#[test]
fn as_many_attributes_are_read_as_a_message_has() {
    let scratch = ScratchDirectory::new();
    let file = File::create(scratch.path().join("file")).expect("created");
    let attribute = |n: u8| crate::wire::Attribute {
        name: vec![b'u', b's', b'e', b'r', b'.', b'a' + n],
        value: vec![n],
    };
    let all: Vec<_> = (0..12).map(attribute).collect();
    resolve::set_attributes(&file, &all).expect("set");
    assert!(attributes(&file).len() <= crate::wire::MAX_ATTRIBUTES);
}

#[test]
fn permissions_follow_the_umask_and_those_of_a_replaced_file() {
    let scratch = ScratchDirectory::new();
    let storage = Storage {
        umask: 0o027,
        ..opened(&scratch)
    };
    assert_eq!(storage.mode_for(None, Some(0o777)), 0o750);
    assert_eq!(storage.mode_for(None, None), 0o640);
    let file = scratch.file("a", 1);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o604);
    std::fs::set_permissions(file, mode).expect("set");
    let found = storage.look_up(&path("a")).expect("looked up");
    assert_eq!(storage.mode_for(found, Some(0o777)), 0o604);
}

#[test]
fn only_regular_files_are_opened_and_nothing_is_waited_for() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    scratch.file("file", 10);
    scratch.subdirectory("directory");
    symlink("file", scratch.path().join("link")).expect("linked");
    let pipe = std::process::Command::new("mkfifo")
        .arg(scratch.path().join("pipe"))
        .status();
    assert!(pipe.expect("mkfifo runs").success());
    for (name, kind) in [
        ("file", Kind::File),
        ("directory", Kind::Directory),
        ("link", Kind::Link),
        ("pipe", Kind::Other),
    ] {
        let found = storage.look_up(&path(name)).expect("looked up");
        assert_eq!(found.map(|found| found.kind), Some(kind), "{name}");
        let opened = storage.open_file(&path(name));
        assert_eq!(opened.is_ok(), kind == Kind::File, "{name}");
    }
}

#[test]
fn the_directory_of_a_user_is_made_and_does_not_lead_out() {
    let scratch = ScratchDirectory::new();
    let top = scratch.subdirectory("top");
    let storage = Storage::open(&top, StorageOptions::default()).expect("opened");
    storage.below(Path::new("a/b")).expect("made");
    storage.below(Path::new("a/b")).expect("there");
    assert!(top.join("a/b").is_dir());
    symlink(scratch.subdirectory("out"), top.join("link")).expect("linked");
    assert!(storage.below(Path::new("link")).is_err());
    assert!(storage.below(Path::new("link/c")).is_err());
    symlink(top.join("a"), top.join("other")).expect("linked");
    storage.below(Path::new("other")).expect("a link within");
}

#[test]
fn hashing_ends_when_nobody_waits() {
    let scratch = ScratchDirectory::new();
    let file = File::open(scratch.file("a", 10)).expect("opened");
    let cancel = Cancel::default();
    assert!(hash_file(&file, 10, &cancel).is_ok());
    drop(cancel.on_drop());
    assert!(matches!(hash_file(&file, 10, &cancel), Err(Error::Stopped)));
}

fn listed(storage: &Storage, at: Option<&str>, recursive: bool) -> (Vec<String>, usize) {
    let (mut names, mut unread) = (Vec::new(), 0);
    let at = at.map(path);
    let mut lister = storage.lister(at.as_ref(), recursive).expect("opened");
    while let Some(found) = lister.next().expect("listed") {
        match found {
            Listed::Entry(entry) => names.push(String::from_utf8_lossy(&entry.path).into_owned()),
            Listed::Unread(_) => unread += 1,
        }
    }
    names.sort();
    (names, unread)
}

#[test]
fn a_listing_leaves_out_what_is_not_for_clients() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let incomplete = ours(&storage, "u", "a");
    let stage = storage.stage().expect("staged");
    scratch.subdirectory("d");
    for name in ["b", ".hidden", "d/.hidden", "d/c"] {
        std::fs::write(scratch.path().join(name), name).expect("written");
    }
    let own = partial_name("v", &path("x"));
    std::fs::write(scratch.path().join("d").join(&own), "").expect("written");
    std::fs::write(scratch.path().join("d/.whimbrel-other"), "").expect("written");
    let (names, unread) = listed(&storage, None, true);
    assert_eq!(names, ["b", "d", "d/.hidden", "d/c"]);
    assert_eq!(unread, 1, "a name that no client can use");
    assert_eq!(listed(&storage, Some("d"), false).0, [".hidden", "c"]);
    assert_eq!(listed(&storage, Some("b"), true).0, [""]);
    drop((incomplete, stage));
}

#[test]
fn only_what_is_named_is_removed() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    scratch.subdirectory("d/e");
    scratch.subdirectory("out");
    for name in ["d/a", "d/e/b", "out/c"] {
        std::fs::write(scratch.path().join(name), name).expect("written");
    }
    symlink("../out", scratch.path().join("d/link")).expect("linked");
    let error = storage.remove(&path("d"), false, &mut 0).expect_err("full");
    assert_eq!(error.for_peer().reason, Reason::Exists);
    assert!(scratch.path().join("d/a").exists() && scratch.path().join("d/e/b").exists());
    let own = scratch.path().join("d").join(partial_name("u", &path("x")));
    std::fs::write(&own, "").expect("written");
    assert!(storage.remove(&path("d"), true, &mut 0).is_err());
    assert_eq!(
        file_names(&scratch.path().join("d")).len(),
        1,
        "it is on its way"
    );
    std::fs::remove_file(own).expect("removed");
    assert_eq!(
        storage.remove(&path("d"), true, &mut 0).expect("removed"),
        1
    );
    assert!(scratch.path().join("out/c").exists());
}

#[test]
fn what_was_not_removed_frees_no_quota() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    scratch.subdirectory("d");
    for name in ["d/a", "b"] {
        std::fs::write(scratch.path().join(name), "content").expect("written");
    }
    // It keeps its directory.
    let own = partial_name("u", &path("x"));
    std::fs::write(scratch.path().join("d").join(own), "").expect("written");
    let (mut one, mut some) = (0, 0);
    let removed = storage.remove(&path("b"), false, &mut one);
    assert_eq!((removed.ok(), one > 0), (Some(1), true));
    assert!(storage.remove(&path("d"), true, &mut some).is_err());
    assert_eq!(some, one, "the file in it");
}

#[test]
fn what_cannot_be_opened_keeps_no_other_leftovers() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    // The order of a directory is the file system's.
    for n in 0..20 {
        scratch.subdirectory(&own_name(&format!("{n:016x}"), ".tmp"));
        let link = own_name(&format!("{n:032x}"), ".part");
        symlink("nowhere", scratch.path().join(link)).expect("linked");
    }
    storage
        .remove_leftovers(SystemTime::now())
        .expect("removed");
    assert_eq!(file_names(scratch.path()).len(), 20, "the links");
}

/// A file that is complete is flushed before it has its name, and its name after that.
#[test]
fn what_was_found_has_its_content_and_is_flushed() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let file = File::create(scratch.path().join("a")).expect("created");
    file_calls::write_all(&file, b"content").expect("written");
    let has = |content: &[u8], size| {
        let hash = blake3::hash(content);
        storage.has(&path("a"), size, hash, &Cancel::default())
    };
    assert!(has(b"content", 7).expect("compared"));
    assert!(!has(b"CONTENT", 7).expect("compared"));
    assert!(has(b"content, and more", 17).is_err(), "it is shorter");
}

fn metadata(seconds: i64, mode: Option<u16>) -> Metadata {
    let nanoseconds = 7;
    Metadata {
        mode,
        modified: Some(crate::wire::FileTime {
            seconds,
            nanoseconds,
        }),
        ..Metadata::plain(Kind::File)
    }
}

fn entry(at: &str, content: &[u8]) -> PackEntry {
    PackEntry {
        path: at.as_bytes().to_vec(),
        metadata: metadata(100, Some(0o644)),
        content: content.to_vec().into(),
    }
}

#[test]
fn offsets_beyond_4_gib_are_where_they_are() {
    const GIB: u64 = 1 << 30;
    let scratch = ScratchDirectory::new();
    let partial = ours(&opened(&scratch), "u", "a");
    partial.set_len(6 * GIB).expect("set");
    let part = 64 << 10;
    partial
        .write_at(&vec![7; part as usize], 5 * GIB)
        .expect("written");
    assert_eq!(
        partial.have().expect("found"),
        RangeSet::of(5 * GIB..5 * GIB + part)
    );
    let read = |at| {
        let mut one = [1];
        partial.read_at(&mut one, at).expect("read");
        one[0]
    };
    assert_eq!([read(5 * GIB), read(GIB), read(5 * GIB + part)], [7, 0, 0]);
}

#[test]
fn blocks_beyond_4_gib_are_hashed_with_their_content() {
    const GIB: u64 = 1 << 30;
    let scratch = ScratchDirectory::new();
    let path = scratch.path().join("sparse");
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(path);
    let file = file.expect("created");
    file.set_len(6 * GIB).expect("set");
    file.write_all_at(b"data", 5 * GIB).expect("written");
    let range = 5 * GIB..5 * GIB + 4096;
    let mut content = vec![0; 4096];
    content[..4].copy_from_slice(b"data");
    let found = hash_block(&file, 6 * GIB, &range, &mut Vec::new()).expect("read");
    assert_eq!(found, hash_subtree(6 * GIB, &range, &content));
}

#[test]
fn nobody_else_may_open_what_is_incomplete() {
    let scratch = ScratchDirectory::new();
    let storage = Storage {
        umask: 0,
        ..opened(&scratch)
    };
    let _file = ours(&storage, "u", "a");
    let _stage = storage.stage().expect("staged");
    for name in file_names(scratch.path()) {
        let found = std::fs::metadata(scratch.path().join(&name)).expect("there");
        assert_eq!(found.mode() & 0o077, 0, "{name}");
    }
}

#[test]
fn a_file_keeps_its_time_and_mode_also_from_before_1970() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    for (name, seconds) in [("a", -5), ("b", 5)] {
        let partial = ours(&storage, "u", name);
        partial.write_at(b"x", 0).expect("written");
        let stored = partial.store(&path(name), &metadata(seconds, Some(0o4640)));
        stored.expect("stored");
        let found = std::fs::metadata(scratch.path().join(name)).expect("there");
        assert_eq!((found.mtime(), found.mtime_nsec()), (seconds, 7));
        assert_eq!(found.mode() & 0o7777, 0o640 & !u32::from(umask()));
    }
}

#[test]
fn a_directory_in_the_way_is_no_failure_of_the_disk() {
    let scratch = ScratchDirectory::new();
    for overwrite in [false, true] {
        let options = StorageOptions {
            overwrite,
            ..StorageOptions::default()
        };
        let storage = Storage::open(scratch.path(), options).expect("opened");
        scratch.subdirectory("a");
        let partial = ours(&storage, "u", "a");
        let stored = partial.store(&path("a"), &metadata(0, None));
        let reason = stored.expect_err("a directory").for_peer().reason;
        assert_eq!(reason, Reason::Exists);
    }
}

#[test]
fn holes_stay_holes_in_a_file_that_may_have_lost_something() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let size = 8 << 20;
    let partial = ours(&storage, "u", "a");
    partial.set_len(size).expect("set");
    partial.write_at(&[7; 4096], 4 << 20).expect("written");
    drop(partial);
    // As after an attempt to flush it.
    let name = scratch.path().join(partial_name("u", &path("a")));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&name, mode).expect("set");
    let partial = ours(&storage, "u", "a");
    let mut all = vec![1; size as usize];
    partial.read_at(&mut all, 0).expect("read");
    assert_eq!(all.iter().filter(|byte| **byte == 7).count(), 4096);
    let blocks = std::fs::metadata(&name).expect("there").blocks();
    assert!(blocks * 512 < size / 8, "{blocks} blocks");
}

#[test]
fn a_clock_that_was_set_back_makes_nothing_old() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    drop(ours(&storage, "u", "a"));
    let before = SystemTime::now() - Duration::from_secs(3600);
    storage.remove_leftovers(before).expect("removed");
    assert_eq!(file_names(scratch.path()).len(), 1);
}

#[test]
fn what_is_incomplete_takes_quota() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    ours(&storage, "u", "a")
        .write_at(&[7; 1000], 0)
        .expect("written");
    assert_eq!(storage.used(), ENTRY + 1000);
    assert_eq!(storage.partial_bytes(), ENTRY + 1000);
}

#[test]
fn the_umask_is_that_of_the_process() {
    let scratch = ScratchDirectory::new();
    let open = std::os::unix::fs::OpenOptionsExt::mode;
    let mut options = File::options();
    open(options.write(true).create(true), 0o777);
    let file = options.open(scratch.path().join("a")).expect("created");
    let mode = file.metadata().expect("inspected").mode();
    assert_eq!(mode & 0o777, 0o777 & !u32::from(umask()));
}

#[test]
fn a_file_that_cannot_have_attributes_is_no_error() {
    let attribute = crate::wire::Attribute {
        name: b"user.name".to_vec(),
        value: vec![1],
    };
    let device = File::open("/dev/null").expect("opened");
    resolve::set_attributes(&device, &[attribute]).expect("left out");
}

#[test]
fn only_the_permission_bits_of_a_file_are_passed_on() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(scratch.file("a", 1), mode).expect("set");
    let found = storage.look_up(&path("a")).expect("looked up");
    assert_eq!(found.map(|found| found.mode), Some(0o755));
}

#[test]
fn what_may_be_lost_and_cannot_be_written_again_is_an_error() {
    let scratch = ScratchDirectory::new();
    let disk = Disk::new(Order::Journal, scratch.path());
    calls::replace(Some(World::new(disk, Random::new(0))));
    let storage = opened(&scratch);
    let partial = ours(&storage, "u", "a");
    partial.write_at(&[7; 4096], 0).expect("written");
    drop(partial);
    // As after an attempt to flush it.
    let name = scratch.path().join(partial_name("u", &path("a")));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&name, mode).expect("set");
    let partial = ours(&storage, "u", "a");
    calls::with(|world| world.next = [Fault::Write].into());
    let read = partial.read_at(&mut [0; 4096], 0);
    calls::replace(None);
    assert!(matches!(read, Err(Error::File { .. })), "{read:?}");
}

#[test]
fn the_directory_of_a_living_tree_stays() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let stage = storage.stage().expect("staged");
    storage
        .remove_leftovers(SystemTime::now())
        .expect("removed");
    let mut directories = Directories::new();
    let staged = stage.write(&path("a"), &entry("a", b"x"), &mut directories);
    let staged = staged.expect("written").expect("a file");
    assert!(stage.commit(&[&staged]).iter().all(Result::is_ok));
    drop(stage);
    assert_eq!(file_names(scratch.path()), ["a"]);
    // What a killed one left goes.
    scratch.subdirectory(&own_name("0123456789abcdef", ".tmp"));
    storage
        .remove_leftovers(SystemTime::now())
        .expect("removed");
    assert_eq!(file_names(scratch.path()), ["a"]);
}

#[test]
fn files_of_a_pack_get_to_directories_of_the_same_name() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let stage = storage.stage().expect("staged");
    let mut directories = Directories::new();
    let names = ["a/x/f", "b/x/f", "x/f", "f", "a/f"];
    let write = |name: &&str| {
        let entry = entry(name, name.as_bytes());
        let staged = stage.write(&path(name), &entry, &mut directories);
        staged.expect("written").expect("a file")
    };
    let staged: Vec<_> = names.iter().map(write).collect();
    let all: Vec<_> = staged.iter().collect();
    assert!(stage.commit(&all).iter().all(Result::is_ok));
    let mut found = Directories::new();
    for name in names {
        let there = std::fs::read(scratch.path().join(name)).expect("stored");
        assert_eq!(there, name.as_bytes());
        let found = storage.find(&path(name), &mut found).expect("looked up");
        assert_eq!(found.map(|found| found.size), Some(name.len() as u64));
    }
}

#[test]
fn a_replaced_file_of_a_tree_passes_its_permissions_on() {
    let scratch = ScratchDirectory::new();
    let options = StorageOptions {
        overwrite: true,
        ..StorageOptions::default()
    };
    let storage = Storage::open(scratch.path(), options).expect("opened");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o604);
    std::fs::set_permissions(scratch.file("a", 1), mode).expect("set");
    let stage = storage.stage().expect("staged");
    let staged = stage.write(&path("a"), &entry("a", b"new"), &mut Directories::new());
    let staged = staged.expect("written").expect("a file");
    assert_eq!(staged.growth(), 2);
    assert!(stage.commit(&[&staged]).iter().all(Result::is_ok));
    let found = std::fs::metadata(scratch.path().join("a")).expect("there");
    assert_eq!((found.len(), found.mode() & 0o777), (3, 0o604));
}

#[test]
fn a_listing_comes_in_parts_and_shows_links_as_links() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    scratch.subdirectory("d");
    for name in ["a", "d/b"] {
        scratch.file(name, 1);
    }
    symlink("d", scratch.path().join("l")).expect("linked");
    let mut lister = storage.lister(None, true).expect("opened");
    let (mut sizes, mut found) = (Vec::new(), Vec::new());
    loop {
        let some = lister.some(2).expect("listed");
        if some.is_empty() {
            break;
        }
        sizes.push(some.len());
        found.extend(some.into_iter().map(|found| match found {
            Listed::Entry(entry) => (entry.path, entry.remote.metadata.kind, entry.target),
            Listed::Unread(unread) => panic!("{unread:?}"),
        }));
    }
    assert_eq!(sizes, [2, 2]);
    let expected = [
        ("a", Kind::File, ""),
        ("d", Kind::Directory, ""),
        ("l", Kind::Link, "d"),
        ("d/b", Kind::File, ""),
    ];
    let expected = expected.map(|(p, kind, target)| (p.into(), kind, target.into()));
    assert_eq!(found, expected);
}

#[test]
fn of_a_pack_each_file_has_its_own_result() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let stage = storage.stage().expect("staged");
    let names = ["a", "b", "c"];
    let write = |name: &&str| {
        let staged = stage.write(&path(name), &entry(name, b"x"), &mut Directories::new());
        staged.expect("written").expect("a file")
    };
    let staged: Vec<_> = names.iter().map(write).collect();
    // Somebody else is faster.
    std::fs::write(scratch.path().join("a"), "y").expect("written");
    let all: Vec<_> = staged.iter().collect();
    let results = stage.commit(&all);
    assert_eq!(
        results.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [false, true, true]
    );
    let content = |name| std::fs::read(scratch.path().join(name)).expect("there");
    assert_eq!(names.map(content), [b"y", b"x", b"x"]);
}

#[test]
fn a_link_to_the_same_content_is_no_file() {
    let scratch = ScratchDirectory::new();
    let top = scratch.subdirectory("top");
    std::fs::write(scratch.path().join("out"), "x").expect("written");
    symlink("../out", top.join("a")).expect("linked");
    for overwrite in [false, true] {
        let options = StorageOptions {
            overwrite,
            ..StorageOptions::default()
        };
        let storage = Storage::open(&top, options).expect("opened");
        let stage = storage.stage().expect("staged");
        let written = stage.write(&path("a"), &entry("a", b"x"), &mut Directories::new());
        let reason = written.expect_err("a link").for_peer().reason;
        assert_eq!(reason, Reason::Exists);
    }
}

#[test]
fn an_equal_file_of_a_tree_gets_the_new_time() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    std::fs::write(scratch.path().join("a"), "x").expect("written");
    let stage = storage.stage().expect("staged");
    let written = stage.write(&path("a"), &entry("a", b"x"), &mut Directories::new());
    assert!(written.expect("no conflict").is_none());
    let found = std::fs::metadata(scratch.path().join("a")).expect("there");
    assert_eq!(found.mtime(), 100);
}

#[test]
fn a_link_to_something_else_stays_where_nothing_is_replaced() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let stage = storage.stage().expect("staged");
    let link = |target: &[u8]| PackEntry {
        metadata: Metadata::plain(Kind::Link),
        ..entry("a", target)
    };
    for (target, stored) in [(b"x", true), (b"x", true), (b"y", false)] {
        let written = stage.write(&path("a"), &link(target), &mut Directories::new());
        assert_eq!(written.is_ok(), stored);
    }
    let target = std::fs::read_link(scratch.path().join("a")).expect("a link");
    assert_eq!(target, Path::new("x"));
}

#[test]
fn what_a_tree_did_not_store_does_not_stay() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let stage = storage.stage().expect("staged");
    for name in ["a", "b"] {
        let written = stage.write(&path(name), &entry(name, b"x"), &mut Directories::new());
        written.expect("written");
    }
    assert_eq!(file_names(scratch.path()).len(), 1, "its directory");
    drop(stage);
    assert!(file_names(scratch.path()).is_empty());
}

#[test]
fn the_owner_may_store_in_each_directory_of_a_tree() {
    let scratch = ScratchDirectory::new();
    let storage = opened(&scratch);
    let stage = storage.stage().expect("staged");
    let directory = PackEntry {
        metadata: Metadata {
            kind: Kind::Directory,
            ..metadata(100, Some(0o555))
        },
        ..entry("d", b"")
    };
    let written = stage.write(&path("d"), &directory, &mut Directories::new());
    assert!(written.expect("made").is_none());
    let found = std::fs::metadata(scratch.path().join("d")).expect("there");
    assert_eq!(found.mode() & 0o777, (0o555 & !u32::from(umask())) | 0o700);
}

#[test]
fn a_directory_that_cannot_be_read_is_listed_as_such() {
    let scratch = ScratchDirectory::new();
    scratch.unreadable("closed");
    scratch.file("file", 10);
    let storage = opened(&scratch);
    let user = Unprivileged::begin();
    let mut lister = storage.lister(None, true).expect("opened");
    let found = lister.some(10).expect("listed");
    drop(user);
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let found: Vec<_> = found
        .iter()
        .map(|found| match found {
            Listed::Entry(entry) => (name(&entry.path), true),
            Listed::Unread(unread) => (name(&unread.path), false),
        })
        .collect();
    let expected = [("closed", true), ("file", true), ("closed", false)];
    assert_eq!(found, expected.map(|(path, read)| (path.to_owned(), read)));
}

#[test]
fn a_file_whose_permissions_cannot_be_set_is_not_stored() {
    let scratch = ScratchDirectory::new();
    let disk = Disk::new(Order::Journal, scratch.path());
    calls::replace(Some(World::new(disk, Random::new(0))));
    let partial = ours(&opened(&scratch), "u", "a");
    partial.write_at(b"content", 0).expect("written");
    calls::with(|world| world.next = [Fault::Mode].into());
    let stored = partial.store(&path("a"), &metadata(100, Some(0o644)));
    calls::replace(None);
    assert!(matches!(stored, Err(Error::File { .. })), "{stored:?}");
    assert!(!scratch.path().join("a").exists());
}

#[test]
fn a_file_that_is_there_and_cannot_be_flushed_does_not_count() {
    let scratch = ScratchDirectory::new();
    let disk = Disk::new(Order::Journal, scratch.path());
    calls::replace(Some(World::new(disk, Random::new(0))));
    let storage = opened(&scratch);
    let partial = ours(&storage, "u", "a");
    partial.write_at(b"content", 0).expect("written");
    let stored = partial.store(&path("a"), &metadata(100, None));
    stored.expect("stored");
    calls::with(|world| world.next = [Fault::Flush].into());
    let hash = blake3::hash(b"content");
    let has = storage.has(&path("a"), 7, hash, &Cancel::default());
    calls::replace(None);
    assert!(matches!(has, Err(Error::File { .. })), "{has:?}");
}

/// Somebody else has put it there.
#[test]
fn a_file_with_the_name_of_a_hidden_directory_is_left_alone() {
    let scratch = ScratchDirectory::new();
    let name = own_name("0123456789abcdef", ".tmp");
    scratch.file(&name, 10);
    opened(&scratch);
    assert_eq!(file_names(scratch.path()), [name]);
}

#[test]
fn others_may_do_in_a_new_directory_what_the_umask_permits() {
    let scratch = ScratchDirectory::new();
    let partial = ours(&opened(&scratch), "u", "d/e/a");
    let stored = partial.store(&path("d/e/a"), &metadata(100, None));
    stored.expect("stored");
    for name in ["d", "d/e"] {
        let found = std::fs::metadata(scratch.path().join(name)).expect("there");
        let permitted = 0o777 & !u32::from(umask());
        assert_eq!(found.mode() & 0o777, permitted, "{name}");
    }
}
