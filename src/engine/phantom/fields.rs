//! Analytic tensor fields whose streamlines, geodesics or distances are known exactly, for tests and benchmarks of
//! the solvers.
//!
//! A field gives a diffusion tensor D(x); its metric is G = D⁻¹, a curve has the length ∫ √(x′ᵀ G x′), and a geodesic
//! is parametrised by that length. Lengths are in mm; D is dimensionless where only its ratios matter.
//!
//! # Example
//!
//! A helix, whose streamlines are known:
//!
//! ```
//! use arcuate_engine::phantom::fields::{Helix, Streamlines};
//! use glam::DVec3;
//! use std::f64::consts::TAU;
//!
//! let helix = Helix {
//!     pitch_mm: 6.0,
//!     along: 1.0,
//!     across: 0.2,
//! };
//! // One turn is as long as the diagonal of the unrolled cylinder.
//! let turn_mm = (TAU * 5.0).hypot(6.0);
//! let end = helix.streamline(DVec3::new(5.0, 0.0, 0.0), turn_mm);
//! assert!(end.distance(DVec3::new(5.0, 0.0, 6.0)) < 1e-12);
//! ```

use super::implicit::hypot;
use glam::{DMat3, DVec3, DVec4};

/// A symmetric positive definite matrix at every point.
pub trait Field {
    /// D(x), world axes.
    fn tensor(&self, x: DVec3) -> DMat3;

    /// G(x) = D(x)⁻¹.
    fn metric(&self, x: DVec3) -> DMat3 {
        self.tensor(x).inverse()
    }

    /// Length of a vector at x, √(vᵀ G v).
    fn length(&self, x: DVec3, v: DVec3) -> f64 {
        v.dot(self.metric(x) * v).sqrt()
    }
}

/// A field whose geodesics are known.
pub trait Geodesics: Field {
    /// The point at Riemannian distance `s` on the geodesic that leaves `from` in the direction `toward` (of any
    /// length except 0).
    fn geodesic(&self, from: DVec3, toward: DVec3, s: f64) -> DVec3;

    /// Length of the shortest path.
    fn distance(&self, a: DVec3, b: DVec3) -> f64;
}

/// A field whose principal direction is tangent to known curves.
pub trait Streamlines: Field {
    /// Unit principal direction.
    fn direction(&self, x: DVec3) -> DVec3;

    /// The point at arc length `s` mm on the curve through `from`, in the sense of [`Streamlines::direction`] for
    /// positive s.
    fn streamline(&self, from: DVec3, s: f64) -> DVec3;
}

/// `along` in one direction, `across` perpendicular to it.
pub fn cylindrical(direction: DVec3, along: f64, across: f64) -> DMat3 {
    let v = direction;
    let outer = DMat3::from_cols(v.x * v, v.y * v, v.z * v);
    DMat3::from_diagonal(DVec3::splat(across)) + outer * (along - across)
}

/// A field with one tensor everywhere and straight streamlines.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// D, symmetric and positive definite.
    pub tensor: DMat3,
}

impl Field for Constant {
    fn tensor(&self, _: DVec3) -> DMat3 {
        self.tensor
    }
}

impl Geodesics for Constant {
    fn geodesic(&self, from: DVec3, toward: DVec3, s: f64) -> DVec3 {
        from + toward * (s / self.length(from, toward))
    }

    fn distance(&self, a: DVec3, b: DVec3) -> f64 {
        self.length(a, b - a)
    }
}

/// Helices of constant pitch about the z axis.
#[derive(Clone, Copy, Debug)]
pub struct Helix {
    /// Rise per turn, mm.
    pub pitch_mm: f64,
    /// Diffusivity along the fibre, relative to `across`.
    pub along: f64,
    /// Diffusivity across the fibre.
    pub across: f64,
}

impl Field for Helix {
    fn tensor(&self, x: DVec3) -> DMat3 {
        cylindrical(self.direction(x), self.along, self.across)
    }
}

impl Streamlines for Helix {
    fn direction(&self, x: DVec3) -> DVec3 {
        DVec3::new(-x.y, x.x, self.pitch_mm / std::f64::consts::TAU).normalize()
    }

    fn streamline(&self, from: DVec3, s: f64) -> DVec3 {
        let rise = self.pitch_mm / std::f64::consts::TAU;
        let turn = s / hypot(hypot(from.x, from.y), rise);
        let (sin, cos) = turn.sin_cos();
        DVec3::new(
            cos * from.x - sin * from.y,
            sin * from.x + cos * from.y,
            from.z + rise * turn,
        )
    }
}

