//! `whimbrel figure`: the figures of a page as files for a paper.

use crate::failure::BadInput;
use crate::print;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_report::figure::Figure;
use whimbrel_report::{Print, plain};
use whimbrel_study::figure_files::{self, font_size, width};
use whimbrel_study::provenance;

/// Save figures of a report as SVG and PDF, for a paper
///
/// PAGE is what --report wrote, of any command. Without names, lists its figures. The files are
/// named after the figures, and have the width of a paper's column and text in the paper's font and
/// size. PDF has the font embedded; no browser is needed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel compare --loss 0%,1%,5% --report page.html
  whimbrel figure page.html                           what it has
  whimbrel figure page.html --all --out figures       all, as SVG and PDF
  whimbrel figure page.html time --format pdf --width 180mm
  whimbrel figure page.html time --font 'Times New Roman' --font-size 9pt

--json prints a list of {id, title, files}.")]
pub struct FigureArgs {
    /// The page of --report
    #[arg(value_name = "PAGE.html")]
    page: PathBuf,
    /// Figures to save, by the names that the list shows
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Save all figures
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Formats of the files
    #[arg(long, value_delimiter = ',', value_enum, default_value = "svg,pdf")]
    format: Vec<Format>,
    /// Width of a picture: a column of many journals has 88 mm
    #[arg(long, value_name = "LENGTH", default_value = "88 mm", value_parser = width)]
    width: f64,
    /// Font family
    #[arg(long, value_name = "NAME", default_value = "Helvetica")]
    font: String,
    /// Size of the text
    #[arg(long, value_name = "LENGTH", default_value = "8 pt", value_parser = font_size)]
    font_size: f64,
    /// Draw title and caption, too
    #[arg(long)]
    titles: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Svg,
    Pdf,
}

impl From<Format> for figure_files::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Svg => Self::Svg,
            Format::Pdf => Self::Pdf,
        }
    }
}

/// Lists or saves.
pub fn run(args: FigureArgs) -> anyhow::Result<ExitCode> {
    let figures = figure_files::read(&args.page)?;
    if figures.is_empty() {
        let text = format!(
            "{}: it has no figures; write a page with --report, e.g. `whimbrel compare --report \
             page.html`",
            args.page.display()
        );
        return Err(BadInput::new(text).into());
    }
    let chosen = match args.all {
        true => figures.iter().collect(),
        false => figure_files::named(&figures, &args.names, &args.page)?,
    };
    if chosen.is_empty() {
        let one = |f: &Figure| json!({ "id": f.id, "title": f.title, "files": [] });
        let value = || figures.iter().map(one).collect::<Vec<_>>();
        return print::result(args.json, value, || list(&args.page, &figures));
    }
    let print = Print {
        width_mm: args.width,
        font: args.font,
        font_pt: args.font_size,
        titles: args.titles,
    };
    let formats: Vec<_> = args.format.into_iter().map(Into::into).collect();
    let writer = figure_files::Writer::new(&args.out, &print, &formats)?;
    let mut saved = Vec::new();
    for figure in chosen {
        let files = writer.write(figure, &figures)?;
        let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        if !args.json {
            print::text(names.join("\n") + "\n")?;
        }
        saved.push(json!({ "id": figure.id, "title": figure.title, "files": names }));
    }
    match args.json {
        true => print::json(&saved),
        false => Ok(ExitCode::SUCCESS),
    }
}

fn list(page: &Path, figures: &[Figure]) -> String {
    let heads = ["name", "figure"].map(str::to_owned);
    let row = |f: &Figure| vec![f.id.clone(), f.title.clone()];
    let rows: Vec<Vec<String>> = figures.iter().map(row).collect();
    let table = plain(&heads, &[false, false], &rows);
    let page = provenance::quoted(&page.to_string_lossy());
    format!("{table}\nto save them: whimbrel figure {page} NAME..., or --all\n")
}
