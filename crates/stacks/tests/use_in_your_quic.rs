//! The examples of `docs/use-in-your-quic.md` compile and run, as the page has them.

#![cfg(feature = "quinn")]

use std::error::Error;
// `build.rs` makes the linker call its functions instead of the C library's.
use whimbrel_stacks as _;

const PAGE: &str = include_str!("../../../docs/use-in-your-quic.md");

/// Text without comments and white space.
fn squeezed(text: &str) -> String {
    let lines = text.lines();
    let code = lines.map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect()
}

/// The examples of the page.
fn examples() -> Vec<String> {
    let blocks = PAGE.split("```rust\n").skip(1);
    let code = blocks.filter_map(|block| block.split_once("```"));
    code.map(|(code, _)| squeezed(code)).collect()
}

/// A test that runs an example, and checks that the page has the same.
macro_rules! example {
    ($name:ident: $($code:tt)*) => {
        #[test]
        #[allow(unused_variables)]
        fn $name() -> Result<(), Box<dyn Error>> {
            let code = squeezed(stringify!($($code)*));
            assert!(examples().contains(&code), "the page has another example than {code}");
            $($code)*
            Ok(())
        }
    };
}

example! { the_example_for_noq_runs:
    use std::sync::Arc;
    use whimbrel_quic::Factory;

    let factory = Factory::new("bbr3".parse()?)?;
    let monitor = factory.monitor();
    let mut transport = noq_proto::TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(factory));
}

example! { the_example_for_quinn_runs:
    use std::sync::Arc;
    use whimbrel_quinn::Factory;

    let factory = Factory::new("cubic+cerl".parse()?)?;
    let mut transport = quinn_proto::TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(factory));
}

#[test]
fn each_example_of_the_page_is_a_test() {
    assert_eq!(examples().len(), 2);
}