/// U-fibres: half circles about the z axis in y ≥ 0, with straight legs along y below.
#[derive(Clone, Copy, Debug)]
pub struct UFibre {
    /// Diffusivity along the fibre, relative to `across`.
    pub along: f64,
    /// Diffusivity across the fibre.
    pub across: f64,
}

impl Field for UFibre {
    fn tensor(&self, x: DVec3) -> DMat3 {
        cylindrical(self.direction(x), self.along, self.across)
    }
}

impl Streamlines for UFibre {
    /// Up the right leg (x > 0), over the top, down the left leg.
    fn direction(&self, x: DVec3) -> DVec3 {
        if x.y >= 0.0 {
            DVec3::new(-x.y, x.x, 0.0).normalize_or(DVec3::Y)
        } else {
            DVec3::Y * x.x.signum()
        }
    }

    fn streamline(&self, from: DVec3, s: f64) -> DVec3 {
        // Arc length from the junction of the right leg and the arc.
        let radius = if from.y >= 0.0 {
            hypot(from.x, from.y)
        } else {
            from.x.abs()
        };
        let arc = std::f64::consts::PI * radius;
        let start = if from.y >= 0.0 {
            from.y.atan2(from.x) * radius
        } else if from.x >= 0.0 {
            from.y
        } else {
            arc - from.y
        };
        let at = start + s;
        if at < 0.0 {
            DVec3::new(radius, at, from.z)
        } else if at <= arc {
            let (sin, cos) = (at / radius).sin_cos();
            DVec3::new(radius * cos, radius * sin, from.z)
        } else {
            DVec3::new(-radius, arc - at, from.z)
        }
    }
}

/// D = z² I in z > 0: the half-space model of hyperbolic space. Geodesics are half circles perpendicular to z = 0.
#[derive(Clone, Copy, Debug)]
pub struct HalfSpace;

impl Field for HalfSpace {
    fn tensor(&self, x: DVec3) -> DMat3 {
        DMat3::from_diagonal(DVec3::splat(x.z * x.z))
    }
}

impl Geodesics for HalfSpace {
    fn geodesic(&self, from: DVec3, toward: DVec3, s: f64) -> DVec3 {
        let unit = toward.normalize();
        let level = DVec3::new(unit.x, unit.y, 0.0);
        let sideways = level.length();
        if sideways < 1e-12 {
            return DVec3::new(from.x, from.y, from.z * (s * unit.z.signum()).exp());
        }
        // x = R tanh(s + s₀), z = R / cosh(s + s₀) from the top of the circle, with the slope dz/dx = −sinh(s₀).
        let radius = from.z / sideways;
        let start = (-unit.z / sideways).asinh();
        let along = radius * ((start + s).tanh() - start.tanh());
        let height = radius / (start + s).cosh();
        let away = from + level / sideways * along;
        DVec3::new(away.x, away.y, height)
    }

    fn distance(&self, a: DVec3, b: DVec3) -> f64 {
        // arcosh(1 + 2 q²) = 2 arsinh(q), which stays accurate for close points.
        2.0 * (a.distance(b) / (2.0 * (a.z * b.z).sqrt())).asinh()
    }
}

/// D = (c₀ + g · x)² I where that is positive: waves whose speed increases linearly. Geodesics are arcs of circles
/// perpendicular to the plane of speed 0.
#[derive(Clone, Copy, Debug)]
pub struct LinearSpeed {
    /// c₀, the speed at the origin.
    pub speed_at_origin: f64,
    /// Nonzero; per mm.
    pub gradient: DVec3,
}

impl LinearSpeed {
    /// Speed at a point; negative beyond the plane of speed 0.
    pub fn speed(&self, x: DVec3) -> f64 {
        self.speed_at_origin + self.gradient.dot(x)
    }
}

impl Field for LinearSpeed {
    fn tensor(&self, x: DVec3) -> DMat3 {
        DMat3::from_diagonal(DVec3::splat(self.speed(x).powi(2)))
    }
}

