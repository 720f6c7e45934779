//! Random numbers by counter, so that every seed point draws its own, in any order and on any
//! thread.

/// Step of the counter: 2⁶⁴ divided by the golden ratio, odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every input bit reaches every output
/// bit.
#[inline(always)]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The numbers of one seed point.
pub struct Stream(u64);

impl Stream {
    /// The stream of number `index` under `seed`; hashed twice so that neighbouring seeds and
    /// neighbouring indices share no stretch of numbers.
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
