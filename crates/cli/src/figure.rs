//! `whimbrel figure`: the figures of a page as files for a paper.

use crate::atomic_file;
use crate::failure::BadInput;
use anyhow::Context;
use serde_json::json;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use whimbrel_report::figure::Figure;
use whimbrel_report::{Fonts, Print, figures_of_page, plain, svg_for_print};
use whimbrel_units::nearest;

/// Lengths and their size in millimetres.
const UNITS: [(&str, f64); 4] = [("mm", 1.0), ("cm", 10.0), ("in", 25.4), ("pt", 25.4 / 72.0)];
/// Bounds of a width in millimetres, and of a font's size in points.
const WIDTHS: (f64, f64) = (40.0, 1000.0);
const SIZES: (f64, f64) = (4.0, 24.0);

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

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pdf => "pdf",
        }
    }
}

/// A length in millimetres.
fn length(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let place = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(place.unwrap_or(text.len()));
    let unit = unit.trim();
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    match (number.parse::<f64>(), known) {
        (Ok(number), Some((_, size))) if number.is_finite() => Ok(number * size),
        _ => Err(format!(
            "`{text}` is not a length; write e.g. `88 mm`, `8.8 cm`, `3.5 in` or `250 pt`"
        )),
    }
}

fn width(text: &str) -> Result<f64, String> {
    let width = length(text)?;
    let (least, most) = WIDTHS;
    if (least..=most).contains(&width) {
        return Ok(width);
    }
    Err(format!("a picture may be {least} mm to {most} mm wide"))
}

/// A font's size in points.
fn font_size(text: &str) -> Result<f64, String> {
    let size = length(text)? * 72.0 / 25.4;
    let (least, most) = SIZES;
    if (least - 1e-9..=most + 1e-9).contains(&size) {
        return Ok(size);
    }
    Err(format!("text may have {least} pt to {most} pt"))
}

/// Lists or saves.
pub fn run(args: FigureArgs) -> anyhow::Result<ExitCode> {
    let shown = args.page.display();
    let page = fs::read_to_string(&args.page)
        .map_err(|error| BadInput::new(format!("cannot read {shown}: {error}")))?;
    let figures = figures_of_page(&page).map_err(|why| BadInput::new(format!("{shown}: {why}")))?;
    if figures.is_empty() {
        let text = "it has no figures; write a page with --report, e.g. `whimbrel compare --report \
                    page.html`";
        return Err(BadInput::new(format!("{shown}: {text}")).into());
    }
    let chosen = chosen(&args, &figures)?;
    let mut out = io::stdout().lock();
    if chosen.is_empty() {
        list(&args, &figures, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    atomic_file::check_folder(&args.out)?;
    let print = Print {
        width_mm: args.width,
        font: args.font.clone(),
        font_pt: args.font_size,
        titles: args.titles,
    };
    let fonts = fonts(&args)?;
    let mut saved = Vec::new();
    for figure in chosen {
        let svg = svg_for_print(figure, &figures, &print);
        let mut files = Vec::new();
        for format in &args.format {
            let name = format!("{}.{}", figure.id.replace('/', "-"), format.extension());
            let file = args.out.join(name);
            match (format, &fonts) {
                (Format::Pdf, Some(fonts)) => {
                    let pdf = fonts.pdf(&svg).map_err(anyhow::Error::msg);
                    let pdf = pdf.with_context(|| format!("cannot make {}", file.display()))?;
                    atomic_file::write(&file, |to| to.write_all(&pdf))?;
                }
                _ => atomic_file::write(&file, |to| to.write_all(svg.as_bytes()))?,
            }
            if !args.json {
                writeln!(out, "{}", file.display())?;
            }
            files.push(file.to_string_lossy().into_owned());
        }
        saved.push(json!({ "id": figure.id, "title": figure.title, "files": files }));
    }
    if args.json {
        serde_json::to_writer_pretty(&mut out, &saved)?;
        writeln!(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The fonts of this machine, if PDF is wanted. A family that is missing has a warning.
fn fonts(args: &FigureArgs) -> anyhow::Result<Option<Fonts>> {
    if !args.format.contains(&Format::Pdf) {
        return Ok(None);
    }
    let fonts = Fonts::of_system().map_err(BadInput::new)?;
    let usual = args.font == "Helvetica";
    if !fonts.has(&args.font) && !usual {
        let families = fonts.families();
        let near = nearest(&args.font, families.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        return Err(BadInput::new(format!(
            "--font: this machine has no font `{}`{near}; `fc-list : family` lists all",
            args.font
        ))
        .into());
    }
    Ok(Some(fonts))
}

/// The figures to save; none to list them.
fn chosen<'a>(args: &FigureArgs, figures: &'a [Figure]) -> anyhow::Result<Vec<&'a Figure>> {
    if args.all {
        return Ok(figures.iter().collect());
    }
    let find = |name: &String| {
        figures.iter().find(|f| f.id == *name).ok_or_else(|| {
            let near = nearest(name, figures.iter().map(|f| f.id.as_str()));
            let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
            let page = args.page.display();
            let text = format!("unknown figure `{name}`{near} `whimbrel figure {page}` lists all");
            anyhow::Error::new(BadInput::new(text))
        })
    };
    args.names.iter().map(find).collect()
}

fn list(args: &FigureArgs, figures: &[Figure], out: &mut impl Write) -> anyhow::Result<()> {
    if args.json {
        let one = |f: &Figure| json!({ "id": f.id, "title": f.title, "files": [] });
        serde_json::to_writer_pretty(&mut *out, &figures.iter().map(one).collect::<Vec<_>>())?;
        writeln!(out)?;
        return Ok(());
    }
    let heads = ["name", "figure"].map(str::to_owned);
    let row = |f: &Figure| vec![f.id.clone(), f.title.clone()];
    let rows: Vec<Vec<String>> = figures.iter().map(row).collect();
    write!(out, "{}", plain(&heads, &[false, false], &rows))?;
    let page = quoted(&args.page);
    writeln!(
        out,
        "\nto save them: whimbrel figure {page} NAME..., or --all"
    )?;
    Ok(())
}

/// A path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_and_bounds() {
        assert_eq!(width("88mm"), Ok(88.0));
        assert_eq!(width("8.8 cm"), Ok(88.0));
        assert!((width("3.5 in").expect("a width") - 88.9).abs() < 1e-9);
        assert!((font_size("8 pt").expect("a size") - 8.0).abs() < 1e-9);
        for wrong in ["88", "mm", "-5 mm", "1e3mm", "", "nan mm"] {
            assert!(
                width(wrong)
                    .expect_err(wrong)
                    .contains("write e.g. `88 mm`")
            );
        }
        assert!(width("5 mm").expect_err("narrow").contains("40 mm"));
        assert!(font_size("80 pt").expect_err("large").contains("24 pt"));
    }
}
