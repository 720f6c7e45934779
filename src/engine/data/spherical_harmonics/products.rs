//! Products of two harmonics as sums of harmonics.

use super::{count, degrees, gauss_legendre, index, recurrence, sectoral};
use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// Y_a Y_b = Σ value Y_c: one term.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Product {
    /// Index of the first factor.
    pub a: usize,
    /// Index of the second factor.
    pub b: usize,
    /// Index in a series of twice the order.
    pub c: usize,
    /// Coefficient of Y_c.
    pub value: f64,
}

/// The terms of all products with b ≤ a, by a, then b, then c (Gaunt 1929). Terms that are 0 are left out: m_c is
/// |m_a| + |m_b| or their difference, and l_c is between |l_a − l_b| and l_a + l_b.
pub fn products(order: usize) -> Vec<Product> {
    // All K have even products: the positive nodes suffice.
    let rule = gauss_legendre(2 * order + 2);
    let rule: Vec<(f64, f64)> = rule.into_iter().filter(|(z, _)| *z > 0.0).collect();
    let legendre = Legendre::new(2 * order, &rule);
    let mut out = Vec::new();
    for (l_a, m_a) in degrees(order) {
        for (l_b, m_b) in degrees(order) {
            let (a, b) = (index(l_a, m_a), index(l_b, m_b));
            if b > a {
                continue;
            }
            let mut terms: Vec<Product> = Vec::new();
            for (share, m) in azimuthal(m_a, m_b) {
                let first = l_a.abs_diff(l_b).max(m.unsigned_abs());
                let first = first + first % 2;
                for l_c in (first..=l_a + l_b).step_by(2) {
                    let at = |l: usize, m: isize| legendre.at(l, m.unsigned_abs());
                    let nodes = rule
                        .iter()
                        .zip(at(l_a, m_a))
                        .zip(at(l_b, m_b))
                        .zip(at(l_c, m));
                    let integral: f64 = nodes.map(|(((w, x), y), z)| 2.0 * w.1 * x * y * z).sum();
                    let value = 2.0 * PI * share * integral;
                    // Rounding leaves 1e-16 of terms that vanish for other reasons.
                    if value.abs() > 1e-12 {
                        let c = index(l_c, m);
                        terms.push(Product { a, b, c, value });
                    }
                }
            }
            terms.sort_by_key(|term| term.c);
            out.extend(terms);
        }
    }
    out
}

/// Φ_a Φ_b = Σ share Φ_m of the azimuthal functions 1, √2 cos mp for m > 0 and √2 sin |m|p for m < 0. The signs
/// (−1)^m of the basis cancel because m_a + m_b + m_c is even.
fn azimuthal(m_a: isize, m_b: isize) -> Vec<(f64, isize)> {
    let (a, b) = (m_a.abs(), m_b.abs());
    let cosine = |share: f64, m: isize| match m {
        0 => (share * SQRT_2, 0),
        m => (share, m),
    };
    let (half, difference) = (FRAC_1_SQRT_2, (a - b).abs());
    match (m_a.signum(), m_b.signum()) {
        (0, _) => vec![(1.0, m_b)],
        (_, 0) => vec![(1.0, m_a)],
        (1, 1) => vec![cosine(half, difference), cosine(half, a + b)],
        (-1, -1) => vec![cosine(half, difference), cosine(-half, a + b)],
        (sign, _) => {
            // sin sp cos cp = ½ sin (s + c)p + ½ sin (s − c)p.
            let (s, c) = if sign < 0 { (a, b) } else { (b, a) };
            let mut terms = vec![(half, -(s + c))];
            if s != c {
                let share = if s > c { half } else { -half };
                terms.push((share, -difference));
            }
            terms
        }
    }
}

/// K_lm at nodes.
struct Legendre {
    nodes: usize,
    values: Vec<f64>,
}

impl Legendre {
    fn new(order: usize, rule: &[(f64, f64)]) -> Self {
        let mut values = vec![0.0; count(order) * rule.len()];
        for m in 0..=order {
            for (node, &(z, _)) in rule.iter().enumerate() {
                let radius = (1.0 - z * z).sqrt().powi(m as i32);
                let (mut before, mut q) = (0.0, sectoral(m));
                for l in m..=order {
                    if l > m {
                        let (above, below) = recurrence(l, m);
                        (before, q) = (q, above * (z * q - below * before));
                    }
                    if l % 2 == 0 {
                        values[index(l, m as isize) * rule.len() + node] = q * radius;
                    }
                }
            }
        }
        Self {
            nodes: rule.len(),
            values,
        }
    }

    fn at(&self, l: usize, m: usize) -> &[f64] {
        let first = index(l, m as isize) * self.nodes;
        &self.values[first..first + self.nodes]
    }
}
