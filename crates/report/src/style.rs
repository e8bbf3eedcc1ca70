//! How a protocol looks: a colour, a dash and a mark for each, by its name, on every page and in
//! every picture.
//!
//! The sixteen colours were found by a search that maximized their distances in CIELAB for normal,
//! protan, deutan and tritan vision. Each has a light and a dark form, with a contrast of at least
//! 3:1 (WCAG 2.2, graphics) on the page's light and dark background. The algorithms that are
//! compared most often have a colour of their own; the others share one with an algorithm that they
//! rarely meet. No two algorithms have the same dash and mark, so a picture printed in grey can be
//! read too.
//!
//! An algorithm with parameters (`cerl?A=0.6`), with a loss classifier (`cubic+cerl`) or with a
//! note (`newreno, lte`) has the hue of the algorithm in another lightness, dash and mark.
//!
//! The [entries](Entry) of the registry say which algorithm has which colour, and their order. An
//! entry that does not say gets a colour, dash and mark of its own.

use serde::Serialize;
use std::sync::LazyLock;
use whimbrel_cc::registry::{CONTROLLERS, Entry, named};

/// A colour, sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour(
    /// Red, green, blue.
    pub [u8; 3],
);

/// How one protocol is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Style {
    /// Its colour on white.
    pub light: Colour,
    /// Its colour on the dark page.
    pub dark: Colour,
    /// Lengths of dashes and gaps in turn, in pixels; empty for a solid line.
    pub dash: &'static [u8],
    /// Its mark.
    pub marker: Marker,
}

/// A mark's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is named after its shape")]
pub enum Marker {
    Circle,
    Square,
    Diamond,
    Triangle,
    DownTriangle,
    Plus,
    Cross,
    Star,
}

/// The background of the dark page.
pub const DARK_PAGE: Colour = Colour([0x14, 0x18, 0x1d]);

impl Marker {
    /// All, in the order in which protocols take them.
    pub const ALL: [Self; 8] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::DownTriangle,
        Self::Plus,
        Self::Cross,
        Self::Star,
    ];
}

/// With the eight marks, enough to tell 56 algorithms apart.
const DASHES: [&[u8]; 7] = [
    &[],
    &[9, 4],
    &[3, 3],
    &[9, 3, 2, 3],
    &[16, 5],
    &[6, 2],
    &[12, 3, 2, 3, 2, 3],
];

/// On white and on the dark page. The distance of any two of the first ten in CIELAB is at least 15
/// for each kind of vision.
const COLOURS: [(Colour, Colour); 16] = [
    hex(0x01_26ac, 0x33_94e5),
    hex(0xff_5d10, 0xef_6f16),
    hex(0x12_4214, 0x22_8f61),
    hex(0xd8_70b0, 0xcb_4f9f),
    hex(0x6c_4c02, 0xcf_ab4d),
    hex(0xaa_1338, 0xe7_3758),
    hex(0x11_807e, 0x95_f0e3),
    hex(0xc4_6af5, 0xe5_c0fc),
    hex(0x7a_9d48, 0xba_f265),
    hex(0x6d_71c0, 0x72_6cfe),
    hex(0xca_6324, 0xbb_6f35),
    hex(0x82_3159, 0xae_6e8a),
    hex(0x00_5a7b, 0x28_b7d4),
    hex(0x3e_a576, 0x3c_f4a7),
    hex(0xa9_6658, 0xf2_908a),
    hex(0x59_1c77, 0x94_71bf),
];

/// All algorithms of the registry by [rank](whimbrel_cc::registry::Look), with the index of their
/// colour; then those that declare no look.
static ALGORITHMS: LazyLock<Vec<(&'static Entry, usize)>> = LazyLock::new(|| {
    let (mut chosen, others): (Vec<&Entry>, Vec<&Entry>) =
        CONTROLLERS.iter().partition(|entry| entry.look.is_some());
    chosen.sort_by_key(|entry| entry.look.map(|look| look.rank));
    let colour = |entry: &'static Entry| Some((entry, entry.look?.colour % COLOURS.len()));
    let mut all: Vec<(&Entry, usize)> = chosen.into_iter().filter_map(colour).collect();
    for entry in others {
        all.push((entry, rarest_colour(entry, &all)));
    }
    all
});

