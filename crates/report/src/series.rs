//! Values over time, made ready to be drawn.

use whimbrel_sim::FlowSample;

/// Rates are shown as the mean over so many spans: sample by sample they are a cloud.
const SPANS: usize = 60;

/// Seconds and values.
pub(crate) type Points = Vec<(f64, f64)>;

/// What a flow delivered.
pub(crate) fn goodput(samples: &[FlowSample], end: f64) -> Points {
    goodput_in(samples, end, SPANS)
}

/// The same as the mean over so many spans.
pub(crate) fn goodput_in(samples: &[FlowSample], end: f64, spans: usize) -> Points {
    means_in(rates(samples), end, spans)
}

fn rates(samples: &[FlowSample]) -> impl Iterator<Item = (f64, f64)> {
    let rate = |s: &FlowSample| (s.at.as_secs_f64(), s.rate.as_bits_per_sec() as f64);
    samples.iter().map(rate)
}

/// The rate that a law sets by itself, where it does.
pub(crate) fn own_rate(samples: &[FlowSample], end: f64) -> Points {
    own_rate_in(samples, end, SPANS)
}

/// The same as the mean over so many spans.
pub(crate) fn own_rate_in(samples: &[FlowSample], end: f64, spans: usize) -> Points {
    let rate = |s: &FlowSample| {
        let rate = s.pacing_rate?;
        Some((s.at.as_secs_f64(), rate.as_bits_per_sec() as f64))
    };
    means_in(samples.iter().filter_map(rate), end, spans)
}

/// How far apart a flow's acknowledgments came, in milliseconds, at each sample.
pub(crate) fn ack_spacing(samples: &[FlowSample]) -> Points {
    let spacing = |s: &FlowSample| Some((s.at.as_secs_f64(), s.ack_spacing?.as_millis_f64()));
    samples.iter().filter_map(spacing).collect()
}

/// What each flow had of all that they had together.
pub(crate) fn of_all(flows: &[&[FlowSample]], end: f64) -> Vec<Points> {
    let sums: Vec<Vec<(f64, u32)>> = flows
        .iter()
        .map(|samples| sums(rates(samples), end, SPANS))
        .collect();
    let total = |i: usize| -> f64 { sums.iter().map(|flow| flow[i].0).sum() };
    let share = |flow: &Vec<(f64, u32)>| -> Points {
        let point = |(i, (sum, n)): (usize, &(f64, u32))| {
            (*n > 0 && total(i) > 0.0).then(|| (middle(i, end, SPANS), sum / total(i)))
        };
        flow.iter().enumerate().filter_map(point).collect()
    };
    sums.iter().map(share).collect()
}

/// Means over spans of the run's `SPANS`th part, where there is a value.
pub(crate) fn means(values: impl Iterator<Item = (f64, f64)>, end: f64) -> Points {
    means_in(values, end, SPANS)
}

/// The same over so many spans.
pub(crate) fn means_in(values: impl Iterator<Item = (f64, f64)>, end: f64, spans: usize) -> Points {
    let mean = |(i, (sum, n)): (usize, (f64, u32))| {
        (n > 0).then(|| (middle(i, end, spans), sum / f64::from(n)))
    };
    let sums = sums(values, end, spans).into_iter().enumerate();
    sums.filter_map(mean).collect()
}

/// Sum and number of the values in each of so many spans.
fn sums(values: impl Iterator<Item = (f64, f64)>, end: f64, spans: usize) -> Vec<(f64, u32)> {
    let mut sums = vec![(0.0, 0_u32); spans];
    for (at, value) in values {
        let span = ((at * spans as f64 / end) as usize).min(spans - 1);
        sums[span].0 += value;
        sums[span].1 += 1;
    }
    sums
}

/// When the middle of a span is.
fn middle(span: usize, end: f64, spans: usize) -> f64 {
    (span as f64 + 0.5) * end / spans as f64
}

/// Divides all by the greatest unit that leaves the greatest value above one.
pub(crate) fn scaled(
    mut curves: Vec<Points>,
    units: &[(f64, &'static str)],
) -> (Vec<Points>, &'static str) {
    let (size, unit) = unit_of(&curves, units);
    for (_, y) in curves.iter_mut().flatten() {
        *y /= size;
    }
    (curves, unit)
}

/// That unit and its size.
pub(crate) fn unit_of(curves: &[Points], units: &[(f64, &'static str)]) -> (f64, &'static str) {
    let top = greatest(curves);
    let fits = units
        .iter()
        .find(|(size, _)| top >= 2.0 * size)
        .or(units.last());
    fits.copied().unwrap_or((1.0, ""))
}

/// The greatest value of all.
pub(crate) fn greatest(curves: &[Points]) -> f64 {
    curves.iter().flatten().map(|(_, y)| *y).fold(0.0, f64::max)
}
