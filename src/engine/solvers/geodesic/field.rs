//! D p and −½ pᵀ(∂D)p at eight points side by side, in voxel axes.
//!
//! Between the outer voxel centres and the faces, D is extended as a constant: its derivative across is 0 there.

use super::ray_metric::{FA, RayMetric};
use crate::compute::Lanes;
use crate::compute::simd::{self, Kernel, prefetch};
use crate::solvers::curves::StopReason;
use crate::solvers::curves::cells::{Axis, INSIDE, Record};
use crate::solvers::curves::half_queue::LANES;
use crate::solvers::curves::spline::cubic_weights;

pub type Lane<const FMA: bool> = Lanes<LANES, FMA>;
pub type Vector<const FMA: bool> = [Lane<FMA>; 3];
/// One bit per lane.
pub const ALL_LANES: u32 = (1 << LANES) - 1;

/// The right-hand side in the native parameter of the ray metric.
pub struct Slope<const FMA: bool> {
    /// D p
    pub x: Vector<FMA>,
    /// −½ pᵀ(∂D)p
    pub p: Vector<FMA>,
}

/// Values of the ray metric at a point.
#[derive(Clone, Copy)]
pub struct PointSample<const FMA: bool> {
    /// Fraction of fitted voxels.
    pub inside: Lane<FMA>,
    /// The quantity that a ray needs to continue: the FA, or the amplitude of its lobe; 0 unless requested.
    pub level: Lane<FMA>,
}

impl<const FMA: bool> Default for PointSample<FMA> {
    fn default() -> Self {
        Self {
            inside: Lane::ZERO,
            level: Lane::ZERO,
        }
    }
}

/// A ray metric that can be sampled; `Cache` stores the cells of one group of rays.
pub trait Sampler: Sync {
    type Cache;
    /// How far a ray may leave its cell, in voxels, before it changes to another, if that saves work: the cell's
    /// polynomial extends beyond its faces.
    const MARGIN: f32;
    /// Stop reason of a ray whose level falls below the limit.
    const TOO_LOW: StopReason = StopReason::LowFa;
    fn lattice(&self) -> &Lattice;
    fn cache(&self) -> Self::Cache;
    /// Begins a ray in a lane; its direction is given in the axes of `HalfRayRules::root`.
    fn begin(&self, _: &mut Self::Cache, _lane: usize, _direction: [f32; 3]) {}
    /// `cells` after [`Lattice::follow`].
    fn slope<const FMA: bool>(
        &self,
        cache: &mut Self::Cache,
        cells: &Cells<FMA>,
        p: &Vector<FMA>,
    ) -> Slope<FMA>;
    /// A slope that only determines where the next one is evaluated; its error may be of the order of a step.
    #[inline(always)]
    fn rough_slope<const FMA: bool>(
        &self,
        cache: &mut Self::Cache,
        cells: &Cells<FMA>,
        p: &Vector<FMA>,
    ) -> Slope<FMA> {
        self.slope::<FMA>(cache, cells, p)
    }
    fn point_sample<const FMA: bool>(
        &self,
        cache: &mut Self::Cache,
        cells: &Cells<FMA>,
        with_fa: bool,
    ) -> PointSample<FMA>;
}

/// The cell of eight samples around each point.
pub struct Cells<const FMA: bool> {
    pub base: [u32; LANES],
    /// The cell's first corner, voxels.
    origin: Vector<FMA>,
    /// Position in the cell, 0 to 1.
    pub t: Vector<FMA>,
    /// -½ between the outer samples of an axis, 0 beyond them.
    pub slope_factor: Vector<FMA>,
    /// One bit per lane.
    pub in_volume: u32,
}

impl<const FMA: bool> Default for Cells<FMA> {
    fn default() -> Self {
        Self {
            base: [u32::MAX; LANES],
            // Contains no point.
            origin: [Lane::splat(f32::MAX); 3],
            t: [Lane::ZERO; 3],
            slope_factor: [Lane::ZERO; 3],
            in_volume: 0,
        }
    }
}

pub struct Lattice {
    /// Outer faces of the field's own grid: grids one voxel thick were doubled.
    axes: [Axis; 3],
    strides: [u32; 2],
}

