//! Fibre orientation distributions that an image holds, with their peaks and maps of lobes.

use super::error::FodError;
use super::{FOD, images, receive, unfinished};
use crate::compute::{Backend, Control};
use crate::data::odf_field::MAX_IMPLAUSIBLE_SHARE;
use crate::data::{Grid, Mask, OdfField, OdfLayout, Shells, Volume};
use crate::io::orientations;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::{csd, peaks};
use crate::state::tensors::types::fods::{FodKey, Fods};
use crate::state::{Effect, State};
use glam::DMat3;
use std::path::PathBuf;
use std::sync::Arc;

/// The new grid of an image that was moved, and the linear part of the transform, which turns its orientations.
#[derive(Clone, Debug)]
pub struct MovedImage {
    pub grid: Arc<Grid>,
    pub linear: DMat3,
}

/// Takes the distributions of an image, and computes what is requested of peaks and lobes.
#[derive(Clone, Debug)]
pub struct ReadFods {
    /// The document's request; `None` for the command line.
    pub key: Option<FodKey>,
    /// The file of the image, for sentences.
    pub path: PathBuf,
    /// The image as it was opened.
    pub volume: Volume,
    pub layout: OdfLayout,
    pub moved: Option<MovedImage>,
    pub peak_params: peaks::Params,
    pub wants_peaks: bool,
    pub wants_lobes: bool,
}

/// The distributions with 0 where a coefficient is not a finite number, and the number of these voxels.
fn finite(field: OdfField) -> (OdfField, usize) {
    if field.coefficients.iter().all(|c| c.is_finite()) {
        return (field, 0);
    }
    let n = field.grid.voxel_count();
    let mut values = field.coefficients.to_vec();
    let mut changed = 0;
    for voxel in 0..n {
        let mut own = (voxel..values.len()).step_by(n);
        if own.any(|i| !values[i].is_finite()) {
            (voxel..values.len())
                .step_by(n)
                .for_each(|i| values[i] = 0.0);
            changed += 1;
        }
    }
    let (grid, order) = (field.grid.clone(), field.order());
    (OdfField::new(grid, order, values), changed)
}

/// A voxel has a distribution if its mean is above 0.
fn voxels(field: &OdfField) -> Mask {
    let n = field.grid.voxel_count();
    let mean = field.coefficients.iter().take(n);
    let inside: Vec<u8> = mean.map(|c| u8::from(*c > 0.0)).collect();
    Mask::new(field.grid.clone(), inside)
}

impl Job for ReadFods {
    type Output = Box<Fods>;

    fn slot(&self) -> Slot {
        FOD
    }

    fn label(&self) -> String {
        "Reading fibre orientations".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Box<Fods>>,
    ) -> Result<Box<Fods>, JobError> {
        self.read(&worker.backend(), control)
    }
}

impl Receive<State> for ReadFods {
    fn receive(&self, delivery: Delivery<Box<Fods>>, state: &mut State, effects: &mut Vec<Effect>) {
        receive(self, self.key.as_ref(), delivery, state, effects);
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        unfinished(self.key.as_ref(), end, state)
    }
}

/// Shares of the time of stages: turns to the world's axes and to the image's position, if there are any; peaks, lobes.
const TURNS: [f32; 2] = [0.1, 0.1];
const PEAKS_AND_LOBES: [f32; 2] = [0.4, 0.4];

impl ReadFods {
    pub(crate) fn read(self, backend: &Backend, control: &Control) -> Result<Box<Fods>, JobError> {
        control.plan_from(0.0, &TURNS);
        let field = orientations::odf_from_volume(&self.path, &self.volume, self.layout, control)?;
        if field.coefficients.iter().all(|c| *c == 0.0) {
            return Err(FodError::NoFibres(self.path).into());
        }
        let share = field.implausible_share();
        if share > MAX_IMPLAUSIBLE_SHARE {
            let path = self.path;
            return Err(FodError::Implausible { share, path }.into());
        }
        if field.order() == 0 {
            return Err(FodError::NoDirections(self.path).into());
        }
        let (mut field, not_finite) = finite(field);
        if let Some(MovedImage { grid, linear }) = self.moved {
            field = orientations::turn_odf(&self.path, &field, grid, linear, true, control)?;
        }
        control.plan_from(TURNS.iter().sum(), &PEAKS_AND_LOBES);
        let params = &self.peak_params;
        let peak_field = match self.wants_peaks {
            true => Some(peaks::find(&field, params, backend, control)?),
            false => None,
        };
        let maps = match self.wants_lobes {
            true => Some(peaks::maps(&field, params, backend, control)?),
            false => None,
        };
        if self.key.is_some() {
            // Computed here to keep it off the window's thread.
            for map in maps.iter().flat_map(|maps| [&maps.total, &maps.complexity]) {
                map.precompute_windows();
            }
        }
        let order = csd::OrderChoice {
            order: field.order(),
            reason: "the number of volumes".to_owned(),
        };
        let no_shells = Shells {
            shells: Vec::new(),
            without_direction: Vec::new(),
        };
        Ok(Box::new(Fods {
            mask: voxels(&field),
            output: csd::Output {
                field,
                tissues: Vec::new(),
                order,
                shells: no_shells,
                counts: csd::Counts {
                    not_finite,
                    ..csd::Counts::default()
                },
                on_cpu: None,
                kernel_s: None,
            },
            responses: Vec::new(),
            measured: Vec::new(),
            algorithm: None,
            used_shells: 0..0,
            mask_report: None,
            high_peak: peak_field.as_ref().and_then(images::high_peak),
            peaks: peak_field,
            maps,
            fractions: None,
            uncertainty: None,
        }))
    }
}
