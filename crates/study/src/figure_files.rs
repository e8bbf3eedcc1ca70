//! The figures of a page as files for a paper.

use crate::{BadInput, Error, atomic_file, provenance};
use std::path::{Path, PathBuf};
use whimbrel_report::figure::Figure;
use whimbrel_report::{Fonts, Print, figures_of_page, svg_for_print};
use whimbrel_units::nearest;

/// Lengths and their size in millimetres.
const UNITS: [(&str, f64); 4] = [("mm", 1.0), ("cm", 10.0), ("in", 25.4), ("pt", 25.4 / 72.0)];
/// Bounds of a width in millimetres, and of a font's size in points.
const WIDTHS: (f64, f64) = (40.0, 1000.0);
const SIZES: (f64, f64) = (4.0, 24.0);

/// Of what kind a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A picture for screens and editors.
    Svg,
    /// A picture with its font embedded.
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

/// A width of a picture in millimetres.
///
/// # Errors
/// If it is no length, or no picture has this width.
pub fn width(text: &str) -> Result<f64, String> {
    let width = length(text)?;
    let (least, most) = WIDTHS;
    if (least..=most).contains(&width) {
        return Ok(width);
    }
    Err(format!("a picture may be {least} mm to {most} mm wide"))
}

/// A font's size in points.
///
/// # Errors
/// If it is no length, or no text has this size.
pub fn font_size(text: &str) -> Result<f64, String> {
    let size = length(text)? * 72.0 / 25.4;
    let (least, most) = SIZES;
    if (least - 1e-9..=most + 1e-9).contains(&size) {
        return Ok(size);
    }
    Err(format!("text may have {least} pt to {most} pt"))
}

/// The figures of a page that a command wrote.
///
/// # Errors
/// If it cannot be read.
pub fn read(page: &Path) -> Result<Vec<Figure>, BadInput> {
    let shown = page.display();
    let text = std::fs::read_to_string(page)
        .map_err(|error| BadInput::new(format!("cannot read {shown}: {error}")))?;
    figures_of_page(&text).map_err(|why| BadInput::new(format!("{shown}: {why}")))
}

/// The figures of these names.
///
/// # Errors
/// The first name that no figure has.
pub fn named<'a>(
    figures: &'a [Figure],
    names: &[String],
    page: &Path,
) -> Result<Vec<&'a Figure>, BadInput> {
    let find = |name: &String| {
        figures.iter().find(|f| f.id == *name).ok_or_else(|| {
            let near = hint(name, figures.iter().map(|f| f.id.as_str()));
            let page = provenance::quoted(&page.to_string_lossy());
            let all = format!("`whimbrel figure {page}` lists all");
            BadInput::new(format!("unknown figure `{name}`{near} {all}"))
        })
    };
    names.iter().map(find).collect()
}

/// What ends a sentence about an unknown name.
fn hint<'a>(name: &str, all: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(name, all);
    near.map_or(";".to_owned(), |near| format!(", did you mean `{near}`?"))
}

/// Writes figures to a folder.
pub struct Writer<'a> {
    folder: &'a Path,
    print: &'a Print,
    formats: &'a [Format],
    /// Those of this machine, if PDF is wanted.
    fonts: Option<Fonts>,
}

impl<'a> Writer<'a> {
    /// To a folder, which is made.
    ///
    /// # Errors
    /// If files cannot be written there, or this machine has no such font.
    pub fn new(folder: &'a Path, print: &'a Print, formats: &'a [Format]) -> Result<Self, Error> {
        atomic_file::check_folder(folder)?;
        let fonts = match formats.contains(&Format::Pdf) {
            true => Some(fonts(&print.font)?),
            false => None,
        };
        Ok(Self {
            folder,
            print,
            formats,
            fonts,
        })
    }

    /// Writes one figure of a page. Returns its files.
    ///
    /// # Errors
    /// If one cannot be made or written.
    pub fn write(&self, figure: &Figure, page: &[Figure]) -> Result<Vec<PathBuf>, Error> {
        let svg = svg_for_print(figure, page, self.print);
        let mut files = Vec::new();
        for format in self.formats {
            let name = format!("{}.{}", figure.id.replace('/', "-"), format.extension());
            let file = self.folder.join(name);
            match (format, &self.fonts) {
                (Format::Pdf, Some(fonts)) => {
                    let pdf = fonts.pdf(&svg).map_err(|why| {
                        BadInput::new(format!("cannot make {}: {why}", file.display()))
                    })?;
                    atomic_file::write(&file, |to| to.write_all(&pdf))?;
                }
                _ => atomic_file::write_text(&file, &svg)?,
            }
            files.push(file);
        }
        Ok(files)
    }
}

/// The fonts of this machine. Another family than the usual one must be among them.
fn fonts(family: &str) -> Result<Fonts, BadInput> {
    let fonts = Fonts::of_system().map_err(BadInput::new)?;
    if fonts.has(family) || family == "Helvetica" {
        return Ok(fonts);
    }
    let families = fonts.families();
    let near = hint(family, families.iter().map(String::as_str));
    Err(BadInput::new(format!(
        "this machine has no font `{family}`{near} `fc-list : family` lists all"
    )))
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

    #[test]
    fn an_unknown_figure_is_refused_with_the_command_that_lists_all() {
        let figures = [Figure {
            id: "time".to_owned(),
            title: String::new(),
            caption: String::new(),
            plot: whimbrel_report::figure::Plot::Beside {
                value: whimbrel_report::figure::Axis::new("", ""),
                rows: Vec::new(),
            },
        }];
        let error = |name: &str| {
            let page = Path::new("my page.html");
            let named = named(&figures, &[name.to_owned()], page);
            named.expect_err("unknown").to_string()
        };
        let all = "`whimbrel figure 'my page.html'` lists all";
        assert_eq!(
            error("tim"),
            format!("unknown figure `tim`, did you mean `time`? {all}")
        );
        assert_eq!(error("xxx"), format!("unknown figure `xxx`; {all}"));
    }
}
