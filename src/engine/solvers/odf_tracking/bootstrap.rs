//! Streamlines through the repetitions of a bootstrap of the deconvolution, one repetition after the other.
//!
//! Each repetition is a whole field with its own signs in every voxel, so that every streamline sees one consistent
//! sample of the noise, as in a repeated scan. It depends on the random seed and its number alone, and so do the seed
//! points and the arcs of its streamlines. Only one repetition's distributions are in memory at any time.

use super::{Fibres, InputError, Params, track};
use crate::compute::{Backend, Control, memory};
use crate::data::random::Random;
use crate::data::tractogram::REPETITION;
use crate::data::{OdfField, Region, TissueMap, Tractogram};
use crate::solvers::Error;
use crate::solvers::csd::Residuals;
use crate::solvers::curves::Output;
use std::sync::Arc;

/// Relative difference between the distributions and those of the residuals above which these are another fit's.
/// Precisions and devices differ by 0.001.
const MAX_DIFFERENCE: f64 = 0.05;

/// Streamlines in the distributions of each repetition, as many as the parameters request; a requested number of
/// streamlines is divided among the repetitions. `field` is the fit to which the residuals belong. Outcomes and stops
/// are summed over all repetitions.
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of track, and the residuals"
)]
pub fn track_bootstrap(
    field: &OdfField,
    residuals: &Residuals,
    tissues: Option<&TissueMap>,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    params.check().map_err(Error::from)?;
    if !field.grid.matches(residuals.grid()) || field.order() != residuals.order() {
        return Err(InputError::ResidualGrid.into());
    }
    let difference = residuals.difference(field);
    // False for NaN, too.
    if !(difference <= MAX_DIFFERENCE) {
        return Err(InputError::OtherResiduals { difference }.into());
    }
    let repetitions = params.repetitions.unwrap_or(1);
    let mut outputs = Vec::with_capacity(repetitions);
    let mut used = 0;
    control.begin("Repetitions", repetitions as u64);
    for repetition in 0..repetitions {
        let number = repetition as u64;
        let sample = residuals.field(params.random_seed, number, backend, control)?;
        let own = Params {
            repetitions: None,
            random_seed: Random::new(params.random_seed).stream(number).bits(0),
            select: params.select.map(|n| share(n, repetitions, repetition)),
            ..params.clone()
        };
        let free = memory.map(|memory| memory.saturating_sub(used));
        // Progress is that of the repetitions.
        let quiet = control.silent();
        let fibres = Fibres::Distributions(sample);
        let output = track(&fibres, tissues, regions, &own, free, backend, &quiet)?;
        used += bytes(&output.kept) + bytes(&output.missed);
        outputs.push(output);
        control.advance(1);
    }
    Ok(joined(outputs)?)
}

/// The part of a whole number that belongs to one of several equal shares; the first ones are larger by one.
fn share(all: usize, shares: usize, index: usize) -> usize {
    all / shares + usize::from(index < all % shares)
}

fn bytes(curves: &Tractogram) -> u64 {
    let values = curves.per_streamline.len() as u64;
    12 * curves.points.len() as u64 + (8 + 4 * values) * curves.len() as u64
}

/// One output, whose streamlines have the number of their repetition.
fn joined(outputs: Vec<Output>) -> Result<Output, memory::Shortage> {
    let all = outputs.iter();
    let all = all.map(|output| bytes(&output.kept) + bytes(&output.missed));
    memory::claim("The bootstrap", all.sum())?;
    let add = |sum: &mut [u64], more: &[u64]| {
        for (sum, more) in sum.iter_mut().zip(more) {
            *sum += more;
        }
    };
    let (kept, missed): (Vec<_>, Vec<_>) = outputs
        .iter()
        .map(|output| (&output.kept, &output.missed))
        .unzip();
    let (kept, missed) = (in_one(&kept), in_one(&missed));
    let mut outputs = outputs.into_iter();
    // There is at least one repetition.
    let Some(mut sum) = outputs.next() else {
        unreachable!("a bootstrap has a repetition")
    };
    for output in outputs {
        add(&mut sum.seed_outcomes, &output.seed_outcomes);
        add(&mut sum.stops, &output.stops);
        add(&mut sum.per_target, &output.per_target);
        sum.steps += output.steps;
        sum.kernel_s = sum.kernel_s.zip(output.kernel_s).map(|(a, b)| a + b);
    }
    (sum.kept, sum.missed) = (kept, missed);
    Ok(sum)
}

/// The streamlines of all repetitions, in their order.
fn in_one(parts: &[&Tractogram]) -> Tractogram {
    let points: Vec<[f32; 3]> = parts
        .iter()
        .flat_map(|p| p.points.iter().copied())
        .collect();
    let mut offsets = vec![0];
    let mut numbers = Vec::new();
    for (repetition, part) in parts.iter().enumerate() {
        let first = offsets.last().copied().unwrap_or(0);
        offsets.extend(part.offsets[1..].iter().map(|offset| first + offset));
        numbers.resize(numbers.len() + part.len(), repetition as f32);
    }
    let mut all = Tractogram::new(points, offsets);
    let Some(first) = parts.first() else {
        return all;
    };
    for name in first.per_streamline.keys() {
        let values = parts
            .iter()
            .filter_map(|part| part.per_streamline.get(name));
        let values: Vec<f32> = values.flat_map(|values| values.iter().copied()).collect();
        if values.len() == all.len() {
            all = all.with_per_streamline(name, values);
        }
    }
    for name in first.codes.keys() {
        let meanings = parts.iter().filter_map(|part| part.codes.get(name));
        // The reasons of distributions are in the list only where one occurs.
        let longest = meanings.max_by_key(|meanings| meanings.len());
        if let Some(meanings) = longest {
            let meanings: Arc<[String]> = meanings.clone();
            all = all.with_codes(name, meanings);
        }
    }
    all.with_per_streamline(REPETITION, numbers)
}
