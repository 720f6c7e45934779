//! Harmonics at one direction per lane.

use super::MAX_COEFFICIENTS;
use crate::compute::vector::{Kernel, Scalar, Vector};
use crate::data::spherical_harmonics::EvenRecurrence;

/// All functions of the order at unit vectors, by index.
#[inline(always)]
pub fn evaluate<V: Vector<Scalar = f32>>(
    table: &EvenRecurrence,
    [x, y, z]: [V; 3],
    out: &mut [V; MAX_COEFFICIENTS],
) {
    let square = z * z;
    let (mut re, mut im) = (V::splat(1.0), V::zero());
    for (m, (start, steps)) in table.rows.iter().enumerate() {
        let mut q = V::splat(*start);
        if m % 2 == 1 {
            q = q * z;
        }
        let mut before = V::zero();
        for step in steps {
            out[step.plus] = q * re;
            if m > 0 {
                out[step.minus] = q * im;
            }
            let factor = square.mul_add(V::splat(step.by_square), V::splat(step.constant));
            let next = before.mul_add(V::splat(step.before), factor * q);
            (before, q) = (q, next);
        }
        (re, im) = (re * x - im * y, re * y + im * x);
    }
}

/// Amplitudes of one series at many directions.
pub struct Amplitudes<'a> {
    pub table: &'a EvenRecurrence,
    pub coefficients: &'a [f64],
    pub directions: &'a [[f32; 3]],
}

/// Amplitudes of a series at directions.
pub fn amplitudes(series: Amplitudes) -> Vec<f32> {
    f32::dispatch(series)
}

impl Kernel<f32> for Amplitudes<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) -> Vec<f32> {
        let mut out = vec![0.0; self.directions.len()];
        let mut functions = [V::zero(); MAX_COEFFICIENTS];
        let mut lanes = [0.0; 16];
        for (out, directions) in out
            .chunks_mut(V::LANES)
            .zip(self.directions.chunks(V::LANES))
        {
            let mut axes = [V::zero(); 3];
            for a in 0..3 {
                for (value, direction) in lanes.iter_mut().zip(directions) {
                    *value = direction[a];
                }
                axes[a] = V::load(&lanes);
            }
            evaluate(self.table, axes, &mut functions);
            let mut sum = V::zero();
            for (c, y) in self.coefficients.iter().zip(&functions) {
                sum = V::splat(*c as f32).mul_add(*y, sum);
            }
            sum.store(&mut lanes);
            out.copy_from_slice(&lanes[..out.len()]);
        }
        out
    }
}
