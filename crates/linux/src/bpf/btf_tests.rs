use super::*;
use proptest::prelude::*;

/// BTF with `struct pair { int a; int (*f)(int, int); }`.
fn small() -> Vec<u8> {
    let strings = b"\0int\0pair\0a\0f\0";
    let (int, pair, a, f) = (1u32, 5, 10, 12);
    let types: Vec<u32> = [
        &[int, 1 << 24, 4, 0x0100_0020][..],         // 1: int
        &[0, 13 << 24 | 2, 1, 0, 1, 0, 1],           // 2: int (int, int)
        &[0, 2 << 24, 2],                            // 3: a pointer to it
        &[pair, 4 << 24 | 2, 16, a, 1, 0, f, 3, 64], // 4
    ]
    .concat();
    let mut out = Vec::new();
    out.extend(MAGIC.to_ne_bytes());
    out.extend([1, 0]);
    let length = types.len() as u32 * 4;
    for word in [24, 0, length, length, strings.len() as u32] {
        out.extend(word.to_ne_bytes());
    }
    out.extend(types.iter().flat_map(|word| word.to_ne_bytes()));
    out.extend(strings);
    out
}

#[test]
fn finds_a_structure_its_members_and_their_parameters() {
    let types = Types::parse(small()).expect("valid");
    let pair = types.structure("pair").expect("it is there");
    assert_eq!((pair.id, pair.size), (4, 16));
    let (index, f) = pair.member("f").expect("it is there");
    assert_eq!((index, f.offset), (1, 8));
    assert_eq!(types.parameters(f.kind), Some(2));
    let (_, a) = pair.member("a").expect("it is there");
    assert_eq!(types.parameters(a.kind), None);
    assert_eq!(types.structure("int"), None);
    assert_eq!(types.structure("none"), None);
}

#[test]
fn reads_the_running_kernel_s_types() {
    let Ok(bytes) = std::fs::read(Types::PATH) else {
        eprintln!("skipped: this kernel has no {}", Types::PATH);
        return;
    };
    let types = Types::parse(bytes).expect("the kernel's types are valid");
    let operations = types.structure("tcp_congestion_ops").expect("TCP");
    let (_, ssthresh) = operations.member("ssthresh").expect("all kernels have it");
    assert_eq!(types.parameters(ssthresh.kind), Some(1));
    assert!(ssthresh.offset < operations.size);
}

/// Asks everything of types that may be nonsense.
fn query(bytes: Vec<u8>) {
    let Ok(types) = Types::parse(bytes) else {
        return;
    };
    for name in ["pair", "int", ""] {
        if let Some(structure) = types.structure(name) {
            for member in &structure.members {
                types.parameters(member.kind);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        query(bytes);
    }

    #[test]
    fn changed_words_do_no_harm(
        changes in prop::collection::vec((0..31_usize, any::<u32>(), any::<bool>()), 1..4),
        cut in 0..200_usize,
    ) {
        let mut bytes = small();
        for (at, value, little) in changes {
            let value = if little { value & 0x1f } else { value };
            bytes[4 * at..][..4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes.truncate(cut.max(24));
        query(bytes);
    }
}
