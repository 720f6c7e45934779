//! One step along a field of directions: Euler, the midpoint rule and the classical method of Kutta (1901), of order
//! 1, 2 and 4 in smooth fields.

use super::Integrator;
use std::ops::{Add, Div, Mul};

/// A field of directions, without sign: `direction` chooses the sense.
///
/// Generic so that the same steps serve eight streamlines side by side in `f32` and a closed form
/// in `f64`.
pub trait DirectionField {
    /// A point or a displacement, mm.
    type Vector: Copy + Add<Output = Self::Vector> + Mul<Self::Scalar, Output = Self::Vector>;
    /// Numbers by which vectors are multiplied: step lengths and weights.
    type Scalar: Copy + From<f32> + Div<Output = Self::Scalar>;

    /// Unit direction at `at`, in the sense that makes less than a right angle with `along`.
    fn direction(&self, at: Self::Vector, along: Self::Vector) -> Self::Vector;
}

/// The point one step of `length` ahead; `first` is the direction at `at`.
#[inline(always)]
pub fn step<F: DirectionField>(
    field: &F,
    integrator: Integrator,
    at: F::Vector,
    first: F::Vector,
    length: F::Scalar,
) -> F::Vector {
    let half = length / 2.0.into();
    match integrator {
        Integrator::Euler => at + first * length,
        Integrator::Rk2 => at + field.direction(at + first * half, first) * length,
        Integrator::Rk4 => {
            let second = field.direction(at + first * half, first);
            let third = field.direction(at + second * half, first);
            let fourth = field.direction(at + third * length, first);
            let sum = first + second * 2.0.into() + third * 2.0.into() + fourth;
            at + sum * (length / 6.0.into())
        }
    }
}
