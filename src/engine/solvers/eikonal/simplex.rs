//! The local solvers in double precision and for one voxel, with the origin of its value: the active simplex, along
//! which the characteristic runs.
//!
//! Over a simplex with corners eᵢ and values Uᵢ the minimum of Σ λᵢ Uᵢ + |Σ λᵢ eᵢ| solves (u 1 − U)ᵀ M⁻¹ (u 1 − U) =
//! 1 with M the Gram matrix of the corners in G, and λ is proportional to M⁻¹ (u 1 − U), which must not be negative.

use super::{CostField, LocalSolver, Offset};
use crate::solvers::metric::matrix;
use glam::{DMat3, DVec3};

/// The origin of a voxel's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Simplex {
    /// Cost at the voxel, the minimum over the simplex.
    pub value: f64,
    /// Towards the source, in voxels; its length has no meaning.
    pub direction: DVec3,
    /// Whether its corners are those of Selling's terms, rather than of a face between neighbours.
    pub(super) of_selling: bool,
    corners: [(usize, f64); MAX_CORNERS],
    count: usize,
}

/// Corners in Selling's decomposition; a face of the others has three.
const MAX_CORNERS: usize = 6;

impl Simplex {
    /// Places that are read, and their weights, which sum to 1.
    pub fn corners(&self) -> &[(usize, f64)] {
        &self.corners[..self.count]
    }
}

/// A neighbour: its place, the offset to it in voxels, and its value.
type Corner = (usize, DVec3, f64);

