//! Random numbers: by index ([`Random`]), so that any thread can compute each of them independently, or as a sequence
//! ([`Stream`]), one for each seed point or voxel. Both give equal bytes on any number of threads.
//!
//! # Example
//!
//! A number depends on the seed and on its index alone:
//!
//! ```
//! use arcuate_engine::data::random::Random;
//!
//! let random = Random::new(1);
//! assert_eq!(random.uniform(1000), Random::new(1).uniform(1000));
//! assert!((0.0..1.0).contains(&random.uniform(7)));
//! assert!((random.direction(3).length() - 1.0).abs() < 1e-12);
//! ```

use glam::DVec3;

/// Step of the counters: 2⁶⁴ divided by the golden ratio, odd.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of numbers determined by a seed; every number has an index and can be computed independently.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    key: u64,
}

/// The output function of SplitMix64 (Steele, Lea and Flood 2014): a bijection of 64 bits in which every input bit
/// affects every output bit.
#[inline(always)]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// Generator of this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            key: mix(seed.wrapping_add(GOLDEN)),
        }
    }

    /// An independent stream, for another purpose or another volume.
    pub fn stream(self, name: u64) -> Self {
        Self {
            key: mix(self.key ^ mix(name.wrapping_add(0xD1B5_4A32_D192_ED03))),
        }
    }

    /// The key of the stream, for kernels that compute the same numbers.
    pub fn key(self) -> u64 {
        self.key
    }

    /// Uniform 64 random bits of an index.
    pub fn bits(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(GOLDEN)))
    }

    /// Uniform in `0..1`, never 0 or 1.
    pub fn uniform(self, index: u64) -> f64 {
        ((self.bits(index) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Uniform in `low..high`.
    pub fn within(self, index: u64, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform(index)
    }

    /// Two independent standard normals (Box and Muller 1958), to 24 bits.
    pub fn normal_pair(self, index: u64) -> (f32, f32) {
        let bits = self.bits(index);
        let first = ((bits >> 40) as f32 + 0.5) * (1.0 / (1u64 << 24) as f32);
        let turn = (bits & 0xFF_FFFF) as f32 * (1.0 / (1u64 << 24) as f32);
        let radius = (-2.0 * logarithm(first)).max(0.0).sqrt();
        (radius * sine(turn + 0.25), radius * sine(turn))
    }

    /// Converts signals to magnitudes with Rician noise: |s + n₁ + i n₂|. Uses the numbers from index `first` on.
    pub fn add_rician(self, sigma: f32, first: u64, signals: &mut [f32]) {
        for (i, s) in signals.iter_mut().enumerate() {
            let (a, b) = self.normal_pair(first + i as u64);
            let (real, imaginary) = (*s + sigma * a, sigma * b);
            *s = (real * real + imaginary * imaginary).sqrt();
        }
    }

    /// A uniform direction (Archimedes: height and angle are independent).
    pub fn direction(self, index: u64) -> DVec3 {
        let height = self.within(2 * index, -1.0, 1.0);
        let turn = self.within(2 * index + 1, 0.0, std::f64::consts::TAU);
        let radius = (1.0 - height * height).sqrt();
        DVec3::new(radius * turn.cos(), radius * turn.sin(), height)
    }
}

/// The sequence of numbers for one seed point or voxel.
pub struct Stream(u64);

impl Stream {
    /// The stream with number `index` for `seed`; hashed twice so that neighbouring seeds and neighbouring indices
    /// share no part of their sequences.
    #[inline(always)]
    pub fn new(seed: u64, index: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(GOLDEN)) ^ mix(!index)))
    }

    /// Uniform in `0..1`, 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

/// sin(2π turns) to 1e-5 for |turns| < 2²¹, in plain arithmetic so that loops around it compile to vector code (the
/// library's sine does not).
pub fn sine(turns: f32) -> f32 {
    // Adding and subtracting 1.5 · 2²³ rounds to the nearest integer.
    const ROUND: f32 = 12_582_912.0;
    let turns = turns - 0.25;
    let away = (turns - ((turns + ROUND) - ROUND)).abs();
    // cos(2π away) = sin(2π (1/4 − away)), whose argument stays within a quarter turn.
    let x = std::f32::consts::TAU * (0.25 - away);
    let x2 = x * x;
    x * (1.0
        + x2 * (-1.0 / 6.0 + x2 * (1.0 / 120.0 + x2 * (-1.0 / 5040.0 + x2 * (1.0 / 362_880.0)))))
}

/// Natural logarithm of a positive normal number to 2e-7: exponent, and 2 artanh((m − 1) / (m + 1))
/// of a mantissa m between √½ and √2.
fn logarithm(x: f32) -> f32 {
    let bits = x.to_bits();
    let shifted = bits.wrapping_sub(0x3F35_04F3);
    let exponent = (shifted as i32 >> 23) as f32;
    let mantissa = f32::from_bits((shifted & 0x007F_FFFF) + 0x3F35_04F3);
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let t2 = t * t;
    let series =
        t * (2.0 + t2 * (2.0 / 3.0 + t2 * (2.0 / 5.0 + t2 * (2.0 / 7.0 + t2 * (2.0 / 9.0)))));
    exponent * std::f32::consts::LN_2 + series
}