/// The colour that the fewest algorithms of this one's family have, and of those the fewest of all.
fn rarest_colour(entry: &Entry, all: &[(&Entry, usize)]) -> usize {
    let uses = |colour: &usize| {
        let with = || all.iter().filter(|(_, other)| other == colour);
        let of_family = with().filter(|(other, _)| other.family() == entry.family());
        (of_family.count(), with().count())
    };
    (0..COLOURS.len()).min_by_key(uses).unwrap_or(0)
}

/// Luminances of variants on white and on the dark page, all but the one nearest to the algorithm's
/// own. Each has about 1.5 times the contrast of the one before.
const TONES: [[f64; 5]; 2] = [
    [0.028, 0.063, 0.115, 0.185, 0.28],
    [0.14, 0.22, 0.35, 0.55, 0.85],
];

/// The algorithm of a protocol: `cubic` of `cubic?C=0.6+cerl, lte`. `None` if it is not in the
/// registry.
pub fn algorithm(protocol: &str) -> Option<&'static str> {
    position(protocol).map(|at| ALGORITHMS[at].0.name)
}

/// The place of a protocol's algorithm.
fn position(protocol: &str) -> Option<usize> {
    let named = named(protocol)?;
    let mut names = ALGORITHMS.iter().map(|(entry, _)| entry.name);
    names.position(|name| name == named.name)
}

/// The look of a protocol (`variant` 0) and of its variants.
pub fn style(protocol: &str, variant: usize) -> Style {
    let at = place(protocol);
    let (light, dark) = COLOURS[ALGORITHMS[at].1];
    Style {
        light: toned(light, variant, &TONES[0]),
        dark: toned(dark, variant, &TONES[1]),
        dash: DASHES[(at / Marker::ALL.len() + variant) % DASHES.len()],
        marker: Marker::ALL[(at + variant) % Marker::ALL.len()],
    }
}

/// The order of protocols in lists: the algorithms that are compared most often first, each with
/// its variants, then names of no algorithm.
pub(crate) fn rank(protocol: &str) -> (usize, &str) {
    (position(protocol).unwrap_or(usize::MAX), protocol)
}

/// The place whose style a name has. A name of no algorithm has that of an algorithm that is rarely
/// compared, the same on every machine.
fn place(name: &str) -> usize {
    let chosen = ALGORITHMS.iter().filter(|(entry, _)| entry.look.is_some());
    let chosen = chosen.count();
    let rare = chosen - COLOURS.len();
    let of_bytes = || {
        name.bytes()
            .fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % rare)
    };
    position(name).unwrap_or_else(|| chosen - 1 - of_bytes())
}

/// The variants of protocols that are shown together, so that no two look the same. Of those of one
/// algorithm, the one without parameters, or else the first, has variant 0; the others follow in
/// order.
pub fn variants<'a>(protocols: &[&'a str]) -> Vec<(&'a str, usize)> {
    let bare = |name: &str| named(name).is_some_and(|entry| entry.is_called(name));
    let variant = |(i, name): (usize, &&'a str)| {
        let kin = |other: &&&str| place(other) == place(name);
        let before = |wanted: &dyn Fn(&str) -> bool, among: &[&str]| {
            among
                .iter()
                .filter(kin)
                .filter(|other| wanted(other))
                .count()
        };
        let own = before(&bare, protocols);
        let earlier = before(&|other| !bare(other), &protocols[..i]);
        (*name, if bare(name) { 0 } else { own + earlier })
    };
    protocols.iter().enumerate().map(variant).collect()
}

/// The colour in another luminance.
fn toned(colour: Colour, variant: usize, tones: &[f64; 5]) -> Colour {
    let own = colour.luminance();
    let far = |tone: &f64| ((tone + 0.05) / (own + 0.05)).ln().abs();
    let mut farthest_first = *tones;
    farthest_first.sort_by(|a, b| far(b).total_cmp(&far(a)));
    match variant % tones.len() {
        0 => colour,
        n => colour.at(farthest_first[n - 1]),
    }
}

