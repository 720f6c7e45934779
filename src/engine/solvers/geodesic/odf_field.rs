//! The rates of change of eight rays in fibre orientation distributions, one ray per lane.
//!
//! The lobe of each ray is continued from its last direction: Newton's method on ln w(x, u) + ln(p · u), whose second
//! derivatives on the sphere are a (f″/F − f′f′ᵀ/F²) − 1 − qqᵀ, with F = δ + f / f_ref and q the part of p / (p · u)
//! across u. Where they are not negative definite, the step follows the gradient.

use super::field::{Cells, Lane, Lattice, PointSample, Sampler, Slope, Vector, cast, mixed};
use super::odf_metric::OdfMetric;
use crate::compute::Lanes;
use crate::compute::simd::{self, Kernel};
use crate::data::spherical_harmonics::EvenRecurrence;
use crate::solvers::curves::half_queue::LANES;
use crate::solvers::curves::{Integrator, StopReason};
use glam::DMat3;

/// Longest step of a search for the lobe, rad.
const MAX_TURN: f32 = 0.087;

/// Samples the speed along lobes of linearly interpolated distributions.
pub struct LobeSampler<'a> {
    lattice: Lattice,
    metric: &'a OdfMetric,
    table: EvenRecurrence,
    /// Newton steps per slope.
    newton: u32,
    per_reference: f32,
    floor: f32,
    exponent: f32,
    /// Rows of the matrix from world to voxel vectors.
    to_voxel: [[f32; 3]; 3],
    /// Rows of the matrix from vectors in the axes of `HalfRayRules::root` to world vectors.
    world_from_root: [[f32; 3]; 3],
}

/// Rows in single precision.
pub fn rows3(matrix: DMat3) -> [[f32; 3]; 3] {
    [0, 1, 2].map(|row| matrix.row(row).as_vec3().to_array())
}

impl<'a> LobeSampler<'a> {
    pub fn new(metric: &'a OdfMetric, integrator: Integrator) -> Self {
        let grid = metric.grid();
        let world_from_voxel = grid.world_from_voxel.matrix3;
        let root = super::half_ray::root(world_from_voxel);
        Self {
            lattice: Lattice::new(metric.records.shape, grid.shape, metric.strides()),
            metric,
            table: EvenRecurrence::new(metric.records.order),
            newton: newton_steps(integrator),
            per_reference: (1.0 / metric.reference) as f32,
            floor: metric.speed.floor as f32,
            exponent: metric.speed.exponent as f32,
            to_voxel: rows3(grid.voxel_from_world.matrix3),
            world_from_root: rows3(world_from_voxel * root.inverse()),
        }
    }

    #[inline(always)]
    fn enter<const FMA: bool>(&self, cache: &mut LobeCache, cells: &Cells<FMA>) {
        if cache.base != cells.base {
            self.load(cache, &cells.base);
        }
    }

    /// The numbers of the records at a cell's corners.
    #[inline(always)]
    fn corners(&self, base: u32) -> [u32; 8] {
        let [sy, sz] = self.metric.strides();
        let base = base as usize;
        let records = &self.metric.records.record_of;
        [
            records[base],
            records[base + 1],
            records[base + sy],
            records[base + sy + 1],
            records[base + sz],
            records[base + sz + 1],
            records[base + sz + sy],
            records[base + sz + sy + 1],
        ]
    }

