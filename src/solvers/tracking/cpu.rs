//! Tracking on the processor's cores: chunks of seeds in parallel, then one tractogram in the order
//! of the seeds.

use super::field::{Cubic, Sampler, Trilinear};
use super::follow::{Begin, Follow, Rules, Start};
use super::join::{Joined, Limits, Lines, MISSED_EVERY};
use super::regions::Gates;
use super::seeding::Seeds;
use super::spline::Coefficients;
use super::{Error, Interpolation, Output, Params, StopReason};
use crate::compute::{Cancelled, Control, simd};
use crate::data::{Region, TensorField, Tractogram};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Needs the backend's threads installed.
pub fn track(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    control: &Control,
) -> Result<Output, Error> {
    let seeds = Seeds::new(field, regions, params, control)?;
    let gates = Gates::new(regions, params.step_mm);
    // By a hair more, so that 300 mm are 600 steps of 0.5 mm however they round.
    let in_length = |mm: f64| (mm / params.step_mm * (1.0 + 1e-9)).min(u32::MAX.into()) as u32;
    let max_length = params.max_length_mm.map_or(u32::MAX, in_length);
    let max_steps = u32::try_from(params.max_steps).unwrap_or(u32::MAX);
    let rules = Rules {
        integrator: params.integrator,
        step_mm: params.step_mm as f32,
        min_fa_squared: params.min_fa.map_or(-1.0, |fa| (fa * fa) as f32),
        min_cos: params
            .max_angle_rad
            .map_or(-2.0, |angle| angle.cos() as f32),
        max_steps: max_steps.min(max_length),
        at_max: if max_length <= max_steps {
            StopReason::MaxLength
        } else {
            StopReason::MaxSteps
        },
    };
    let limits = Limits {
        both_ways: params.both_ways,
        min_length_mm: params.min_length_mm as f32,
        max_steps: max_length,
    };
    let job = Job {
        seeds: &seeds,
        gates: &gates,
        rules,
        limits,
        control,
    };
    let joined = match params.interpolation {
        Interpolation::Trilinear => job.run(&Trilinear::new(field)),
        Interpolation::CubicBSpline => {
            control.begin("Preparing splines", 0);
            let coefficients = Coefficients::new(field, control)?;
            job.run(&Cubic::new(&field.grid, coefficients))
        }
    }?;
    Ok(gather(joined, gates.targets))
}

struct Job<'a> {
    seeds: &'a Seeds<'a>,
    gates: &'a Gates<'a>,
    rules: Rules,
    limits: Limits,
    control: &'a Control,
}

impl Job<'_> {
    fn run<S: Sampler>(&self, sampler: &S) -> Result<Vec<Joined>, Cancelled> {
        let count = self.seeds.len();
        self.control.begin("Tracking", count as u64);
        // Small enough to share out evenly, large enough that lanes rarely run dry. The result does
        // not depend on it.
        let size = (count / (16 * rayon::current_num_threads())).clamp(16, 256);
        (0..count.div_ceil(size))
            .into_par_iter()
            .map(|i| {
                let range = i * size..count.min((i + 1) * size);
                let joined = self.chunk(sampler, range.clone())?;
                self.control.advance(range.len() as u64);
                Ok(joined)
            })
            .collect()
    }

    fn chunk<S: Sampler>(&self, sampler: &S, range: Range<usize>) -> Result<Joined, Cancelled> {
        self.control.check()?;
        let points: Vec<[f32; 3]> = range.clone().map(|i| self.seeds.point(i)).collect();
        let begun = simd::dispatch(Begin {
            sampler,
            rules: &self.rules,
            seeds: &points,
        });
        // Mask regions bound the seeds too.
        let begun = begun
            .into_iter()
            .map(|start| start.filter(|s| self.gates.allows(s.at)));
        let begun: Vec<Option<Start>> = begun.collect();
        let starts: Vec<Start> = begun.iter().flatten().copied().collect();
        let halves = simd::dispatch(Follow {
            sampler,
            rules: &self.rules,
            gates: self.gates,
            starts: &starts,
            both_ways: self.limits.both_ways,
            control: self.control,
        })?;
        let mut joined = Joined::new(self.gates.targets);
        let senses = if self.limits.both_ways { 2 } else { 1 };
        let mut first = 0;
        for (seed, start) in range.zip(begun) {
            let Some(start) = start else {
                joined.no_start();
                continue;
            };
            joined.add(
                seed as u32,
                start.at,
                &halves,
                first,
                self.gates,
                &self.limits,
            );
            first += senses;
        }
        Ok(joined)
    }
}

fn gather(chunks: Vec<Joined>, targets: usize) -> Output {
    let mut output = Output {
        kept: Tractogram::empty(),
        missed: Tractogram::empty(),
        missed_every: MISSED_EVERY,
        fates: [0; 6],
        stops: [0; 9],
        per_target: vec![0; targets],
        steps: 0,
    };
    let add = |sum: &mut [u64], more: &[u64]| {
        for (sum, more) in sum.iter_mut().zip(more) {
            *sum += more;
        }
    };
    let mut kept = Vec::with_capacity(chunks.len());
    let mut missed = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        add(&mut output.fates, &chunk.fates);
        add(&mut output.stops, &chunk.stops);
        add(&mut output.per_target, &chunk.per_target);
        output.steps += chunk.steps;
        kept.push(chunk.kept);
        missed.push(chunk.missed);
    }
    output.kept = tractogram(kept, targets > 0);
    // They end in no target, so there is nothing to say about one.
    output.missed = tractogram(missed, false);
    output
}

fn tractogram(parts: Vec<Lines>, with_targets: bool) -> Tractogram {
    let total = parts.iter().map(|p| p.points.len()).sum();
    let offsets: Arc<[u64]> = std::iter::once(0)
        .chain(parts.iter().flat_map(|p| &p.lengths).scan(0, |end, &n| {
            *end += u64::from(n);
            Some(*end)
        }))
        .collect();
    let per_line = |value: fn(&Lines, usize) -> f32| -> Arc<[f32]> {
        let of = |p| (0..Lines::len(p)).map(move |i| value(p, i));
        parts.iter().flat_map(of).collect()
    };
    let start = per_line(|p, i| f32::from(p.stops[i][0] as u8));
    let end = per_line(|p, i| f32::from(p.stops[i][1] as u8));
    let seed = per_line(|p, i| p.seeds[i] as f32);
    let target = with_targets.then(|| per_line(|p, i| p.targets[i] as f32));
    // Each part is freed as soon as it is copied.
    let mut points = Vec::with_capacity(total);
    for part in parts {
        points.extend_from_slice(&part.points);
    }
    let tractogram = Tractogram::new(points, offsets)
        .with_per_streamline("stop_start", start)
        .with_per_streamline("stop_end", end)
        .with_per_streamline("seed", seed);
    match target {
        Some(target) => tractogram.with_per_streamline("target", target),
        None => tractogram,
    }
}

impl Lines {
    fn len(&self) -> usize {
        self.lengths.len()
    }
}
