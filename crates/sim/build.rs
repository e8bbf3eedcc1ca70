//! Sets `WHIMBREL_SOURCE`: a hash of the source that determines what a run measures.

use std::path::{Path, PathBuf};
use std::{fs, io};

#[path = "src/fnv.rs"]
mod fnv;

/// The crates that a run depends on, beside this one.
const CRATES: [&str; 4] = ["cc", "net", "sim", "units"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for name in CRATES {
        let folder = Path::new("..").join(name).join("src");
        // A package is unpacked alone; its version says which the others are.
        if !folder.is_dir() {
            continue;
        }
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files)?;
    }
    if files.is_empty() {
        collect(Path::new("src"), &mut files)?;
    }
    files.sort();
    let mut hash = fnv::EMPTY;
    for file in files {
        hash = fnv::continued(hash, file.to_string_lossy().as_bytes());
        hash = fnv::continued(hash, &fs::read(&file)?);
    }
    println!("cargo::rustc-env=WHIMBREL_SOURCE={hash:016x}");
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
