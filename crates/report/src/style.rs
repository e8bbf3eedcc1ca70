//! How a protocol looks: one colour, dash and mark for each, by its name, on every page and in every picture.
//!
//! Sixteen colours, found by a search for those that lie as far apart as may be in CIELAB for people with normal, protan, deutan
//! and tritan sight, each with a light and a dark form, and with WCAG's contrast of 3:1 for graphics on the page's two
//! backgrounds. The laws that are most often held against each other have the first; forty laws cannot have a colour
//! each, so the others share one with a law that they hardly ever meet. No two have the same dash and mark, so that a
//! picture printed in grey can be read too.
//!
//! What people set (`cerl?A=0.6`), put on a law (`cubic+cerl`) or write behind it (`newreno, lte`) keeps the law's hue, in another
//! lightness, dash and mark.

use serde::Serialize;

/// A colour, sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour(
    /// Red, green, blue.
    pub [u8; 3],
);

/// How one protocol is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Style {
    /// On white.
    pub light: Colour,
    /// On the dark page.
    pub dark: Colour,
    /// Lengths of dashes and gaps in pixels, in turn; empty: one line.
    pub dash: &'static [u8],
    /// Its mark.
    pub marker: Marker,
}

/// A mark's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "shapes say it all by their names")]
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

/// The page's background in the dark.
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

const DASHES: [&[u8]; 5] = [&[], &[9, 4], &[3, 3], &[9, 3, 2, 3], &[16, 5]];

/// On white and in the dark. No two of the first ten are nearer than 15 in CIELAB for anyone.
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

/// Each law and its colour; its place says its dash and mark.
const LAWS: [(&str, usize); 40] = [
    // Those that are most often held against each other: a colour each.
    ("newreno", 0),
    ("cubic", 1),
    ("bbr", 2),
    ("bbr3", 8),
    ("cerl", 5),
    ("cerl-plus", 3),
    ("enhanced-aatp", 6),
    ("rta", 7),
    ("rta-plus", 9),
    ("fast", 4),
    ("emfast", 11),
    ("sctp", 10),
    ("tcp-nack", 12),
    ("westwood+", 13),
    ("vegas", 14),
    ("copa", 15),
    // The others.
    ("mveno", 15),
    ("newjersey+", 7),
    ("yeah", 12),
    ("hybla", 4),
    ("reno", 9),
    ("westwood", 2),
    ("veno", 8),
    ("newjersey", 9),
    ("aatp", 9),
    ("mfast", 13),
    ("tcp-nack-westwood", 4),
    ("rta-newreno", 12),
    ("rta-hybla", 10),
    ("cerl-plus-printed", 11),
    ("tahoe", 14),
    ("bic", 5),
    ("highspeed", 6),
    ("scalable", 11),
    ("compound", 8),
    ("illinois", 3),
    ("d-tcp", 4),
    ("jtcp", 6),
    ("verus", 3),
    ("lia", 8),
];

/// Luminances of variants, all but the one nearest to the law's own; on white, and in the dark. Each has about one and a half
/// times the contrast of the one before.
const TONES: [[f64; 5]; 2] = [
    [0.028, 0.063, 0.115, 0.185, 0.28],
    [0.14, 0.22, 0.35, 0.55, 0.85],
];

/// The law behind what people call a protocol: `cubic` of `cubic?C=0.6+cerl, lte`; `None` if it is no law of the table.
pub fn law(protocol: &str) -> Option<&'static str> {
    position(protocol).map(|at| LAWS[at].0)
}

/// Where in the table. A law's name may have a plus at its end, so the longest counts that something else follows.
fn position(protocol: &str) -> Option<usize> {
    let names = |name: &str| {
        protocol.strip_prefix(name).is_some_and(|rest| {
            let next = rest.chars().next();
            next.is_none_or(|next| !next.is_alphanumeric() && next != '-')
        })
    };
    let found = LAWS.iter().enumerate().filter(|(_, (name, _))| names(name));
    let longest = found.max_by_key(|(_, (name, _))| name.len());
    longest.map(|(at, _)| at)
}

/// How a protocol looks, and, from 1 on, its variants.
pub fn style(protocol: &str, variant: usize) -> Style {
    let at = place(protocol);
    let (light, dark) = COLOURS[LAWS[at].1];
    Style {
        light: toned(light, variant, &TONES[0]),
        dark: toned(dark, variant, &TONES[1]),
        dash: DASHES[(at / Marker::ALL.len() + variant) % DASHES.len()],
        marker: Marker::ALL[(at + variant) % Marker::ALL.len()],
    }
}

/// Where a protocol stands in lists: laws that are most often compared first, each with its variants, then what is no law.
pub(crate) fn rank(protocol: &str) -> (usize, &str) {
    (position(protocol).unwrap_or(LAWS.len()), protocol)
}

