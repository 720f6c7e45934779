//! Measures of a surface, and of its agreement with a reference.

use super::bricks::{Field, INSIDE, OUTSIDE, origin};
use super::error::InputError;
use super::nearest::Nearest;
use super::surface::surface;
use crate::data::{Mask, Surface};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};

/// Half the width of the smoothed step with which volumes are integrated, longest voxel edges: sums over voxels are
/// then within 0.1 % of the integral for balls from one edge in radius, and within 10 % from half an edge.
const SOFT: f64 = 1.5;
/// A surface around fewer voxels may be too small for that step.
const FEW: u64 = 8;
/// Directions in which extents are compared before the longest is refined: they are 3° apart, so the longest is at
/// most 0.1 % too short.
const DIRECTIONS: usize = 1000;

/// Measures of a surface.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measures {
    /// Volume within the surface, at subvoxel precision.
    pub volume_ml: f64,
    /// Voxels of the label map.
    pub voxels: u64,
    /// Area of the triangulated surface, mm²; at least that of a ball of equal volume.
    pub area_mm2: f64,
    /// Longest distance between two points of the surface, mm; at least the diameter of a ball of equal volume.
    pub diameter_mm: f64,
    /// Voxels with |φ| < 3 h.
    pub active: u64,
}

/// Measures of a field and its surface. Needs the backend's threads installed.
pub fn measures(field: &Field) -> Measures {
    measures_of(field, &surface(field))
}

/// Measures of a field whose surface is known. Needs the backend's threads installed.
pub fn measures_of(field: &Field, surface: &Surface) -> Measures {
    let census = field.count_voxels(3.0);
    let volume_ml = volume_ml(field);
    // The step has negative parts: a thin surface around few voxels still encloses something.
    let volume_ml = match census.inside < FEW {
        true => volume_ml.max(surface.volume_mm3().abs() * 1e-3),
        false => volume_ml.max(0.0),
    };
    // A mesh of few triangles is too small for the volume: no body has less surface or diameter than a ball.
    let (min_area_mm2, min_diameter_mm) = ball(volume_ml * 1e3);
    Measures {
        volume_ml,
        voxels: census.inside,
        area_mm2: area_mm2(surface).max(min_area_mm2),
        diameter_mm: diameter_mm(surface).max(min_diameter_mm),
        active: census.near,
    }
}

/// Surface, mm², and diameter, mm, of a ball of this volume.
fn ball(volume_mm3: f64) -> (f64, f64) {
    let diameter_mm = (6.0 * volume_mm3 / PI).cbrt();
    (PI * diameter_mm * diameter_mm, diameter_mm)
}

/// ∫ H(φ) with a step smoothed over some voxels, whose slope is ½ (1 + a cos πt + b cos 2πt) with t = φ / width. The
/// usual step (Osher and Fedkiw 2003, eq. 1.22; a = 1, b = 0) enlarges a ball by the share of 0.39 (width / radius)²:
/// here a and b are such that the slope ends at 0 and its second moment vanishes (Tornberg and Engquist 2004, J Comput
/// Phys 200:462), so a ball wider than the step has its own volume.
fn volume_ml(field: &Field) -> f64 {
    let grid = &field.grid;
    let longest = grid.spacing().max_element() / field.h_mm;
    let width = (SOFT * longest).min(f64::from(field.clamp));
    let a = (2.0 * PI * PI - 3.0) / 9.0;
    let b = a - 1.0;
    let soft = |phi: f64| match phi / width {
        t if t >= 1.0 => 1.0,
        t if t <= -1.0 => 0.0,
        t => 0.5 * (1.0 + t + a * (PI * t).sin() / PI + b * (TAU * t).sin() / TAU),
    };
    let (b, shape) = (field.brick, field.counts());
    // Summed in the order of the bricks: equal at any number of threads.
    let of_brick = |i: usize| -> f64 {
        let first = origin(i, shape, b);
        let size = [0, 1, 2].map(|a| b.min(grid.shape[a] - first[a]));
        let page = match field.table[i] {
            OUTSIDE => return 0.0,
            INSIDE => return size.iter().product::<usize>() as f64,
            slot => slot as usize * b * b * b,
        };
        let rows = (0..size[1] * size[2]).map(|r| page + b * (r % size[1] + b * (r / size[1])));
        let values = rows.flat_map(|row| &field.pages[row..row + size[0]]);
        values.map(|v| soft(f64::from(*v))).sum()
    };
    let sums: Vec<f64> = (0..field.table.len())
        .into_par_iter()
        .map(of_brick)
        .collect();
    sums.iter().sum::<f64>() * grid.world_from_voxel.matrix3.determinant().abs() / 1000.0
}

pub(super) fn area_mm2(surface: &Surface) -> f64 {
    let point = |i: u32| Vec3::from(surface.points[i as usize]).as_dvec3();
    let area = |t: &[u32; 3]| {
        let [a, b, c] = t.map(point);
        0.5 * (b - a).cross(c - a).length()
    };
    surface.triangles.iter().map(area).sum()
}

