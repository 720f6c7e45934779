//! The local solvers once more, in double precision and for one voxel, telling where its value comes
//! from: the active simplex, along which the characteristic runs.
//!
//! Over a simplex with corners eᵢ and values Uᵢ the least of Σ λᵢ Uᵢ + |Σ λᵢ eᵢ| solves
//! (u 1 − U)ᵀ M⁻¹ (u 1 − U) = 1 with M the Gram matrix of the corners in G, and λ is along
//! M⁻¹ (u 1 − U), which must not be negative.

use super::{CostField, LocalSolver, Offset};
use crate::solvers::metric::matrix;
use glam::{DMat3, DVec3};

/// Where the value of a voxel comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Simplex {
    pub value: f64,
    /// Places that are read, and their shares, which add up to 1.
    pub corners: Vec<(usize, f64)>,
    /// Towards the source, in voxels; its length has no meaning.
    pub direction: DVec3,
}

/// A neighbour: its place, the way to it in voxels and its value.
type Corner = (usize, DVec3, f64);

/// The active simplex of a place; `None` where no neighbour has a value.
pub fn simplex(field: &CostField, place: usize) -> Option<Simplex> {
    let local = field.prepared.local;
    let faces = match local {
        LocalSolver::Godunov6 => octahedron(field, place),
        LocalSolver::HopfLax26 | LocalSolver::Hybrid => cube(field, place),
        LocalSolver::Selling => None,
    };
    let terms = selling(field, place);
    match (faces, terms) {
        (Some(a), Some(b)) => Some(if b.value < a.value { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn corner(field: &CostField, place: usize, step: [i64; 3]) -> Option<Corner> {
    let metric = &field.prepared.metric;
    let voxel = metric.voxel(place);
    if !metric.open(voxel, step) {
        return None;
    }
    let to = metric.place_of([0, 1, 2].map(|a| voxel[a] + step[a]))?;
    let value = f64::from(field.values[to]);
    let way = DVec3::from_array(step.map(|s| s as f64));
    value.is_finite().then_some((to, way, value))
}

fn octahedron(field: &CostField, place: usize) -> Option<Simplex> {
    let mut best = None;
    for octant in 0..8 {
        let corners: [Option<Corner>; 3] = std::array::from_fn(|a| {
            let mut step = [0; 3];
            step[a] = if octant >> a & 1 == 1 { 1 } else { -1 };
            corner(field, place, step)
        });
        parts(field, place, corners, &mut best);
    }
    best
}

fn cube(field: &CostField, place: usize) -> Option<Simplex> {
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let mut best = None;
    for octant in 0..8 {
        for order in ORDERS {
            let mut step = [0; 3];
            let corners = order.map(|a| {
                step[a] = if octant >> a & 1 == 1 { 1 } else { -1 };
                corner(field, place, step)
            });
            parts(field, place, corners, &mut best);
        }
    }
    best
}

/// A triangle of neighbours, its edges and its corners.
fn parts(
    field: &CostField,
    place: usize,
    corners: [Option<Corner>; 3],
    best: &mut Option<Simplex>,
) {
    for part in 1..8u32 {
        let chosen = (0..3).filter(|k| part >> k & 1 == 1).map(|k| corners[k]);
        let Some(chosen) = chosen.collect::<Option<Vec<Corner>>>() else {
            continue;
        };
        if let Some(found) = face(matrix(&field.prepared.metric.cost[place]), &chosen)
            && best.as_ref().is_none_or(|b| found.value < b.value)
        {
            *best = Some(found);
        }
    }
}

/// The least value over a face, where it lies inside.
fn face(g: DMat3, corners: &[Corner]) -> Option<Simplex> {
    let low = corners.iter().map(|c| c.2).fold(f64::INFINITY, f64::min);
    let u = |k: usize| corners[k].2 - low;
    let gram = |i: usize, j: usize| corners[i].1.dot(g * corners[j].1);
    // Unused rows of the identity stay apart from the others.
    let mut m = DMat3::IDENTITY;
    let n = corners.len();
    for i in 0..n {
        for j in 0..n {
            m.col_mut(i)[j] = gram(i, j);
        }
    }
    let inverse = m.inverse();
    let ones = DVec3::from_array(std::array::from_fn(|k| f64::from(u8::from(k < n))));
    let values = DVec3::from_array(std::array::from_fn(|k| if k < n { u(k) } else { 0.0 }));
    let (p, q) = (inverse * ones, inverse * values);
    let (a, b, c) = (ones.dot(p), ones.dot(q), values.dot(q) - 1.0);
    let root = (b * b - a * c).sqrt();
    let value = (b + root) / a;
    let lambda = p * value - q;
    let total: f64 = (0..n).map(|k| lambda[k]).sum();
    // NaN where no front fits.
    if !(total > 0.0 && (0..n).all(|k| lambda[k] >= 0.0)) {
        return None;
    }
    let shares = (0..n).map(|k| (corners[k].0, lambda[k] / total));
    Some(Simplex {
        value: value + low,
        corners: shares.collect(),
        direction: (0..n).map(|k| corners[k].1 * (lambda[k] / total)).sum(),
    })
}

/// Of Selling's terms: −W ∇u = Σ ρ (u − v) e over those that the value depends on.
fn selling(field: &CostField, place: usize) -> Option<Simplex> {
    let metric = &field.prepared.metric;
    let voxel = metric.voxel(place);
    let lower = |term: &Offset| {
        let ends = [1i64, -1].into_iter().zip(term.open);
        let ends = ends.filter(|(_, open)| *open).filter_map(|(sign, _)| {
            let step = term.e.map(|c| sign * i64::from(c));
            let to = metric.place_of([0, 1, 2].map(|a| voxel[a] + step[a]))?;
            let value = f64::from(field.values[to]);
            let way = DVec3::from_array(step.map(|s| s as f64));
            value
                .is_finite()
                .then_some((f64::from(term.rho), (to, way, value)))
        });
        ends.min_by(|a, b| a.1.2.total_cmp(&b.1.2))
    };
    let terms = field.prepared.offsets(place);
    let mut used: Vec<(f64, Corner)> = terms.iter().filter_map(lower).collect();
    used.sort_by(|a, b| a.1.2.total_cmp(&b.1.2));
    // The terms in order of their values, as long as they lie below the solution.
    let (mut a, mut b, mut c) = (0.0, 0.0, -1.0);
    let low = used.first()?.1.2;
    let mut value = f64::INFINITY;
    let mut count = 0;
    for (rho, (_, _, v)) in &used {
        let v = v - low;
        if v >= value {
            break;
        }
        a += rho;
        b += rho * v;
        c += rho * v * v;
        value = (b + (b * b - a * c).max(0.0).sqrt()) / a;
        count += 1;
    }
    let mut direction = DVec3::ZERO;
    let mut corners = Vec::with_capacity(count);
    let mut total = 0.0;
    for (rho, (to, way, v)) in &used[..count] {
        let share = rho * (value - (v - low));
        direction += *way * share;
        corners.push((*to, share));
        total += share;
    }
    for (_, share) in &mut corners {
        *share /= total;
    }
    Some(Simplex {
        value: value + low,
        corners,
        direction,
    })
}
