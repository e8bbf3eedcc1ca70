//! Decodes all inputs of the corpora.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use whimbrel_fuzz::targets;

/// The unoptimized build decodes each input in less.
const LIMIT: Duration = Duration::from_secs(10);

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora")
}

#[test]
fn decoders_hold_for_all_inputs() {
    for target in targets() {
        let folder = corpora().join(target.name);
        let inputs = fs::read_dir(&folder).expect(target.name);
        let mut count = 0;
        for input in inputs {
            let path = input.expect("an entry").path();
            let bytes = fs::read(&path).expect("an input");
            let began = Instant::now();
            if let Err(panic) = std::panic::catch_unwind(|| (target.decode)(&bytes)) {
                eprintln!("{}:", path.display());
                std::panic::resume_unwind(panic);
            }
            let took = began.elapsed();
            assert!(took < LIMIT, "{}: {took:?}", path.display());
            count += 1;
        }
        assert!(count > 0, "{} has no inputs", target.name);
    }
}

#[test]
fn each_corpus_has_a_decoder() {
    for folder in fs::read_dir(corpora()).expect("a folder") {
        let name = folder.expect("an entry").file_name();
        let known = targets().iter().any(|target| name == target.name);
        assert!(known, "{}", name.display());
    }
}
