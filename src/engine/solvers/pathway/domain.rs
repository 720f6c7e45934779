//! The voxels that paths may use and the ends that they join, from the regions and the FA or amplitudes.

use super::{Params, error::InputError};
use crate::compute::{Backend, Control};
use crate::data::{Grid, Mask, Region, Role, Shape, TensorField, Volume};
use crate::solvers::Error;
use crate::solvers::eikonal::{CostSource, region_places};
use crate::solvers::metric::{Metric, Places, halved};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Quantity that must reach a minimum in a voxel for paths to use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Fractional anisotropy of the tensor.
    Fa,
    /// The largest amplitude of the fibre orientation distribution.
    Amplitude,
}

/// The voxels that paths may use: those where the measure is at least `min_value`, inside one of the masks if there are
/// any, and in no excluded region. Its functions must be called on the backend's threads.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    /// Quantity that `values` holds.
    pub measure: Measure,
    /// Values of the measure.
    pub values: &'a Volume,
    /// Least value of a voxel that paths may use.
    pub min_value: f64,
    /// Ends, masks and excluded regions, by their roles.
    pub regions: &'a [Region],
}

impl<'a> Domain<'a> {
    /// The domain of tensors.
    pub fn of_tensors(fa: &'a Volume, min_fa: f64, regions: &'a [Region]) -> Self {
        Self {
            measure: Measure::Fa,
            values: fa,
            min_value: min_fa,
            regions,
        }
    }

    /// The domain of distributions, from the largest amplitude of each.
    pub fn of_distributions(
        amplitudes: &'a Volume,
        min_amplitude: f64,
        regions: &'a [Region],
    ) -> Self {
        Self {
            measure: Measure::Amplitude,
            values: amplitudes,
            min_value: min_amplitude,
            regions,
        }
    }
}

