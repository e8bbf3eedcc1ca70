//! quiche and TQUIC draw random numbers past the C library's `getrandom`: from BoringSSL's
//! `RAND_bytes`, and by the system call. The linker replaces both by `virtual_os`'s, so that the
//! numbers follow from the seed of the run.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_QUICHE").is_some() {
        println!("cargo:rustc-link-arg=-Wl,--wrap=RAND_bytes");
    }
    if std::env::var_os("CARGO_FEATURE_TQUIC").is_some() {
        println!("cargo:rustc-link-arg=-Wl,--wrap=syscall");
    }
}