impl Lattice {
    /// A lattice of samples with these strides in a grid of voxels.
    pub fn new(samples: [usize; 3], voxels: [usize; 3], strides: [usize; 2]) -> Self {
        Self {
            axes: [0, 1, 2].map(|a| Axis::new(samples[a], voxels[a])),
            strides: strides.map(|n| n as u32),
        }
    }

    fn from_metric(metric: &RayMetric) -> Self {
        Self::new(metric.shape, metric.field.grid.shape, metric.strides())
    }

    /// Moves the cells to new points; a point up to `margin` outside its cell stays in it.
    #[inline(always)]
    pub fn follow<const FMA: bool>(&self, cells: &mut Cells<FMA>, x: &Vector<FMA>, margin: f32) {
        let (low, high) = (Lane::splat(-margin), Lane::splat(1.0 + margin));
        let mut stays = ALL_LANES;
        for axis in 0..3 {
            let t = x[axis] - cells.origin[axis];
            stays &= t.at_least(low) & high.at_least(t);
            // Beyond its faces a cell is extended as a constant: its polynomial might not be positive definite.
            cells.t[axis] = t.max(Lane::ZERO).min(Lane::splat(1.0));
        }
        let mut lanes = ALL_LANES & !stays;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            self.enter(cells, lane, [0, 1, 2].map(|a| x[a].0[lane]));
        }
    }

    /// Forgets the cell of a lane: a ray must not depend on the ray that used its lane before.
    pub fn forget<const FMA: bool>(&self, cells: &mut Cells<FMA>, lane: usize) {
        cells.origin[0].0[lane] = f32::MAX;
    }

    #[inline(always)]
    fn enter<const FMA: bool>(&self, cells: &mut Cells<FMA>, lane: usize, x: [f32; 3]) {
        let strides = [1, self.strides[0], self.strides[1]];
        let (mut base, mut in_volume) = (0, 1);
        for a in 0..3 {
            let axis = &self.axes[a];
            let position = axis.position(x[a]);
            // In a volume one voxel thick the face is closer than the second sample.
            let between = (x[a] >= 0.0) & (x[a] <= axis.last.min(axis.face));
            in_volume &= position.in_volume;
            base += position.cell * strides[a];
            cells.t[a].0[lane] = position.t;
            cells.slope_factor[a].0[lane] = if between { -0.5 } else { 0.0 };
            // A point beyond the outer samples is located anew at every step, as is every point of a thin volume.
            let returns = between & (axis.face > axis.last);
            cells.origin[a].0[lane] = if returns {
                position.cell as f32
            } else {
                f32::MAX
            };
        }
        cells.base[lane] = base;
        cells.in_volume = cells.in_volume & !(1 << lane) | in_volume << lane;
    }
}

/// These values in the lanes of another instruction set.
#[inline(always)]
pub fn cast<const FROM: bool, const TO: bool, const N: usize>(
    lanes: &[Lane<FROM>; N],
) -> [Lane<TO>; N] {
    let mut out = [Lane::ZERO; N];
    for k in 0..N {
        out[k] = lanes[k].cast();
    }
    out
}

/// D p, with D given as xx xy xz yy yz zz.
#[inline(always)]
fn product<const FMA: bool, const N: usize>(d: &[Lane<FMA>; N], p: &Vector<FMA>) -> Vector<FMA> {
    [
        d[2].mul_add::<FMA>(p[2], d[1].mul_add::<FMA>(p[1], d[0] * p[0])),
        d[4].mul_add::<FMA>(p[2], d[3].mul_add::<FMA>(p[1], d[1] * p[0])),
        d[5].mul_add::<FMA>(p[2], d[4].mul_add::<FMA>(p[1], d[2] * p[0])),
    ]
}

/// p pᵀ by component, off-diagonal ones doubled: pᵀ D p is the sum of its products with D.
#[inline(always)]
fn squares<const FMA: bool>(p: &Vector<FMA>) -> [Lane<FMA>; 6] {
    let (two_x, two_y) = (p[0] + p[0], p[1] + p[1]);
    [
        p[0] * p[0],
        two_x * p[1],
        two_x * p[2],
        p[1] * p[1],
        two_y * p[2],
        p[2] * p[2],
    ]
}

