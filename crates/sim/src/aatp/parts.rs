//! How the gaps of a report are divided among packets.

/// Splits gaps into parts of at most `fit` gaps, at most `parts` of them. Gaps that do not fit are
/// merged into one last gap up to the end of the burst: the sender then retransmits too much rather
/// than too little.
pub(super) fn parts(
    gaps: &[(u32, u32)],
    fit: usize,
    parts: u8,
    count: u32,
) -> Vec<Vec<(u32, u32)>> {
    let most = fit * usize::from(parts);
    let mut gaps = gaps.to_vec();
    if gaps.len() > most {
        gaps.truncate(most);
        if let Some(last) = gaps.last_mut() {
            last.1 = count - last.0;
        }
    }
    if gaps.is_empty() {
        return vec![gaps];
    }
    gaps.chunks(fit).map(<[_]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_do_not_fit_are_merged_into_the_last_part() {
        let gaps: Vec<(u32, u32)> = (0..10).map(|i| (10 * i, 1)).collect();
        assert_eq!(parts(&[], 4, 3, 100), [vec![]]);
        let split = parts(&gaps, 4, 3, 100);
        assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
        let split = parts(&gaps, 4, 2, 100);
        assert_eq!(split[1], [(40, 1), (50, 1), (60, 1), (70, 30)]);
    }
}
