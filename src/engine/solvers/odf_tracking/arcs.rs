//! One probabilistic step: candidate arcs side by side in lanes, one drawn by its share (after Tournier et al. 2010).
//!
//! An arc of length h leaves a point along d and ends along e, at an angle θ to d of at most the limit. Its share is
//! (f_1 f_2 … √f_n)^(1/n) of the amplitudes at n points of it, each in the direction of the arc there: the trapezoid
//! rule for ln f, without the half of the old point, which all arcs have in common. An arc with an amplitude below the
//! cut has none. The 32 candidates are a Fibonacci lattice on the cap of end directions, with a random rotation and a
//! random offset for each step, so that the law of a step differs from the continuous one by O(1/32), without the
//! rejection of candidates that a draw from the continuous law needs.
//!
//! *Interpolation.* Every candidate is interpolated in its own cell. The trilinear weight of a lattice point X at x is
//! the product of 1 − |x − X| over the axes where that is positive: summed over the points of a box that contains the
//! cells of all lanes, it is the value of each lane's own cell, exactly and without branches.

use super::MAX_COEFFICIENTS;
use super::harmonics::evaluate;
use super::records::Records;
use crate::compute::lanes::Lanes;
use crate::compute::vector::{Kernel, Scalar, Vector};
use crate::data::random::sine;
use crate::data::spherical_harmonics::EvenRecurrence;

pub const CANDIDATES: usize = 32;
/// Azimuth between one candidate and the next, in turns.
pub const GOLDEN_TURN: f64 = 0.381_966_011_250_105;
/// Largest number of lattice points on one axis of a box of cells: those of a step of two voxels.
const MAX_NODES: usize = 8;
/// Lattice points whose harmonics are summed side by side.
const BLOCK: usize = 4;
/// Amplitudes below it count as it, whatever the cut.
const MIN_AMPLITUDE: f32 = 1e-4;

/// Shared by all steps of a run.
pub struct ArcTables {
    pub harmonics: EvenRecurrence,
    /// Cosine and sine of each candidate's azimuth.
    cosines: [f32; CANDIDATES],
    sines: [f32; CANDIDATES],
    /// k / [`CANDIDATES`].
    ranks: [f32; CANDIDATES],
    pub step_mm: f32,
    /// 1 − cos of the largest angle.
    pub cap_height: f32,
    pub cut: f32,
    pub samples: usize,
}

/// The azimuth of a candidate, rad.
pub fn azimuth(k: usize) -> f64 {
    std::f64::consts::TAU * GOLDEN_TURN * k as f64
}

impl ArcTables {
    pub fn new(order: usize, step_mm: f64, max_angle_rad: f64, cut: f64, samples: usize) -> Self {
        Self {
            harmonics: EvenRecurrence::new(order),
            cosines: std::array::from_fn(|k| azimuth(k).cos() as f32),
            sines: std::array::from_fn(|k| azimuth(k).sin() as f32),
            ranks: std::array::from_fn(|k| k as f32 / CANDIDATES as f32),
            step_mm: step_mm as f32,
            cap_height: (1.0 - max_angle_rad.cos()) as f32,
            cut: (cut as f32).max(MIN_AMPLITUDE),
            samples,
        }
    }
}

/// The end of an arc, relative to its begin.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArcEnd {
    pub shift_mm: [f32; 3],
    pub direction: [f32; 3],
}

/// Draws an arc that leaves a world point along a unit vector, by three uniform numbers; `None` if no candidate is
/// above the cut.
pub fn draw(
    records: &Records,
    tables: &ArcTables,
    at: [f32; 3],
    along: [f32; 3],
    [turn, offset, choice]: [f32; 3],
) -> Option<ArcEnd> {
    let frame = Frame::new(along, turn);
    let step = ArcStep {
        records,
        tables,
        at: records.lattice.voxel(at),
        frame: frame.axes,
        in_voxels: frame.axes.map(|axis| records.lattice.turned(axis)),
        offset,
    };
    let candidates = f32::dispatch(step);
    let k = candidates.chosen(choice)?;
    let (cosine, sine) = (tables.cosines[k], tables.sines[k]);
    let [d, e, g] = frame.axes;
    let (forward, sideways) = (candidates.forward[k], candidates.sideways[k]);
    let shift_mm = [0, 1, 2].map(|a| d[a] * forward + (cosine * e[a] + sine * g[a]) * sideways);
    let end = candidates.ends.map(|axis| axis[k]);
    let length = (end[0] * end[0] + end[1] * end[1] + end[2] * end[2]).sqrt();
    Some(ArcEnd {
        shift_mm,
        direction: end.map(|c| c / length),
    })
}

