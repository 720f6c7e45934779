//! Local solvers for eight adjacent voxels of a row: the smallest value that a straight path to a face of a simplex
//! gives, from the values of the neighbours.

use super::{OUTSIDE, UNREACHED};
use crate::compute::Lanes;

type V<const F: bool> = Lanes<8, F>;

/// Voxels per row, side by side.
pub const LANES: usize = 8;
/// Cells of a tile from one row to the next: the row, one cell on either side, and unused ones.
pub const STRIDE: usize = 12;

/// Input of the local solvers for eight voxels; voxels outside the mask have W = G = 1.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Weights {
    /// W and G in voxel axes: xx xy xz yy yz zz.
    pub w: [[f32; LANES]; 6],
    pub g: [[f32; LANES]; 6],
    pub det_w: [f32; LANES],
    /// Lower bound on the cost of a step to the stencil's faces.
    pub min_step: [f32; LANES],
}

/// Values around a brick, x fastest, [`STRIDE`] cells per row.
pub struct Stencil<'a> {
    pub tile: &'a [f32],
    /// Cells from one slice to the next.
    pub slice: usize,
    /// Cell of the first voxel of the row.
    pub cell: usize,
}

impl Stencil<'_> {
    #[inline(always)]
    fn load<const F: bool>(&self, offset: isize) -> V<F> {
        Lanes::load(self.tile, self.cell.wrapping_add_signed(offset))
    }
}

/// Takes `candidate` where all tests are at least 0 and it is below `best`.
#[inline(always)]
fn improve<const F: bool>(best: &mut V<F>, candidate: V<F>, test: V<F>) {
    // NaN fails the test; a NaN candidate loses against the second operand.
    let valid = candidate.where_at_least(test, Lanes::splat(0.0), Lanes::splat(OUTSIDE));
    *best = valid.min(*best);
}

/// The minimum over the edge from the neighbour with value `u` to the one with `u` + `d`: `a` = |e_j − e_i|², `b` =
/// ⟨e_i, e_j − e_i⟩, `s` the square root of their Gram determinant, all in G.
#[inline(always)]
fn edge<const F: bool>(best: &mut V<F>, u: V<F>, d: V<F>, [a, ia, b, s]: [V<F>; 4]) {
    let q = d.neg_mul_add::<F>(d, a).sqrt();
    let ds = d * s;
    let near = Lanes::splat(0.0) - b.mul_add::<F>(q, ds);
    let far = (a + b).mul_add::<F>(q, ds);
    let candidate = s
        .mul_add::<F>(q, Lanes::splat(0.0) - d * b)
        .mul_add::<F>(ia, u);
    improve(best, candidate, near.min(far));
}

/// The part that does not depend on the octant.
pub struct Axes<const F: bool> {
    w: [V<F>; 6],
    g: [V<F>; 6],
    det_w: V<F>,
    det_g: V<F>,
    min_step: V<F>,
    /// 1 / W_aa.
    iw: [V<F>; 3],
    /// |e_a|, 1 / G_aa, and square roots of the Gram determinants of the planes 01, 02, 12.
    norm: [V<F>; 3],
    ig: [V<F>; 3],
    plane: [V<F>; 3],
}

impl<const F: bool> Axes<F> {
    #[inline(always)]
    pub fn new(weights: &Weights) -> Self {
        let w: [V<F>; 6] = lanes(&weights.w);
        let g: [V<F>; 6] = lanes(&weights.g);
        let one = Lanes::splat(1.0);
        let det_w = Lanes(weights.det_w);
        let det_g = one / det_w;
        Self {
            w,
            g,
            det_w,
            det_g,
            min_step: Lanes(weights.min_step),
            iw: [one / w[0], one / w[3], one / w[5]],
            norm: [g[0].sqrt(), g[3].sqrt(), g[5].sqrt()],
            ig: [one / g[0], one / g[3], one / g[5]],
            plane: [
                (det_g * w[5]).sqrt(),
                (det_g * w[3]).sqrt(),
                (det_g * w[0]).sqrt(),
            ],
        }
    }

    /// W and G seen from an octant and from the opposite one, with signs along y and z for + along x.
    #[inline(always)]
    fn folded(&self, sy: f32, sz: f32) -> ([V<F>; 6], [V<F>; 6]) {
        let signs = [Lanes::splat(sy), Lanes::splat(sz), Lanes::splat(sy * sz)];
        (fold(&self.w, signs), fold(&self.g, signs))
    }
}

