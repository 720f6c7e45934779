//! A series as a polynomial of x, y and z, with its first and second derivatives.

use super::{MAX_ORDER, count, factor, index, recurrence, sectoral};
use glam::{DMat3, DVec3};

/// Number of coefficients of A_m and of B_m.
fn powers(order: usize, m: usize) -> usize {
    (order - m) / 2 + 1
}

/// The polynomials q_lm of an order: computed once, used for every series of that order.
#[derive(Clone, Debug)]
pub struct Polynomials {
    order: usize,
    /// By m, then by even l ≥ m, then by power: coefficients of q_lm times (−1)^m, and √2 for m > 0.
    terms: Vec<Vec<Vec<f64>>>,
}

impl Polynomials {
    /// Panics if the order is above [`MAX_ORDER`] (a broken invariant, not data).
    pub fn new(order: usize) -> Self {
        assert!(order <= MAX_ORDER, "order {order}");
        let of_m = |m: usize| {
            // Coefficients of z⁰, z¹, … of q_{l−1} and q_l.
            let (mut before, mut q) = (vec![0.0; order + 2], vec![0.0; order + 2]);
            q[0] = sectoral(m) * factor(m);
            let mut rows = Vec::new();
            for l in m..=order {
                if l > m {
                    let (above, below) = recurrence(l, m);
                    let mut next = vec![0.0; order + 2];
                    for k in 0..=l - m {
                        let raised = if k > 0 { q[k - 1] } else { 0.0 };
                        next[k] = above * (raised - below * before[k]);
                    }
                    (before, q) = (q, next);
                }
                if l % 2 == 0 {
                    rows.push(q[..=l - m].iter().copied().skip(m % 2).step_by(2).collect());
                }
            }
            rows
        };
        Self {
            order,
            terms: (0..=order).map(of_m).collect(),
        }
    }

    /// Highest degree, even.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The series with these coefficients. Panics if their number is not that of the order (a broken invariant, not
    /// data).
    pub fn series(&self, coefficients: &[f64]) -> Series {
        assert_eq!(
            coefficients.len(),
            count(self.order),
            "coefficients of the order"
        );
        let mut polynomials = Vec::with_capacity(self.order * (self.order + 4) / 4 + 1);
        for (m, rows) in self.terms.iter().enumerate() {
            let (start, first) = (polynomials.len(), m + m % 2);
            polynomials.resize(start + powers(self.order, m), [0.0; 2]);
            for (row, terms) in rows.iter().enumerate() {
                let l = first + 2 * row;
                let re = coefficients[index(l, m as isize)];
                let im = coefficients[index(l, -(m as isize))];
                for (power, term) in polynomials[start..].iter_mut().zip(terms) {
                    power[0] += re * term;
                    power[1] += im * term;
                }
            }
        }
        Series {
            order: self.order,
            polynomials,
        }
    }
}

/// Σ_m A_m(z) Re(x + iy)^m + B_m(z) Im(x + iy)^m: equal to the harmonic series on the unit sphere.
#[derive(Clone, Debug)]
pub struct Series {
    order: usize,
    /// Coefficients of A_m and B_m by m: even powers of z for even m, odd ones for odd m. B_0 has no effect.
    polynomials: Vec<[f64; 2]>,
}

/// A series and its derivatives on the sphere, in the tangent plane of a direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Derivatives {
    /// Value of the series.
    pub value: f64,
    /// Gradient along the sphere: orthogonal to the direction.
    pub gradient: DVec3,
    /// Second derivatives along geodesics of the sphere; maps the direction itself to 0.
    pub hessian: DMat3,
}

/// A_m and B_m at z, and their first two derivatives.
#[inline(always)]
fn horner(powers: &[[f64; 2]], odd: bool, z: f64) -> [[f64; 3]; 2] {
    // p(z²), its derivative with respect to z², and half the second.
    let (mut p, mut first, mut second) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    let square = z * z;
    for power in powers.iter().rev() {
        for i in 0..2 {
            second[i] = second[i] * square + first[i];
            first[i] = first[i] * square + p[i];
            p[i] = p[i] * square + power[i];
        }
    }
    [0, 1].map(|i| {
        let by_z = 2.0 * z * first[i];
        let twice = 2.0 * first[i] + 8.0 * square * second[i];
        match odd {
            false => [p[i], by_z, twice],
            true => [z * p[i], p[i] + z * by_z, 2.0 * by_z + z * twice],
        }
    })
}

impl Series {
    /// Highest degree, even.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The value at a unit vector.
    pub fn value(&self, direction: DVec3) -> f64 {
        let [x, y, z] = direction.to_array();
        let (mut re, mut im, mut sum, mut start) = (1.0, 0.0, 0.0, 0);
        let square = z * z;
        for m in 0..=self.order {
            let end = start + powers(self.order, m);
            let (mut a, mut b) = (0.0, 0.0);
            for power in self.polynomials[start..end].iter().rev() {
                a = a * square + power[0];
                b = b * square + power[1];
            }
            sum += if m % 2 == 1 { z } else { 1.0 } * (a * re + b * im);
            (re, im) = (re * x - im * y, re * y + im * x);
            start = end;
        }
        sum
    }

    /// Value, gradient and second derivatives at a unit vector.
    pub fn derivatives(&self, direction: DVec3) -> Derivatives {
        let [x, y, z] = direction.to_array();
        let mut value = 0.0;
        let mut gradient = DVec3::ZERO;
        let (mut xx, mut xy, mut xz, mut yz, mut zz) = (0.0, 0.0, 0.0, 0.0, 0.0);
        // Powers m, m − 1 and m − 2 of x + iy.
        let (mut this, mut below, mut second) = ((1.0, 0.0), (0.0, 0.0), (0.0, 0.0));
        let mut start = 0;
        for m in 0..=self.order {
            let end = start + powers(self.order, m);
            let polynomials = &self.polynomials[start..end];
            let [[a, da, dda], [b, db, ddb]] = horner(polynomials, m % 2 == 1, z);
            start = end;
            let degree = m as f64;
            value += a * this.0 + b * this.1;
            gradient.x += degree * (a * below.0 + b * below.1);
            gradient.y += degree * (b * below.0 - a * below.1);
            gradient.z += da * this.0 + db * this.1;
            let twice = degree * (degree - 1.0);
            xx += twice * (a * second.0 + b * second.1);
            xy += twice * (b * second.0 - a * second.1);
            xz += degree * (da * below.0 + db * below.1);
            yz += degree * (db * below.0 - da * below.1);
            zz += dda * this.0 + ddb * this.1;
            (second, below) = (below, this);
            this = (this.0 * x - this.1 * y, this.0 * y + this.1 * x);
        }
        // The powers of x + iy are harmonic: ∂yy = −∂xx.
        let full = DMat3::from_cols(
            DVec3::new(xx, xy, xz),
            DVec3::new(xy, -xx, yz),
            DVec3::new(xz, yz, zz),
        );
        let radial = gradient.dot(direction);
        let project = tangent_projection(direction);
        Derivatives {
            value,
            gradient: gradient - radial * direction,
            // A geodesic bends towards −u, which contributes the radial derivative.
            hessian: project * full * project - project * radial,
        }
    }
}

/// I − u uᵀ.
fn tangent_projection(u: DVec3) -> DMat3 {
    DMat3::IDENTITY - DMat3::from_cols(u * u.x, u * u.y, u * u.z)
}