/// A direction and two axes across it.
struct Frame {
    axes: [[f32; 3]; 3],
}

impl Frame {
    /// `turn` in turns around the direction (Duff et al. 2017: no direction is singular).
    fn new(d: [f32; 3], turn: f32) -> Self {
        let sign = if d[2] < 0.0 { -1.0 } else { 1.0 };
        let q = -1.0 / (sign + d[2]);
        let t = d[0] * d[1] * q;
        let e = [1.0 + sign * d[0] * d[0] * q, sign * t, -sign * d[0]];
        let g = [t, sign + d[1] * d[1] * q, -d[1]];
        let (s, c) = (sine(turn), sine(turn + 0.25));
        Self {
            axes: [
                d,
                [0, 1, 2].map(|a| c * e[a] + s * g[a]),
                [0, 1, 2].map(|a| c * g[a] - s * e[a]),
            ],
        }
    }
}

/// The shares of the candidates, and their ends.
struct Candidates {
    shares: [f32; CANDIDATES],
    /// End directions, by axis.
    ends: [[f32; CANDIDATES]; 3],
    /// Displacement along the direction and across it, mm.
    forward: [f32; CANDIDATES],
    sideways: [f32; CANDIDATES],
}

impl Candidates {
    /// One candidate by its share, from a uniform number.
    fn chosen(&self, choice: f32) -> Option<usize> {
        let mut sums = [0f32; CANDIDATES];
        let mut total = 0f32;
        for (sum, share) in sums.iter_mut().zip(&self.shares) {
            total += share;
            *sum = total;
        }
        if !(total > 0.0) {
            return None;
        }
        let at = choice * total;
        let first = sums.iter().position(|sum| *sum > at);
        // Rounding may place the number at the total: the last candidate with a share.
        first.or_else(|| self.shares.iter().rposition(|share| *share > 0.0))
    }
}

struct ArcStep<'a> {
    records: &'a Records,
    tables: &'a ArcTables,
    /// In voxels.
    at: [f32; 3],
    /// The direction and two axes across it, in the world.
    frame: [[f32; 3]; 3],
    /// `frame` in voxels per mm.
    in_voxels: [[f32; 3]; 3],
    offset: f32,
}

/// 1 + square (f_4 + square (f_3 + …)), the factors from the highest power down.
#[inline(always)]
fn even_series<V: Vector<Scalar = f32>>(square: V, factors: [f32; 5]) -> V {
    let mut p = V::splat(factors[0]);
    for k in 1..5 {
        p = p.mul_add(square, V::splat(factors[k]));
    }
    p.mul_add(square, V::splat(1.0))
}

/// sin and cos of 0 to π/2, to 1e-6.
#[inline(always)]
fn sine_cosine<V: Vector<Scalar = f32>>(a: V) -> (V, V) {
    const SINE: [f32; 5] = [
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
    ];
    const COSINE: [f32; 5] = [
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
    ];
    let square = a * a;
    (a * even_series(square, SINE), even_series(square, COSINE))
}

/// Factors of the series of the arc sine by its argument, from the sixth down.
const ARC_SINE: [f32; 6] = [
    0.022_372_159,
    0.030_381_944,
    5.0 / 112.0,
    0.075,
    1.0 / 6.0,
    1.0,
];

/// θ from 1 − cos θ, for angles up to π/2: sin²(θ/4) without cancellation, then the series of the arc sine.
#[inline(always)]
fn angle<V: Vector<Scalar = f32>>(height: V) -> V {
    let half = height * V::splat(0.5);
    let one = V::splat(1.0);
    let quarter = half / (V::splat(2.0) * (one + (one - half).sqrt()));
    let mut p = V::splat(0.017_352_764);
    for k in 0..ARC_SINE.len() {
        p = p.mul_add(quarter, V::splat(ARC_SINE[k]));
    }
    V::splat(4.0) * quarter.sqrt() * p
}