#[inline(always)]
fn quadratic_form<const FMA: bool, const N: usize>(
    d: &[Lane<FMA>; N],
    squares: &[Lane<FMA>; 6],
) -> Lane<FMA> {
    let mut sum = d[0] * squares[0];
    for k in 1..6 {
        sum = d[k].mul_add::<FMA>(squares[k], sum);
    }
    sum
}

/// Linear along each axis.
pub struct Trilinear<'a> {
    lattice: Lattice,
    records: &'a [Record],
}

/// A cell's tensors as polynomials of the position in it: 1, u, v, w, uv, uw, vw, uvw.
pub struct Polynomials {
    base: [u32; LANES],
    terms: [[Lanes<LANES>; 8]; 6],
    /// Fitted corners, one bit each.
    corners: [u8; LANES],
}

impl Default for Polynomials {
    fn default() -> Self {
        Self {
            base: [u32::MAX; LANES],
            terms: [[Lanes::ZERO; 8]; 6],
            corners: [0; LANES],
        }
    }
}

const ALL_CORNERS: u8 = 0xFF;

impl<'a> Trilinear<'a> {
    pub fn new(metric: &'a RayMetric) -> Self {
        Self {
            lattice: Lattice::from_metric(metric),
            records: &metric.records,
        }
    }

    /// Loads new cells; most steps stay in theirs.
    #[inline(always)]
    fn enter<const FMA: bool>(&self, cache: &mut Polynomials, cells: &Cells<FMA>) {
        if cache.base != cells.base {
            self.load(cache, cells);
        }
    }

    #[inline(always)]
    fn corners(&self, base: u32) -> [&Record; 8] {
        let [sy, sz] = self.lattice.strides.map(|s| s as usize);
        let base = base as usize;
        let pair = |start: usize| {
            let row = &self.records[start..start + 2];
            [&row[0], &row[1]]
        };
        let [a, b, c, d] = [
            pair(base),
            pair(base + sy),
            pair(base + sz),
            pair(base + sz + sy),
        ];
        [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]
    }

    #[inline(never)]
    fn load<const FMA: bool>(&self, cache: &mut Polynomials, cells: &Cells<FMA>) {
        simd::dispatch(SampleKernel {
            sampler: self,
            cache,
            base: &cells.base,
        });
    }

    /// Prefetches a cell that may be next.
    #[inline(always)]
    fn fetch(&self, base: u32) {
        let [sy, sz] = self.lattice.strides.map(|s| s as usize);
        let base = base as usize;
        for row in [base, base + sy, base + sz, base + sy + sz] {
            prefetch(self.records, row);
            prefetch(self.records, row + 1);
        }
    }
}

struct SampleKernel<'a, 'b> {
    sampler: &'a Trilinear<'b>,
    cache: &'a mut Polynomials,
    base: &'a [u32; LANES],
}

impl Kernel for SampleKernel<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self {
            sampler,
            cache,
            base,
        } = self;
        for lane in 0..LANES {
            let (old, new) = (cache.base[lane], base[lane]);
            if old == new {
                continue;
            }
            cache.base[lane] = new;
            // Most rays continue in the same direction.
            sampler.fetch(new.wrapping_add(new.wrapping_sub(old)));
            let r = sampler.corners(new);
            let mut c = [Lanes::<8, FMA>::ZERO; 8];
            let mut corners = 0;
            for i in 0..8 {
                c[i] = Lanes(*r[i]);
                corners |= u8::from(r[i][INSIDE] > 0.5) << i;
            }
            cache.corners[lane] = corners;
            let (u, v, w) = (c[1] - c[0], c[2] - c[0], c[4] - c[0]);
            let (u_v, u_w, u_vw) = (c[3] - c[2], c[5] - c[4], c[7] - c[6]);
            let (uv, uw) = (u_v - u, u_w - u);
            let vw = (c[6] - c[4]) - v;
            let uvw = (u_vw - u_w) - uv;
            let terms = [c[0], u, v, w, uv, uw, vw, uvw];
            for term in 0..8 {
                for k in 0..6 {
                    cache.terms[k][term].0[lane] = terms[term].0[k];
                }
            }
        }
    }
}

