//! Everything before the first iteration: the checks, each with one sentence, and what is built once.

use super::cuda::MultiDeviceOperator;
use super::cylinder::Timing;
use super::dictionary::{Dictionary, Options};
use super::error::{ImageKind, InputError};
use super::lines::{Lines, Survey};
use super::model::{Intra, Responses};
use super::operator::{Operator, OperatorKind, Shape};
use super::parameters::Params;
use super::samples::{Samples, Switches, anisotropic};
use super::solver::Metric;
use crate::compute::cuda::Device;
use crate::compute::{Accelerator, Backend, Control, memory};
use crate::data::{Gradients, Grid, Mask, Volume};
use crate::solvers::Error;
use std::sync::Arc;

/// The data of a fit.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Streamlines whose weights are fitted.
    pub tractogram: &'a dyn Lines,
    /// A diffusion scan; for the density model possibly an image to which the streamlines should add up.
    pub scan: &'a Volume,
    /// `None` for an image to which streamlines add up.
    pub gradients: Option<&'a Gradients>,
    /// Empty, one for all volumes, or one per volume.
    pub timing: &'a [Timing],
    /// Voxels that may be used; `None` for all.
    pub mask: Option<&'a Mask>,
    /// Three frames per peak, world axes.
    pub peaks: Option<&'a Volume>,
}

/// The estimated memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryDemand {
    /// Number of segments, a close upper bound.
    pub segments: u64,
    /// Peak of the host's memory, bytes.
    pub bytes: u64,
    /// An upper bound on the memory of each graphics card, as if streamlines crossed all usable voxels.
    pub on_card: u64,
}

impl MemoryDemand {
    /// Checks whether `memory` bytes suffice.
    pub fn check(&self, streamlines: usize, memory: Option<u64>) -> Result<(), Error> {
        let Some(free) = memory.filter(|free| self.bytes > *free) else {
            return Ok(());
        };
        let error = InputError::Memory {
            streamlines,
            segments: self.segments,
            bytes: self.bytes,
            free_bytes: free,
        };
        Err(error.into())
    }
}

/// Built once; weights can be fitted to it repeatedly.
#[derive(Debug)]
pub struct Prepared {
    /// Segments and peaks by voxel.
    pub dictionary: Arc<Dictionary>,
    /// Volumes by shell, which give the rows of a voxel.
    pub samples: Samples,
    /// Coefficients of each column by shell and degree.
    pub responses: Responses,
    /// A, in the implementation that was chosen.
    pub operator: Operator,
    /// Diagonal metric of the proximal steps.
    pub metric: Metric,
    /// Measured samples, in the order of the operator's rows.
    pub y: Vec<f32>,
    /// Memory estimated before anything was allocated.
    pub demand: MemoryDemand,
    /// Index of the graphics card for which it was built, or of the first of several.
    card: Option<usize>,
}

fn first_device(backend: &Backend) -> Option<usize> {
    backend.devices().first().map(Device::number)
}

/// At least this share of the points must lie in the scan's box; otherwise they belong to another space.
const MIN_INSIDE: f64 = 0.1;

fn on_grid(image: ImageKind, grid: &Grid, scan: &Grid) -> Result<(), InputError> {
    match scan.matches(grid) {
        true => Ok(()),
        false => Err(InputError::Grids {
            image,
            own: grid.shape,
            scan: scan.shape,
        }),
    }
}

impl Inputs<'_> {
    /// Counts of all streamlines.
    pub fn survey(&self, control: &Control) -> Result<Survey, Error> {
        self.tractogram.survey(&self.scan.grid, control)
    }

    /// All checks that are possible before any work starts.
    pub fn check(&self, params: &Params, survey: &Survey) -> Result<Samples, Error> {
        params.model.check()?;
        if self.tractogram.count() == 0 {
            return Err(InputError::NoStreamlines.into());
        }
        let inside = survey.share_inside();
        if inside < MIN_INSIDE {
            return Err(InputError::Elsewhere(inside).into());
        }
        params.check()?;
        if params.group > 0.0 && !self.tractogram.has_groups() {
            return Err(InputError::NoGroups.into());
        }
        if let Some(mask) = self.mask {
            on_grid(ImageKind::Mask, &mask.grid, &self.scan.grid)?;
            if mask.count() == 0 {
                return Err(InputError::EmptyMask.into());
            }
        }
        if let Some(peaks) = self.peaks {
            on_grid(ImageKind::Peaks, &peaks.grid, &self.scan.grid)?;
            if peaks.frames % 3 != 0 || peaks.frames == 0 {
                return Err(InputError::PeakVolumes(peaks.frames).into());
            }
        }
        let samples = match (&params.model.intra, self.gradients) {
            (Intra::Density, None) => {
                if self.scan.frames != 1 {
                    return Err(InputError::DensityVolumes(self.scan.frames).into());
                }
                return Ok(Samples::one_per_voxel());
            }
            (_, None) => return Err(InputError::NoGradients.into()),
            (_, Some(gradients)) => {
                if gradients.len() != self.scan.frames {
                    let error = InputError::GradientCount {
                        volumes: self.scan.frames,
                        gradients: gradients.len(),
                    };
                    return Err(error.into());
                }
                Samples::new(gradients, self.timing, &params.switches)?
            }
        };
        params.model.check_scan(&samples, params.force_model)?;
        if !params.model.extra.is_empty() && self.peaks.is_none() {
            return Err(InputError::NoPeaks.into());
        }
        Ok(samples)
    }

    /// Records and bytes, including the vectors of the solver; without peaks, as if each voxel had one.
    pub fn demand(
        &self,
        params: &Params,
        samples: &Samples,
        survey: &Survey,
        devices: &[Device],
    ) -> MemoryDemand {
        let grid = &self.scan.grid;
        let estimate = survey.estimate(grid, params.blur_mm);
        let voxels = self.mask.map_or(grid.voxel_count(), Mask::count) as u64;
        let voxels = voxels.min(estimate.segments);
        let model = &params.model;
        let places = self.peaks.map_or(1, |p| p.frames / 3) * model.extra.len() + model.free.len();
        let columns = (self.tractogram.count() * model.atoms()) as u64 + voxels * places as u64;
        let rows = voxels * samples.count() as u64;
        let sums = (self.tractogram.count() * model.atoms() * rayon::current_num_threads()) as u64;
        let shape = Shape {
            streamlines: self.tractogram.count(),
            atoms: model.atoms(),
            voxels: voxels as usize,
            peaks: match model.extra.len() {
                0 => 0,
                _ => self.peaks.map_or(1, |p| p.frames / 3),
            },
            extra: model.extra.len(),
            free: model.free.len(),
            samples: samples.count(),
        };
        // Signals, residual, two A x; six vectors of unknowns; the sums of the threads, in double precision.
        let vectors = 4 * (5 * rows + 6 * columns + 2 * sums);
        MemoryDemand {
            segments: estimate.segments,
            bytes: estimate.bytes + vectors,
            on_card: MultiDeviceOperator::needs(
                estimate.segments,
                shape,
                samples.shells.len(),
                devices,
            ),
        }
    }
}

