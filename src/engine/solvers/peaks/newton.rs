//! Newton's method on the sphere.

use super::Peak;
use crate::data::spherical_harmonics::Series;
use glam::DVec3;

/// Longest step, rad: less than the distance between neighbouring start directions.
const MAX_STEP: f64 = 5.0 * std::f64::consts::PI / 180.0;
/// Shortest step, rad: the next one would be of the size of its square.
const CONVERGED: f64 = 1e-7;
const MAX_STEPS: usize = 50;
/// Cosine of the angle below which two peaks are one: 1°, a hundredth of a lobe.
pub const SAME: f64 = 0.999_848;

/// Shortest step of a peak that is followed from point to point, rad.
const FOLLOWED: f64 = 1e-4;

/// The maximum uphill from a unit vector.
pub fn climb(series: &Series, start: DVec3) -> Peak {
    climb_until(series, start, CONVERGED)
}

/// Does the same from a unit vector near the maximum, to 1e-7 rad.
pub fn follow(series: &Series, start: DVec3) -> Peak {
    climb_until(series, start, FOLLOWED)
}

fn climb_until(series: &Series, start: DVec3, converged: f64) -> Peak {
    let mut u = start;
    for _ in 0..MAX_STEPS {
        let at = series.derivatives(u);
        let step = step(at.gradient, at.hessian, u);
        let length = step.length();
        // On the sphere a geodesic of this length; NaN ends the search.
        if !(length > 0.0) {
            break;
        }
        let along = length.min(MAX_STEP);
        u = (along.cos() * u + along.sin() * (step / length)).normalize();
        if length < converged {
            break;
        }
    }
    Peak {
        direction: u,
        amplitude: series.value(u),
    }
}

/// −H⁻¹ g in the tangent plane where H is negative definite, otherwise 5° uphill.
fn step(gradient: DVec3, hessian: glam::DMat3, u: DVec3) -> DVec3 {
    let x = u.any_orthonormal_vector();
    let y = u.cross(x);
    let (a, b, c) = (x.dot(hessian * x), x.dot(hessian * y), y.dot(hessian * y));
    let (p, q) = (x.dot(gradient), y.dot(gradient));
    let determinant = a * c - b * b;
    if a < 0.0 && determinant > 0.0 {
        let (s, t) = ((b * q - c * p) / determinant, (b * p - a * q) / determinant);
        x * s + y * t
    } else {
        gradient.normalize_or_zero() * MAX_STEP
    }
}
