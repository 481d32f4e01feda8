//! Takes turns: the machine's speed drifts, so whatever is compared is measured alternately.

use anyhow::Result;

use crate::stats::Summary;

/// One side of a comparison: a turn yields some samples.
pub(crate) type Turn<'a> = Box<dyn FnMut() -> Result<Vec<f64>> + 'a>;

/// The summary of one side, or why there is none.
pub(crate) type Measured = Result<Summary, String>;

/// Lets each side have its turn, round after round, after one round that is not counted. A side that fails is out from
/// then on, and its failure is the result.
pub(crate) fn take_turns<const SIDES: usize>(
    rounds: usize,
    mut sides: [Turn<'_>; SIDES],
) -> [Measured; SIDES] {
    let mut taken: [Result<Vec<f64>, String>; SIDES] = std::array::from_fn(|_| Ok(Vec::new()));
    for round in 0..=rounds {
        for (turn, samples) in sides.iter_mut().zip(&mut taken) {
            let Ok(all) = samples else { continue };
            match turn() {
                Ok(_) if round == 0 => {}
                Ok(more) => all.extend(more),
                Err(error) => *samples = Err(format!("{error:#}")),
            }
        }
    }
    let summary = |samples: Vec<f64>| Summary::of(&samples).ok_or_else(|| "no samples".to_owned());
    taken.map(|samples| samples.and_then(summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_that_fails_leaves_the_other_in() {
        let mut left = 0.0;
        let counts: Turn<'_> = Box::new(move || {
            left += 1.0;
            Ok(vec![left])
        });
        let [good, bad] = take_turns(3, [counts, Box::new(|| anyhow::bail!("broken"))]);
        assert_eq!(good.map(|summary| (summary.n, summary.min)), Ok((3, 2.0)));
        assert_eq!(bad.err().as_deref(), Some("broken"));
    }
}
