//! New values of eight voxels along x.

use super::stencil::{Kind, Stencil};
use crate::compute::lanes::Lanes;

pub const LANES: usize = 8;
type Row<const AVX: bool> = Lanes<LANES, AVX>;

/// Constants of one step.
#[derive(Clone, Debug)]
pub struct LevelSetRules {
    pub dt: f32,
    /// Weight of the curvature, 1 − a.
    pub curvature: f32,
    pub rescaling: f32,
    pub clamp: f32,
    pub paper: bool,
    /// Region speed: clamp(p₀ + p₁ I, ±1) times the third number.
    pub region: [f32; 3],
    pub w: [f32; 6],
    /// Steps in the tile, and weights, of the pairs of neighbours that gradients use.
    pub offsets: Vec<(usize, f32)>,
    /// Pace of redistancing.
    pub pace: f32,
}

impl LevelSetRules {
    pub fn new(stencil: &Stencil, row: usize, plane: usize) -> Self {
        let along = |e: [i32; 3]| {
            let step =
                e[0] as isize + e[1] as isize * row as isize + e[2] as isize * plane as isize;
            // A pair covers both directions.
            step.unsigned_abs()
        };
        Self {
            dt: 0.0,
            curvature: 0.0,
            rescaling: 0.0,
            clamp: stencil.clamp,
            paper: false,
            region: [0.0; 3],
            w: stencil.w,
            offsets: stencil
                .offsets
                .iter()
                .map(|o| (along(o.e), o.rho))
                .collect(),
            pace: (0.9 / stencil.crossing) as f32,
        }
    }
}

/// Kinds of grid that are compiled separately.
pub const ISOTROPIC: u8 = 0;
pub const ORTHOGONAL: u8 = 1;
pub const SHEARED: u8 = 2;

pub fn kind(kind: Kind) -> u8 {
    match kind {
        Kind::Isotropic => ISOTROPIC,
        Kind::Orthogonal => ORTHOGONAL,
        Kind::Sheared => SHEARED,
    }
}

/// Values per voxel beyond a static speed, if a run needs more: g, A (x y z), grey value.
#[derive(Clone, Copy)]
pub struct ExtraTerms<const AVX: bool> {
    pub stop: Row<AVX>,
    pub drift: [Row<AVX>; 3],
    pub value: Row<AVX>,
}

/// Values around eight voxels: from the first of their neighbours to the last.
pub struct Around<'a> {
    window: &'a [f32],
    pub row: usize,
    pub plane: usize,
}

impl<'a> Around<'a> {
    /// `at`: index of the first voxel in the tile. The window's length is a compile-time constant, so that reads need
    /// no bounds checks.
    #[inline(always)]
    pub fn new(tile: &'a [f32], at: usize, row: usize, plane: usize) -> Self {
        let reach = plane + row + 1;
        let window = &tile[at - reach..][..2 * reach + LANES];
        Self { window, row, plane }
    }

    #[inline(always)]
    fn reach(&self) -> usize {
        self.plane + self.row + 1
    }

    /// The values at this offset from the start of the window.
    #[inline(always)]
    fn get<const AVX: bool>(&self, at: usize) -> Row<AVX> {
        Lanes::load(self.window, at)
    }

    #[inline(always)]
    pub fn centre<const AVX: bool>(&self) -> Row<AVX> {
        self.get(self.reach())
    }

    /// The values this many steps before and behind.
    #[inline(always)]
    fn pair<const AVX: bool>(&self, step: usize) -> [Row<AVX>; 2] {
        [self.get(self.reach() - step), self.get(self.reach() + step)]
    }
}

#[inline(always)]
fn absolute<const AVX: bool>(v: Row<AVX>) -> Row<AVX> {
    v.max(-v)
}

/// Squared one-sided gradients, towards larger and towards smaller values, and the extremes of all neighbours used.
struct Upwind<const AVX: bool> {
    up: Row<AVX>,
    down: Row<AVX>,
    highest: Row<AVX>,
    lowest: Row<AVX>,
}

