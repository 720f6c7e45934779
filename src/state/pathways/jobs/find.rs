//! Pathways between regions: cost fields, of which those are taken over that nothing has changed.

use super::error::JobError;
use super::session::Tensors;
use crate::compute::{Backend, Control};
use crate::data::{DataId, LendImage, Mask, Region, Role, Shape, TensorField, Tractogram, Volume};
use crate::solvers::eikonal::{CostField, LocalSolver, Prepared, Source, solve};
use crate::solvers::metric::{Metric, halved};
use crate::solvers::pathway::{Domain, Params, Path, Pathway, STRETCH_MM, excess_on_card};
use crate::solvers::tractogram;
use crate::solvers::{Error, eikonal};
use glam::DVec3;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// A pathway to be found.
#[derive(Clone, Debug)]
pub struct FindPathway {
    pub tensors: Tensors,
    /// Those that take part.
    pub regions: Vec<Region>,
    pub params: Params,
    /// On voxels of twice the size: something is being dragged.
    pub coarse: bool,
    /// From the last one of this coarseness.
    pub known: Option<Arc<Known>>,
    /// One that was kept; `None`: that of the regions as they are.
    pub kept: Option<u64>,
    /// The mask of the tensors, as sentences name it.
    pub mask_name: String,
}

/// What holds paths or keeps them out.
pub(crate) type Wall = (Role, Arc<Shape>);

pub(crate) fn walls(regions: &[Region]) -> Vec<Wall> {
    let walls = regions
        .iter()
        .filter(|r| Params::takes_part(r.role) && !matches!(r.role, Role::Seed | Role::Target));
    walls.map(|r| (r.role, r.shape.clone())).collect()
}

pub(crate) fn same_walls(a: &[Wall], b: &[Wall]) -> bool {
    let same = |(a, b): (&Wall, &Wall)| a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1);
    a.len() == b.len() && a.iter().zip(b).all(same)
}

pub(crate) fn shapes(regions: &[Region], role: Role) -> Vec<Arc<Shape>> {
    let these = regions.iter().filter(|r| r.role == role);
    these.map(|r| r.shape.clone()).collect()
}

/// Tensors and domain on voxels of twice the size; where so few voxels make no grid, as they are.
pub(crate) fn coarse(
    field: &TensorField,
    domain: &Domain,
    backend: &Backend,
) -> Result<(TensorField, Mask), JobError> {
    let mask = backend.install(|| domain.mask())?;
    let halves = backend.install(|| halved(field, &mask));
    Ok(halves.unwrap_or_else(|| (field.clone(), mask)))
}

/// What the next pathway need not compute again.
#[derive(Clone, Debug)]
pub struct Known {
    field: DataId,
    params: Params,
    walls: Vec<Wall>,
    /// Where the metric is made: a change of the metric alone needs no new ones.
    domain: (TensorField, Mask),
    prepared: Prepared,
    ends: [Vec<Arc<Shape>>; 2],
    fields: [CostField; 2],
}

/// A pathway with what is shown of it.
#[derive(Clone, Debug)]
pub struct Found {
    pub pathway: Pathway,
    /// (u₁ + u₂) / E* − 1, at most [`Self::MOST_EXCESS`], which also stands where no path leads.
    pub excess: Volume,
    /// u₁ and u₂: not a number where no path leads.
    pub sides: [Volume; 2],
    /// The shares above E* of all voxels, ascending.
    pub shares: Arc<[f32]>,
    /// From which ε on voxels belong to the part that joins the ends, ascending.
    pub joining: Arc<[f32]>,
    /// The minimal path.
    pub path: Path,
    pub line: Tractogram,
    /// Where it costs most a mm; `None` of one that hardly leaves the regions.
    pub weakest: Option<Weakest>,
    /// Mean along it.
    pub mean_fa: f64,
    pub voxels: usize,
    /// Voxels whose cost was too anisotropic, and was limited.
    pub limited: u64,
    pub field: DataId,
    pub regions: Vec<Region>,
    pub params: Params,
    pub coarse: bool,
    pub kept: Option<u64>,
    /// For the next one; not of one that is kept.
    pub known: Option<Arc<Known>>,
    /// Whether the metric was made for it: neither of `known`.
    pub prepared_anew: bool,
    pub prepare_ms: f64,
    pub solve_ms: f64,
}

