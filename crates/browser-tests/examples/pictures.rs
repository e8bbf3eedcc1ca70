//! Saves figures of a report as SVG files, as the page's own button does, for the documentation.
//!
//! ```text
//! cargo run -p whimbrel-browser-tests --example pictures -- \
//!     REPORT.html FIGURE-ID OUT.svg [FIGURE-ID OUT.svg ...]
//! ```

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_browser_tests::{Chromium, executable};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match save(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(say) => {
            eprintln!("{say}");
            ExitCode::FAILURE
        }
    }
}

async fn save(arguments: &[String]) -> Result<(), String> {
    let (report, wanted) = arguments
        .split_first()
        .filter(|(_, wanted)| !wanted.is_empty() && wanted.len() % 2 == 0)
        .ok_or("usage: pictures REPORT.html FIGURE-ID OUT.svg [FIGURE-ID OUT.svg ...]")?;
    executable()?;
    let report: PathBuf = Path::new(report)
        .canonicalize()
        .map_err(|error| format!("{report}: {error}"))?;
    let chromium = Chromium::open(&report, (1280, 900)).await;
    let done = save_all(&chromium, wanted).await;
    chromium.close().await;
    done
}

async fn save_all(chromium: &Chromium, wanted: &[String]) -> Result<(), String> {
    for pair in wanted.chunks_exact(2) {
        let [id, out] = pair else { continue };
        let quoted = serde_json::to_string(id).map_err(|error| error.to_string())?;
        let script = format!("whimbrel.svg({quoted}) ?? ''");
        let svg: String = chromium.value(&script).await;
        if svg.is_empty() {
            let ids: Vec<String> = chromium.value("whimbrel.figures()").await;
            return Err(format!(
                "no figure {id}; the figures are {}",
                ids.join(", ")
            ));
        }
        std::fs::write(out, svg).map_err(|error| format!("{out}: {error}"))?;
    }
    Ok(())
}
