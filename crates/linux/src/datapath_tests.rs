use super::*;

#[test]
fn names_fit_the_kernel_and_are_distinct() {
    // The largest process number of Linux is 2^22.
    for process in [1, 1 << 22] {
        let names: Vec<String> = names(process).chain(names(process)).collect();
        let start = format!("whim_{}_", base36(process.into()));
        assert!(
            names.iter().all(|name| name.starts_with(&start)),
            "{names:?}"
        );
        assert!(names.iter().all(|name| name.len() == struct_ops::MAX_NAME));
        let distinct: std::collections::HashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }
    assert_eq!(base36(1 << 22), "2hwcg");
}

#[test]
fn a_fallback_that_the_kernel_lacks_is_refused_with_the_nearest() {
    let available = ["reno".to_owned(), "cubic".to_owned()];
    assert!(check_fallback("reno", &available).is_ok());
    let error = check_fallback("cubik", &available)
        .expect_err("unknown")
        .to_string();
    assert!(
        error.contains("reno, cubic; did you mean `cubic`?"),
        "{error}"
    );
}

#[test]
fn the_selection_becomes_rules_in_the_kernel_s_layout() {
    let network = |text: &str, bits| Network {
        address: text.parse().expect("an address"),
        bits,
    };
    let selection = Selection {
        ports: vec![443, 8080],
        networks: vec![
            network("10.1.2.3", 8),
            network("2001:db8::1", 32),
            network("::", 0),
        ],
    };
    let bytes = rules(&selection).expect("valid");
    assert_eq!(bytes.len(), size_of::<wire::Rules>());
    assert_eq!(bytes[..4], 2_u32.to_ne_bytes());
    assert_eq!(bytes[4..8], 3_u32.to_ne_bytes());
    assert_eq!(
        bytes[8..12],
        [443_u16.to_ne_bytes(), 8080_u16.to_ne_bytes()].concat()
    );
    let networks = std::mem::offset_of!(wire::Rules, network);
    assert_eq!(
        bytes[networks..][..16],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 0]
    );
    assert_eq!(
        bytes[networks + 16..][..16],
        [vec![255; 13], vec![0; 3]].concat()
    );
    assert_eq!(bytes[networks + 32..][..6], [0x20, 1, 0x0d, 0xb8, 0, 0]);
    assert_eq!(bytes[networks + 64..][..32], [0; 32]);
}

#[test]
fn impossible_selections_are_refused() {
    let many = Selection {
        ports: vec![1; wire::MAX_RULES + 1],
        networks: vec![],
    };
    assert!(rules(&many).is_err());
    let long = Selection {
        ports: vec![],
        networks: vec![Network {
            address: "10.0.0.0".parse().expect("an address"),
            bits: 33,
        }],
    };
    assert!(rules(&long).is_err());
}

#[test]
fn an_algorithm_of_bursts_is_refused_in_one_line() {
    let aatp = Options::new("aatp".parse().expect("a controller"));
    let error = Datapath::load(&aatp)
        .expect_err("it cannot run on TCP")
        .to_string();
    assert!(error.contains("`aatp` controls bursts"), "{error}");
    assert!(!error.contains('\n'));
}