    #[inline(never)]
    fn load(&self, cache: &mut LobeCache, base: &[u32; LANES]) {
        let records = &self.metric.records;
        for lane in 0..LANES {
            if cache.base[lane] == base[lane] {
                continue;
            }
            cache.base[lane] = base[lane];
            let numbers = self.corners(base[lane]);
            cache.fitted[lane] = 0;
            for (corner, number) in numbers.iter().enumerate() {
                let is_fitted = *number > 0 && *number <= records.fitted;
                cache.fitted[lane] |= u8::from(is_fitted) << corner;
            }
            let corners = numbers.map(|number| records.record(number));
            for (block, terms) in cache.terms.chunks_mut(LANES).enumerate() {
                let c = corners.map(|record| Lanes::<LANES>::load(record, LANES * block));
                let (u, v, w) = (c[1] - c[0], c[2] - c[0], c[4] - c[0]);
                let (u_v, u_w, u_vw) = (c[3] - c[2], c[5] - c[4], c[7] - c[6]);
                let (uv, uw) = (u_v - u, u_w - u);
                let vw = (c[6] - c[4]) - v;
                let uvw = (u_vw - u_w) - uv;
                let values = [c[0], u, v, w, uv, uw, vw, uvw];
                for (k, term) in terms.iter_mut().enumerate() {
                    for (to, from) in term.iter_mut().zip(&values) {
                        to.0[lane] = from.0[k];
                    }
                }
            }
        }
    }
}

/// Newton steps per slope: the last direction is off by the turn of a step, and each Newton step squares the error. The
/// first slope of the midpoint rule uses the last direction.
pub fn newton_steps(integrator: Integrator) -> u32 {
    match integrator {
        Integrator::Euler | Integrator::Rk2 => 1,
        Integrator::Rk4 => 2,
    }
}

/// The cells and lobes of a group of rays.
pub struct LobeCache {
    base: [u32; LANES],
    /// By coefficient: polynomials of the position in the cell, 1, u, v, w, uv, uw, vw, uvw.
    terms: Vec<[Lanes<LANES>; 8]>,
    /// Corners with a distribution, one bit each.
    fitted: [u8; LANES],
    /// Coefficients at the last point.
    coefficients: Vec<Lanes<LANES>>,
    /// The last direction of each lobe, a world vector of length 1, and its amplitude.
    direction: [Lanes<LANES>; 3],
    amplitude: Lanes<LANES>,
}

const ALL_CORNERS: u8 = 0xFF;

#[inline(always)]
fn dot<const FMA: bool>(a: &Vector<FMA>, b: &Vector<FMA>) -> Lane<FMA> {
    a[2].mul_add::<FMA>(b[2], a[1].mul_add::<FMA>(b[1], a[0] * b[0]))
}

#[inline(always)]
fn sum3<const FMA: bool>(
    (x, a): (Lane<FMA>, &Vector<FMA>),
    (y, b): (Lane<FMA>, &Vector<FMA>),
    (z, c): (Lane<FMA>, &Vector<FMA>),
) -> Vector<FMA> {
    [0, 1, 2].map(|k| z.mul_add::<FMA>(c[k], y.mul_add::<FMA>(b[k], x * a[k])))
}

/// A series at directions: value, gradient, second derivatives xx, xy, xz, yz, zz (yy = −xx) of its polynomial.
struct Local<const FMA: bool> {
    value: Lane<FMA>,
    gradient: Vector<FMA>,
    second: [Lane<FMA>; 5],
}

