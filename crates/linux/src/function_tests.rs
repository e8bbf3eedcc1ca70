//! Runs functions of the kernel's half in tests: a program takes their arguments from a packet and
//! writes their results into it.

use crate::bpf::object::{Kind, Object, Program};
use crate::datapath::OBJECT;
use crate::privileges::{self, Capability};

/// An Ethernet header and its padding.
const HEADER: usize = 16;

/// The program of this name, if it can be run here.
pub(crate) fn program(name: &str) -> Option<Program> {
    let missing = privileges::check(&Capability::ATTACH).and_then(|()| privileges::kernel());
    if let Err(error) = missing {
        eprintln!("skipped: {error}");
        return None;
    }
    let object = Object::load(OBJECT, &[]).unwrap_or_else(|e| panic!("{e}"));
    Some(
        object
            .program(name, Kind::Xdp)
            .unwrap_or_else(|e| panic!("{e}")),
    )
}

/// The words of the packet after the program has run on them.
pub(crate) fn run(program: &Program, words: [u32; 8]) -> [u32; 8] {
    let mut packet = vec![0; HEADER];
    packet.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    packet.resize(64, 0);
    let (value, packet) = program.test_run(&packet).expect("it runs");
    assert_eq!(value, 2, "the packet was long enough");
    std::array::from_fn(|index| {
        let bytes = packet[HEADER + 4 * index..][..4].try_into();
        u32::from_ne_bytes(bytes.expect("four bytes"))
    })
}
