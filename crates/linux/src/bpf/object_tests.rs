use super::*;
use crate::bpf::ring::Ring;
use crate::privileges::{self, Capability};

const OBJECT: &[u8] = include_bytes!("../../bpf/objects/loader_test.bpf.o");

/// Packets shorter than an Ethernet header are not run.
const PACKET: usize = 64;

/// Says so if this system cannot load programs.
fn skipped() -> bool {
    let missing = privileges::check(&Capability::ATTACH).and_then(|()| privileges::kernel());
    match missing {
        Ok(_) => false,
        Err(error) => {
            eprintln!("skipped: {error}");
            true
        }
    }
}

fn load(factor: u32) -> Object {
    Object::load(OBJECT, &[("factor", &factor.to_ne_bytes())]).unwrap_or_else(|e| panic!("{e}"))
}

fn packet(first: u8) -> Vec<u8> {
    let mut packet = vec![0; PACKET];
    packet[0] = first;
    packet
}

#[test]
fn constants_variables_maps_and_functions_work() {
    if skipped() {
        return;
    }
    let object = load(7);
    let array = object.map("array").expect("it has one");
    array.set(0, &100_u64.to_ne_bytes()).expect("an element");
    assert_eq!(array.get(0).expect("an element"), 100_u64.to_ne_bytes());
    assert!(array.set(2, &[0; 8]).is_err(), "there are two elements");
    assert!(array.set(0, &[0; 4]).is_err(), "a value has eight bytes");
    let program = object
        .program("test_values", Kind::Xdp)
        .expect("the verifier accepts it");
    let (value, out) = program.test_run(&packet(21)).expect("it runs");
    assert_eq!((value, out[0], out.len()), (7 * 100 + 5 + 1, 42, PACKET));
    let (value, _) = program.test_run(&packet(1)).expect("it runs");
    assert_eq!(value, 7 * 100 + 5 + 2, "variables keep their values");
    let (value, out) = program.test_runs(&packet(1), 3).expect("it runs");
    assert_eq!((value, out[0]), (7 * 100 + 5 + 5, 8));
}

#[test]
fn two_loads_of_an_object_share_nothing() {
    if skipped() {
        return;
    }
    let (one, two) = (load(1), load(1));
    let run = |object: &Object| {
        let program = object
            .program("test_values", Kind::Xdp)
            .expect("the verifier accepts it");
        program.test_run(&packet(0)).expect("it runs").0
    };
    assert_eq!((run(&one), run(&two)), (6, 6));
}

#[test]
fn a_ring_keeps_records_whole_and_in_order_over_its_end() {
    if skipped() {
        return;
    }
    let object = load(1);
    let program = object
        .program("test_record", Kind::Xdp)
        .expect("the verifier accepts it");
    let mut ring = Ring::new(object.map("ring").expect("it has one")).expect("it can be mapped");
    assert_eq!(ring.consume(|_| panic!("it is empty")), 0);
    let write = |value: u8| program.test_run(&packet(value)).expect("it runs").0 == 1;
    // 48 bytes a record with its header: two laps and more, three records at a time.
    for round in 0..64_u8 {
        let values = [4 * round, 4 * round + 1, 4 * round + 2];
        assert!(values.iter().all(|value| write(*value)));
        let mut taken = Vec::new();
        let count = ring.consume(|record| {
            assert_eq!(record.len(), 40);
            assert!(record.iter().all(|byte| *byte == record[0]), "{record:?}");
            taken.push(record[0]);
        });
        assert_eq!(count, 2, "the odd one is discarded");
        assert_eq!(taken, [values[0], values[2]]);
    }
    // A full ring refuses records, and takes them again once it was read.
    let fitted = (0..200).filter(|_| write(2)).count();
    assert_eq!(fitted, 4096 / 48);
    assert_eq!(ring.consume(|_| {}), fitted);
    assert!(write(2));
}

#[test]
fn what_an_object_lacks_is_named() {
    if skipped() {
        return;
    }
    let object = load(1);
    let error = object
        .program("nothing", Kind::Xdp)
        .expect_err("no such program")
        .to_string();
    assert_eq!(error, "the BPF object has no program `nothing`");
    let error = object.map("nothing").expect_err("no such map").to_string();
    assert_eq!(error, "the BPF object has no map `nothing`");
}

#[test]
fn a_refused_program_shows_why() {
    if skipped() {
        return;
    }
    let error = load(1)
        .program("test_refused", Kind::Xdp)
        .expect_err("it reads beyond the packet");
    let LinuxError::Verifier { program, why } = error else {
        panic!("{error:?}");
    };
    assert_eq!(program, "test_refused");
    assert!(why.contains("invalid access to packet"), "{why}");
    assert!(why.lines().count() <= LOG_LINES + 1, "{why}");
}

#[test]
fn damaged_objects_and_unknown_constants_are_refused() {
    for bytes in [
        &b""[..],
        b"no object",
        &OBJECT[..40],
        &OBJECT[..OBJECT.len() / 2],
    ] {
        let error = Object::load(bytes, &[]).expect_err("damaged").to_string();
        assert!(error.starts_with("the BPF object is damaged: "), "{error}");
    }
    let error = Object::load(OBJECT, &[("facto", &[0; 4])])
        .expect_err("unknown")
        .to_string();
    assert!(error.contains("facto"), "{error}");
    let error = Object::load(OBJECT, &[("factor", &[0; 8])])
        .expect_err("too long")
        .to_string();
    assert!(error.contains("factor"), "{error}");
    assert_eq!(
        constant(OBJECT, "factor").expect("it has one"),
        1_u32.to_ne_bytes()
    );
    assert!(constant(OBJECT, "facto").is_err());
}