impl<const AVX: bool> Upwind<AVX> {
    #[inline(always)]
    fn new<const FMA: bool>(c: Row<AVX>, pairs: &[([Row<AVX>; 2], f32)]) -> Self {
        let zero = Row::<AVX>::ZERO;
        let (mut up, mut down) = (zero, zero);
        let (mut highest, mut lowest) = (c, c);
        for &([before, behind], rho) in pairs {
            let (high, low) = (before.max(behind), before.min(behind));
            let rise = (high - c).max(zero);
            let fall = (c - low).max(zero);
            if rho == 1.0 {
                up = rise.mul_add::<FMA>(rise, up);
                down = fall.mul_add::<FMA>(fall, down);
            } else {
                let rho = Row::<AVX>::splat(rho);
                up = (rise * rho).mul_add::<FMA>(rise, up);
                down = (fall * rho).mul_add::<FMA>(fall, down);
            }
            highest = highest.max(high);
            lowest = lowest.min(low);
        }
        Self {
            up,
            down,
            highest,
            lowest,
        }
    }

    /// The direction from which distances propagate: the side of the surface.
    #[inline(always)]
    fn inwards(&self, c: Row<AVX>) -> Row<AVX> {
        self.down.where_at_least(c, Row::<AVX>::ZERO, self.up)
    }

    /// The value of the neighbour nearest to the other side, signed by this side: negative next to the surface.
    #[inline(always)]
    fn nearest(&self, c: Row<AVX>) -> Row<AVX> {
        self.lowest
            .where_at_least(c, Row::<AVX>::ZERO, -self.highest)
    }
}

/// Where 4 |∇φ|² is below this (near extrema of φ), κ |∇φ| is replaced by ⅔ Δφ, its mean over all normals; otherwise a
/// single voxel would never vanish.
const FLAT: f32 = 1e-6;

/// Central differences: |∇φ| and κ |∇φ|.
struct Central<const AVX: bool> {
    gradient: Row<AVX>,
    curvature: Row<AVX>,
}

impl<const AVX: bool> Central<AVX> {
    #[inline(always)]
    fn new<const KIND: u8, const FMA: bool>(around: &Around, rules: &LevelSetRules) -> Self {
        let splat = Row::<AVX>::splat;
        let (row, plane) = (around.row, around.plane);
        let c = around.centre::<AVX>();
        let [xm, xp] = around.pair(1);
        let [ym, yp] = around.pair(row);
        let [zm, zp] = around.pair(plane);
        // Four times the mixed derivatives.
        let [mm, pp] = around.pair::<AVX>(row + 1);
        let [mp, pm] = around.pair(row - 1);
        let mut xy = (pp - pm) - (mp - mm);
        let [mm, pp] = around.pair::<AVX>(plane + 1);
        let [mp, pm] = around.pair(plane - 1);
        let mut xz = (pp - pm) - (mp - mm);
        let [mm, pp] = around.pair::<AVX>(plane + row);
        let [mp, pm] = around.pair(plane - row);
        let mut yz = (pp - pm) - (mp - mm);
        let c2 = c + c;
        let (mut xx, mut yy, mut zz) = (xp + xm - c2, yp + ym - c2, zp + zm - c2);
        // Twice the first derivatives.
        let (mut x, mut y, mut z) = (xp - xm, yp - ym, zp - zm);
        let (flat, part) = (splat(FLAT), splat(FLAT * 2.0 / 3.0));
        if KIND == SHEARED {
            let [wxx, wyy, wzz, wxy, wxz, wyz] = rules.w.map(splat);
            let px = wxx * x + wxy * y + wxz * z;
            let py = wxy * x + wyy * y + wyz * z;
            let pz = wxz * x + wyz * y + wzz * z;
            let squared = px * x + py * y + pz * z;
            let half = splat(0.5);
            // 2 H, because mixed terms come in equal pairs.
            let (hxy, hxz, hyz) = (half * xy, half * xz, half * yz);
            let trace = wxx * xx + wyy * yy + wzz * zz + wxy * hxy + wxz * hxz + wyz * hyz;
            let along = px * px * xx
                + py * py * yy
                + pz * pz * zz
                + px * py * hxy
                + px * pz * hxz
                + py * pz * hyz;
            let numerator = trace * squared - along + trace * part;
            return Self {
                gradient: squared.max(Row::<AVX>::ZERO).sqrt() * half,
                curvature: numerator / (squared + flat),
            };
        }
        if KIND == ORTHOGONAL {
            let [wx, wy, wz] = [0, 1, 2].map(|a| splat(rules.w[a]));
            let [sx, sy, sz] = [wx.sqrt(), wy.sqrt(), wz.sqrt()];
            (xx, yy, zz) = (xx * wx, yy * wy, zz * wz);
            (xy, xz, yz) = (xy * (sx * sy), xz * (sx * sz), yz * (sy * sz));
            (x, y, z) = (x * sx, y * sy, z * sz);
        }
        let (x2, y2, z2) = (x * x, y * y, z * z);
        let squared = x2 + y2 + z2;
        let mixed = (x * y).mul_add::<FMA>(xy, (x * z).mul_add::<FMA>(xz, y * z * yz));
        let straight = xx.mul_add::<FMA>(y2 + z2, yy.mul_add::<FMA>(x2 + z2, zz * (x2 + y2)));
        let numerator = mixed.mul_add::<FMA>(splat(-0.5), straight);
        let numerator = (xx + yy + zz).mul_add::<FMA>(part, numerator);
        Self {
            gradient: squared.sqrt() * splat(0.5),
            curvature: numerator / (squared + flat),
        }
    }
}