#[inline(always)]
pub fn lanes<const F: bool>(values: &[[f32; LANES]; 6]) -> [V<F>; 6] {
    let [a, b, c, d, e, f] = *values;
    [Lanes(a), Lanes(b), Lanes(c), Lanes(d), Lanes(e), Lanes(f)]
}

#[inline(always)]
fn fold<const F: bool>(m: &[V<F>; 6], [s01, s02, s12]: [V<F>; 3]) -> [V<F>; 6] {
    [m[0], s01 * m[1], s02 * m[2], m[3], s12 * m[4], m[5]]
}

/// The square root of |G| ⟨e_a − e_b, W (e_a − e_b)⟩.
#[inline(always)]
fn edge_norm<const F: bool>(det_g: V<F>, a: V<F>, b: V<F>, c: V<F>) -> V<F> {
    (det_g * (a + b - c - c)).sqrt()
}

/// A neighbour that shares only an edge or a corner is reached through one of these, which share faces, or not at
/// all.
#[inline(always)]
fn shut<const F: bool>(value: V<F>, through: V<F>) -> V<F> {
    let limit = Lanes::splat(2.0 * UNREACHED);
    Lanes::splat(OUTSIDE).where_at_least(through, limit, value)
}

/// Hopf-Lax on the 26 neighbours of an octant and of the opposite one (6 tetrahedra, 12 edges and 7 corners each).
/// The discriminant of the quadratic is computed from the cofactors of W, so that single precision suffices at any
/// anisotropy.
pub struct HopfLax<const F: bool> {
    min_step: V<F>,
    norm: [V<F>; 7],
    edges: [[V<F>; 4]; 12],
    w: [V<F>; 6],
    iw: [V<F>; 3],
    /// |W| G: 00 01 02 11 12 22, off the diagonal doubled.
    k: [V<F>; 6],
}

impl<const F: bool> HopfLax<F> {
    #[inline(always)]
    pub fn new(axes: &Axes<F>, sy: f32, sz: f32) -> Self {
        let (w, g) = axes.folded(sy, sz);
        let [w00, w01, w02, w11, w12, w22] = w;
        let [g00, g01, g02, g11, g12, g22] = g;
        let two = Lanes::splat(2.0);
        let one = Lanes::splat(1.0);
        let n01 = two.mul_add::<F>(g01, g00 + g11);
        let n02 = two.mul_add::<F>(g02, g00 + g22);
        let n12 = two.mul_add::<F>(g12, g11 + g22);
        let nc = two.mul_add::<F>(g02 + g12, n01 + g22);
        let [m0, m1, m2] = axes.norm;
        let [i0, i1, i2] = axes.ig;
        let [s01, s02, s12] = axes.plane;
        let c01 = edge_norm(axes.det_g, w00, w11, w01);
        let c02 = edge_norm(axes.det_g, w00, w22, w02);
        let c12 = edge_norm(axes.det_g, w11, w22, w12);
        let d = axes.det_w;
        Self {
            min_step: axes.min_step,
            norm: [m0, m1, m2, n01.sqrt(), n02.sqrt(), n12.sqrt(), nc.sqrt()],
            edges: [
                [g11, i1, g01, s01],
                [g00, i0, g01, s01],
                [g22, i2, g02, s02],
                [g00, i0, g02, s02],
                [g22, i2, g12, s12],
                [g11, i1, g12, s12],
                [g22, i2, g02 + g12, c01],
                [g11, i1, g01 + g12, c02],
                [g00, i0, g01 + g02, c12],
                [n01, one / n01, g02 + g12, c01],
                [n02, one / n02, g01 + g12, c02],
                [n12, one / n12, g01 + g02, c12],
            ],
            w,
            iw: axes.iw,
            k: [
                d * g00,
                two * d * g01,
                two * d * g02,
                d * g11,
                two * d * g12,
                d * g22,
            ],
        }
    }