/// The longest distance between two points: the longest extent along many directions, refined by aligning the
/// direction with its end points.
fn diameter_mm(surface: &Surface) -> f64 {
    let points: Vec<Vec3> = surface.points.iter().map(|p| Vec3::from(*p)).collect();
    let Some(&first) = points.first() else {
        return 0.0;
    };
    let ends = |direction: Vec3| {
        let (mut low, mut high) = ((f32::INFINITY, first), (f32::NEG_INFINITY, first));
        for &p in &points {
            let along = p.dot(direction);
            if along < low.0 {
                low = (along, p);
            }
            if along > high.0 {
                high = (along, p);
            }
        }
        (low.1, high.1)
    };
    let golden = PI * (1.0 + 5f64.sqrt());
    let direction = |i: usize| {
        let z = (i as f64 + 0.5) / DIRECTIONS as f64;
        let (y, x) = (golden * i as f64).rem_euclid(TAU).sin_cos();
        DVec3::new(x, y, 0.0) * (1.0 - z * z).sqrt() + DVec3::Z * z
    };
    let widths = (0..DIRECTIONS).into_par_iter().map(|i| {
        let (mut low, mut high) = ends(direction(i).as_vec3());
        for _ in 0..4 {
            let next = ends((high - low).normalize_or(Vec3::X));
            if next.0.distance(next.1) <= low.distance(high) {
                break;
            }
            (low, high) = next;
        }
        f64::from(low.distance(high))
    });
    widths.reduce(|| 0.0, f64::max)
}

/// Agreement of a segmentation with a reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Agreement {
    /// 2 |A ∩ B| / (|A| + |B|), 0..=1.
    pub dice: f64,
    /// Share of the reference's voxels that were found.
    pub sensitivity: f64,
    /// Share of the other voxels that were left out.
    pub specificity: f64,
    /// Share of voxels classified correctly.
    pub correct: f64,
    /// Mean distance between the borders, over both directions.
    pub mean_mm: f64,
    /// The larger of the two directed 95th percentiles.
    pub hausdorff95_mm: f64,
}

/// Agreement of a mask with a reference; distances are those of [`Border`]. Needs the backend's threads installed.
pub fn agreement(mask: &Mask, reference: &Mask) -> Result<Agreement, InputError> {
    let mask = mask.on_whole_grid();
    let reference = reference.on_whole_grid().in_the_order_of(&mask.grid);
    let reference = reference.ok_or(InputError::ReferenceGrid)?;
    if reference.count() == 0 {
        return Err(InputError::EmptyReference);
    }
    let pairs = mask.inside.iter().zip(reference.inside.iter());
    let mut counts = [[0u64; 2]; 2];
    for (f, r) in pairs {
        counts[usize::from(*f != 0)][usize::from(*r != 0)] += 1;
    }
    let [[neither, missed], [extra, both]] = counts.map(|c| c.map(|n| n as f64));
    let [own, other] = [&mask, &reference].map(Border::new);
    let distances = own.distances(&other);
    Ok(Agreement {
        dice: 2.0 * both / (2.0 * both + extra + missed),
        sensitivity: both / (both + missed),
        specificity: neither / (neither + extra).max(1.0),
        correct: (both + neither) / mask.inside.len() as f64,
        mean_mm: distances.mean_mm,
        hausdorff95_mm: distances.percentile95_mm,
    })
}

/// Distances between the borders of two masks, over both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BorderDistances {
    /// Mean distance of the border voxels of either from the other border.
    pub mean_mm: f64,
    /// The larger of the two directed 95th percentiles.
    pub percentile95_mm: f64,
    /// The largest distance (Hausdorff).
    pub max_mm: f64,
}

/// The border voxels of a mask, prepared for distances. Border voxels are inside and have a face neighbour outside, or
/// lie at the grid's edge.
#[derive(Clone, Debug)]
pub struct Border {
    points: Vec<Vec3>,
    tree: Nearest,
}

impl Border {
    /// The border of a mask, by the centres of its voxels.
    pub fn new(mask: &Mask) -> Self {
        let points = border(mask);
        Self {
            tree: Nearest::new(points.clone()),
            points,
        }
    }

    /// Distances between two borders; infinite if only one is empty. Needs the backend's threads installed.
    pub fn distances(&self, other: &Self) -> BorderDistances {
        let away = |from: &Self, to: &Self| {
            let points = from.points.par_iter();
            let mut all: Vec<f32> = points.map(|p| to.tree.distance(*p)).collect();
            all.sort_by(f32::total_cmp);
            all
        };
        let ways = [away(self, other), away(other, self)];
        let at = |all: &Vec<f32>, place: usize| {
            let value = all.get(place.saturating_sub(1)).copied();
            value.map_or(f64::INFINITY, f64::from)
        };
        let percentile = |all: &Vec<f32>| at(all, (0.95 * all.len() as f64).ceil() as usize);
        let sum: f64 = ways.iter().flatten().map(|d| f64::from(*d)).sum();
        let points = ways.iter().map(Vec::len).sum::<usize>();
        BorderDistances {
            mean_mm: sum / points.max(1) as f64,
            percentile95_mm: ways.iter().map(percentile).fold(0.0, f64::max),
            max_mm: ways
                .iter()
                .map(|all| at(all, all.len()))
                .fold(0.0, f64::max),
        }
    }
}

/// World points of a mask's border voxels.
fn border(mask: &Mask) -> Vec<Vec3> {
    let grid = &mask.grid;
    let shape = grid.shape;
    let steps = [1, shape[0], shape[0] * shape[1]];
    let edge = |v: &[usize; 3]| {
        let i = grid.index(*v);
        (0..3).any(|a| {
            v[a] == 0
                || v[a] + 1 == shape[a]
                || mask.inside[i - steps[a]] == 0
                || mask.inside[i + steps[a]] == 0
        })
    };
    let voxels = mask.voxels_inside().filter(edge);
    voxels
        .map(|v| grid.world(DVec3::from_array(v.map(|c| c as f64))).as_vec3())
        .collect()
}