/// A path through a voxel of a pathway's image to be found.
#[derive(Clone, Debug)]
pub struct Trace {
    pub found: Arc<Found>,
    pub voxel: [usize; 3],
}

/// The best path through a voxel.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Of the pathway's image.
    pub of: DataId,
    pub voxel: [usize; 3],
    pub path: Path,
    pub line: Tractogram,
    /// What it costs more than the least, as a share of that.
    pub excess: f64,
    pub weakest: Option<Weakest>,
}

/// The stretch of a path between regions that costs most a mm.
#[derive(Clone, Debug)]
pub struct Weakest {
    /// Its middle, world mm.
    pub at: DVec3,
    pub cost_per_mm: f64,
    /// The mean over the whole way between the regions.
    pub mean_per_mm: f64,
    pub length_mm: f64,
    /// Where it begins along the path, mm.
    pub from_mm: f64,
    pub line: Tractogram,
    /// The path before and after it.
    pub rest: Tractogram,
}

impl Weakest {
    /// The stretch that is told has this length.
    pub const STRETCH_MM: f64 = STRETCH_MM;

    pub fn times_mean(&self) -> f64 {
        self.cost_per_mm / self.mean_per_mm.max(f64::MIN_POSITIVE)
    }

    /// What lies in a region or within a voxel of its rim is no part of the way: there costs start from
    /// what is known, and the first voxel outside is charged for the step over the rim.
    pub fn of(path: &Path, metric: &Metric, regions: &[Region]) -> Option<Self> {
        let between = path.between(metric.grid.spacing().max_element(), |at| {
            let ends = |r: &&Region| matches!(r.role, Role::Seed | Role::Target);
            regions.iter().filter(ends).any(|r| r.shape.contains(at))
        });
        let stretch = path.weakest(Self::STRETCH_MM, between.clone());
        let last = stretch.end.checked_sub(1).filter(|l| *l > stretch.start)?;
        let (from_mm, to_mm) = (path.length_mm[stretch.start], path.length_mm[last]);
        let middle_mm = 0.5 * (from_mm + to_mm);
        let middle = path.length_mm.partition_point(|mm| *mm < middle_mm);
        let rate = |from: usize, to: usize| {
            let mm = path.length_mm[to] - path.length_mm[from];
            (path.cost[to] - path.cost[from]) / mm.max(f64::MIN_POSITIVE)
        };
        let around = [0..stretch.start + 1, last..path.points.len()];
        Some(Self {
            at: *path.points.get(middle)?,
            cost_per_mm: rate(stretch.start, last),
            mean_per_mm: rate(between.start, between.end - 1),
            length_mm: to_mm - from_mm,
            from_mm,
            line: parts(path, &[stretch], metric),
            rest: parts(path, &around, metric),
        })
    }
}

/// Parts of a path as streamlines; points alone are none.
fn parts(path: &Path, ranges: &[Range<usize>], metric: &Metric) -> Tractogram {
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for range in ranges.iter().filter(|r| r.len() > 1) {
        let part = path.points[range.clone()].iter();
        points.extend(part.map(|p| p.as_vec3().to_array()));
        offsets.push(points.len() as u64);
    }
    Tractogram::new(points, offsets).with_grid(metric.grid.clone())
}

impl Trace {
    /// `None` where no path leads.
    pub fn path(&self) -> Option<Traced> {
        let Self { found, voxel } = self;
        let metric = found.pathway.metric();
        let place = metric.place_of(voxel.map(|v| v as i64))?;
        let path = found.pathway.through_place(place)?;
        Some(Traced {
            of: found.excess.id(),
            voxel: *voxel,
            line: Found::line_of(&path, metric),
            excess: f64::from(found.pathway.total[place]) / found.pathway.least - 1.0,
            weakest: Weakest::of(&path, metric, &found.regions),
            path,
        })
    }
}

impl Known {
    /// Whether the metric of such a pathway need not be made again.
    pub fn serves(&self, field: DataId, params: &Params) -> bool {
        self.field == field && self.params == *params
    }
}

impl Found {
    /// Shares above E* from here on are not told apart: more than any width, since it also stands
    /// where no path leads.
    pub const MOST_EXCESS: f32 = 2.0;