/// Value, gradient and second derivatives of series, one per lane, at unit vectors.
#[inline(always)]
fn local<const FMA: bool>(
    table: &EvenRecurrence,
    c: &[Lanes<LANES>],
    [x, y, z]: &Vector<FMA>,
) -> Local<FMA> {
    let square = *z * *z;
    let mut out = Local {
        value: Lane::ZERO,
        gradient: [Lane::ZERO; 3],
        second: [Lane::ZERO; 5],
    };
    // Powers m, m − 1 and m − 2 of x + iy.
    let one = Lane::<FMA>::splat(1.0);
    let (mut this, mut below, mut last) = (
        (one, Lane::ZERO),
        (Lane::ZERO, Lane::ZERO),
        (Lane::ZERO, Lane::ZERO),
    );
    for (m, (start, steps)) in table.rows.iter().enumerate() {
        let start = Lane::<FMA>::splat(*start);
        let mut q = match m % 2 {
            0 => [start, Lane::ZERO, Lane::ZERO],
            _ => [start * *z, start, Lane::ZERO],
        };
        let mut before = [Lane::ZERO; 3];
        let (mut a, mut b) = ([Lane::ZERO; 3], [Lane::ZERO; 3]);
        for step in steps {
            let plus: Lane<FMA> = c[step.plus].cast();
            for k in 0..3 {
                a[k] = plus.mul_add::<FMA>(q[k], a[k]);
            }
            if m > 0 {
                let minus: Lane<FMA> = c[step.minus].cast();
                for k in 0..3 {
                    b[k] = minus.mul_add::<FMA>(q[k], b[k]);
                }
            }
            let factor =
                Lane::splat(step.by_square).mul_add::<FMA>(square, Lane::splat(step.constant));
            let twice = Lane::splat(2.0 * step.by_square);
            let by_z = twice * *z;
            let by = Lane::splat(step.before);
            let next = [
                before[0].mul_add::<FMA>(by, factor * q[0]),
                before[1].mul_add::<FMA>(by, factor.mul_add::<FMA>(q[1], by_z * q[0])),
                before[2].mul_add::<FMA>(
                    by,
                    factor.mul_add::<FMA>(q[2], (by_z + by_z).mul_add::<FMA>(q[1], twice * q[0])),
                ),
            ];
            (before, q) = (q, next);
        }
        let (re, im) = this;
        out.value = b[0].mul_add::<FMA>(im, a[0].mul_add::<FMA>(re, out.value));
        out.gradient[2] = b[1].mul_add::<FMA>(im, a[1].mul_add::<FMA>(re, out.gradient[2]));
        out.second[4] = b[2].mul_add::<FMA>(im, a[2].mul_add::<FMA>(re, out.second[4]));
        if m > 0 {
            let degree = Lane::<FMA>::splat(m as f32);
            let along = |p: [Lane<FMA>; 3],
                         q: [Lane<FMA>; 3],
                         k: usize,
                         (re, im): (Lane<FMA>, Lane<FMA>)| {
                let by_x = q[k].mul_add::<FMA>(im, p[k] * re);
                let by_y = q[k].mul_add::<FMA>(re, -(p[k] * im));
                (by_x, by_y)
            };
            let (by_x, by_y) = along(a, b, 0, below);
            out.gradient[0] = degree.mul_add::<FMA>(by_x, out.gradient[0]);
            out.gradient[1] = degree.mul_add::<FMA>(by_y, out.gradient[1]);
            let (by_xz, by_yz) = along(a, b, 1, below);
            out.second[2] = degree.mul_add::<FMA>(by_xz, out.second[2]);
            out.second[3] = degree.mul_add::<FMA>(by_yz, out.second[3]);
            if m > 1 {
                let twice = Lane::<FMA>::splat((m * (m - 1)) as f32);
                let (by_xx, by_xy) = along(a, b, 0, last);
                out.second[0] = twice.mul_add::<FMA>(by_xx, out.second[0]);
                out.second[1] = twice.mul_add::<FMA>(by_xy, out.second[1]);
            }
        }
        (last, below) = (below, this);
        this = (
            re.mul_add::<FMA>(*x, -(im * *y)),
            re.mul_add::<FMA>(*y, im * *x),
        );
    }
    out
}

/// Two unit vectors across a unit vector (Duff et al. 2017).
#[inline(always)]
fn across<const FMA: bool>([x, y, z]: &Vector<FMA>) -> [Vector<FMA>; 2] {
    let one = Lane::<FMA>::splat(1.0);
    let sign = one.where_at_least(*z, Lane::ZERO, -one);
    let a = -one / (sign + *z);
    let b = *x * *y * a;
    let (ax, ay) = (*x * a, *y * a);
    [
        [one + sign * (*x * ax), sign * b, -(sign * *x)],
        [b, sign + *y * ay, -*y],
    ]
}