impl Kernel<f32> for ArcStep<'_> {
    type Output = Candidates;

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) -> Candidates {
        let tables = self.tables;
        let mut out = Candidates {
            shares: [0.0; CANDIDATES],
            ends: [[0.0; CANDIDATES]; 3],
            forward: [0.0; CANDIDATES],
            sideways: [0.0; CANDIDATES],
        };
        let mut alive = [0f32; CANDIDATES];
        let mut functions = [V::zero(); MAX_COEFFICIENTS];
        let (zero, one) = (V::zero(), V::splat(1.0));
        for first in (0..CANDIDATES).step_by(V::LANES) {
            let rank = V::load(&tables.ranks[first..]);
            let height =
                (rank + V::splat(self.offset / CANDIDATES as f32)) * V::splat(tables.cap_height);
            let theta = angle(height.max(V::splat(1e-8)));
            let radius = V::splat(tables.step_mm) / theta;
            let part = theta * V::splat(1.0 / tables.samples as f32);
            let (sine, cosine) = sine_cosine(part);
            let across = self.across::<V>(first);
            let (mut s, mut c) = (sine, cosine);
            let mut product = one;
            let mut above = one;
            for sample in 1..=tables.samples {
                // 1 − cos without cancellation.
                let forward = radius * s;
                let sideways = radius * s * s / (one + c);
                let (mut tangent, mut position) = ([zero; 3], [zero; 3]);
                for a in 0..3 {
                    let ahead = V::splat(self.frame[0][a]) * c;
                    tangent[a] = across.0[a].mul_add(s, ahead);
                    let along = V::splat(self.in_voxels[0][a]);
                    let along = forward.mul_add(along, V::splat(self.at[a]));
                    position[a] = across.1[a].mul_add(sideways, along);
                }
                evaluate(&tables.harmonics, tangent, &mut functions);
                let f = self.amplitude(position, (forward, sideways), &functions);
                above = f.select_above(V::splat(tables.cut), above, zero);
                let f = f.max(V::splat(MIN_AMPLITUDE));
                if sample < tables.samples {
                    product = product * f;
                    (s, c) = (s * cosine + c * sine, c * cosine - s * sine);
                } else {
                    product = product * f.sqrt();
                    for a in 0..3 {
                        tangent[a].store(&mut out.ends[a][first..]);
                    }
                    forward.store(&mut out.forward[first..]);
                    sideways.store(&mut out.sideways[first..]);
                }
            }
            product.store(&mut out.shares[first..]);
            above.store(&mut alive[first..]);
        }
        let power = 1.0 / tables.samples as f32;
        let logarithms: Lanes<CANDIDATES> = Lanes(out.shares).ln::<false>();
        let roots = (logarithms * Lanes::splat(power)).exp::<false>();
        for k in 0..CANDIDATES {
            out.shares[k] = alive[k] * roots.0[k];
        }
        out
    }
}

