//! Real even spherical harmonics up to degree 12, and the zonal coefficients of an axially symmetric response.
//!
//! Y_lm = Q_lm(z) Re or Im (x + iy)^m, with Q_lm the normalised associated Legendre function over sin^m. Only even
//! degrees are needed, so the recurrence advances by two degrees: from z Q_l = α_l+1 Q_l+1 + α_l Q_l−1 with α_l² =
//! (l² − m²) / (4 l² − 1) follows Q_l+2 = ((z² − α_l+1² − α_l²) Q_l − α_l α_l−1 Q_l−2) / (α_l+1 α_l+2). The 91
//! functions are ordered by m, then by l, cosine before sine.

use std::f64::consts::{PI, SQRT_2};
use std::sync::OnceLock;

/// Highest degree.
pub const LMAX: usize = 12;
/// Even degrees.
pub const DEGREES: usize = LMAX / 2 + 1;
/// Number of functions of even degree.
pub const COUNT: usize = (LMAX + 1) * (LMAX + 2) / 2;
/// Number of pairs of m and even l.
pub const PAIRS: usize = 49;

/// The recurrence that gives one Q_lm from those two and four degrees lower.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    /// Order m shared by the two functions.
    pub m: usize,
    /// l / 2.
    pub half: usize,
    /// Q_l = (by_square z² + constant) Q_l−2 + before Q_l−4; for the first pair of each m, `constant` alone, times z
    /// if m is odd.
    pub by_square: f32,
    /// Constant term of the recurrence.
    pub constant: f32,
    /// Factor of Q_l−4.
    pub before: f32,
    /// Whether this is the first pair of its m, which starts the recurrence.
    pub first: bool,
}

/// All pairs, by m, then by l.
pub fn pairs() -> &'static [Pair; PAIRS] {
    static ALL: OnceLock<[Pair; PAIRS]> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = [Pair::default(); PAIRS];
        let mut next = 0;
        for m in 0..=LMAX {
            let start = m + m % 2;
            for l in (start..=LMAX).step_by(2) {
                let alpha = |l: usize| {
                    let (l, m) = (l as f64, m as f64);
                    ((l * l - m * m).max(0.0) / (4.0 * l * l - 1.0)).sqrt()
                };
                all[next] = if l == start {
                    let odd = if m % 2 == 1 { 1.0 / alpha(m + 1) } else { 1.0 };
                    Pair {
                        m,
                        half: l / 2,
                        constant: (sectoral(m) * odd) as f32,
                        first: true,
                        ..Pair::default()
                    }
                } else {
                    let scale = 1.0 / (alpha(l - 1) * alpha(l));
                    let below = if l >= start + 4 {
                        alpha(l - 2) * alpha(l - 3)
                    } else {
                        0.0
                    };
                    Pair {
                        m,
                        half: l / 2,
                        by_square: scale as f32,
                        constant: (-scale * (alpha(l - 1).powi(2) + alpha(l - 2).powi(2))) as f32,
                        before: (-scale * below) as f32,
                        first: false,
                    }
                };
                next += 1;
            }
        }
        all
    })
}

/// Q_mm, including the factor √2 of the real functions with m > 0.
fn sectoral(m: usize) -> f64 {
    let mut square = 1.0 / (4.0 * PI);
    for i in 1..=m {
        square *= (2 * i + 1) as f64 / (2 * i) as f64;
    }
    square.sqrt() * if m > 0 { SQRT_2 } else { 1.0 }
}

/// The degree l of each function, in their order.
pub fn degrees() -> [usize; COUNT] {
    let mut out = [0; COUNT];
    let mut next = 0;
    for pair in pairs() {
        for _ in 0..if pair.m == 0 { 1 } else { 2 } {
            out[next] = 2 * pair.half;
            next += 1;
        }
    }
    out
}