/// Pairs of neighbours that gradients use.
macro_rules! with_pairs {
    ($kind:ident, $around:expr, $rules:expr, $pairs:ident => $work:expr) => {
        if $kind == SHEARED {
            let mut all = [([Row::<AVX>::ZERO; 2], 0.0); 6];
            for (pair, &(step, rho)) in all.iter_mut().zip(&$rules.offsets) {
                *pair = ($around.pair(step), rho);
            }
            let $pairs = &all[..$rules.offsets.len().min(6)];
            $work
        } else {
            let [wx, wy, wz] = match $kind {
                ISOTROPIC => [1.0; 3],
                _ => [$rules.w[0], $rules.w[1], $rules.w[2]],
            };
            let $pairs = &[
                ($around.pair(1), wx),
                ($around.pair($around.row), wy),
                ($around.pair($around.plane), wz),
            ];
            $work
        }
    };
}

/// The speed of a voxel that was cut away: φ does not rise there. Far from any other speed, like KEPT_OUT in
/// kernels/fronts.cuh.
pub const KEPT_OUT: f32 = -1e30;

/// The speed of a voxel, 0 where it was cut away.
#[inline(always)]
fn zero_where_cut<const AVX: bool>(speed: Row<AVX>) -> Row<AVX> {
    speed.where_at_least(speed, Row::<AVX>::splat(0.5 * KEPT_OUT), Row::<AVX>::ZERO)
}

/// φ after a step, limited to its value before where the voxel was cut away.
#[inline(always)]
fn kept_out<const AVX: bool>(around: &Around, speed: Row<AVX>, next: Row<AVX>) -> Row<AVX> {
    let limited = next.min(around.centre::<AVX>());
    next.where_at_least(speed, Row::<AVX>::splat(0.5 * KEPT_OUT), limited)
}

#[inline(always)]
fn clamped<const AVX: bool>(v: Row<AVX>, clamp: f32) -> Row<AVX> {
    let splat = Row::<AVX>::splat;
    let (top, near) = (splat(clamp), splat(clamp - Stencil::SNAP));
    let v = top.where_at_least(v, near, v);
    (-top).where_at_least(-v, near, v)
}

/// φ after a step of the equation.
#[inline(always)]
pub fn step<const KIND: u8, const EXTRA: bool, const AVX: bool, const FMA: bool>(
    around: &Around,
    rules: &LevelSetRules,
    speed: Row<AVX>,
    extra: Option<&ExtraTerms<AVX>>,
) -> Row<AVX> {
    let next = free_step::<KIND, EXTRA, AVX, FMA>(around, rules, zero_where_cut(speed), extra);
    kept_out(around, speed, next)
}