/// Linear interpolation between the eight corners.
#[inline(always)]
pub fn mixed(values: [f32; 8], [u, v, w]: [f32; 3]) -> f32 {
    let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
    let edge = |i: usize| mix(values[i], values[i + 1], u);
    mix(mix(edge(0), edge(2), v), mix(edge(4), edge(6), v), w)
}

impl Sampler for Trilinear<'_> {
    type Cache = Polynomials;
    const MARGIN: f32 = 1.0 / 16.0;

    fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    fn cache(&self) -> Polynomials {
        Polynomials::default()
    }

    #[inline(always)]
    fn slope<const FMA: bool>(
        &self,
        cache: &mut Polynomials,
        cells: &Cells<FMA>,
        p: &Vector<FMA>,
    ) -> Slope<FMA> {
        self.enter(cache, cells);
        let [u, v, w] = cells.t;
        let (uv, uw, vw) = (u * v, u * w, v * w);
        let weights = [u, v, w, uv, uw, vw, uv * w];
        let squares = squares::<FMA>(p);
        let mut d = [Lane::ZERO; 6];
        let mut q = [Lane::ZERO; 8];
        // Every term is loaded once: for D, and for its part of the slope.
        for k in 0..6 {
            let terms = &cache.terms[k];
            let mut sum = terms[0].cast();
            for i in 1..8 {
                let term = terms[i].cast();
                sum = weights[i - 1].mul_add::<FMA>(term, sum);
                q[i] = squares[k].mul_add::<FMA>(term, q[i]);
            }
            d[k] = sum;
        }
        let along_u = q[4].mul_add::<FMA>(v, q[1]);
        let along_u = q[7].mul_add::<FMA>(vw, q[5].mul_add::<FMA>(w, along_u));
        let along_v = q[4].mul_add::<FMA>(u, q[2]);
        let along_v = q[7].mul_add::<FMA>(uw, q[6].mul_add::<FMA>(w, along_v));
        let along_w = q[5].mul_add::<FMA>(u, q[3]);
        let along_w = q[7].mul_add::<FMA>(uv, q[6].mul_add::<FMA>(v, along_w));
        let factor = &cells.slope_factor;
        Slope {
            x: product::<FMA, _>(&d, p),
            p: [
                factor[0] * along_u,
                factor[1] * along_v,
                factor[2] * along_w,
            ],
        }
    }

    #[inline(always)]
    fn point_sample<const FMA: bool>(
        &self,
        cache: &mut Polynomials,
        cells: &Cells<FMA>,
        with_fa: bool,
    ) -> PointSample<FMA> {
        self.enter(cache, cells);
        if with_fa || cache.corners != [ALL_CORNERS; LANES] {
            return self.mixed_point_sample(cache, cells, with_fa);
        }
        PointSample {
            inside: Lane::splat(1.0),
            level: Lane::ZERO,
        }
    }
}

impl Trilinear<'_> {
    #[inline(never)]
    fn mixed_point_sample<const FMA: bool>(
        &self,
        cache: &Polynomials,
        cells: &Cells<FMA>,
        with_fa: bool,
    ) -> PointSample<FMA> {
        let mut sample = PointSample {
            inside: Lane::splat(1.0),
            level: Lane::ZERO,
        };
        for lane in 0..LANES {
            let t = [0, 1, 2].map(|a| cells.t[a].0[lane]);
            let corners = cache.corners[lane];
            let fitted = std::array::from_fn(|i| f32::from(corners >> i & 1));
            sample.inside.0[lane] = mixed(fitted, t);
            if with_fa {
                let r = self.corners(cells.base[lane]);
                sample.level.0[lane] = mixed(r.map(|r| r[FA]), t);
            }
        }
        sample
    }
}

/// Cubic B-splines: twice continuously differentiable.
pub struct Cubic<'a> {
    lattice: Lattice,
    records: &'a [Record],
}

impl<'a> Cubic<'a> {
    pub fn new(metric: &'a RayMetric) -> Self {
        Self {
            lattice: Lattice::from_metric(metric),
            records: &metric.records,
        }
    }
}