const fn hex(light: u32, dark: u32) -> (Colour, Colour) {
    (of(light), of(dark))
}

const fn of(hex: u32) -> Colour {
    let [_, r, g, b] = hex.to_be_bytes();
    Colour([r, g, b])
}

impl Colour {
    /// Red, green and blue as linear light, 0 to 1 (IEC 61966-2-1).
    pub fn linear(self) -> [f64; 3] {
        self.0.map(|byte| {
            let c = f64::from(byte) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    fn from_linear(light: [f64; 3]) -> Self {
        Self(light.map(|c| {
            let c = c.clamp(0.0, 1.0);
            let c = if c <= 0.003_130_8 {
                c * 12.92
            } else {
                1.055 * c.powf(1.0 / 2.4) - 0.055
            };
            (c * 255.0).round() as u8
        }))
    }

    /// Relative luminance, 0 to 1 (WCAG 2.2).
    pub fn luminance(self) -> f64 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// The same hue with another luminance: scaled as far as red, green and blue allow, then mixed
    /// with white.
    fn at(self, luminance: f64) -> Self {
        let light = self.linear();
        let brightest = light.iter().copied().fold(f64::EPSILON, f64::max);
        let factor = (luminance / self.luminance().max(f64::EPSILON)).min(1.0 / brightest);
        let scaled = light.map(|c| c * factor);
        let [r, g, b] = scaled;
        let reached = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let white = (luminance - reached).max(0.0) / (1.0 - reached).max(f64::EPSILON);
        Self::from_linear(scaled.map(|c| c + (1.0 - c) * white))
    }
}

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [r, g, b] = self.0;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

impl Serialize for Colour {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const WHITE: Colour = Colour([255, 255, 255]);

    /// WCAG 2.2, "contrast ratio".
    fn contrast(a: Colour, b: Colour) -> f64 {
        let (a, b) = (a.luminance() + 0.05, b.luminance() + 0.05);
        a.max(b) / a.min(b)
    }

    /// Vision without one kind of cone: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6),
    /// 2009, severity 1.0.
    const SIGHTS: [(&str, [[f64; 3]; 3]); 4] = [
        (
            "normal",
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ),
        (
            "protan",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deutan",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritan",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    /// CIELAB under D65 of a colour as seen with this vision.
    fn lab(colour: Colour, sight: &[[f64; 3]; 3]) -> [f64; 3] {
        let [r, g, b] = colour.linear();
        let [r, g, b] = sight.map(|row| (row[0] * r + row[1] * g + row[2] * b).clamp(0.0, 1.0));
        let f = |t: f64| {
            if t > 216.0 / 24389.0 {
                t.cbrt()
            } else {
                (24389.0 / 27.0 * t + 16.0) / 116.0
            }
        };
        let x = f((0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b) / 0.950_47);
        let y = f(0.212_672_9 * r + 0.715_152_2 * g + 0.072_175 * b);
        let z = f((0.019_333_9 * r + 0.119_192 * g + 0.950_304_1 * b) / 1.088_83);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// CIE 1976; 2.3 is just noticeable.
    fn difference(a: Colour, b: Colour, sight: &[[f64; 3]; 3]) -> f64 {
        let (a, b) = (lab(a, sight), lab(b, sight));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn differences_of_colours_match_the_values_of_the_cie() {
        // Black and white are 100 apart, and sRGB's red lies at L* 53.2, a* 80.1, b* 67.2.
        assert!((difference(Colour([0; 3]), WHITE, &SIGHTS[0].1) - 100.0).abs() < 0.1);
        let red = lab(Colour([255, 0, 0]), &SIGHTS[0].1);
        for (found, known) in red.iter().zip([53.24, 80.09, 67.20]) {
            assert!((found - known).abs() < 0.05, "{red:?}");
        }
        assert!((contrast(Colour([0; 3]), WHITE) - 21.0).abs() < 1e-9);
    }

    #[test]
    fn the_most_compared_algorithms_are_distinct_for_all_kinds_of_vision() {
        for (dark, (sight, matrix)) in SIGHTS.iter().flat_map(|s| [(false, s), (true, s)]) {
            let colour = |name: &str| {
                if dark {
                    style(name, 0).dark
                } else {
                    style(name, 0).light
                }
            };
            let first: Vec<&str> = ALGORITHMS[..16].iter().map(|(e, _)| e.name).collect();
            for (i, a) in first.iter().enumerate() {
                for (j, b) in first[..i].iter().enumerate() {
                    let bound = if i < 10 && j < 10 { 14.9 } else { 10.5 };
                    let found = difference(colour(a), colour(b), matrix);
                    assert!(found > bound, "{a} and {b}, {sight}, dark {dark}: {found}");
                }
            }
        }
    }

    #[test]
    fn every_algorithm_and_variant_contrasts_with_the_page() {
        for name in ALGORITHMS.iter().map(|(entry, _)| entry.name) {
            for variant in 0..8 {
                let style = style(name, variant);
                let (light, dark) = (
                    contrast(style.light, WHITE),
                    contrast(style.dark, DARK_PAGE),
                );
                assert!(
                    light >= 3.0 && dark >= 3.0,
                    "{name} {variant}: {light} {dark}"
                );
            }
        }
    }

    #[test]
    fn all_algorithms_have_a_style_of_the_palette() {
        assert_eq!(ALGORITHMS.len(), CONTROLLERS.len());
        for look in CONTROLLERS.iter().filter_map(|entry| entry.look) {
            assert!(look.colour < COLOURS.len(), "{look:?}");
        }
    }

    #[test]
    fn the_defaults_of_compare_differ_in_colour_and_mark() {
        let all = [
            "newreno",
            "cubic",
            "bbr",
            "cerl",
            "enhanced-aatp",
            "whimbrel",
        ];
        let colours: HashSet<Colour> = all.iter().map(|name| style(name, 0).light).collect();
        let marks: HashSet<Marker> = all.iter().map(|name| style(name, 0).marker).collect();
        assert_eq!((colours.len(), marks.len()), (all.len(), all.len()));
    }

    #[test]
    fn a_new_algorithm_gets_a_colour_that_its_family_lacks() {
        let entry = CONTROLLERS[0];
        let colour = rarest_colour(entry, &ALGORITHMS);
        let family = ALGORITHMS
            .iter()
            .filter(|(other, _)| other.family() == entry.family());
        for (other, used) in family {
            assert_ne!(*used, colour, "{}", other.name);
        }
    }

    #[test]
    fn no_two_algorithms_have_the_same_dash_and_mark() {
        let of = |(entry, _): &(&Entry, usize)| {
            let style = style(entry.name, 0);
            (style.dash, style.marker)
        };
        assert_eq!(
            ALGORITHMS.iter().map(of).collect::<HashSet<_>>().len(),
            ALGORITHMS.len()
        );
    }

    #[test]
    fn a_label_that_begins_with_no_algorithm_has_none() {
        // What a label may look like is tested where the registry reads it.
        assert_eq!(algorithm("newreno, lte > core"), Some("newreno"));
        assert_eq!(algorithm("cubical"), None);
    }

    #[test]
    fn variants_of_an_algorithm_differ_in_colour_dash_and_mark() {
        let seen = variants(&[
            "cerl?A=0.6",
            "cubic",
            "cerl",
            "cerl?A=0.7",
            "a link",
            "a link 2",
        ]);
        let numbers: Vec<usize> = seen.iter().map(|(_, variant)| *variant).collect();
        assert_eq!(numbers, [1, 0, 0, 2, 0, 0]);
        let seen = variants(&["fast?alpha=3", "fast?alpha=6"]);
        assert_eq!(seen, [("fast?alpha=3", 0), ("fast?alpha=6", 1)]);
        for name in ALGORITHMS.iter().map(|(entry, _)| entry.name) {
            let three = [0, 1, 2].map(|variant| style(name, variant));
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                assert_ne!(three[a].light, three[b].light, "{name}");
                assert_ne!(three[a].dark, three[b].dark, "{name}");
                assert_ne!(
                    (three[a].dash, three[a].marker),
                    (three[b].dash, three[b].marker)
                );
            }
        }
    }
}