#[inline(always)]
fn free_step<const KIND: u8, const EXTRA: bool, const AVX: bool, const FMA: bool>(
    around: &Around,
    rules: &LevelSetRules,
    speed: Row<AVX>,
    extra: Option<&ExtraTerms<AVX>>,
) -> Row<AVX> {
    let splat = Row::<AVX>::splat;
    let zero = Row::<AVX>::ZERO;
    let c = around.centre::<AVX>();
    let central = Central::<AVX>::new::<KIND, FMA>(around, rules);
    let upwind = with_pairs!(KIND, around, rules, pairs => Upwind::<AVX>::new::<FMA>(c, pairs));
    let far = upwind.inwards(c).sqrt();
    // No sphere with a radius below a voxel's edge: κ within ±2/h.
    let max_curvature = central.gradient.max(far) * splat(2.0);
    let curvature = central.curvature.min(max_curvature).max(-max_curvature);

    let mut speed = speed;
    let mut weight = splat(rules.curvature);
    let mut drifting = zero;
    if EXTRA && let Some(extra) = extra {
        let [p0, p1, w] = rules.region.map(splat);
        let one = splat(1.0);
        let region = p1.mul_add::<FMA>(extra.value, p0).min(one).max(-one);
        speed = region.mul_add::<FMA>(w, speed) * extra.stop;
        weight = weight * extra.stop;
        // φ_t = A · ∇φ: upwind differences along A.
        for (step, a) in [1, around.row, around.plane].into_iter().zip(extra.drift) {
            let [before, behind] = around.pair::<AVX>(step);
            drifting = drifting + a.max(zero) * (behind - c) + a.min(zero) * (c - before);
        }
    }
    let forwards = upwind.up.where_at_least(speed, zero, upwind.down).sqrt();
    // The rescaling has its own upwind direction, by the sign of φ; next to the surface, where one-sided differences
    // would move it, it blends into central ones.
    let share = (upwind.nearest(c) * splat(2.0)).min(splat(1.0)).max(zero);
    let slope = share.mul_add::<FMA>(far - central.gradient, central.gradient);
    let off = splat(1.0) - slope;
    // Next to the surface, slopes within SLOPES are left unchanged, as in redistancing.
    let spared = splat(1.0 - SLOPES[0]) * (splat(1.0) - share);
    let off = off - off.min(spared).max(-spared);
    let rescaling = splat(rules.rescaling) * c * off;

    let change = speed.mul_add::<FMA>(forwards, weight.mul_add::<FMA>(curvature, rescaling));
    let change = if EXTRA { change + drifting } else { change };
    clamped(change.mul_add::<FMA>(splat(rules.dt), c), rules.clamp)
}

/// Slopes next to the surface that are left unchanged: rescaling each to 1 moves a resting surface a little every
/// time, because first-order distances on its two sides have different errors.
const SLOPES: [f32; 2] = [0.9, 1.1];

/// Brings φ closer to a signed distance without moving the surface. Voxels next to it are scaled where |∇φ| is not
/// within [`SLOPES`] (after Russo and Smereka 2000, eq. 9), the others follow φ_τ = sign φ (1 − |∇φ|) upwind.
#[inline(always)]
pub fn redistance<const KIND: u8, const AVX: bool, const FMA: bool>(
    around: &Around,
    rules: &LevelSetRules,
    first: bool,
) -> Row<AVX> {
    let splat = Row::<AVX>::splat;
    let c = around.centre::<AVX>();
    let upwind = with_pairs!(KIND, around, rules, pairs => Upwind::<AVX>::new::<FMA>(c, pairs));
    let far = upwind.inwards(c).sqrt();
    let pace = splat(rules.pace) * (splat(1.0) - far);
    // 0 counts as positive.
    let moved = c + pace.where_at_least(c, Row::<AVX>::ZERO, -pace);
    let kept = if first {
        let central = Central::<AVX>::new::<KIND, FMA>(around, rules).gradient;
        // Where a thin part lies between two voxels, central differences do not see it.
        let slope = central.max(splat(0.5) * far).max(splat(1e-3));
        c * slope.max(splat(SLOPES[0])).min(splat(SLOPES[1])) / slope
    } else {
        c
    };
    let adjacent = -upwind.nearest(c);
    let next = kept.where_at_least(adjacent, Row::<AVX>::ZERO, moved);
    clamped(next, rules.clamp)
}

