//! Small convex quadratic programs, in double precision.

/// Iterations of some ten are common.
const ITERATIONS: usize = 60;
const STEP: f64 = 0.98;

/// min ½ xᵀHx − gᵀx subject to G x ≥ 0, by the interior point method of [`crate::solvers::csd`] without lanes, from a
/// point where all constraints hold strictly. If the minimum without constraints satisfies them, it is returned.
pub fn minimise(h: &[f64], g: &[f64], constraints: &[Vec<f64>], start: &[f64]) -> Vec<f64> {
    let n = g.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    if let Some(free) = Factor::new(h, n).map(|factor| factor.solve(g))
        && constraints.iter().all(|row| dot(row, &free) >= 0.0)
    {
        return free;
    }
    let m = constraints.len() as f64;
    let mut x = start.to_vec();
    let mut s: Vec<f64> = constraints.iter().map(|row| dot(row, &x)).collect();
    let scale = dot(g, &x).abs() / m;
    let mut multipliers: Vec<f64> = s.iter().map(|s| 0.01 * scale / s).collect();
    let first_gap = dot(&s, &multipliers) / m;
    for _ in 0..ITERATIONS {
        let gap = dot(&s, &multipliers) / m;
        if gap < 1e-14 * first_gap {
            break;
        }
        let mut matrix = h.to_vec();
        for ((row, s), multiplier) in constraints.iter().zip(&s).zip(&multipliers) {
            for i in 0..n {
                for j in 0..n {
                    matrix[i * n + j] += multiplier / s * row[i] * row[j];
                }
            }
        }
        let Some(factor) = Factor::new(&matrix, n) else {
            break;
        };
        let mut residual: Vec<f64> = (0..n)
            .map(|i| g[i] - dot(&h[i * n..(i + 1) * n], &x))
            .collect();
        let step = factor.solve(&residual);
        let change = |step: &[f64]| -> Vec<f64> {
            constraints
                .iter()
                .zip(&s)
                .map(|(row, s)| dot(row, step) / s)
                .collect()
        };
        let first = change(&step);
        let largest = first
            .iter()
            .fold(1.0, |largest: f64, w| largest.max(-w).max(1.0 + w));
        let products = s.iter().zip(&multipliers).map(|(s, l)| s * l);
        let after = products
            .zip(&first)
            .map(|(p, w)| p * (1.0 + w / largest) * (1.0 - (1.0 + w) / largest));
        let target = (after.sum::<f64>() / m / gap).max(0.0).powi(3) * gap;
        let q: Vec<f64> = (0..s.len())
            .map(|i| target / s[i] + multipliers[i] * (first[i] + first[i] * first[i]))
            .collect();
        for (row, q) in constraints.iter().zip(&q) {
            for (sum, a) in residual.iter_mut().zip(row) {
                *sum += q * a;
            }
        }
        let step = factor.solve(&residual);
        let second = change(&step);
        let dual: Vec<f64> = (0..s.len())
            .map(|i| 1.0 + second[i] - q[i] / multipliers[i])
            .collect();
        let largest = second
            .iter()
            .zip(&dual)
            .fold(STEP, |largest: f64, (w, d)| largest.max(-w).max(*d));
        let length = STEP / largest;
        if !length.is_finite() {
            break;
        }
        for (x, step) in x.iter_mut().zip(&step) {
            *x += length * step;
        }
        for i in 0..s.len() {
            s[i] *= 1.0 + length * second[i];
            multipliers[i] *= 1.0 - length * dual[i];
        }
    }
    x
}

/// L of LLᵀ, row by row.
struct Factor {
    n: usize,
    lower: Vec<f64>,
}

impl Factor {
    /// `None` if the matrix is not positive definite.
    fn new(matrix: &[f64], n: usize) -> Option<Self> {
        let mut lower = matrix.to_vec();
        for i in 0..n {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum();
                let value = matrix[i * n + j] - sum;
                lower[i * n + j] = match i == j {
                    true => Some(value).filter(|v| *v > 0.0)?.sqrt(),
                    false => value / lower[j * n + j],
                };
            }
        }
        Some(Self { n, lower })
    }

    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let (n, mut x) = (self.n, right.to_vec());
        for i in 0..n {
            let sum: f64 = (0..i).map(|k| self.lower[i * n + k] * x[k]).sum();
            x[i] = (x[i] - sum) / self.lower[i * n + i];
        }
        for i in (0..n).rev() {
            let sum: f64 = (i + 1..n).map(|k| self.lower[k * n + i] * x[k]).sum();
            x[i] = (x[i] - sum) / self.lower[i * n + i];
        }
        x
    }
}
