//! SVG pictures as PDF, with the fonts of this machine embedded.

use std::sync::Arc;
use svg2pdf::usvg::{Options, Tree, fontdb};
use svg2pdf::{ConversionOptions, PageOptions};

/// Families that are tried if the requested one is a generic family.
const SANS_SERIF: [&str; 6] = [
    "Helvetica",
    "Arial",
    "Liberation Sans",
    "DejaVu Sans",
    "Noto Sans",
    "Roboto",
];
/// Dots per inch that make a CSS pixel a pixel: sizes in mm are converted with it.
const DPI: f32 = 96.0;

/// The fonts of this machine.
pub struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    /// Finds the fonts in the system's folders.
    ///
    /// # Errors
    /// If there are none: a PDF would have no text.
    pub fn of_system() -> Result<Self, String> {
        let mut all = fontdb::Database::new();
        all.load_system_fonts();
        if all.is_empty() {
            return Err(
                "this machine has no fonts, which a PDF needs; install some (Debian: \
                        apt-get install fonts-liberation), or write SVG"
                    .to_owned(),
            );
        }
        let fonts = Self(Arc::new(all));
        let generic = SANS_SERIF.iter().find(|name| fonts.has(name));
        let generic = generic.map(|name| (*name).to_owned());
        let generic = generic.or_else(|| fonts.families().into_iter().next());
        let mut all = Arc::unwrap_or_clone(fonts.0);
        all.set_sans_serif_family(generic.unwrap_or_default());
        Ok(Self(Arc::new(all)))
    }

    /// Whether the machine has a font family.
    pub fn has(&self, family: &str) -> bool {
        let families = [fontdb::Family::Name(family)];
        let query = fontdb::Query {
            families: &families,
            ..fontdb::Query::default()
        };
        self.0.query(&query).is_some()
    }

    /// The names of all families, sorted.
    pub fn families(&self) -> Vec<String> {
        let faces = self.0.faces();
        let names = faces.filter_map(|face| Some(face.families.first()?.0.clone()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    }

    /// The picture as PDF, with the size that it has as SVG.
    ///
    /// # Errors
    /// If it is not an SVG picture.
    pub fn pdf(&self, svg: &str) -> Result<Vec<u8>, String> {
        let options = Options {
            fontdb: Arc::clone(&self.0),
            dpi: DPI,
            ..Options::default()
        };
        let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
        let page = PageOptions { dpi: DPI };
        svg2pdf::to_pdf(&tree, ConversionOptions::default(), page).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points.
    const INCH: f32 = 72.0;

    #[test]
    fn a_picture_has_the_size_of_its_svg() {
        let Ok(fonts) = Fonts::of_system() else {
            println!("skipped: no fonts");
            return;
        };
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"88mm\" height=\"50.8mm\" \
                   font-family=\"sans-serif\" viewBox=\"0 0 10 5.7727\"><text x=\"1\" y=\"4\" font-size=\"3\">a</text></svg>";
        let pdf = fonts.pdf(svg).expect("a PDF");
        assert!(pdf.starts_with(b"%PDF-1."));
        let text = String::from_utf8_lossy(&pdf);
        let place = text.find("/MediaBox").expect("a page");
        let numbers: Vec<f32> = text[place..]
            .split(['[', ']'])
            .nth(1)
            .expect("a box")
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        // 88 mm and 2 inches in points.
        assert!((numbers[2] - 88.0 / 25.4 * INCH).abs() < 0.1, "{numbers:?}");
        assert!((numbers[3] - 2.0 * INCH).abs() < 0.1, "{numbers:?}");
        assert!(text.contains("FontFile"), "fonts are embedded");
        assert!(fonts.pdf("no picture").is_err());
        assert!(!fonts.has("No Such Font At All") && !fonts.families().is_empty());
    }
}