/// Derivatives of [`cubic_weights`].
#[inline(always)]
fn cubic_slopes(t: f32) -> [f32; 4] {
    let u = 1.0 - t;
    let (first, last) = (-0.5 * u * u, 0.5 * t * t);
    let second = t * (1.5 * t - 2.0);
    [first, second, -first - second - last, last]
}

/// Value and derivatives along the three axes.
#[inline(always)]
fn expand(records: &[Record], [sy, sz]: [usize; 2], base: usize, t: [f32; 3]) -> [Record; 4] {
    let weights = t.map(cubic_weights);
    let slopes = t.map(cubic_slopes);
    let mut out = [[0.0; 8]; 4];
    for k in 0..4 {
        let mut plane = [[0.0f32; 8]; 3];
        for j in 0..4 {
            let start = base + sy * j + sz * k;
            let row = &records[start..start + 4];
            let (mut along, mut ahead) = ([0.0f32; 8], [0.0f32; 8]);
            for i in 0..4 {
                for c in 0..8 {
                    along[c] += weights[0][i] * row[i][c];
                    ahead[c] += slopes[0][i] * row[i][c];
                }
            }
            for c in 0..8 {
                plane[0][c] += weights[1][j] * along[c];
                plane[1][c] += weights[1][j] * ahead[c];
                plane[2][c] += slopes[1][j] * along[c];
            }
        }
        for c in 0..8 {
            out[0][c] += weights[2][k] * plane[0][c];
            out[1][c] += weights[2][k] * plane[1][c];
            out[2][c] += weights[2][k] * plane[2][c];
            out[3][c] += slopes[2][k] * plane[0][c];
        }
    }
    out
}

/// Records and their derivatives along the three axes at the last sampled position of each ray.
pub struct Expanded {
    base: [u32; LANES],
    t: [Lanes<LANES>; 3],
    parts: [[Lanes<LANES>; 8]; 4],
}

impl Default for Expanded {
    fn default() -> Self {
        Self {
            base: [u32::MAX; LANES],
            t: [Lanes::ZERO; 3],
            parts: [[Lanes::ZERO; 8]; 4],
        }
    }
}

impl Sampler for Cubic<'_> {
    type Cache = Expanded;
    const MARGIN: f32 = 0.0;

    fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    fn cache(&self) -> Expanded {
        Expanded::default()
    }

    #[inline(always)]
    fn slope<const FMA: bool>(
        &self,
        cache: &mut Expanded,
        cells: &Cells<FMA>,
        p: &Vector<FMA>,
    ) -> Slope<FMA> {
        self.expand(cache, cells);
        let [value, along @ ..] = &cache.parts;
        let squares = squares::<FMA>(p);
        let factor = &cells.slope_factor;
        Slope {
            x: product::<FMA, _>(&cast(value), p),
            p: [
                factor[0] * quadratic_form::<FMA, _>(&cast(&along[0]), &squares),
                factor[1] * quadratic_form::<FMA, _>(&cast(&along[1]), &squares),
                factor[2] * quadratic_form::<FMA, _>(&cast(&along[2]), &squares),
            ],
        }
    }

    #[inline(always)]
    fn point_sample<const FMA: bool>(
        &self,
        cache: &mut Expanded,
        cells: &Cells<FMA>,
        _: bool,
    ) -> PointSample<FMA> {
        self.expand(cache, cells);
        PointSample {
            inside: cache.parts[0][INSIDE].cast(),
            level: cache.parts[0][FA].cast(),
        }
    }
}

impl Cubic<'_> {
    #[inline(always)]
    fn expand<const FMA: bool>(&self, cache: &mut Expanded, cells: &Cells<FMA>) {
        let t = cast(&cells.t);
        if cache.base == cells.base && cache.t == t {
            return;
        }
        (cache.base, cache.t) = (cells.base, t);
        let strides = self.lattice.strides.map(|s| s as usize);
        for lane in 0..LANES {
            let t = [0, 1, 2].map(|a| cells.t[a].0[lane]);
            // The margin of one record makes the cell's corner the second of the four.
            let expanded = expand(self.records, strides, cells.base[lane] as usize, t);
            for (part, values) in cache.parts.iter_mut().zip(expanded) {
                for k in 0..8 {
                    part[k].0[lane] = values[k];
                }
            }
        }
    }
}