impl LobeSampler<'_> {
    /// A direction nearer to the maximum of w (p · u).
    #[inline(always)]
    fn uphill<const FMA: bool>(
        &self,
        coefficients: &[Lanes<LANES>],
        n: &Vector<FMA>,
        p: &Vector<FMA>,
    ) -> Vector<FMA> {
        let at = local::<FMA>(&self.table, coefficients, n);
        let [e, g] = across::<FMA>(n);
        let [xx, xy, xz, yz, zz] = at.second;
        let second = |v: &Vector<FMA>| -> Vector<FMA> {
            [
                dot::<FMA>(&[xx, xy, xz], v),
                dot::<FMA>(&[xy, -xx, yz], v),
                dot::<FMA>(&[xz, yz, zz], v),
            ]
        };
        let (to_e, to_g) = (second(&e), second(&g));
        // A geodesic bends towards −u, which contributes the radial derivative.
        let radial = dot::<FMA>(&at.gradient, n);
        let (one, zero) = (Lane::<FMA>::splat(1.0), Lane::<FMA>::ZERO);
        let per_reference = Lane::splat(self.per_reference);
        let speed = (at.value * per_reference).max(zero) + Lane::splat(self.floor);
        let share = (per_reference / speed).where_at_least(at.value, zero, zero);
        let by_p = one / dot::<FMA>(p, n);
        // ln F and ln(p · u) along the two axes: first and second derivatives.
        let (f_e, f_g) = (
            share * dot::<FMA>(&at.gradient, &e),
            share * dot::<FMA>(&at.gradient, &g),
        );
        let (q_e, q_g) = (by_p * dot::<FMA>(p, &e), by_p * dot::<FMA>(p, &g));
        let a = Lane::splat(self.exponent);
        let (s, t) = (a.mul_add::<FMA>(f_e, q_e), a.mul_add::<FMA>(f_g, q_g));
        let curved = |value: Lane<FMA>, f: Lane<FMA>, q: Lane<FMA>| {
            a.mul_add::<FMA>(share.mul_add::<FMA>(value, -f), -q)
        };
        let ee = curved(dot::<FMA>(&e, &to_e) - radial, f_e * f_e, q_e * q_e) - one;
        let eg = curved(dot::<FMA>(&e, &to_g), f_e * f_g, q_e * q_g);
        let gg = curved(dot::<FMA>(&g, &to_g) - radial, f_g * f_g, q_g * q_g) - one;
        let determinant = ee.mul_add::<FMA>(gg, -(eg * eg));
        let tiny = Lane::splat(f32::MIN_POSITIVE);
        let by = one / determinant;
        let newton = [
            by * eg.mul_add::<FMA>(t, -(gg * s)),
            by * eg.mul_add::<FMA>(s, -(ee * t)),
        ];
        // Where the second derivatives indicate no maximum: the longest step along the gradient.
        let steep = Lane::splat(MAX_TURN) / s.mul_add::<FMA>(s, t * t).max(tiny).sqrt();
        let definite = (-ee).min(determinant);
        let mut turn = [
            newton[0].where_at_least(definite, tiny, steep * s),
            newton[1].where_at_least(definite, tiny, steep * t),
        ];
        let length = turn[0]
            .mul_add::<FMA>(turn[0], turn[1] * turn[1])
            .max(tiny)
            .sqrt();
        let limit = (Lane::splat(MAX_TURN) / length).min(one);
        turn = [turn[0] * limit, turn[1] * limit];
        let next = sum3::<FMA>((one, n), (turn[0], &e), (turn[1], &g));
        let by = one / dot::<FMA>(&next, &next).sqrt();
        next.map(|c| c * by)
    }

    /// The slope after this number of Newton steps.
    #[inline(always)]
    fn slope_after<const FMA: bool>(
        &self,
        newton: u32,
        cache: &mut LobeCache,
        cells: &Cells<FMA>,
        p: &Vector<FMA>,
    ) -> Slope<FMA> {
        self.enter(cache, cells);
        let [x, p] = self.dispatched(SlopeKernel {
            lobes: self,
            newton,
            cache,
            t: cast(&cells.t),
            slope_factor: cast(&cells.slope_factor),
            p: cast(p),
        });
        Slope {
            x: cast(&x),
            p: cast(&p),
        }
    }

    #[inline(never)]
    fn dispatched(&self, kernel: SlopeKernel) -> [[Lanes<LANES>; 3]; 2] {
        simd::dispatch(kernel)
    }

    /// A covector of voxel axes in world axes, or with `transposed = false` a world vector in voxel axes.
    #[inline(always)]
    fn turned<const FMA: bool>(&self, v: &Vector<FMA>, transposed: bool) -> Vector<FMA> {
        let m = &self.to_voxel;
        [0, 1, 2].map(|i| {
            let row = [0, 1, 2].map(|k| Lane::splat(if transposed { m[k][i] } else { m[i][k] }));
            dot::<FMA>(&row, v)
        })
    }
}

