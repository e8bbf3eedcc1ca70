//! The folder of experiments is compiled in: a change in it must compile this crate again.

fn main() {
    println!("cargo::rerun-if-changed=../../experiments");
}