/// The measured values that are fitted.
struct MeasuredValues {
    scan: Volume,
    samples: Samples,
    switches: Switches,
}

impl Inputs<'_> {
    fn explained(&self, params: &Params, samples: Samples) -> MeasuredValues {
        if params.model.intra != Intra::Density {
            return MeasuredValues {
                scan: self.scan.clone(),
                samples,
                switches: params.switches,
            };
        }
        // One number per voxel, which is not normalised.
        let derived = self.gradients.map(|_| anisotropic(self.scan, &samples));
        MeasuredValues {
            scan: derived.unwrap_or_else(|| self.scan.clone()),
            samples: Samples::one_per_voxel(),
            switches: Switches {
                normalise_signal: false,
                ..params.switches
            },
        }
    }

    fn dictionary(
        &self,
        params: &Params,
        scan: &Volume,
        samples: &Samples,
        control: &Control,
    ) -> Result<Dictionary, Error> {
        let usable = samples.usable(scan, self.mask);
        let options = Options {
            usable: &usable,
            all: false,
            blur_mm: params.blur_mm,
            peaks: self.peaks.filter(|_| !params.model.extra.is_empty()),
        };
        Dictionary::build(self.tractogram, &self.scan.grid, &options, control)
    }

    /// The dictionary of the fitted voxels without peaks, the first thing that a fit builds. Returns an error if it
    /// would take more than `memory` bytes.
    pub fn dictionary_without_peaks(
        &self,
        params: &Params,
        memory: Option<u64>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Dictionary, Error> {
        let mut params = params.clone();
        params.model.extra.clear();
        backend.install(|| {
            let survey = self.survey(control)?;
            let samples = self.check(&params, &survey)?;
            let demand = self.demand(&params, &samples, &survey, backend.devices());
            demand.check(self.tractogram.count(), memory)?;
            memory::claim("The fit of weights", demand.bytes)?;
            let explained = self.explained(&params, samples);
            self.dictionary(&params, &explained.scan, &explained.samples, control)
        })
    }
}

impl Prepared {
    /// Returns an error if it would take more than `memory` bytes.
    pub fn new(
        inputs: &Inputs,
        params: &Params,
        memory: Option<u64>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let devices = match backend.accelerator() {
            Some(Accelerator::Cuda(devices)) => Some(devices),
            _ => None,
        };
        let build = || Self::build(inputs, params, memory, devices, control);
        let built = backend.install(build)?;
        Ok(Self {
            card: first_device(backend),
            ..built
        })
    }

    /// Whether a fit on this backend can use it.
    pub fn supports(&self, backend: &Backend) -> bool {
        self.card == first_device(backend)
    }

    fn build(
        inputs: &Inputs,
        params: &Params,
        memory: Option<u64>,
        devices: Option<&Arc<[Device]>>,
        control: &Control,
    ) -> Result<Self, Error> {
        let survey = inputs.survey(control)?;
        let samples = inputs.check(params, &survey)?;
        let demand = inputs.demand(params, &samples, &survey, devices.map_or(&[], |d| d));
        demand.check(inputs.tractogram.count(), memory)?;
        memory::claim("The fit of weights", demand.bytes)?;
        let MeasuredValues {
            scan,
            samples,
            switches,
        } = inputs.explained(params, samples);
        let dictionary = inputs.dictionary(params, &scan, &samples, control)?;
        if dictionary.segments.is_empty() {
            return Err(InputError::NoSegment.into());
        }
        control.check()?;
        control.begin("Preparing signals", 0);
        let responses = params.model.responses(&samples, switches.normalise_kernels);
        let signals = samples.signals(&scan, &dictionary.voxels, &switches);
        control.check()?;
        let operator = match (devices, params.way) {
            (Some(devices), None | Some(OperatorKind::Factorised)) => Operator::new_on_cards(
                &dictionary,
                &responses,
                &samples,
                params.precision,
                devices,
            )?,
            // Only the CPU looks up tables.
            (_, way) => Operator::new(&dictionary, &responses, &samples, way),
        };
        let y = operator.pack(&signals, samples.count());
        control.check()?;
        Ok(Self {
            metric: Metric::new(&operator)?,
            dictionary: Arc::new(dictionary),
            samples,
            responses,
            operator,
            y,
            demand,
            card: None,
        })
    }
}