/// The cell's eight terms of the series at directions.
#[inline(always)]
fn terms_at<const FMA: bool>(
    table: &EvenRecurrence,
    terms: &[[Lanes<LANES>; 8]],
    [x, y, z]: &Vector<FMA>,
) -> [Lane<FMA>; 8] {
    let square = *z * *z;
    let mut out = [Lane::ZERO; 8];
    let (mut re, mut im) = (Lane::<FMA>::splat(1.0), Lane::ZERO);
    for (m, (start, steps)) in table.rows.iter().enumerate() {
        let mut q = Lane::splat(*start);
        if m % 2 == 1 {
            q = q * *z;
        }
        let mut before = Lane::ZERO;
        for step in steps {
            let value = q * re;
            for (out, term) in out.iter_mut().zip(&terms[step.plus]) {
                *out = value.mul_add::<FMA>(term.cast(), *out);
            }
            if m > 0 {
                let value = q * im;
                for (out, term) in out.iter_mut().zip(&terms[step.minus]) {
                    *out = value.mul_add::<FMA>(term.cast(), *out);
                }
            }
            let factor =
                Lane::splat(step.by_square).mul_add::<FMA>(square, Lane::splat(step.constant));
            let next = before.mul_add::<FMA>(Lane::splat(step.before), factor * q);
            (before, q) = (q, next);
        }
        (re, im) = (
            re.mul_add::<FMA>(*x, -(im * *y)),
            re.mul_add::<FMA>(*y, im * *x),
        );
    }
    out
}

/// One evaluation, compiled once: integrators call it in several places.
struct SlopeKernel<'a, 'b> {
    lobes: &'a LobeSampler<'b>,
    newton: u32,
    cache: &'a mut LobeCache,
    t: [Lanes<LANES>; 3],
    slope_factor: [Lanes<LANES>; 3],
    p: [Lanes<LANES>; 3],
}

