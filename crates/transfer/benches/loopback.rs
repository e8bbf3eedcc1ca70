//! Goodput and CPU time of a transfer over loopback, both ends in one process: the speed of the
//! software when the network is no limit.
//!
//! `cargo bench -p whimbrel-transfer --bench loopback -- [controller]` prints one JSON object:
//! `goodput_bps` (bits per second, from the request to the confirmation that the file is stored)
//! and `cpu_s_per_gb` (seconds of CPU, user and system, of sender and receiver together, per 10^9
//! bytes). It reports the run with the median goodput of `runs` transfers of `bytes` bytes. Files
//! are stored in `WHIMBREL_BENCH_DIR`, by default `/dev/shm`, so that no disk is measured.
//! `WHIMBREL_BENCH_BYTES` sets the size.

#[path = "common/mod.rs"]
mod common;

use common::{cpu_seconds, fill};
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use whimbrel_transfer::{
    ClientOptions, Identity, SendOptions, SendSource, ServeOptions, Server, ServerAddress, send,
};

const RUNS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds the argument `--bench`.
    let controller = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let controller = controller.unwrap_or_else(|| "cubic".to_owned());
    let bytes = std::env::var("WHIMBREL_BENCH_BYTES").map_or(Ok(1_000_000_000), |b| b.parse())?;
    let base =
        std::env::var_os("WHIMBREL_BENCH_DIR").map_or_else(|| "/dev/shm".into(), PathBuf::from);
    let base = base.join(format!("whimbrel-bench-{}", std::process::id()));
    let result = run(&base, &controller, bytes);
    fs::remove_dir_all(&base)?;
    println!("{}", result?);
    Ok(())
}

fn run(base: &std::path::Path, controller: &str, bytes: u64) -> Result<String, Box<dyn Error>> {
    let stored = base.join("stored");
    fs::create_dir_all(&stored)?;
    let file = base.join("file");
    fill(&file, bytes)?;
    let identity = Identity::load_or_create(&base.join("identity"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let options = ServeOptions {
            overwrite: true,
            ..ServeOptions::new(stored.clone(), ([127, 0, 0, 1], 0).into())
        };
        let before = cpu_seconds()?;
        let summary = runtime.block_on(async {
            let server = Server::bind(options, &identity)?;
            let address = ServerAddress {
                host: "127.0.0.1".to_owned(),
                port: server.local_addr()?.port(),
            };
            let spec = controller.parse()?;
            let mut options = SendOptions::new(
                ClientOptions::new(address, identity.token().clone(), spec),
                SendSource::File(file.clone()),
            );
            options.client.fingerprint = Some(identity.fingerprint());
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let serving = tokio::spawn(async move {
                server
                    .run(|_| (), async { stopped.await.unwrap_or_default() })
                    .await;
            });
            let summary = send(options, |_| (), std::future::pending()).await?;
            stop.send(()).ok();
            serving.await?;
            Ok::<_, Box<dyn Error>>(summary)
        })?;
        runs.push((
            summary.goodput_bps,
            (cpu_seconds()? - before) / (bytes as f64 / 1e9),
            summary,
        ));
        fs::remove_file(stored.join("file"))?;
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (goodput, cpu, summary) = &runs[RUNS / 2];
    Ok(format!(
        "{{\"benchmark\":\"transfer-loopback\",\"controller\":\"{controller}\",\
         \"bytes\":{bytes},\"runs\":{RUNS},\"goodput_bps\":{goodput:.0},\"cpu_s_per_gb\":{cpu:.3},\
         \"lost_packets\":{},\"sent_packets\":{}}}",
        summary.lost_packets, summary.sent_packets
    ))
}
