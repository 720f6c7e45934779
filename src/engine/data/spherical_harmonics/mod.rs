//! Real spherical harmonics of even degree, in the basis of MRtrix 3 and in double precision.
//!
//! f(u) = Σ c_lm Y_lm(u) over even l up to the order and |m| ≤ l; coefficient (l, m) has the index l(l+1)/2 + m. With
//! K_lm the normalised associated Legendre function without the Condon-Shortley phase, t the angle to z and p the
//! azimuth, Y_lm = (−1)^m C_lm, where C_l0 = K_l0(cos t), C_lm = √2 K_lm cos(m p) for m > 0 and
//! C_lm = √2 K_l|m| sin(|m| p) for m < 0. The functions are orthonormal on the sphere. No file names its basis, and one
//! that lacks the sign (−1)^m turns everything by 180° about z: [`Basis`] converts.
//!
//! On the unit sphere K_lm = q_lm(z) sin^m t, where q_lm is a polynomial, and sin^m t e^{imp} = (x + iy)^m. A series is
//! therefore Σ_m A_m(z) Re(x + iy)^m + B_m(z) Im(x + iy)^m, which has no singularity at the poles: [`Series`] evaluates
//! it with its first and second derivatives.
//!
//! # Example
//!
//! The functions are orthonormal, by a quadrature that is exact for their products:
//!
//! ```
//! use arcuate_engine::data::spherical_harmonics::{count, evaluate, index, quadrature};
//!
//! let (a, b) = (index(2, -1), index(4, 3));
//! let product = |a: usize, b: usize| -> f64 {
//!     let nodes = quadrature(8).into_iter();
//!     nodes.map(|(u, weight)| weight * evaluate(4, u)[a] * evaluate(4, u)[b]).sum()
//! };
//! assert_eq!(count(4), 15);
//! assert!((product(a, a) - 1.0).abs() < 1e-12);
//! assert!(product(a, b).abs() < 1e-12);
//! ```

mod basis;
mod even;
mod products;
mod rotation;
mod series;

pub use basis::Basis;
pub use even::{EvenRecurrence, EvenStep};
pub use products::{Product, products};
pub use rotation::Rotation;
pub use series::{Derivatives, Polynomials, Series};

use glam::DVec3;
use std::f64::consts::{PI, SQRT_2};

/// The highest order of any series here: products of harmonics of order 12 have order 24.
pub const MAX_ORDER: usize = 24;

/// Number of coefficients of a series: 1, 6, 15, 28, 45, 66, 91 for orders 0, 2, … 12.
pub const fn count(order: usize) -> usize {
    (order + 1) * (order + 2) / 2
}

/// Index of coefficient (l, m).
pub const fn index(l: usize, m: isize) -> usize {
    (l * (l + 1) / 2).wrapping_add_signed(m)
}

/// The order of a series with this many coefficients; `None` if there is none.
pub fn order_of_count(coefficients: usize) -> Option<usize> {
    let mut orders = (0..=MAX_ORDER).step_by(2);
    orders.find(|&order| count(order) == coefficients)
}

/// Degree and order (l, m) of each coefficient of a series, by index.
pub fn degrees(order: usize) -> impl Iterator<Item = (usize, isize)> {
    let even = (0..=order).step_by(2);
    even.flat_map(|l| (-(l as isize)..=l as isize).map(move |m| (l, m)))
}

/// Y_l0 in the direction of z, √((2l + 1) / 4π): the value of a zonal harmonic along its axis.
pub fn at_pole(l: usize) -> f64 {
    ((2 * l + 1) as f64 / (4.0 * PI)).sqrt()
}

/// q_mm, without the factor √2 of m > 0: √(1 / 4π ∏ (2k + 1) / 2k).
fn sectoral(m: usize) -> f64 {
    let factors = (1..=m).map(|k| (2 * k + 1) as f64 / (2 * k) as f64);
    (factors.product::<f64>() / (4.0 * PI)).sqrt()
}

