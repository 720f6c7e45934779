//! Random numbers counted by place, not by order: the same bytes on any number of threads.

use glam::DVec3;

/// A stream of numbers named by a seed; every number has an index and is found without the others.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    key: u64,
}

/// The output function of SplitMix64 (Steele, Lea and Flood 2014): a bijection of 64 bits in which
/// every input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Self {
            key: mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15)),
        }
    }

    /// An independent stream, for another purpose or another volume.
    pub fn stream(self, name: u64) -> Self {
        Self {
            key: mix(self.key ^ mix(name.wrapping_add(0xD1B5_4A32_D192_ED03))),
        }
    }

    pub fn bits(self, index: u64) -> u64 {
        mix(self
            .key
            .wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// Uniform in `0..1`, never 0 or 1.
    pub fn uniform(self, index: u64) -> f64 {
        ((self.bits(index) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Uniform in `low..high`.
    pub fn within(self, index: u64, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform(index)
    }

    /// Two independent standard normals (Box and Muller 1958).
    pub fn normal_pair(self, index: u64) -> (f32, f32) {
        let bits = self.bits(index);
        let unit = 1.0 / (1u64 << 32) as f32;
        let first = ((bits >> 32) as f32 + 0.5) * unit;
        let turn = (bits as u32) as f32 * unit * std::f32::consts::TAU;
        let radius = (-2.0 * first.min(1.0).ln()).max(0.0).sqrt();
        let (sin, cos) = turn.sin_cos();
        (radius * cos, radius * sin)
    }

    /// A uniform direction (Archimedes: height and angle are independent).
    pub fn direction(self, index: u64) -> DVec3 {
        let height = self.within(2 * index, -1.0, 1.0);
        let turn = self.within(2 * index + 1, 0.0, std::f64::consts::TAU);
        let radius = (1.0 - height * height).sqrt();
        DVec3::new(radius * turn.cos(), radius * turn.sin(), height)
    }
}