impl Kernel for SlopeKernel<'_, '_> {
    type Output = [[Lanes<LANES>; 3]; 2];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        let Self { lobes, cache, .. } = self;
        let [u, v, w]: Vector<FMA> = cast(&self.t);
        let (uv, uw, vw) = (u * v, u * w, v * w);
        let weights = [u, v, w, uv, uw, vw, uv * w];
        if self.newton > 0 {
            for (c, terms) in cache.coefficients.iter_mut().zip(&cache.terms) {
                let mut sum = terms[0].cast();
                for i in 1..8 {
                    sum = weights[i - 1].mul_add::<FMA>(terms[i].cast(), sum);
                }
                *c = sum.cast();
            }
        }
        let in_world = lobes.turned::<FMA>(&cast(&self.p), true);
        let mut n: Vector<FMA> = cast(&cache.direction);
        for _ in 0..self.newton {
            n = lobes.uphill::<FMA>(&cache.coefficients, &n, &in_world);
        }
        cache.direction = cast(&n);
        let q = terms_at::<FMA>(&lobes.table, &cache.terms, &n);
        let mut f = q[0];
        for i in 1..8 {
            f = weights[i - 1].mul_add::<FMA>(q[i], f);
        }
        cache.amplitude = f.cast();
        let along_u = q[4].mul_add::<FMA>(v, q[1]);
        let along_u = q[7].mul_add::<FMA>(vw, q[5].mul_add::<FMA>(w, along_u));
        let along_v = q[4].mul_add::<FMA>(u, q[2]);
        let along_v = q[7].mul_add::<FMA>(uw, q[6].mul_add::<FMA>(w, along_v));
        let along_w = q[5].mul_add::<FMA>(u, q[3]);
        let along_w = q[7].mul_add::<FMA>(uv, q[6].mul_add::<FMA>(v, along_w));
        let zero = Lane::<FMA>::ZERO;
        let per_reference = Lane::splat(lobes.per_reference);
        let base = (f * per_reference).max(zero) + Lane::splat(lobes.floor);
        let exponent = Lane::splat(lobes.exponent);
        let speed = (exponent * base.ln::<FMA>()).exp::<FMA>();
        let by_amplitude = (exponent * per_reference * speed / base).where_at_least(f, zero, zero);
        let ahead = dot::<FMA>(&in_world, &n);
        let h = speed * ahead;
        // Where p points backwards, p · x′ is negative, which ends the ray.
        let length = h.max(-h) * speed;
        let velocity = n.map(|c| c * length);
        // `slope_factor` is −½ or 0.
        let by = h * ahead * by_amplitude;
        let by = by + by;
        let factor: Vector<FMA> = cast(&self.slope_factor);
        let x = lobes.turned::<FMA>(&velocity, false);
        let p = [
            by * factor[0] * along_u,
            by * factor[1] * along_v,
            by * factor[2] * along_w,
        ];
        [cast(&x), cast(&p)]
    }
}

impl Sampler for LobeSampler<'_> {
    type Cache = LobeCache;
    const MARGIN: f32 = 1.0 / 16.0;
    const TOO_LOW: StopReason = StopReason::LowAmplitude;

    fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    fn cache(&self) -> LobeCache {
        let records = &self.metric.records;
        LobeCache {
            base: [u32::MAX; LANES],
            terms: vec![[Lanes::ZERO; 8]; records.stride],
            fitted: [0; LANES],
            coefficients: vec![Lanes::ZERO; records.stride],
            direction: [Lanes::splat(0.0), Lanes::splat(0.0), Lanes::splat(1.0)],
            amplitude: Lanes::ZERO,
        }
    }

    fn begin(&self, cache: &mut LobeCache, lane: usize, direction: [f32; 3]) {
        for (axis, row) in cache.direction.iter_mut().zip(&self.world_from_root) {
            axis.0[lane] = (0..3).map(|k| row[k] * direction[k]).sum();
        }
    }

    #[inline(always)]
    fn slope<const FMA: bool>(
        &self,
        cache: &mut LobeCache,
        cells: &Cells<FMA>,
        p: &Vector<FMA>,
    ) -> Slope<FMA> {
        self.slope_after::<FMA>(self.newton, cache, cells, p)
    }

    /// With the last direction of the lobe.
    #[inline(always)]
    fn rough_slope<const FMA: bool>(
        &self,
        cache: &mut LobeCache,
        cells: &Cells<FMA>,
        p: &Vector<FMA>,
    ) -> Slope<FMA> {
        self.slope_after::<FMA>(0, cache, cells, p)
    }

    #[inline(always)]
    fn point_sample<const FMA: bool>(
        &self,
        cache: &mut LobeCache,
        cells: &Cells<FMA>,
        _: bool,
    ) -> PointSample<FMA> {
        self.enter(cache, cells);
        let mut inside = Lane::splat(1.0);
        if cache.fitted != [ALL_CORNERS; LANES] {
            for lane in 0..LANES {
                let t = [0, 1, 2].map(|a| cells.t[a].0[lane]);
                let corners = cache.fitted[lane];
                inside.0[lane] = mixed(std::array::from_fn(|i| f32::from(corners >> i & 1)), t);
            }
        }
        PointSample {
            inside,
            // The amplitude of the lobe that this step follows.
            level: cache.amplitude.cast(),
        }
    }
}