impl Domain<'_> {
    /// Voxels of the domain, on the grid of the values.
    pub fn mask(&self) -> Result<Mask, Error> {
        let grid = &self.values.grid;
        let walls = self.walls();
        let values = self.values.frame(0);
        // NaN counts as no direction.
        let inside = |v: usize| f64::from(values[v]) >= self.min_value && walls.is_open(grid, v);
        let voxels = (0..grid.voxel_count()).into_par_iter();
        let inside: Vec<u8> = voxels.map(|v| u8::from(inside(v))).collect();
        if inside.iter().all(|i| *i == 0) {
            return Err(self.empty().into());
        }
        Ok(Mask::new(grid.clone(), inside))
    }

    /// All regions of one role as one source, on the metric of this domain.
    pub fn source(&self, metric: &Metric, role: Role) -> Result<Arc<CostSource>, Error> {
        let (name, zero) = self.places(metric, role)?;
        Ok(Arc::new(CostSource::places(metric, &name, zero)))
    }

    /// The name of all regions of one role, and their places among those of this domain, ascending.
    pub fn places(&self, places: &Places, role: Role) -> Result<(String, Vec<u32>), Error> {
        let these: Vec<&Region> = self.regions.iter().filter(|r| r.role == role).collect();
        let (Some(first), is_single) = (these.first(), these.len() == 1) else {
            return Err(InputError::NoRegion(role).into());
        };
        let mut zero = Vec::new();
        for region in &these {
            let of_region = region_places(places, region);
            zero.extend(of_region.map_err(|error| self.no_voxel_error(region, error))?);
        }
        zero.sort_unstable();
        zero.dedup();
        let all = format!("{} regions", role.name());
        let name = if is_single { first.name.clone() } else { all };
        Ok((name, zero))
    }

    /// Tensors and voxels of the domain on voxels of twice the size; unchanged if the grid is too small for that. It
    /// starts the backend's threads itself.
    pub fn halved(
        &self,
        field: &TensorField,
        backend: &Backend,
    ) -> Result<(TensorField, Mask), Error> {
        let mask = backend.install(|| self.mask())?;
        let halves = backend.install(|| halved(field, &mask));
        Ok(halves.unwrap_or_else(|| (field.clone(), mask)))
    }

    /// Whether a world point lies in either end.
    pub fn is_in_end(&self, at: DVec3) -> bool {
        let mut ends = self.regions.iter();
        ends.any(|r| matches!(r.role, Role::Seed | Role::Target) && r.shape.contains(at))
    }

    /// The metric of tensors in a mask, as the costly regions change it. It starts the backend's threads itself.
    pub fn metric(
        &self,
        field: &TensorField,
        mask: &Mask,
        params: &Params,
        backend: &Backend,
        control: &Control,
    ) -> Result<Metric, Error> {
        let metric = Metric::new(field, &params.metric, Some(mask), backend, control)?;
        Ok(backend.install(|| self.with_costly_regions(metric, params.costly_factor)))
    }

    /// The metric with the costs inside costly regions multiplied by a factor.
    pub fn with_costly_regions(&self, metric: Metric, factor: f64) -> Metric {
        match self.costly(&metric) {
            Some(is_costly) if factor != 1.0 => metric.costlier(|place| is_costly[place], factor),
            _ => metric,
        }
    }

    /// By place whether it lies in a costly region; `None` if none does. A region is rasterized as ends are: a small
    /// one has the voxel that contains its middle.
    pub fn costly(&self, places: &Places) -> Option<Vec<bool>> {
        let costly = self.regions.iter().filter(|r| r.role == Role::Costly);
        // A costly region may lie outside the mask, where no path runs.
        let mut all = costly
            .filter_map(|region| region_places(places, region).ok())
            .flatten()
            .peekable();
        all.peek()?;
        let mut is_costly = vec![false; places.len()];
        for place in all {
            is_costly[place as usize] = true;
        }
        Some(is_costly)
    }

    fn walls(&self) -> Walls<'_> {
        let shapes = |role: Role| -> Vec<&Shape> {
            let these = self.regions.iter().filter(|r| r.role == role);
            these.map(|r| &*r.shape).collect()
        };
        Walls {
            confining: shapes(Role::Mask),
            without: shapes(Role::Exclude),
        }
    }

    /// The highest value of the voxels between the walls whose centres satisfy `holds`.
    fn highest(&self, holds: impl Fn(DVec3) -> bool + Sync) -> Option<f32> {
        let grid = &self.values.grid;
        let values = self.values.frame(0).par_iter().enumerate();
        self.highest_of(values.filter(|(v, _)| holds(centre(grid, *v))))
    }

    fn highest_of<'v>(
        &self,
        voxels: impl ParallelIterator<Item = (usize, &'v f32)>,
    ) -> Option<f32> {
        let (walls, grid) = (self.walls(), &self.values.grid);
        let inside = voxels.filter(|(v, value)| value.is_finite() && walls.is_open(grid, *v));
        inside.map(|(_, value)| *value).max_by(f32::total_cmp)
    }

    /// The error for a domain without a voxel.
    fn empty(&self) -> InputError {
        match self.highest(|_| true) {
            Some(highest) => InputError::TooLow {
                measure: self.measure,
                highest,
                min_value: self.min_value,
            },
            None if self
                .regions
                .iter()
                .any(|r| matches!(r.role, Role::Mask | Role::Exclude)) =>
            {
                InputError::NothingLeft(self.measure)
            }
            None => InputError::EmptyMask(self.measure),
        }
    }

    /// The error for a region of which mask and exclude regions leave no voxel; `None` without such regions.
    fn blocked(&self, region: &Region) -> Option<InputError> {
        let (walls, grid) = (self.walls(), &self.values.grid);
        let confined = (0..grid.voxel_count()).into_par_iter().any(|v| {
            let at = centre(grid, v);
            region.shape.contains(at) && walls.confining.iter().any(|shape| shape.contains(at))
        });
        let names = |role| region_names(self.regions, role);
        let place = match (names(Role::Mask), names(Role::Exclude)) {
            (Some(masks), _) if !confined => format!("outside {masks}"),
            (_, Some(excluded)) => format!("within {excluded}, which excludes it"),
            (Some(masks), None) => format!("outside {masks}"),
            (None, None) => return None,
        };
        Some(InputError::Blocked {
            region: region.name.clone(),
            place,
        })
    }

    /// The error for a region without a voxel of the domain: its values are too low, or walls leave no voxel of it;
    /// otherwise `error`.
    fn no_voxel_error(&self, region: &Region, error: Error) -> Error {
        let highest = self.highest(|at| region.shape.contains(at));
        // A small region counts as the voxel that contains its middle.
        let grid = &self.values.grid;
        let middle = || {
            let middle = grid.index(grid.nearest(region.shape.centre())?);
            self.highest_of([(middle, &self.values.frame(0)[middle])].into_par_iter())
        };
        match highest.or_else(middle) {
            Some(highest) if f64::from(highest) < self.min_value => InputError::TooLowInRegion {
                measure: self.measure,
                region: region.name.clone(),
                highest,
                min_value: self.min_value,
            }
            .into(),
            None => self.blocked(region).map_or(error, Error::from),
            Some(_) => error,
        }
    }
}

/// The volumes of both ends, mm³: the sum over the regions of each.
pub fn end_volumes_mm3(regions: &[Region]) -> [f64; 2] {
    [Role::Seed, Role::Target].map(|role| {
        let these = regions.iter().filter(|r| r.role == role);
        these.map(|r| r.shape.volume_mm3()).sum()
    })
}

/// The names of all regions of a role: `region “A”` or `regions “A”, “B”`; `None` without one.
pub fn region_names(regions: &[Region], role: Role) -> Option<String> {
    let these = regions.iter().filter(|r| r.role == role);
    let mut names: Vec<String> = these.map(|r| format!("“{}”", r.name)).collect();
    // Regions of the command line may share a name.
    names.dedup();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("region {name}")),
        many => Some(format!("regions {}", many.join(", "))),
    }
}

/// Regions that confine paths, and regions that exclude them.
struct Walls<'a> {
    confining: Vec<&'a Shape>,
    without: Vec<&'a Shape>,
}

impl Walls<'_> {
    fn is_open(&self, grid: &Grid, voxel: usize) -> bool {
        if self.confining.is_empty() && self.without.is_empty() {
            return true;
        }
        let at = centre(grid, voxel);
        let holds = |shape: &&Shape| shape.contains(at);
        (self.confining.is_empty() || self.confining.iter().any(holds))
            && !self.without.iter().any(holds)
    }
}

fn centre(grid: &Grid, voxel: usize) -> DVec3 {
    grid.world(DVec3::from_array(grid.voxel(voxel).map(|c| c as f64)))
}