/// Lefohn 2004, appendix A: F = a D + (1 − a) H + φ (1 − |∇φ|) with H half the difference of the
/// normals of opposite faces, and the upwind gradient by the sign of F.
#[inline(always)]
pub fn paper<const AVX: bool, const FMA: bool>(
    around: &Around,
    rules: &LevelSetRules,
    speed: Row<AVX>,
) -> Row<AVX> {
    let next = free_paper::<AVX, FMA>(around, rules, zero_where_cut(speed));
    kept_out(around, speed, next)
}

#[inline(always)]
fn free_paper<const AVX: bool, const FMA: bool>(
    around: &Around,
    rules: &LevelSetRules,
    speed: Row<AVX>,
) -> Row<AVX> {
    let splat = Row::<AVX>::splat;
    let zero = Row::<AVX>::ZERO;
    let c = around.centre::<AVX>();
    let steps = [1, around.row, around.plane];
    let half = splat(0.5);
    let middle = around.reach();
    let central = |at: usize, axis: usize| {
        let [before, behind] = [
            around.get::<AVX>(at - steps[axis]),
            around.get(at + steps[axis]),
        ];
        half * (behind - before)
    };
    let mut mean = zero;
    let (mut up, mut down, mut squared) = (zero, zero, zero);
    for axis in 0..3 {
        let [before, behind] = around.pair::<AVX>(steps[axis]);
        let (ahead, back) = (behind - c, c - before);
        let here = central(middle, axis);
        squared = here.mul_add::<FMA>(here, squared);
        let mut normals = [(ahead, middle + steps[axis]), (back, middle - steps[axis])]
            .map(|(along, next)| {
                let mut length = along * along;
                for other in (0..3).filter(|o| *o != axis) {
                    let across = half * (central(middle, other) + central(next, other));
                    length = across.mul_add::<FMA>(across, length);
                }
                along / (length + splat(1e-12)).sqrt()
            })
            .into_iter();
        if let (Some(first), Some(second)) = (normals.next(), normals.next()) {
            mean = mean + (first - second);
        }
        let (rise, fall) = (ahead.max(zero), (-back).max(zero));
        up = rise.mul_add::<FMA>(rise, fall.mul_add::<FMA>(fall, up));
        let (rise, fall) = (ahead.min(zero), (-back).min(zero));
        down = rise.mul_add::<FMA>(rise, fall.mul_add::<FMA>(fall, down));
    }
    let keep = splat(rules.rescaling) * c * (splat(1.0) - squared.sqrt());
    let force = (half * mean).mul_add::<FMA>(splat(rules.curvature), speed) + keep;
    let gradient = up.where_at_least(force, zero, down).sqrt();
    clamped(
        (force * gradient).mul_add::<FMA>(splat(rules.dt), c),
        rules.clamp,
    )
}

/// A bit for each voxel at the upper clamp, and at the lower one.
#[inline(always)]
pub fn beyond<const AVX: bool>(row: Row<AVX>, clamp: f32) -> [u32; 2] {
    let limit = Row::<AVX>::splat(clamp);
    [row.at_least(limit), (-row).at_least(limit)]
}

/// A bit for each voxel inside.
#[inline(always)]
pub fn inside<const AVX: bool>(row: Row<AVX>) -> u32 {
    row.at_least(Row::<AVX>::splat(f32::MIN_POSITIVE))
}

/// A bit for each voxel that is not at the clamp.
#[inline(always)]
pub fn in_band<const AVX: bool>(row: Row<AVX>, clamp: f32) -> u32 {
    !absolute(row).at_least(Row::<AVX>::splat(clamp)) & 0xFF
}
