//! Distributions in the layout that rays read: the coefficients of each voxel side by side, extended around the mask.

use super::odf_error::OdfError;
use super::odf_parameters::OdfSpeed;
use crate::compute::{Backend, Cancelled, Control, DataId, memory};
use crate::data::odf_field::typical_amplitude;
use crate::data::spherical_harmonics::count;
use crate::data::{Grid, OdfField};
use crate::solvers::Error;
use crate::solvers::curves::cells::thick;
use crate::solvers::peaks::{self, Search};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// Voxels that one thread handles at a time.
const CHUNK: usize = 2048;
/// Layers of voxels around the mask that get the mean of their neighbours: enough for every corner of a cell that
/// touches the mask.
const LAYERS: usize = 3;
/// Voxels whose largest peaks give the reference amplitude, evenly spaced.
const MAX_EXAMINED: usize = 2048;

/// Distributions prepared for rays, with the speed along their lobes; cheap to clone.
#[derive(Clone)]
pub struct OdfMetric {
    /// Distributions that were prepared.
    pub field: OdfField,
    /// How amplitudes become a speed.
    pub speed: OdfSpeed,
    /// Amplitude at which the speed is (1 + floor)^exponent: the one requested, or the typical one of
    /// white matter ([`typical_amplitude`]).
    pub reference: f64,
    pub(super) records: Arc<OdfRecords>,
}

/// One record of adjacent coefficients for each voxel that rays may read.
pub struct OdfRecords {
    pub id: DataId,
    pub order: usize,
    /// Numbers per record: those of the order and zeros up to a multiple of eight.
    pub stride: usize,
    /// Records 1 to this belong to voxels with a distribution; later ones to voxels around them. Record 0 is all 0.
    pub fitted: u32,
    /// For each voxel of the grid, which is at least two voxels thick, the number of its record.
    pub record_of: Vec<u32>,
    pub coefficients: Vec<f32>,
    /// Shape of that grid.
    pub shape: [usize; 3],
    /// Typical amplitude of peaks; `None` if all distributions are isotropic.
    typical_peak: Option<f64>,
}

impl fmt::Debug for OdfMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OdfMetric")
            .field("field", &self.field)
            .field("speed", &self.speed)
            .field("reference", &self.reference)
            .finish_non_exhaustive()
    }
}

impl OdfMetric {
    /// Refuses images that hold no distributions. Copies all coefficients; [`Self::with_speed`] copies none.
    pub fn new(
        field: &OdfField,
        speed: OdfSpeed,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        control.begin("Preparing distributions", 0);
        let records = backend.install(|| OdfRecords::new(field, control))?;
        let metric = Self {
            field: field.clone(),
            speed,
            reference: 1.0,
            records: Arc::new(records),
        };
        metric.with_speed(speed)
    }

    /// These distributions with another speed.
    pub fn with_speed(&self, speed: OdfSpeed) -> Result<Self, Error> {
        let typical = self.records.typical_peak;
        Ok(Self {
            speed,
            reference: speed.reference.or(typical).ok_or(OdfError::NoPeaks)?,
            ..self.clone()
        })
    }

    /// Identity of the prepared coefficients, shared by clones and by other speeds.
    pub fn id(&self) -> DataId {
        self.records.id
    }

    pub(super) fn grid(&self) -> &Grid {
        &self.field.grid
    }

    /// Distance in voxels from one to the next along y and z.
    pub(super) fn strides(&self) -> [usize; 2] {
        let [x, y, _] = self.records.shape;
        [x, x * y]
    }
}

