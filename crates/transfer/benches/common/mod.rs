//! What the benchmarks share.

use std::error::Error;
use std::fs;
use std::io::Write;

/// Fills a file with bytes that do not repeat.
pub fn fill(path: &std::path::Path, bytes: u64) -> Result<(), Box<dyn Error>> {
    let mut file = fs::File::create(path)?;
    let mut stream = blake3::Hasher::new().finalize_xof();
    let mut buffer = vec![0; 1 << 20];
    let mut remaining = bytes;
    while remaining > 0 {
        let take = remaining.min(buffer.len() as u64) as usize;
        stream.fill(&mut buffer[..take]);
        file.write_all(&buffer[..take])?;
        remaining -= take as u64;
    }
    Ok(())
}

/// CPU time of this process so far, from `/proc/self/stat` (in ticks of 10 ms).
pub fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").ok_or("unknown format")?.1;
    let ticks: Vec<f64> = fields
        .split(' ')
        .skip(11)
        .take(2)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}