    /// Writes the excess cost where the window draws from, if it is drawn by the card that computes;
    /// else the window uploads it.
    pub(super) fn lay_on_card(&mut self, lend: &LendImage, backend: &Backend) {
        let Some(device) = backend.devices().first() else {
            return;
        };
        if device.uuid() != Ok(lend.card) {
            return;
        }
        let shape = self.pathway.metric().grid.shape.map(|n| n as u32);
        let Some(image) = lend.image(shape) else {
            return;
        };
        // What cannot be shared is uploaded: nothing is lost but milliseconds.
        if let Ok(copy) = excess_on_card(&self.pathway, Self::MOST_EXCESS, image, device) {
            self.excess = self.excess.clone().with_device_copy(copy);
        }
    }

    /// Voxels of the ε-pathway.
    pub fn count(&self, epsilon: f64) -> usize {
        self.shares.partition_point(|&s| f64::from(s) <= epsilon)
    }

    /// One path as a streamline with what it costs up to each point.
    pub fn line_of(path: &Path, metric: &Metric) -> Tractogram {
        let points: Vec<[f32; 3]> = path.points.iter().map(|p| p.as_vec3().to_array()).collect();
        let offsets = vec![0, points.len() as u64];
        let cost: Vec<f32> = path.cost.iter().map(|c| *c as f32).collect();
        Tractogram::new(points, offsets)
            .with_per_point("cost", cost)
            .with_per_streamline("length", vec![path.total_mm() as f32])
            .with_grid(metric.grid.clone())
    }

    /// The part that joins the ends; where none does, all of the set.
    pub fn mask(&self, epsilon: f64) -> Mask {
        let joined = self.pathway.joined(epsilon);
        joined.unwrap_or_else(|| self.pathway.mask(epsilon))
    }

    /// Of the part that joins the ends; where none does, of all of the set.
    pub fn volume_ml(&self, epsilon: f64) -> f64 {
        let count = match epsilon >= self.pathway.joined_from {
            true => self.joining.partition_point(|&j| f64::from(j) <= epsilon),
            false => self.count(epsilon),
        };
        let voxel = self.pathway.metric().grid.world_from_voxel.matrix3;
        count as f64 * voxel.determinant().abs() * 1e-3
    }
}

/// Why an end holds no voxel that paths may run in, where that is because it holds none with a tensor.
fn elsewhere(regions: &[Region], role: Role, field: &TensorField, whose: &str) -> Option<Error> {
    let fitted = field.mask();
    let ends = regions.iter().filter(|r| r.role == role);
    let out = ends.filter(|r| !r.shape.touches(&fitted));
    out.map(|region| {
        let place = match region.shape.meets(&field.grid) {
            true => whose,
            false => "the volume",
        };
        Error::Input(format!(
            "Region '{}' lies outside {place}, expected at least one voxel inside; move it{}",
            region.name,
            if place == whose {
                " or fit within another mask"
            } else {
                ""
            }
        ))
    })
    .next()
}

impl FindPathway {
    /// The local solver. Selling's decomposition takes most of the time of a coarse solve, whose voxels are a larger
    /// error than the difference between the local solvers.
    fn local(&self) -> LocalSolver {
        match (self.coarse, self.params.local) {
            (true, LocalSolver::Selling | LocalSolver::Hybrid) => LocalSolver::HopfLax26,
            (_, local) => local,
        }
    }

