//! Water inside an impermeable cylinder, seen by two gradient pulses.
//!
//! Phases are taken as normally distributed (Murday and Cotts 1968; for cylinders van Gelderen et al. 1994,
//! J Magn Reson B 103:255):
//!
//! ln E = −2 γ²G² sin²θ Σ_n \[2 D α²δ − 2 + 2 e^−Dα²δ + 2 e^−Dα²Δ − e^−Dα²(Δ−δ) − e^−Dα²(Δ+δ)\] / (D² α⁶ (R²α² − 1))
//!
//! with R α_n the zeros of J₁′, and −b D cos²θ along the axis; (γ G δ)² (Δ − δ/3) = b.

use crate::data::Sentence;
use crate::data::text::number;
use crate::parameters::{self, Limits};
use crate::solvers::Error;
use std::f64::consts::PI;
use std::fmt;
use std::sync::OnceLock;

/// Timing of the two gradient pulses.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Timing {
    /// δ, the length of a pulse, ms.
    pub pulse_ms: f64,
    /// Δ, from the start of one pulse to the start of the other, ms.
    pub between_ms: f64,
}

/// Permitted range of both times, ms: no gradient pulse is shorter, and no spin keeps its phase longer.
pub(super) const TIMES_MS: Limits = Limits::between(0.01, 1e5);

impl Timing {
    /// Returns an error for times outside the range of scanners.
    pub fn check(&self) -> Result<(), TimingError> {
        parameters::check(self).map_err(|_| TimingError(*self))
    }
}

/// Gradient timing outside the range of scanners.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimingError(Timing);

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (TIMES_MS.low, TIMES_MS.high);
        write!(
            f,
            "The gradient timing is δ = {} ms and Δ = {} ms, expected {min} ≤ δ ≤ Δ ≤ {max}; take both from \
             the scan's protocol",
            number(self.0.pulse_ms),
            number(self.0.between_ms)
        )
    }
}

impl std::error::Error for TimingError {}

impl From<TimingError> for Error {
    fn from(error: TimingError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}

/// Gamma-distributed radii, weighted by number of cylinders (Alexander et al. 2010, NeuroImage 52:1374).
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct GammaRadii {
    /// Shape parameter k, without unit.
    pub shape: f64,
    /// Scale parameter θ, µm; the mean radius is k θ.
    pub scale_um: f64,
}

impl GammaRadii {
    /// The mean of a function of the radius over the water in such cylinders, hence weighted by r² times the density.
    pub fn mean(&self, value: impl Fn(f64) -> f64) -> f64 {
        const POINTS: usize = 256;
        // The r² of the water adds 2 to the shape; the range reaches far into the tail.
        let k = self.shape + 2.0;
        let (middle, width) = (k * self.scale_um, k.sqrt() * self.scale_um);
        let (low, high) = ((middle - 9.0 * width).max(0.0), middle + 12.0 * width);
        let (mut sum, mut norm) = (0.0, 0.0);
        for i in 0..POINTS {
            let r = low + (high - low) * (i as f64 + 0.5) / POINTS as f64;
            // Relative to the largest value, to avoid overflow.
            let weight = ((k - 1.0) * (r / middle).ln() - (r - middle) / self.scale_um).exp();
            sum += weight * value(r);
            norm += weight;
        }
        sum / norm
    }
}

/// −ln E perpendicular to the axis, dimensionless.
pub fn across(b_s_per_mm2: f64, timing: Timing, d_mm2_per_s: f64, radius_um: f64) -> f64 {
    let (small, big) = (timing.pulse_ms * 1e-3, timing.between_ms * 1e-3);
    let radius = radius_um * 1e-3;
    if radius <= 0.0 {
        return 0.0;
    }
    let strength = b_s_per_mm2 / (small * small * (big - small / 3.0));
    let term = |root: &f64| {
        let alpha = root / radius;
        let rate = d_mm2_per_s * alpha * alpha;
        // e^−x without its constant and linear parts, which cancel for slow rates.
        let rest = |t: f64| (-rate * t).exp_m1() + rate * t;
        let top = 2.0 * rest(small) + 2.0 * rest(big) - rest(big - small) - rest(big + small);
        top / (rate * rate * alpha * alpha * (root * root - 1.0))
    };
    2.0 * strength * roots().iter().map(term).sum::<f64>()
}

/// The zeros of J₁′.
pub fn roots() -> &'static [f64] {
    static ROOTS: OnceLock<Vec<f64>> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let root = |n: usize| {
            let beta = PI * (n as f64 - 0.25);
            let mut x = beta - 7.0 / (8.0 * beta);
            for _ in 0..20 {
                let slope = bessel(0, x) - bessel(1, x) / x;
                let curve = -slope / x - (1.0 - 1.0 / (x * x)) * bessel(1, x);
                x -= slope / curve;
            }
            x
        };
        (1..=60).map(root).collect()
    })
}

/// J_n by its integral, (1/π) ∫ cos(nτ − x sin τ) over half a turn: the trapezoid rule is exact to rounding for a
/// periodic integrand once it has more points than x.
fn bessel(n: usize, x: f64) -> f64 {
    const POINTS: usize = 512;
    let value = |i: usize| {
        let t = 2.0 * PI * i as f64 / POINTS as f64;
        (n as f64 * t - x * t.sin()).cos()
    };
    (0..POINTS).map(value).sum::<f64>() / POINTS as f64
}