impl Geodesics for LinearSpeed {
    /// The half-space model rotated so that z increases along the gradient; lengths are divided by its magnitude.
    fn geodesic(&self, from: DVec3, toward: DVec3, s: f64) -> DVec3 {
        let slope = self.gradient.length();
        let up = self.gradient / slope;
        let (right, front) = up.any_orthonormal_pair();
        let turn = DMat3::from_cols(right, front, up);
        let local = DVec3::new(0.0, 0.0, self.speed(from) / slope);
        let moved = HalfSpace.geodesic(local, turn.transpose() * toward, s * slope);
        from + turn * (moved - local)
    }

    fn distance(&self, a: DVec3, b: DVec3) -> f64 {
        let slope = self.gradient.length();
        let between = (self.speed(a) * self.speed(b)).sqrt();
        2.0 / slope * (slope * a.distance(b) / (2.0 * between)).asinh()
    }
}

/// Maxwell's fish-eye, G = n² I with n = 2 / (1 + |x|²): the stereographic projection of the unit 3-sphere. Every
/// geodesic is a circle (or line), closes after 2π and passes −x / |x|² at π.
#[derive(Clone, Copy, Debug)]
pub struct FishEye;

impl FishEye {
    fn lift(x: DVec3) -> DVec4 {
        let r2 = x.length_squared();
        (2.0 * x).extend(r2 - 1.0) / (1.0 + r2)
    }
}

impl Field for FishEye {
    fn tensor(&self, x: DVec3) -> DMat3 {
        DMat3::from_diagonal(DVec3::splat((0.5 * (1.0 + x.length_squared())).powi(2)))
    }
}

impl Geodesics for FishEye {
    fn geodesic(&self, from: DVec3, toward: DVec3, s: f64) -> DVec3 {
        let start = Self::lift(from);
        // The derivative of the lift along a vector v at x.
        let scale = 1.0 + from.length_squared();
        let inward = from.dot(toward);
        let velocity = (2.0 * toward * scale - 4.0 * inward * from).extend(4.0 * inward);
        let (sin, cos) = s.sin_cos();
        let point = cos * start + sin * velocity.normalize();
        point.truncate() / (1.0 - point.w)
    }

    fn distance(&self, a: DVec3, b: DVec3) -> f64 {
        // Half the chord is the sine of half the angle.
        2.0 * (0.5 * Self::lift(a).distance(Self::lift(b)))
            .min(1.0)
            .asin()
    }
}

/// The flat metric pulled back by φ(x) = (x + a sin ky, y + b sin kz, z): G = Jᵀ J with J = dφ, more anisotropic the
/// larger a k and b k are. Geodesics are φ⁻¹ of straight lines.
#[derive(Clone, Copy, Debug)]
pub struct PulledBack {
    /// mm.
    pub a: f64,
    /// Amplitude along y, mm.
    pub b: f64,
    /// Radians per mm.
    pub k: f64,
}

impl PulledBack {
    /// φ(x)
    pub fn flat(&self, x: DVec3) -> DVec3 {
        let (a, b, k) = (self.a, self.b, self.k);
        DVec3::new(x.x + a * (k * x.y).sin(), x.y + b * (k * x.z).sin(), x.z)
    }

    /// φ⁻¹(y)
    pub fn bent(&self, y: DVec3) -> DVec3 {
        let second = y.y - self.b * (self.k * y.z).sin();
        let first = y.x - self.a * (self.k * second).sin();
        DVec3::new(first, second, y.z)
    }

    /// J = dφ/dx
    pub fn jacobian(&self, x: DVec3) -> DMat3 {
        let shear_x = self.a * self.k * (self.k * x.y).cos();
        let shear_y = self.b * self.k * (self.k * x.z).cos();
        DMat3::from_cols(
            DVec3::X,
            DVec3::new(shear_x, 1.0, 0.0),
            DVec3::new(0.0, shear_y, 1.0),
        )
    }
}

impl Field for PulledBack {
    fn tensor(&self, x: DVec3) -> DMat3 {
        let inverse = self.jacobian(x).inverse();
        inverse * inverse.transpose()
    }

    fn metric(&self, x: DVec3) -> DMat3 {
        let jacobian = self.jacobian(x);
        jacobian.transpose() * jacobian
    }
}

impl Geodesics for PulledBack {
    fn geodesic(&self, from: DVec3, toward: DVec3, s: f64) -> DVec3 {
        let direction = (self.jacobian(from) * toward).normalize();
        self.bent(self.flat(from) + s * direction)
    }

    fn distance(&self, a: DVec3, b: DVec3) -> f64 {
        self.flat(a).distance(self.flat(b))
    }
}