/// All functions at a unit vector, in double precision and by the plain recurrence in l, independent of the kernels.
pub fn all(direction: glam::DVec3) -> [f64; COUNT] {
    let [x, y, z] = direction.to_array();
    let mut out = [0.0; COUNT];
    let mut next = 0;
    let (mut re, mut im) = (1.0, 0.0);
    for m in 0..=LMAX {
        let (mut below, mut q) = (0.0, sectoral(m));
        for l in m..=LMAX {
            if l % 2 == 0 {
                out[next] = q * re;
                next += 1;
                if m > 0 {
                    out[next] = q * im;
                    next += 1;
                }
            }
            let alpha = |l: usize| {
                let (l, m) = (l as f64, m as f64);
                ((l * l - m * m) / (4.0 * l * l - 1.0)).sqrt()
            };
            let above = (z * q - if l > m { alpha(l) * below } else { 0.0 }) / alpha(l + 1);
            (below, q) = (q, above);
        }
        (re, im) = (re * x - im * y, re * y + im * x);
    }
    out
}

/// P_0, P_2, … P_12.
pub fn legendre(t: f64) -> [f64; DEGREES] {
    let (mut before, mut p) = (0.0, 1.0);
    let mut out = [0.0; DEGREES];
    for l in 0..=LMAX {
        if l % 2 == 0 {
            out[l / 2] = p;
        }
        let l = l as f64;
        let next = ((2.0 * l + 1.0) * t * p - l * before) / (l + 1.0);
        (before, p) = (p, next);
    }
    out
}

/// Nodes and weights of the Gauss-Legendre rule on −1..1, positive half only: sufficient for even integrands of
/// degree 127.
fn gauss() -> &'static [(f64, f64)] {
    const N: usize = 64;
    static RULE: OnceLock<Vec<(f64, f64)>> = OnceLock::new();
    RULE.get_or_init(|| {
        let n = N as f64;
        let root = |i: usize| {
            let mut t = (PI * (i as f64 + 0.75) / (n + 0.5)).cos();
            let mut slope = 1.0;
            // Newton's method; five steps reach rounding precision.
            for _ in 0..8 {
                let (mut before, mut p) = (1.0, t);
                for l in 2..=N {
                    let l = l as f64;
                    (before, p) = (p, ((2.0 * l - 1.0) * t * p - (l - 1.0) * before) / l);
                }
                slope = n * (t * p - before) / (t * t - 1.0);
                t -= p / slope;
            }
            (t, 2.0 / ((1.0 - t * t) * slope * slope))
        };
        (0..N / 2).map(root).collect()
    })
}

/// r_l of an even function of the cosine: R(o·g) = Σ_l r_l Σ_m Y_lm(o) Y_lm(g), r_l = 2π ∫ R P_l.
pub fn zonal(response: impl Fn(f64) -> f64) -> [f64; DEGREES] {
    let mut out = [0.0; DEGREES];
    for &(t, weight) in gauss() {
        let value = response(t);
        for (sum, p) in out.iter_mut().zip(legendre(t)) {
            // Both halves of the rule.
            *sum += 2.0 * 2.0 * PI * weight * value * p;
        }
    }
    out
}

/// The response with these coefficients at a cosine: Σ_l (2l + 1) / 4π r_l P_l.
pub fn at_cosine(zonal: &[f64; DEGREES], t: f64) -> f64 {
    let terms = zonal.iter().zip(legendre(t)).enumerate();
    terms
        .map(|(half, (r, p))| (4 * half + 1) as f64 / (4.0 * PI) * r * p)
        .sum()
}

/// Zonal harmonics as a polynomial: coefficients of 1, t², … t¹².
pub fn even_powers(zonal: &[f64; DEGREES]) -> [f64; DEGREES] {
    let mut out = [0.0; DEGREES];
    // Coefficients of P_l and of P_l−1 in powers of t.
    let (mut below, mut p) = ([0.0; LMAX + 2], [0.0; LMAX + 2]);
    p[0] = 1.0;
    for l in 0..=LMAX {
        let degree = l as f64;
        if l % 2 == 0 {
            let scale = (2.0 * degree + 1.0) / (4.0 * PI) * zonal[l / 2];
            for (sum, p) in out.iter_mut().zip(p.iter().step_by(2)) {
                *sum += scale * p;
            }
        }
        let above = std::array::from_fn(|k| {
            let up = if k > 0 { p[k - 1] } else { 0.0 };
            ((2.0 * degree + 1.0) * up - degree * below[k]) / (degree + 1.0)
        });
        (below, p) = (p, above);
    }
    out
}
