//! Smooth random fields with one wavelength, which make heads differ.

use crate::data::random::{Random, sine};
use glam::{DVec3, Vec3};

/// A sum of `N` plane waves with random directions and phases: mean 0, variance 1, and a spectrum on one sphere, so
/// that the distances between its zeros are similar (as those of cortical folds are).
#[derive(Clone, Debug)]
pub struct Waves<const N: usize> {
    /// Cycles per mm.
    x: [f32; N],
    y: [f32; N],
    z: [f32; N],
    /// Cycles.
    phase: [f32; N],
}

impl<const N: usize> Waves<N> {
    pub fn new(random: Random, wavelength_mm: f64) -> Self {
        let directions: [DVec3; N] =
            std::array::from_fn(|i| random.stream(1).direction(i as u64) / wavelength_mm);
        Self {
            x: directions.map(|d| d.x as f32),
            y: directions.map(|d| d.y as f32),
            z: directions.map(|d| d.z as f32),
            phase: std::array::from_fn(|i| random.stream(2).uniform(i as u64) as f32),
        }
    }

    /// Value and gradient (per mm).
    pub fn at(&self, p: DVec3) -> (f64, DVec3) {
        let p = p.as_vec3();
        let (mut value, mut gradient) = ([0.0; N], [[0.0; N]; 3]);
        for i in 0..N {
            let turns = self.x[i] * p.x + self.y[i] * p.y + self.z[i] * p.z + self.phase[i];
            let slope = -sine(turns);
            value[i] = sine(turns + 0.25);
            gradient[0][i] = slope * self.x[i];
            gradient[1][i] = slope * self.y[i];
            gradient[2][i] = slope * self.z[i];
        }
        let scale = (2.0 / N as f64).sqrt();
        let sum = |a: &[f32; N]| a.iter().sum::<f32>();
        let gradient = Vec3::new(sum(&gradient[0]), sum(&gradient[1]), sum(&gradient[2]));
        (
            scale * f64::from(sum(&value)),
            scale * std::f64::consts::TAU * gradient.as_dvec3(),
        )
    }

    pub fn value(&self, p: DVec3) -> f64 {
        let p = p.as_vec3();
        let mut value = [0.0; N];
        for i in 0..N {
            let turns = self.x[i] * p.x + self.y[i] * p.y + self.z[i] * p.z + self.phase[i];
            value[i] = sine(turns + 0.25);
        }
        (2.0 / N as f64).sqrt() * f64::from(value.iter().sum::<f32>())
    }
}
