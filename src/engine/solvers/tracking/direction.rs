//! The principal direction of a tensor, and its anisotropy without eigenvalues.
//!
//! Written for one tensor as straight-line code without branches, so that a loop over lanes compiles to vector code.

/// A tensor whose deviator has a smaller sum of squares, (mm²/s)², counts as isotropic.
pub const ISOTROPIC: f32 = 1e-30;

/// Parts of a tensor that the anisotropy and the direction share.
#[derive(Clone, Copy)]
pub struct Deviator {
    /// Mean diffusivity.
    mean: f32,
    /// xx yy zz minus the mean.
    diagonal: [f32; 3],
    /// Squared Frobenius norm of the deviator.
    spread: f32,
}

/// Splits a tensor, xx xy xz yy yz zz, into mean and deviator.
#[inline(always)]
pub fn deviator([xx, xy, xz, yy, yz, zz]: [f32; 6]) -> Deviator {
    let mean = (xx + yy + zz) * (1.0 / 3.0);
    let [a, b, c] = [xx - mean, yy - mean, zz - mean];
    let off = xy * xy + xz * xz + yz * yz;
    Deviator {
        mean,
        diagonal: [a, b, c],
        spread: (a * a + b * b) + (c * c + 2.0 * off),
    }
}

impl Deviator {
    /// Whether the fractional anisotropy is at least the square root of `squared`; false for NaN.
    ///
    /// FA² = 3/2 |D − mean I|² / |D|² (Basser and Pierpaoli 1996).
    #[inline(always)]
    pub fn fa_at_least(&self, squared: f32) -> bool {
        1.5 * self.spread >= squared * (self.spread + 3.0 * self.mean * self.mean)
    }
}

/// 2 cos(⅔ arccos s) on 0..1, coefficients from s⁰ up: interpolated at the Chebyshev points, with an error below 6e-8
/// because the nearest singularity, s = -1, is distant.
pub const LARGEST_ROOT: [f32; 8] = [
    1.000_000_1,
    1.154_693_8,
    -0.222_077_02,
    0.105_682_82,
    -0.060_470_797,
    0.032_094_56,
    -0.012_178_691,
    0.002_255_272_5,
];

/// Below this share of the largest column's square, a product with the adjugate is mostly rounding error.
pub const ACROSS: f32 = 1e-5;

/// The direction to which a tensor deflects `along` (after Lazar et al. 2003): `weights` are those of the unit
/// vectors e, u and D u, where `principal` is e in the sense of u, which is `along`.
#[inline(always)]
pub fn deflected(d: [f32; 6], principal: [f32; 3], along: [f32; 3], weights: [f32; 3]) -> [f32; 3] {
    let [xx, xy, xz, yy, yz, zz] = d;
    let [x, y, z] = along;
    let turned = [
        xx * x + xy * y + xz * z,
        xy * x + yy * y + yz * z,
        xz * x + yz * y + zz * z,
    ];
    let length = |v: [f32; 3]| ((v[0] * v[0] + v[1] * v[1]) + v[2] * v[2]).sqrt();
    // Outside the mask the tensor is 0: nothing is deflected there. 1e-15 mm²/s is far below the diffusivity of
    // water.
    let turned_by = length(turned);
    let share = if turned_by > 1e-15 {
        weights[2] / turned_by
    } else {
        0.0
    };
    let mut sum = [0.0; 3];
    for k in 0..3 {
        sum[k] = (weights[0] * principal[k] + weights[1] * along[k]) + share * turned[k];
    }
    let whole = length(sum);
    let scale = if whole > 0.0 { 1.0 / whole } else { 0.0 };
    sum.map(|c| c * scale)
}

/// Unit eigenvector of the largest eigenvalue, in the sense of `along` (in any sense if `along` is 0 or
/// perpendicular). For an isotropic tensor it is `along` itself.
///
/// The deviator is scaled so that its eigenvalues are x = 2 cos(..), the roots of x³ − 3x = 2r with r half its
/// determinant (Smith 1961). For the largest root the adjugate of B − xI is (x − x₂)(x − x₃) v vᵀ: its product with
/// `along` is v in the right sense, whatever v's sign, and a second product removes the components of the other
/// eigenvectors that an error of x leaves. The error is below 1e-4 rad where FA ≥ 0.1 and the two largest eigenvalues
/// differ by 5 % of the root mean square deviator.
#[inline(always)]
pub fn principal(d: [f32; 6], parts: &Deviator, along: [f32; 3]) -> [f32; 3] {
    let p = (parts.spread * (1.0 / 6.0)).sqrt();
    let scale = if parts.spread > ISOTROPIC {
        1.0 / p
    } else {
        0.0
    };
    let [a, b, c] = parts.diagonal.map(|v| v * scale);
    let [xy, xz, yz] = [d[1] * scale, d[2] * scale, d[4] * scale];
    let determinant = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz);
    // (1 + r) / 2; its square root is cos(θ/2) where r = cos θ.
    let share = 0.5 + 0.25 * determinant;
    let share = if share > 0.0 { share } else { 0.0 };
    let share = if share < 1.0 { share } else { 1.0 };
    let s = share.sqrt();
    let [k0, k1, k2, k3, k4, k5, k6, k7] = LARGEST_ROOT;
    let s2 = s * s;
    let low = (k0 + k1 * s) + s2 * (k2 + k3 * s);
    let high = (k4 + k5 * s) + s2 * (k6 + k7 * s);
    let x = low + (s2 * s2) * high;

    let [a, b, c] = [a - x, b - x, c - x];
    let xx = b * c - yz * yz;
    let yy = a * c - xz * xz;
    let zz = a * b - xy * xy;
    let m_xy = xz * yz - xy * c;
    let m_xz = xy * yz - xz * b;
    let m_yz = xy * xz - yz * a;
    let times = |[x, y, z]: [f32; 3]| {
        [
            xx * x + m_xy * y + m_xz * z,
            m_xy * x + yy * y + m_yz * z,
            m_xz * x + m_yz * y + zz * z,
        ]
    };
    let dot = |u: [f32; 3], v: [f32; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];

    // Near a right angle the product is mostly rounding error: the largest column is used instead.
    let first = (xx >= yy) & (xx >= zz);
    let second = yy >= zz;
    let pick = |x: f32, y: f32, z: f32| {
        let other = if second { y } else { z };
        if first { x } else { other }
    };
    let column = [
        pick(xx, m_xy, m_xz),
        pick(m_xy, yy, m_yz),
        pick(m_xz, m_yz, zz),
    ];
    let product = times(along);
    let sense = if dot(column, along) < 0.0 { -1.0 } else { 1.0 };
    let across = dot(product, product) < ACROSS * dot(column, column);
    let choose = |column: f32, product: f32| if across { sense * column } else { product };
    let v = times([
        choose(column[0], product[0]),
        choose(column[1], product[1]),
        choose(column[2], product[2]),
    ]);
    let length = 1.0 / dot(v, v).sqrt();
    v.map(|c| c * length)
}
