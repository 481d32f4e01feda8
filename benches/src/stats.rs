//! Samples and what is told of them.

use serde::Serialize;

/// What is told of a row's samples.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) n: usize,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Summary {
    /// The summary; none of no samples.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        // The smallest sample that at least this many percent do not exceed.
        let at = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)];
        Some(Self { n: sorted.len(), p50: at(50), p90: at(90), p99: at(99), min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_that_were_taken() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let summary = Summary::of(&samples).unwrap();
        assert_eq!((summary.p50, summary.p90, summary.p99, summary.max), (50.0, 90.0, 99.0, 100.0));
        assert!(Summary::of(&[]).is_none());
        assert_eq!(Summary::of(&[3.0]).unwrap().p99, 3.0);
    }
}
