//! Takes turns: the machine's speed drifts, so whatever is compared is measured alternately.

use anyhow::Result;

use crate::stats::Summary;

/// One side of a comparison: a turn yields some samples.
pub(crate) type Turn<'a> = Box<dyn FnMut() -> Result<Vec<f64>> + 'a>;

/// The summary of one side, or why there is none.
pub(crate) type Measured = Result<Summary, String>;

/// Lets each side have its turn, round after round, after one round that is not counted. A side that fails is out from
/// then on, and its failure is the result.
pub(crate) fn take_turns(rounds: usize, mut sides: Vec<Turn<'_>>) -> Vec<Measured> {
    let mut taken: Vec<Result<Vec<f64>, String>> = sides.iter().map(|_| Ok(Vec::new())).collect();
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
    taken.into_iter().map(|samples| samples.and_then(summary)).collect()
}

/// One side alone.
pub(crate) fn alone(rounds: usize, turn: Turn<'_>) -> Measured {
    take_turns(rounds, vec![turn]).pop().unwrap_or_else(|| Err("no samples".into()))
}
