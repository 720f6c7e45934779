//! The reasons why seeds do not start.

use super::direction::deviator;
use super::field::{Points, Sampler, Trilinear};
use crate::compute::{Backend, Control};
use crate::data::{Region, Role, TensorField};
use crate::solvers::Error;
use crate::solvers::curves::cells::INSIDE;
use crate::solvers::curves::half_queue::LANES;
use crate::solvers::curves::seeding::Seeds;
use crate::solvers::curves::{Output, Params, SeedOutcome, Starts};
use glam::DVec3;

/// Largest number of seeds examined: enough to find the reason.
const MAX_EXAMINED: usize = 4096;

impl Output {
    /// Records why seeds do not start, if some did not.
    pub fn explain_no_starts(
        &mut self,
        field: &TensorField,
        regions: &[Region],
        params: &Params,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        if self.seed_outcomes[SeedOutcome::NoStart as usize] > 0 {
            self.starts = Some(starts(field, regions, params, backend, control)?);
        }
        Ok(())
    }
}

/// Examines the seeds of these regions and parameters, evenly spaced if there are many.
pub fn starts(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Starts, Error> {
    backend.install(|| {
        let seeds = Seeds::new(field, regions, params, control)?;
        let masks: Vec<&Region> = regions.iter().filter(|r| r.role == Role::Mask).collect();
        let sampler = Trilinear::new(field);
        // Without any anisotropy there is no starting direction.
        let min_fa_squared = params.min_fa.map_or(0.0, |fa| (fa * fa) as f32).max(1e-8);
        let mut starts = Starts {
            min_fa: params.min_fa,
            ..Starts::default()
        };
        let step = seeds.len().div_ceil(MAX_EXAMINED).max(1);
        let points: Vec<[f32; 3]> = (0..seeds.len())
            .step_by(step)
            .map(|i| seeds.point(i))
            .collect();
        for some in points.chunks(LANES) {
            let mut at = Points::default();
            for (lane, point) in some.iter().enumerate() {
                at.set(lane, *point);
            }
            let samples = sampler.sample(&at);
            for (lane, point) in some.iter().enumerate() {
                let r = &samples.records[lane];
                let world = DVec3::from_array(point.map(f64::from));
                let count = if samples.in_volume[lane] == 0 {
                    &mut starts.outside_volume
                } else if !(r[INSIDE] >= 0.5) {
                    &mut starts.outside_mask
                } else if !masks.is_empty() && !masks.iter().any(|m| m.shape.contains(world)) {
                    &mut starts.outside_regions
                } else if !deviator([r[0], r[1], r[2], r[3], r[4], r[5]])
                    .fa_at_least(min_fa_squared)
                {
                    &mut starts.low_fa
                } else {
                    &mut starts.valid
                };
                *count += 1;
            }
        }
        Ok(starts)
    })
}
