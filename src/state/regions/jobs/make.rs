//! Regions that take time to compute: by threshold, flood fill, growing, smoothing, combination.

use crate::compute::Control;
use crate::data::{Grid, Mask, Shape, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers;
use crate::solvers::region::{self, Change, Combine};
use crate::state::job_end::ended;
use crate::state::regions::make;
use crate::state::{Effect, State};
use std::sync::Arc;

/// Computing a region.
pub const REGION: Slot = Slot::latest_wins("region");

/// Makes a region.
#[derive(Clone, Debug)]
pub struct MakeRegion {
    pub operation: RegionOperation,
    /// Distinguishes the regions being made.
    pub serial: u64,
}

#[derive(Clone, Debug)]
pub enum RegionOperation {
    Threshold {
        volume: Volume,
        frame: usize,
        low: f32,
        high: f32,
    },
    Fill {
        volume: Volume,
        frame: usize,
        /// World mm.
        seed: glam::DVec3,
        tolerance: f32,
        max_ml: f64,
        /// The region that the result is combined with.
        base: Option<(Arc<Shape>, Combine)>,
    },
    Change {
        base: Arc<Shape>,
        /// Grid for rasterizing a shape that is not yet a mask.
        grid: Arc<Grid>,
        change: Change,
    },
    Combine {
        operation: Combine,
        base: Arc<Shape>,
        other: Arc<Shape>,
        grid: Arc<Grid>,
    },
}

#[derive(Clone, Debug)]
pub struct ComputedRegion {
    pub mask: Mask,
    /// One sentence.
    pub note: Option<String>,
}

impl Job for MakeRegion {
    type Output = ComputedRegion;

    fn slot(&self) -> Slot {
        REGION
    }

    fn label(&self) -> String {
        let label = match self.operation {
            RegionOperation::Threshold { .. } => "Applying the threshold",
            RegionOperation::Fill { .. } => "Filling",
            RegionOperation::Change { .. } => "Changing the region",
            RegionOperation::Combine { .. } => "Combining regions",
        };
        label.to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<ComputedRegion>,
    ) -> Result<ComputedRegion, JobError> {
        let backend = worker.backend();
        let (mask, note) = backend.install(|| self.operation.make(control))?;
        // Computed here to keep it off the window's thread.
        mask.bounds_inside();
        Ok(ComputedRegion { mask, note })
    }
}

impl Receive<State> for MakeRegion {
    fn receive(
        &self,
        delivery: Delivery<ComputedRegion>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(
            state,
            self,
            delivery,
            effects,
            |state, computed, _, effects| {
                make::receive(state, self.serial, computed, effects);
            },
        );
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        make::ended(state);
        false
    }
}

impl RegionOperation {
    fn make(self, control: &Control) -> Result<(Mask, Option<String>), solvers::Error> {
        match self {
            Self::Threshold {
                volume,
                frame,
                low,
                high,
            } => Ok((
                region::threshold(&volume, frame, (low, high), control)?,
                None,
            )),
            Self::Fill {
                volume,
                frame,
                seed,
                tolerance,
                max_ml,
                base,
            } => {
                let filled = region::fill(&volume, frame, seed, tolerance, max_ml, control)?;
                let note = filled.limited.then(|| {
                    format!(
                        "The fill reached its limit of {max_ml} ml; lower the tolerance or raise the limit"
                    )
                });
                let mask = match base {
                    Some((base, operation)) => {
                        let fresh = Shape::Mask(filled.mask);
                        region::combine(operation, &base, &fresh, &volume.grid)
                    }
                    None => filled.mask,
                };
                Ok((mask, note))
            }
            Self::Change { base, grid, change } => {
                let before = base.mask_on(&grid);
                let mask = region::change(&before, &change, control)?;
                let only_interpolates = Change {
                    interpolate: change.interpolate,
                    ..Change::defaults()
                };
                let fills = change.interpolate.is_some() && change == only_interpolates;
                let note = (fills && mask.count() == before.count()).then(|| {
                    "Nothing to interpolate: no slice between drawn ones is empty, or their drawings do not overlap"
                        .to_owned()
                });
                Ok((mask, note))
            }
            Self::Combine {
                operation,
                base,
                other,
                grid,
            } => Ok((region::combine(operation, &base, &other, &grid), None)),
        }
    }
}