    /// The smallest value from the octant with this sign along x; `steps` are the offsets in cells to its neighbours
    /// along the three axes.
    #[inline(always)]
    pub fn octant(&self, stencil: &Stencil<'_>, [x, y, z]: [isize; 3], mut best: V<F>) -> V<F> {
        let u = [stencil.load(x), stencil.load(y), stencil.load(z)];
        let [d01, d02, d12] = [
            stencil.load(x + y),
            stencil.load(x + z),
            stencil.load(y + z),
        ];
        let c = stencil.load(x + y + z);
        let nearest = (u[0].min(u[1]).min(u[2].min(c))).min(d01.min(d02).min(d12));
        if best.at_least(nearest + self.min_step) == 0 {
            return best;
        }
        let d01 = shut(d01, u[0].min(u[1]));
        let d02 = shut(d02, u[0].min(u[2]));
        let d12 = shut(d12, u[1].min(u[2]));
        let c = shut(c, d01.min(d02).min(d12));
        let values = [u[0], u[1], u[2], d01, d02, d12, c];
        for k in 0..7 {
            best = (values[k] + self.norm[k]).min(best);
        }
        const ENDS: [(usize, usize); 12] = [
            (0, 3),
            (1, 3),
            (0, 4),
            (2, 4),
            (1, 5),
            (2, 5),
            (3, 6),
            (4, 6),
            (5, 6),
            (2, 6),
            (1, 6),
            (0, 6),
        ];
        for k in 0..12 {
            let (i, j) = ENDS[k];
            edge(&mut best, values[i], values[j] - values[i], self.edges[k]);
        }
        let [w00, w01, w02, w11, w12, w22] = self.w;
        let [k00, k01, k02, k11, k12, k22] = self.k;
        let [i0, i1, i2] = self.iw;
        let (q01, q02, q12) = (d01 - c, d02 - c, d12 - c);
        let [a, b, e] = u;
        let t = &mut best;
        tetrahedron(
            t,
            a,
            [a - d01, q01],
            [w00, w01, w02, w11, w12, w22],
            i0,
            [k22, k12, k11],
        );
        tetrahedron(
            t,
            a,
            [a - d02, q02],
            [w00, w02, w01, w22, w12, w11],
            i0,
            [k11, k12, k22],
        );
        tetrahedron(
            t,
            b,
            [b - d01, q01],
            [w11, w01, w12, w00, w02, w22],
            i1,
            [k22, k02, k00],
        );
        tetrahedron(
            t,
            b,
            [b - d12, q12],
            [w11, w12, w01, w22, w02, w00],
            i1,
            [k00, k02, k22],
        );
        tetrahedron(
            t,
            e,
            [e - d02, q02],
            [w22, w02, w12, w00, w01, w11],
            i2,
            [k11, k01, k00],
        );
        tetrahedron(
            t,
            e,
            [e - d12, q12],
            [w22, w12, w02, w11, w01, w00],
            i2,
            [k00, k01, k11],
        );
        best
    }
}

/// W_aa q₁² + 2 q₁ (W_ab q₂ + W_ac q₃) + … = 1 for u = U₁ + q₁, valid where the components of W q decrease from axis
/// a to c and none is negative. `k` holds the cofactors W_cc, twice W_bc, W_bb.
#[inline(always)]
fn tetrahedron<const F: bool>(
    best: &mut V<F>,
    u: V<F>,
    [q2, q3]: [V<F>; 2],
    [waa, wab, wac, wbb, wbc, wcc]: [V<F>; 6],
    ia: V<F>,
    [kcc, kbc, kbb]: [V<F>; 3],
) {
    let mixed = kcc * q2 - kbc * q3;
    let disc = waa - mixed.mul_add::<F>(q2, kbb * q3 * q3);
    let va = disc.sqrt();
    let b = wab.mul_add::<F>(q2, wac * q3);
    let q1 = (va - b) * ia;
    let vb = wab.mul_add::<F>(q1, wbb.mul_add::<F>(q2, wbc * q3));
    let vc = wac.mul_add::<F>(q1, wbc.mul_add::<F>(q2, wcc * q3));
    improve(best, u + q1, (va - vb).min(vb - vc).min(vc));
}

/// The upwind scheme of Jeong et al. 2007 on 6 neighbours, as a Hopf-Lax update on the octahedron's faces: an octant
/// and the opposite one.
pub struct Godunov<const F: bool> {
    min_step: V<F>,
    norm: [V<F>; 3],
    edges: [[V<F>; 4]; 3],
    w: [V<F>; 6],
    rows: [V<F>; 3],
    a: V<F>,
    ia: V<F>,
    /// |W| times the Gram matrix of e₁ − e₀ and e₂ − e₀: 22, twice 12, 11.
    k: [V<F>; 3],
}