impl ArcStep<'_> {
    /// The side to which each candidate bends, in the world and in voxels per mm.
    #[inline(always)]
    fn across<V: Vector<Scalar = f32>>(&self, first: usize) -> ([V; 3], [V; 3]) {
        let cosine = V::load(&self.tables.cosines[first..]);
        let sine = V::load(&self.tables.sines[first..]);
        let (mut in_world, mut in_voxels) = ([V::zero(); 3], [V::zero(); 3]);
        for a in 0..3 {
            let [_, e, g] = self.frame;
            in_world[a] = cosine.mul_add(V::splat(e[a]), sine * V::splat(g[a]));
            let [_, e, g] = self.in_voxels;
            in_voxels[a] = cosine.mul_add(V::splat(e[a]), sine * V::splat(g[a]));
        }
        (in_world, in_voxels)
    }

    /// The range of lattice points around all positions of a group of lanes, by axis. Candidates are ordered by their
    /// angle, so that the first lane goes farthest forward and the last one farthest sideways.
    #[inline(always)]
    fn nodes<V: Vector<Scalar = f32>>(&self, (forward, sideways): (V, V)) -> [[usize; 2]; 3] {
        // Against rounding: a point beyond the box would lose its weight there.
        const MARGIN: f32 = 1e-4;
        let mut lanes = [0f32; 16];
        forward.store(&mut lanes);
        let (farthest, nearest) = (lanes[0], lanes[V::LANES - 1]);
        sideways.store(&mut lanes);
        let side = lanes[V::LANES - 1];
        let [d, e, g] = self.in_voxels;
        let mut nodes = [[0; 2]; 3];
        for a in 0..3 {
            let last = self.records.lattice.shape[a] - 1;
            let (near, far) = (d[a] * nearest, d[a] * farthest);
            let reach = side * (e[a] * e[a] + g[a] * g[a]).sqrt() + MARGIN;
            let low = self.at[a] + near.min(far) - reach;
            let high = self.at[a] + near.max(far) + reach;
            let low = (low.clamp(0.0, last as f32) as usize).min(last.saturating_sub(1));
            let high = high.clamp(0.0, last as f32) as usize + 1;
            nodes[a] = [low, high.min(last).min(low + MAX_NODES - 1)];
        }
        nodes
    }

    /// The interpolated amplitude of each lane at its position and in its direction.
    #[inline(always)]
    fn amplitude<V: Vector<Scalar = f32>>(
        &self,
        position: [V; 3],
        reach: (V, V),
        functions: &[V; MAX_COEFFICIENTS],
    ) -> V {
        let (zero, one) = (V::zero(), V::splat(1.0));
        let nodes = self.nodes(reach);
        let shape = self.records.lattice.shape;
        let mut weights = [[zero; MAX_NODES]; 3];
        for a in 0..3 {
            // Beyond the outer centres the nearest values continue.
            let last = V::splat((shape[a] - 1) as f32);
            let x = position[a].max(zero);
            let x = zero - (zero - x).max(zero - last);
            let [low, high] = nodes[a];
            for node in low..=high {
                let away = x - V::splat(node as f32);
                let away = away.max(zero - away);
                weights[a][node - low] = (one - away).max(zero);
            }
        }
        let [[x0, x1], [y0, y1], [z0, z1]] = nodes;
        let mut sum = zero;
        let mut block = [0usize; BLOCK];
        let mut shares = [zero; BLOCK];
        let mut filled = 0;
        for z in z0..=z1 {
            for y in y0..=y1 {
                let row = shape[0] * (y + shape[1] * z);
                let of_row = weights[1][y - y0] * weights[2][z - z0];
                for x in x0..=x1 {
                    let record = self.records.record_of[row + x];
                    if record == 0 {
                        continue;
                    }
                    block[filled] = record as usize;
                    shares[filled] = of_row * weights[0][x - x0];
                    filled += 1;
                    if filled == BLOCK {
                        sum = self.add_block(block, &shares, functions, sum);
                        filled = 0;
                    }
                }
            }
        }
        if filled > 0 {
            for k in filled..BLOCK {
                block[k] = 0;
                shares[k] = zero;
            }
            sum = self.add_block(block, &shares, functions, sum);
        }
        sum
    }

    /// Adds the amplitudes at some lattice points, each times its weight.
    #[inline(always)]
    fn add_block<V: Vector<Scalar = f32>>(
        &self,
        block: [usize; BLOCK],
        shares: &[V; BLOCK],
        functions: &[V; MAX_COEFFICIENTS],
        mut sum: V,
    ) -> V {
        let stride = self.records.stride;
        let pairs = pair_row(&functions[..stride], stride / 2);
        let mut rows = [pairs_of_none(); BLOCK];
        for k in 0..BLOCK {
            let record = &self.records.coefficients[block[k] * stride..][..stride];
            rows[k] = pair_row(record, pairs.len());
        }
        let [row_0, row_1, row_2, row_3] = rows;
        let (mut even, mut odd) = ([V::zero(); BLOCK], [V::zero(); BLOCK]);
        for i in 0..pairs.len() {
            let [first, second] = pairs[i];
            let of_record = [row_0[i], row_1[i], row_2[i], row_3[i]];
            for k in 0..BLOCK {
                even[k] = V::splat(of_record[k][0]).mul_add(first, even[k]);
                odd[k] = V::splat(of_record[k][1]).mul_add(second, odd[k]);
            }
        }
        for k in 0..BLOCK {
            sum = shares[k].mul_add(even[k] + odd[k], sum);
        }
        sum
    }
}

/// The first `n` pairs of a row.
#[inline(always)]
fn pair_row<T>(row: &[T], n: usize) -> &[[T; 2]] {
    &row.as_chunks::<2>().0[..n]
}

#[inline(always)]
fn pairs_of_none() -> &'static [[f32; 2]] {
    &[]
}
