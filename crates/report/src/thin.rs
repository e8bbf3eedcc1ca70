//! Fewer points and fewer digits for lines that look the same.
//!
//! S. Steinarsson, "Downsampling Time Series for Visual Representation", MSc thesis, University of
//! Iceland, 2013: Largest Triangle Three Buckets. All points but the first and the last are put
//! into buckets of equal count. From each bucket the point is kept that makes the largest triangle
//! with the point kept before it and the mean of the next bucket. This keeps peaks, which means
//! would flatten.

use crate::figure::{Figure, Plot};

/// A place in a figure.
pub(crate) type Point = [f64; 2];

/// At most `most` (at least three) of these points, which are in order of x.
pub(crate) fn thin(points: Vec<Point>, most: usize) -> Vec<Point> {
    let most = most.max(3);
    let n = points.len();
    if n <= most {
        return points;
    }
    let buckets = most - 2;
    // Bucket b begins at point `begin(b)`; the last point is a bucket of its own.
    let begin = |b: usize| 1 + b * (n - 2) / buckets;
    let mut kept = Vec::with_capacity(most);
    kept.push(points[0]);
    for b in 0..buckets {
        let next = if b + 1 < buckets {
            &points[begin(b + 1)..begin(b + 2)]
        } else {
            &points[n - 1..]
        };
        let before = kept[kept.len() - 1];
        let mean = |i: usize| next.iter().map(|p| p[i]).sum::<f64>() / next.len() as f64;
        let (x, y) = (mean(0), mean(1));
        let twice_area = |p: &Point| {
            ((before[0] - x) * (p[1] - before[1]) - (before[0] - p[0]) * (y - before[1])).abs()
        };
        let of_bucket = points[begin(b)..begin(b + 1)].iter();
        let most = of_bucket.max_by(|a, b| twice_area(a).total_cmp(&twice_area(b)));
        kept.extend(most);
    }
    kept.push(points[n - 1]);
    kept
}

/// Rounds numbers to five significant digits, which is what a picture can show, in half the space.
pub(crate) fn shorten(mut figure: Figure) -> Figure {
    let short = |x: &mut f64| *x = digits(*x);
    match &mut figure.plot {
        Plot::Panels { panels, .. } => {
            for series in panels.iter_mut().flat_map(|panel| &mut panel.series) {
                series.points.iter_mut().flatten().for_each(short);
                series.spread.iter_mut().for_each(short);
            }
        }
        Plot::Heat { maps, .. } => {
            let cells = maps.iter_mut().flat_map(|map| &mut map.cells);
            cells.flatten().for_each(short);
        }
        Plot::Confusion { .. } | Plot::Beside { .. } => {}
    }
    figure
}

fn digits(x: f64) -> f64 {
    format!("{x:.4e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_peak_and_the_ends_of_a_line_are_kept() {
        let mut line: Vec<Point> = (0..1000).map(|i| [f64::from(i), 1.0]).collect();
        line[700][1] = 9.0;
        let thinned = thin(line, 20);
        assert_eq!(thinned.len(), 20);
        assert!(thinned.contains(&[700.0, 9.0]));
        assert_eq!((thinned[0], thinned[19]), ([0.0, 1.0], [999.0, 1.0]));
    }

    #[test]
    fn the_largest_triangle_is_kept() {
        // One bucket between the ends: the largest triangle with (0, 0) and (4, 0) is that of the
        // point farthest from the axis.
        let points = vec![[0.0, 0.0], [1.0, 1.0], [2.0, -3.0], [3.0, 2.0], [4.0, 0.0]];
        assert_eq!(thin(points, 3), [[0.0, 0.0], [2.0, -3.0], [4.0, 0.0]]);
    }

    #[test]
    fn numbers_have_five_digits() {
        assert_eq!(digits(123.456_789), 123.46);
        assert_eq!(digits(-0.000_123_456_7), -0.000_123_46);
        assert_eq!(digits(0.0), 0.0);
        assert_eq!(digits(9_999_999.0), 1e7);
    }

    proptest! {
        #[test]
        fn kept_points_are_among_the_given_ones_and_in_order(values in prop::collection::vec(-1e6..1e6, 0..300), most in 0_usize..100) {
            let points: Vec<Point> = values.iter().enumerate().map(|(i, y)| [i as f64, *y]).collect();
            let thinned = thin(points.clone(), most);
            prop_assert_eq!(thinned.len(), points.len().min(most.max(3)));
            prop_assert!(thinned.windows(2).all(|pair| pair[0][0] < pair[1][0]));
            prop_assert!(thinned.iter().all(|p| points.contains(p)));
        }
    }
}