impl OdfRecords {
    /// Needs the backend's threads installed.
    fn new(field: &OdfField, control: &Control) -> Result<Self, Error> {
        let (n, size) = (field.grid.voxel_count(), count(field.order()));
        let stride = size.next_multiple_of(8);
        let c = &field.coefficients;
        let voxels = (0..n as u32).into_par_iter();
        let used: Vec<u32> = voxels
            .filter(|v| field.has_distribution(*v as usize))
            .collect();
        if used.is_empty() && field.order() > 0 {
            return Err(OdfError::Empty.into());
        }
        field.check()?;
        let mut record_of = vec![0u32; n];
        for (record, voxel) in used.iter().enumerate() {
            record_of[*voxel as usize] = record as u32 + 1;
        }
        let around = layers_around(&record_of, field.grid.shape, control)?;
        let records = 1 + used.len() + around.iter().map(Vec::len).sum::<usize>();
        memory::claim_for::<f32>("The distributions of rays", records, stride)?;
        let mut coefficients = vec![0f32; records * stride];
        let all = coefficients[stride..].par_chunks_mut(CHUNK * stride);
        all.zip(used.par_chunks(CHUNK)).try_for_each(
            |(records, voxels)| -> Result<(), Cancelled> {
                control.check()?;
                for i in 0..size {
                    let plane = &c[i * n..(i + 1) * n];
                    for (record, voxel) in records.chunks_exact_mut(stride).zip(voxels) {
                        record[i] = plane[*voxel as usize];
                    }
                }
                Ok(())
            },
        )?;
        let mut last = used.len();
        for layer in &around {
            control.check()?;
            let (known, next) = coefficients.split_at_mut((last + 1) * stride);
            let records = next.par_chunks_exact_mut(stride);
            records.zip(layer).for_each(|(record, voxel)| {
                let neighbours = neighbours(*voxel as usize, field.grid.shape);
                let numbers = neighbours.map(|voxel| record_of[voxel] as usize);
                let numbers: Vec<usize> = numbers.filter(|number| *number > 0).collect();
                let share = 1.0 / numbers.len() as f32;
                for number in numbers {
                    let known = &known[number * stride..(number + 1) * stride];
                    for (sum, value) in record.iter_mut().zip(known) {
                        *sum += share * value;
                    }
                }
            });
            for voxel in layer {
                last += 1;
                record_of[*voxel as usize] = last as u32;
            }
        }
        let typical_peak = typical_peak(field, &used, control)?;
        let (record_of, shape) = thickened(record_of, field.grid.shape);
        Ok(Self {
            id: DataId::fresh(),
            order: field.order(),
            stride,
            fitted: used.len() as u32,
            record_of,
            coefficients,
            shape,
            typical_peak,
        })
    }

    /// The record with this number.
    #[inline(always)]
    pub fn record(&self, number: u32) -> &[f32] {
        let first = number as usize * self.stride;
        &self.coefficients[first..first + self.stride]
    }
}

/// The voxels that share a face with one.
fn neighbours(voxel: usize, [nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = usize> {
    let (x, y, z) = (voxel % nx, voxel / nx % ny, voxel / (nx * ny));
    let all = [
        (x > 0, voxel.wrapping_sub(1)),
        (x + 1 < nx, voxel + 1),
        (y > 0, voxel.wrapping_sub(nx)),
        (y + 1 < ny, voxel + nx),
        (z > 0, voxel.wrapping_sub(nx * ny)),
        (z + 1 < nz, voxel + nx * ny),
    ];
    let existing = all.into_iter().filter(|(exists, _)| *exists);
    existing.map(|(_, voxel)| voxel)
}

/// The voxels around those with records, layer by layer.
fn layers_around(
    record_of: &[u32],
    shape: [usize; 3],
    control: &Control,
) -> Result<Vec<Vec<u32>>, Cancelled> {
    let mut known: Vec<bool> = record_of.iter().map(|number| *number > 0).collect();
    let mut layers = Vec::with_capacity(LAYERS);
    for _ in 0..LAYERS {
        control.check()?;
        let voxels = (0..known.len() as u32).into_par_iter();
        let is_next = |voxel: &u32| {
            let voxel = *voxel as usize;
            !known[voxel] && neighbours(voxel, shape).any(|other| known[other])
        };
        let layer: Vec<u32> = voxels.filter(is_next).collect();
        for voxel in &layer {
            known[*voxel as usize] = true;
        }
        layers.push(layer);
    }
    Ok(layers)
}

/// Record numbers by voxel; a grid one voxel thick gets a second layer equal to the first.
fn thickened(record_of: Vec<u32>, shape: [usize; 3]) -> (Vec<u32>, [usize; 3]) {
    let thick = thick(shape);
    if thick == shape {
        return (record_of, shape);
    }
    let at = |i: usize| {
        let [x, y, z] = [
            i % thick[0],
            i / thick[0] % thick[1],
            i / (thick[0] * thick[1]),
        ];
        let [nx, ny, nz] = shape;
        record_of[x.min(nx - 1) + nx * (y.min(ny - 1) + ny * z.min(nz - 1))]
    };
    ((0..thick.iter().product()).map(at).collect(), thick)
}

/// The typical amplitude of peaks, from voxels that are evenly spaced among these.
fn typical_peak(
    field: &OdfField,
    used: &[u32],
    control: &Control,
) -> Result<Option<f64>, Cancelled> {
    let every = used.len().div_ceil(MAX_EXAMINED);
    let voxels: Vec<usize> = used.iter().step_by(every).map(|v| *v as usize).collect();
    let params = peaks::Params {
        count: 1,
        min_amplitude: 0.0,
        ..peaks::Params::defaults()
    };
    let search = Search::new(field.order(), params);
    let piece = |voxels: &[usize]| {
        control.check()?;
        Ok(search.of_voxels(field, voxels))
    };
    let peaks: Vec<_> = voxels
        .par_chunks(64)
        .map(piece)
        .collect::<Result<_, Cancelled>>()?;
    let largest = peaks.iter().flatten().filter_map(|peaks| peaks.first());
    let typical = typical_amplitude(largest.map(|peak| peak.amplitude as f32).collect());
    Ok(typical.map(f64::from))
}