/// Whose style it has. What is no law has that of one that is rarely met with, the same for the same name on any machine.
fn place(name: &str) -> usize {
    let rare = LAWS.len() - COLOURS.len();
    let of_bytes = || {
        name.bytes()
            .fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % rare)
    };
    position(name).unwrap_or_else(|| LAWS.len() - 1 - of_bytes())
}

/// How protocols look that are seen together, so that no two look the same: of those of one law, the one without parameters, or
/// where there is none the first, has the law's own look, and the others are its variants in the order in which they come.
pub fn variants<'a>(protocols: &[&'a str]) -> Vec<(&'a str, usize)> {
    let bare = |name: &str| law(name) == Some(name);
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
    /// Red, green and blue as light, 0 to 1 (IEC 61966-2-1).
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

    /// The same hue with another luminance: darker or brighter as long as red, green and blue allow it, then towards white.
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

    /// What somebody without one kind of cone sees: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A
    /// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1.0.
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

    /// CIELAB under D65, of a colour as this sight has it.
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

    /// CIE 1976: 2.3 is just to be seen.
    fn difference(a: Colour, b: Colour, sight: &[[f64; 3]; 3]) -> f64 {
        let (a, b) = (lab(a, sight), lab(b, sight));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn the_difference_of_colours_is_that_of_the_cie() {
        // Black and white are 100 apart, and sRGB's red lies at L* 53.2, a* 80.1, b* 67.2.
        assert!((difference(Colour([0; 3]), WHITE, &SIGHTS[0].1) - 100.0).abs() < 0.1);
        let red = lab(Colour([255, 0, 0]), &SIGHTS[0].1);
        for (found, known) in red.iter().zip([53.24, 80.09, 67.20]) {
            assert!((found - known).abs() < 0.05, "{red:?}");
        }
        assert!((contrast(Colour([0; 3]), WHITE) - 21.0).abs() < 1e-9);
    }

    #[test]
    fn everybody_can_tell_the_ten_most_compared_laws_apart_on_both_pages() {
        for (dark, (sight, matrix)) in SIGHTS.iter().flat_map(|s| [(false, s), (true, s)]) {
            let colour = |law: &str| {
                if dark {
                    style(law, 0).dark
                } else {
                    style(law, 0).light
                }
            };
            for (i, (a, _)) in LAWS[..16].iter().enumerate() {
                for (j, (b, _)) in LAWS[..i].iter().enumerate() {
                    let bound = if i < 10 && j < 10 { 14.9 } else { 10.5 };
                    let found = difference(colour(a), colour(b), matrix);
                    assert!(found > bound, "{a} and {b}, {sight}, dark {dark}: {found}");
                }
            }
        }
    }

    #[test]
    fn every_law_and_every_variant_stands_out_from_the_page() {
        for (law, _) in LAWS {
            for variant in 0..8 {
                let style = style(law, variant);
                let (light, dark) = (
                    contrast(style.light, WHITE),
                    contrast(style.dark, DARK_PAGE),
                );
                assert!(
                    light >= 3.0 && dark >= 3.0,
                    "{law} {variant}: {light} {dark}"
                );
            }
        }
    }

    #[test]
    fn all_laws_of_the_registry_have_a_style_and_none_else() {
        let known: HashSet<&str> = whimbrel_cc::registry::CONTROLLERS
            .iter()
            .map(|e| e.name)
            .collect();
        let styled: HashSet<&str> = LAWS.iter().map(|(name, _)| *name).collect();
        assert_eq!(known, styled);
    }

    #[test]
    fn in_grey_no_two_laws_look_the_same() {
        let of = |(name, _): &(&str, usize)| (style(name, 0).dash, style(name, 0).marker);
        assert_eq!(
            LAWS.iter().map(of).collect::<HashSet<_>>().len(),
            LAWS.len()
        );
    }

    #[test]
    fn the_law_is_found_behind_parameters_discriminators_and_labels() {
        for (protocol, expected) in [
            ("cerl?A=0.6", Some("cerl")),
            ("cubic?C=0.6+cerl?A=0.7", Some("cubic")),
            ("westwood++cerl", Some("westwood+")),
            ("westwood+cerl", Some("westwood")),
            ("newreno, lte > core", Some("newreno")),
            ("cerl-plus-printed", Some("cerl-plus-printed")),
            ("bbr3", Some("bbr3")),
            ("cubical", None),
            ("", None),
        ] {
            assert_eq!(law(protocol), expected, "{protocol}");
        }
    }

    #[test]
    fn variants_of_a_law_differ_in_colour_dash_and_mark_and_keep_its_place() {
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
        for (law, _) in LAWS {
            let three = [0, 1, 2].map(|variant| style(law, variant));
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                assert_ne!(three[a].light, three[b].light, "{law}");
                assert_ne!(three[a].dark, three[b].dark, "{law}");
                assert_ne!(
                    (three[a].dash, three[a].marker),
                    (three[b].dash, three[b].marker)
                );
            }
        }
    }
}
