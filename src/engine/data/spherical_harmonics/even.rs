//! A recurrence over even degrees alone, in single precision, for functions that are evaluated in many lanes.

use super::{factor, index, recurrence, sectoral};

/// One function pair (l, ±m): q_{l+2} = (by_square z² + constant) q_l + before q_{l−2}.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EvenStep {
    /// Index of (l, m).
    pub plus: usize,
    /// Index of (l, −m).
    pub minus: usize,
    /// Factor of z².
    pub by_square: f32,
    /// Constant term.
    pub constant: f32,
    /// Factor of q_{l−2}.
    pub before: f32,
}

/// The functions Y_lm = q_lm Re (x + iy)^m and q_lm Im (x + iy)^m of one order.
#[derive(Clone, Debug)]
pub struct EvenRecurrence {
    /// Highest degree, even.
    pub order: usize,
    /// By m: q at the lowest even l ≥ m, to be multiplied by z for odd m; then one step for each even l.
    pub rows: Vec<(f32, Vec<EvenStep>)>,
}

impl EvenRecurrence {
    /// Recurrence for all even degrees up to `order`.
    pub fn new(order: usize) -> Self {
        let row = |m: usize| {
            let first = m + m % 2;
            let mut start = sectoral(m) * factor(m);
            if m % 2 == 1 {
                start *= recurrence(first, m).0;
            }
            let step = |l: usize| {
                let ((above_1, below_1), (above_2, below_2)) =
                    (recurrence(l + 1, m), recurrence(l + 2, m));
                // For l = m there is no q_{l−1}, and both of its factors vanish.
                let (above, below) = match l > m {
                    true => recurrence(l, m),
                    false => (1.0, 0.0),
                };
                EvenStep {
                    plus: index(l, m as isize),
                    minus: index(l, -(m as isize)),
                    by_square: (above_2 * above_1) as f32,
                    constant: (-above_2 * (above_1 * below_1 / above + below_2)) as f32,
                    before: (-above_2 * above_1 * below_1 * below) as f32,
                }
            };
            (start as f32, (first..=order).step_by(2).map(step).collect())
        };
        Self {
            order,
            rows: (0..=order).map(row).collect(),
        }
    }
}