    pub(super) fn run(self, backend: &Backend, control: &Control) -> Result<Found, JobError> {
        self.params.check().map_err(Error::from)?;
        let local = self.local();
        let (field, fa, _) = self.tensors.fitted(backend, control)?;
        let regions = self.regions;
        let whose = self.mask_name;
        let walls = walls(&regions);
        let ends = [Role::Seed, Role::Target].map(|role| shapes(&regions, role));
        let domain = Domain {
            fa: &fa,
            min_fa: self.params.min_fa,
            regions: &regions,
        };
        let started = Instant::now();
        let beside = self.known.filter(|k| {
            k.field == field.id()
                && k.params.min_fa == self.params.min_fa
                && same_walls(&k.walls, &walls)
        });
        let known = beside.as_ref().filter(|k| k.params == self.params);
        let on = match (&beside, self.coarse) {
            (Some(beside), _) => beside.domain.clone(),
            (None, true) => coarse(&field, &domain, backend)?,
            (None, false) => (field.clone(), backend.install(|| domain.mask())?),
        };
        let prepared = match known {
            Some(known) => known.prepared.clone(),
            None => {
                let (field, mask) = &on;
                let metric = Metric::new(field, &self.params.metric, Some(mask), backend, control)?;
                Prepared::new(&metric, local, backend, control)?
            }
        };
        let metric = &prepared.metric;
        let mut fields: [Option<CostField>; 2] = [None, None];
        let mut sources: Vec<(usize, Arc<Source>)> = Vec::new();
        for (side, role) in [Role::Seed, Role::Target].into_iter().enumerate() {
            let same = |shapes: &[Arc<Shape>]| {
                let mut pairs = shapes.iter().zip(&ends[side]);
                shapes.len() == ends[side].len() && pairs.all(|(a, b)| Arc::ptr_eq(a, b))
            };
            // Ends that were exchanged have each other's fields.
            let there = known.and_then(|known| {
                let at = [side, 1 - side]
                    .into_iter()
                    .find(|at| same(&known.ends[*at]))?;
                Some((at, known.fields[at].clone()))
            });
            let why = |error| elsewhere(&regions, role, &field, &whose).unwrap_or(error);
            let source = || backend.install(|| domain.source(metric, role)).map_err(why);
            fields[side] = match there {
                Some((at, mut field)) => {
                    if at != side {
                        field.source = source()?;
                    }
                    Some(field)
                }
                None => {
                    sources.push((side, source()?));
                    None
                }
            };
        }
        let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        if !sources.is_empty() {
            let params = eikonal::Params {
                tolerance: self.params.tolerance,
                schedule: None,
            };
            let all: Vec<_> = sources.iter().map(|(_, s)| s.clone()).collect();
            let solved = solve(&prepared, &all, &params, backend, control)?;
            for ((side, _), field) in sources.iter().zip(solved) {
                fields[*side] = Some(field);
            }
        }
        let [Some(a), Some(b)] = fields else {
            return Err("A cost field is missing".to_owned().into());
        };
        let solve_ms = started.elapsed().as_secs_f64() * 1e3;
        let prepared_anew = known.is_none();
        let known = self.kept.is_none().then(|| Known {
            field: field.id(),
            params: self.params,
            walls,
            domain: on,
            ends,
            fields: [a.clone(), b.clone()],
            prepared: prepared.clone(),
        });
        control.check()?;
        let sides = [a.image(), b.image()];
        let pathway = Pathway::new(a, b)?;
        control.check()?;
        let nowhere = || Error::Input("No path leads through the voxel of least cost".to_owned());
        let path = pathway.minimal().ok_or_else(nowhere)?;
        let line = Found::line_of(&path, metric);
        let along = backend.install(|| tractogram::sample(&fa, &line));
        control.check()?;
        let finite = || along.iter().filter(|v| v.is_finite());
        let mean_fa = finite().map(|v| f64::from(*v)).sum::<f64>() / finite().count().max(1) as f64;
        let share = |total: &f32| (f64::from(*total) / pathway.least - 1.0).max(0.0) as f32;
        let mut shares: Vec<f32> = pathway.total.iter().map(share).collect();
        shares.retain(|s| s.is_finite());
        shares.sort_unstable_by(f32::total_cmp);
        control.check()?;
        let joining = pathway.joining(Found::MOST_EXCESS);
        let excess = pathway.excess(Found::MOST_EXCESS);
        control.check()?;
        // Looked for here, so that the window does not have to.
        sides.iter().for_each(Volume::usual_windows);
        line.bounds();
        Ok(Found {
            excess,
            sides,
            shares: shares.into(),
            joining: joining.into(),
            line: line.with_per_point("fa", along),
            weakest: Weakest::of(&path, metric, &regions),
            path,
            mean_fa,
            voxels: metric.len(),
            limited: metric.limited,
            field: field.id(),
            regions,
            params: self.params,
            coarse: self.coarse,
            kept: self.kept,
            known: known.map(Arc::new),
            prepared_anew,
            prepare_ms,
            solve_ms,
            pathway,
        })
    }
}