/// The active simplex of a place; `None` where no neighbour has a value.
pub fn simplex(field: &CostField, place: usize) -> Option<Simplex> {
    let faces = match field.prepared.local {
        LocalSolver::Godunov6 => cheapest_face(field, place, &OCTAHEDRON, 1.0 / 3.0),
        LocalSolver::HopfLax26 | LocalSolver::Hybrid => cheapest_face(field, place, &CUBE, 1.0),
        LocalSolver::Selling => None,
    };
    let terms = selling(field, place);
    match (faces, terms) {
        (Some(a), Some(b)) => Some(if b.value < a.value { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// A corner, an edge or a triangle between neighbours.
#[derive(Clone, Copy)]
struct Face {
    /// Indices in 3 × 3 × 3, x fastest; the first is repeated if there are fewer than three corners.
    cells: [usize; 3],
    corners: usize,
}

/// Corners, then edges, then triangles, each once. Corners are coded within one octant by the axes along which they
/// lie, one bit each.
const OCTAHEDRON: [Face; 26] =
    of_octants(&[&[1], &[2], &[4], &[1, 2], &[1, 4], &[2, 4], &[1, 2, 4]]);
const CUBE: [Face; 146] = of_octants(&[
    &[1],
    &[2],
    &[4],
    &[3],
    &[5],
    &[6],
    &[7],
    &[1, 3],
    &[2, 3],
    &[1, 5],
    &[4, 5],
    &[2, 6],
    &[4, 6],
    &[1, 7],
    &[2, 7],
    &[4, 7],
    &[3, 7],
    &[5, 7],
    &[6, 7],
    &[1, 3, 7],
    &[2, 3, 7],
    &[1, 5, 7],
    &[4, 5, 7],
    &[2, 6, 7],
    &[4, 6, 7],
]);

const fn of_octants<const N: usize>(parts: &[&[usize]]) -> [Face; N] {
    let mut all = [Face {
        cells: [0; 3],
        corners: 0,
    }; N];
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        let corners = parts[part];
        let (mut axes, mut i) = (0, 0);
        while i < corners.len() {
            axes |= corners[i];
            i += 1;
        }
        let mut octant = 0;
        while octant < 8 {
            // Octants that differ only along other axes share it.
            if octant & !axes == 0 {
                let mut cells = [cell(octant, corners[0]); 3];
                let mut i = 1;
                while i < corners.len() {
                    cells[i] = cell(octant, corners[i]);
                    i += 1;
                }
                all[count] = Face {
                    cells,
                    corners: corners.len(),
                };
                count += 1;
            }
            octant += 1;
        }
        part += 1;
    }
    assert!(count == N);
    all
}

/// The cell of a 3 × 3 × 3 block, x fastest, that lies along some axes of an octant (one bit per axis, set if it lies
/// in the positive direction).
const fn cell(octant: usize, axes: usize) -> usize {
    let (mut sum, mut along, mut a) = (0, 1, 0);
    while a < 3 {
        sum += match (axes >> a & 1, octant >> a & 1) {
            (0, _) => along,
            (_, 0) => 0,
            _ => 2 * along,
        };
        along *= 3;
        a += 1;
    }
    sum
}

/// The smallest value over faces, none of which is nearer than the square root of `square` voxels.
fn cheapest_face(field: &CostField, place: usize, faces: &[Face], square: f64) -> Option<Simplex> {
    let metric = &field.prepared.metric;
    let g = matrix(&metric.cost[place]);
    let around = neighbours(field, place);
    let values = around.map(|c| c.2);
    let costs = around.map(|c| g * c.1);
    // A lower bound on the cost of a step to a face: no eigenvalue of W exceeds its trace. G, its inverse, is
    // rounded.
    let w = &metric.speed[place];
    let min_step = (square / f64::from(w[0] + w[3] + w[5])).sqrt() * (1.0 - 1e-3);
    let (mut value, mut best) = (f64::INFINITY, None);
    for face in faces {
        let [a, b, c] = face.cells;
        let all = DVec3::new(values[a], values[b], values[c]);
        let low = all.min_element();
        if !(low + min_step < value && all.max_element() < f64::INFINITY) {
            continue;
        }
        let product = |i: usize, j: usize| around[i].1.dot(costs[j]);
        let minimum = match face.corners {
            1 => Some((product(a, a).sqrt(), DVec3::X)),
            2 => minimum_on_edge([product(a, a), product(a, b), product(b, b)], all - low),
            _ => {
                let (ab, ac, bc) = (product(a, b), product(a, c), product(b, c));
                let gram = DMat3::from_cols(
                    DVec3::new(product(a, a), ab, ac),
                    DVec3::new(ab, product(b, b), bc),
                    DVec3::new(ac, bc, product(c, c)),
                );
                minimum_on_face(gram.inverse(), DVec3::ONE, all - low)
            }
        };
        if let Some((more, shares)) = minimum
            && low + more < value
        {
            value = low + more;
            best = Some((face, shares));
        }
    }
    let (face, shares) = best?;
    let mut simplex = Simplex {
        value,
        direction: DVec3::ZERO,
        of_selling: false,
        corners: [(0, 0.0); MAX_CORNERS],
        count: face.corners,
    };
    for (i, cell) in face.cells.into_iter().take(face.corners).enumerate() {
        let (to, way, _) = around[cell];
        simplex.corners[i] = (to, shares[i]);
        simplex.direction += way * shares[i];
    }
    Some(simplex)
}

/// The minimum over an edge and the weights of its two corners, if it lies inside: from the edge's Gram matrix and
/// the values of its corners.
fn minimum_on_edge([aa, ab, bb]: [f64; 3], values: DVec3) -> Option<(f64, DVec3)> {
    let share = 1.0 / (aa * bb - ab * ab);
    let columns = [
        DVec3::new(bb, -ab, 0.0),
        DVec3::new(-ab, aa, 0.0),
        DVec3::ZERO,
    ];
    let [x, y, z] = columns.map(|c| c * share);
    minimum_on_face(
        DMat3::from_cols(x, y, z),
        DVec3::new(1.0, 1.0, 0.0),
        values * DVec3::new(1.0, 1.0, 0.0),
    )
}

/// The minimum over a face and the weights of its corners, if it lies inside: from the inverse of its Gram matrix and
/// the values of its corners.
fn minimum_on_face(inverse: DMat3, ones: DVec3, values: DVec3) -> Option<(f64, DVec3)> {
    let (p, q) = (inverse * ones, inverse * values);
    let (a, b, c) = (ones.dot(p), ones.dot(q), values.dot(q) - 1.0);
    let value = (b + (b * b - a * c).sqrt()) / a;
    let lambda = p * value - q;
    let total = lambda.element_sum();
    // NaN if no front fits.
    let inside = total > 0.0 && lambda.cmpge(DVec3::ZERO).all();
    inside.then(|| (value, lambda / total))
}

/// The 26 neighbours, x fastest; the value is infinite where no step leads or no path arrived.
fn neighbours(field: &CostField, place: usize) -> [Corner; 27] {
    let metric = &field.prepared.metric;
    let voxel = metric.voxel(place);
    let step = |k: usize| [k % 3, k / 3 % 3, k / 9].map(|c| c as i64 - 1);
    let places: [Option<usize>; 27] = std::array::from_fn(|k| {
        let step = step(k);
        metric.place_of([0, 1, 2].map(|a| voxel[a] + step[a]))
    });
    // Like [`Metric::is_step_open`], for all steps at once: those with fewer axes are decided first.
    let mut open = [false; 27];
    for axes in [1usize, 2, 4, 3, 5, 6, 7] {
        for octant in (0..8usize).filter(|octant| octant & !axes == 0) {
            let to = cell(octant, axes);
            let mut ways = (0..3).filter(|a| axes >> a & 1 == 1);
            open[to] = places[to].is_some()
                && (axes.is_power_of_two() || ways.any(|a| open[cell(octant, axes & !(1 << a))]));
        }
    }
    std::array::from_fn(|k| {
        let way = DVec3::from_array(step(k).map(|c| c as f64));
        match places[k].filter(|_| open[k]) {
            Some(to) => (to, way, f64::from(field.values[to])),
            None => (0, way, f64::INFINITY),
        }
    })
}

/// The simplex from Selling's terms: −W ∇u = Σ ρ (u − v) e over those on which the value depends.
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
    let mut all = [(0.0, (0, DVec3::ZERO, 0.0)); MAX_CORNERS];
    let mut used = 0;
    for term in field.prepared.offsets(place).iter().filter_map(lower) {
        all[used] = term;
        used += 1;
    }
    let used = &mut all[..used];
    used.sort_unstable_by(|a, b| a.1.2.total_cmp(&b.1.2));
    // The terms in the order of their values, as long as they lie below the solution.
    let (mut a, mut b, mut c) = (0.0, 0.0, -1.0);
    let low = used.first()?.1.2;
    let mut value = f64::INFINITY;
    let mut count = 0;
    for (rho, (_, _, v)) in &*used {
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
    let mut simplex = Simplex {
        value: value + low,
        direction: DVec3::ZERO,
        of_selling: true,
        corners: [(0, 0.0); MAX_CORNERS],
        count,
    };
    let mut total = 0.0;
    for ((rho, (to, way, v)), corner) in used[..count].iter().zip(&mut simplex.corners) {
        let share = rho * (value - (v - low));
        *corner = (*to, share);
        simplex.direction += *way * share;
        total += share;
    }
    for (_, share) in &mut simplex.corners[..count] {
        *share /= total;
    }
    Some(simplex)
}