/// q_l = above (z q_{l−1} − below q_{l−2}) for l > m.
fn recurrence(l: usize, m: usize) -> (f64, f64) {
    let (l, m) = (l as f64, m as f64);
    let above = ((4.0 * l * l - 1.0) / (l * l - m * m)).sqrt();
    let before = l - 1.0;
    let below = if before > m {
        ((before * before - m * m) / (4.0 * before * before - 1.0)).sqrt()
    } else {
        0.0
    };
    (above, below)
}

/// The sign (−1)^m of MRtrix's basis, and the factor √2 of the real functions with m > 0.
fn factor(m: usize) -> f64 {
    match (m, m % 2) {
        (0, _) => 1.0,
        (_, 0) => SQRT_2,
        _ => -SQRT_2,
    }
}

/// Every function of the series at a unit vector, by index. Panics if `out` is not of the order's length (a broken
/// invariant, not data).
pub fn evaluate_into(order: usize, direction: DVec3, out: &mut [f64]) {
    assert_eq!(out.len(), count(order), "functions of the order");
    let [x, y, z] = direction.to_array();
    let (mut re, mut im) = (1.0, 0.0);
    for m in 0..=order {
        let (mut before, mut q) = (0.0, sectoral(m) * factor(m));
        for l in m..=order {
            if l > m {
                let (above, below) = recurrence(l, m);
                (before, q) = (q, above * (z * q - below * before));
            }
            if l % 2 == 0 {
                out[index(l, m as isize)] = q * re;
                if m > 0 {
                    out[index(l, -(m as isize))] = q * im;
                }
            }
        }
        (re, im) = (re * x - im * y, re * y + im * x);
    }
}

/// Every function of the series at a unit vector, by index.
pub fn evaluate(order: usize, direction: DVec3) -> Vec<f64> {
    let mut out = vec![0.0; count(order)];
    evaluate_into(order, direction, &mut out);
    out
}

/// Y_l0 of even l up to the order at the cosine of an angle to the axis.
pub fn zonal(order: usize, cosine: f64) -> Vec<f64> {
    let (mut before, mut q) = (0.0, sectoral(0));
    let mut out = vec![q];
    for l in 1..=order {
        let (above, below) = recurrence(l, 0);
        (before, q) = (q, above * (cosine * q - below * before));
        if l % 2 == 0 {
            out.push(q);
        }
    }
    out
}

/// Nodes in −1..1, ascending, and weights of the Gauss-Legendre rule, which integrates polynomials of degree 2n − 1
/// exactly.
pub fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    let size = n as f64;
    let node = |i: usize| {
        let mut t = -(PI * (i as f64 + 0.75) / (size + 0.5)).cos();
        let mut slope = 1.0;
        // Newton's method from this start: five steps reach rounding precision.
        for _ in 0..8 {
            let (mut before, mut p) = (1.0, t);
            for l in 2..=n {
                let l = l as f64;
                (before, p) = (p, ((2.0 * l - 1.0) * t * p - (l - 1.0) * before) / l);
            }
            slope = size * (t * p - before) / (t * t - 1.0);
            t -= p / slope;
        }
        (t, 2.0 / ((1.0 - t * t) * slope * slope))
    };
    (0..n).map(node).collect()
}

/// Directions and weights that integrate even polynomials of this degree exactly over the sphere: Gauss-Legendre in
/// z, equal steps in the azimuth, each direction of the half sphere z ≥ 0 with the weight of its opposite included.
pub fn quadrature(degree: usize) -> Vec<(DVec3, f64)> {
    // An even number of nodes has none at 0, which both halves would share.
    let rows = degree / 2 + 1;
    let rows = rows + rows % 2;
    let columns = degree + 1;
    let upper = gauss_legendre(rows).into_iter().filter(|(z, _)| *z > 0.0);
    let row = |(z, weight): (f64, f64)| {
        let (radius, share) = ((1.0 - z * z).sqrt(), 2.0 * weight / columns as f64);
        (0..columns).map(move |i| {
            let (sine, cosine) = (2.0 * PI * i as f64 / columns as f64).sin_cos();
            (
                DVec3::new(radius * cosine, radius * sine, z),
                2.0 * PI * share,
            )
        })
    };
    upper.flat_map(row).collect()
}