impl<const F: bool> Godunov<F> {
    #[inline(always)]
    pub fn new(axes: &Axes<F>, sy: f32, sz: f32) -> Self {
        let (w, g) = axes.folded(sy, sz);
        let [w00, w01, w02, w11, w12, w22] = w;
        let [g00, g01, g02, g11, g12, g22] = g;
        let two = Lanes::splat(2.0);
        let one = Lanes::splat(1.0);
        let n01 = g00 + g11 - two * g01;
        let n02 = g00 + g22 - two * g02;
        let n12 = g11 + g22 - two * g12;
        let [s01, s02, s12] = axes.plane;
        let rows = [w00 + w01 + w02, w01 + w11 + w12, w02 + w12 + w22];
        let a = rows[0] + rows[1] + rows[2];
        let d = axes.det_w;
        Self {
            min_step: axes.min_step,
            norm: axes.norm,
            edges: [
                [n01, one / n01, g01 - g00, s01],
                [n02, one / n02, g02 - g00, s02],
                [n12, one / n12, g12 - g11, s12],
            ],
            w,
            rows,
            a,
            ia: one / a,
            k: [d * n02, two * d * (g00 + g12 - g01 - g02), d * n01],
        }
    }

    /// The smallest value from the octant with this sign along x, as in [`HopfLax::octant`].
    #[inline(always)]
    pub fn octant(&self, stencil: &Stencil<'_>, [x, y, z]: [isize; 3], mut best: V<F>) -> V<F> {
        let [u0, u1, u2] = [stencil.load(x), stencil.load(y), stencil.load(z)];
        let [m0, m1, m2] = self.norm;
        if best.at_least(u0.min(u1).min(u2) + self.min_step) == 0 {
            return best;
        }
        best = (u0 + m0).min(best);
        best = (u1 + m1).min(best);
        best = (u2 + m2).min(best);
        edge(&mut best, u0, u1 - u0, self.edges[0]);
        edge(&mut best, u0, u2 - u0, self.edges[1]);
        edge(&mut best, u1, u2 - u1, self.edges[2]);
        let (d1, d2) = (u0 - u1, u0 - u2);
        let [k22, k12, k11] = self.k;
        let mixed = k22 * d1 - k12 * d2;
        let disc = self.a - mixed.mul_add::<F>(d1, k11 * d2 * d2);
        let [r0, r1, r2] = self.rows;
        let q = (disc.sqrt() - r1.mul_add::<F>(d1, r2 * d2)) * self.ia;
        let [_, w01, w02, w11, w12, w22] = self.w;
        let v0 = r0.mul_add::<F>(q, w01.mul_add::<F>(d1, w02 * d2));
        let v1 = r1.mul_add::<F>(q, w11.mul_add::<F>(d1, w12 * d2));
        let v2 = r2.mul_add::<F>(q, w12.mul_add::<F>(d1, w22 * d2));
        improve(&mut best, u0 + q, v0.min(v1).min(v2));
        best
    }
}

/// Selling's scheme: Σ ρᵢ max(0, u − vᵢ)² = 1 with vᵢ the lower of the two values at ±eᵢ, by Newton's method from
/// above, which stays above because the left side is convex.
#[inline(always)]
pub fn selling<const F: bool>(values: [V<F>; 6], rho: [V<F>; 6], best: V<F>) -> V<F> {
    // Quadratic convergence from a start at most √6 times too large.
    const MAX_STEPS: usize = 8;
    let zero = Lanes::splat(0.0);
    let far = Lanes::splat(UNREACHED);
    let one = Lanes::splat(1.0);
    let mut low = far;
    let mut used = values;
    for k in 0..6 {
        // A term without weight must not be the lowest.
        used[k] = values[k].where_at_least(rho[k], Lanes::splat(f32::MIN_POSITIVE), far);
        low = used[k].min(low);
    }
    if best.at_least(low) == 0 {
        return best;
    }
    let mut t = far;
    for k in 0..6 {
        used[k] = used[k] - low;
        let alone = used[k] + one / rho[k].sqrt();
        t = alone.min(t);
    }
    for _ in 0..MAX_STEPS {
        let (mut slope, mut sum) = (zero, zero);
        for k in 0..6 {
            let d = (t - used[k]).max(zero);
            let part = rho[k] * d;
            slope = slope + part;
            sum = part.mul_add::<F>(d, sum);
        }
        let next = t - (sum - one) * Lanes::splat(0.5) / slope;
        // Lanes without a finite value give NaN, which leaves them unchanged.
        let less = next.min(t);
        if (less * Lanes::splat(1.000_000_2)).at_least(t) == 0xFF {
            break;
        }
        t = less;
    }
    (low + t).min(best)
}
