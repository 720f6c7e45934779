//! Short vectors of `f32` that the compiler keeps in vector registers.
//!
//! Plain arrays with element-wise operations: under [`super::simd::dispatch`] each becomes one instruction per
//! register. Eight lanes are one AVX2 register; sixteen hide the latency of a chain of multiply-adds and share each
//! broadcast coefficient between two registers.
//!
//! Where comparisons and accesses to single lanes occur in between, the compiler splits eight lanes into halves and
//! scalars. `Lanes<8, FMA>` therefore uses explicit instructions, where `FMA` is the parameter of
//! [`super::simd::Kernel::run`]; results are equal bit for bit.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `N` values, one per lane (a voxel, a fibre); 4 to 16 lanes are sensible. `AVX` may be true only in the code of a
/// kernel that received it as its parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C, align(32))]
pub struct Lanes<const N: usize, const AVX: bool = false>(pub [f32; N]);

#[cfg(target_arch = "x86_64")]
mod avx {
    use super::Lanes;
    pub use std::arch::x86_64::*;

    impl<const N: usize, const AVX: bool> Lanes<N, AVX> {
        /// Whether a value is one AVX register.
        pub(super) const IS_REGISTER: bool = AVX && N == 8;

        /// Only if [`Self::IS_REGISTER`].
        #[inline(always)]
        pub(super) fn register(&self) -> __m256 {
            // SAFETY: eight f32, aligned to 32 bytes.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            unsafe {
                *self.0.as_ptr().cast()
            }
        }

        /// Only if [`Self::IS_REGISTER`].
        #[inline(always)]
        pub(super) fn from_register(register: __m256) -> Self {
            let mut out = Self([0.0; N]);
            // SAFETY: eight f32, aligned to 32 bytes.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            unsafe {
                *out.0.as_mut_ptr().cast() = register;
            }
            out
        }
    }
}

/// Returns the AVX2 result of an expression of registers if lanes are registers.
macro_rules! as_registers {
    ($expression:expr) => {
        #[cfg(target_arch = "x86_64")]
        if Self::IS_REGISTER {
            // SAFETY: `AVX` is true only below a `Kernel::run::<true>`, which `simd::dispatch` calls only if the
            // processor has AVX2 and FMA, and which is inlined into it.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            return unsafe { $expression };
        }
    };
}

#[cfg(target_arch = "x86_64")]
use avx::*;

impl<const N: usize, const AVX: bool> Lanes<N, AVX> {
    /// Lanes that are all 0.
    pub const ZERO: Self = Self([0.0; N]);

    /// One value in every lane.
    #[inline(always)]
    pub fn splat(value: f32) -> Self {
        as_registers!(Self::from_register(_mm256_set1_ps(value)));
        Self([value; N])
    }

    /// Loads adjacent values from this index on.
    #[inline(always)]
    pub fn load(values: &[f32], from: usize) -> Self {
        let mut out = [0.0; N];
        out.copy_from_slice(&values[from..from + N]);
        Self(out)
    }

    /// Converts the values to another instruction set.
    #[inline(always)]
    pub fn cast<const OTHER: bool>(&self) -> Lanes<N, OTHER> {
        Lanes(self.0)
    }

    /// Applies `f` to each lane.
    #[inline(always)]
    pub fn map(self, f: impl Fn(f32) -> f32) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = f(self.0[i]);
        }
        Self(out)
    }

    /// Applies `f` to corresponding lanes of two vectors.
    #[inline(always)]
    pub fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = f(self.0[i], other.0[i]);
        }
        Self(out)
    }

    /// `self * factor + term`, fused if there is an instruction for it.
    #[inline(always)]
    pub fn mul_add<const F: bool>(self, factor: Self, term: Self) -> Self {
        as_registers!(Self::from_register(_mm256_fmadd_ps(
            self.register(),
            factor.register(),
            term.register()
        )));
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = mul_add::<F>(self.0[i], factor.0[i], term.0[i]);
        }
        Self(out)
    }

    /// `term - self * factor`, fused if there is an instruction for it.
    #[inline(always)]
    pub fn neg_mul_add<const F: bool>(self, factor: Self, term: Self) -> Self {
        (-self).mul_add::<F>(factor, term)
    }

    /// Larger of the two; `other` where `self` is NaN.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        as_registers!(Self::from_register(_mm256_max_ps(
            self.register(),
            other.register()
        )));
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    /// Smaller of the two; `other` where `self` is NaN.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        as_registers!(Self::from_register(_mm256_min_ps(
            self.register(),
            other.register()
        )));
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    /// Absolute value of each lane.
    #[inline(always)]
    pub fn abs(self) -> Self {
        self.map(f32::abs)
    }

    /// Square root of each lane, correctly rounded; NaN for negative values.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        as_registers!(Self::from_register(_mm256_sqrt_ps(self.register())));
        self.map(f32::sqrt)
    }

    /// One bit for each lane that is not below `threshold`; 0 for NaN.
    #[inline(always)]
    pub fn at_least(self, threshold: Self) -> u32 {
        as_registers!(_mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(
            self.register(),
            threshold.register()
        )) as u32);
        let mut bits = 0;
        for i in 0..N {
            bits |= u32::from(self.0[i] >= threshold.0[i]) << i;
        }
        bits
    }

    /// `self` in lanes where `test` is not below `threshold`, else `other`; `other` where it is NaN.
    #[inline(always)]
    pub fn where_at_least(self, test: Self, threshold: Self, other: Self) -> Self {
        as_registers!(Self::from_register(_mm256_blendv_ps(
            other.register(),
            self.register(),
            _mm256_cmp_ps::<_CMP_GE_OQ>(test.register(), threshold.register())
        )));
        let mut out = other.0;
        for i in 0..N {
            if test.0[i] >= threshold.0[i] {
                out[i] = self.0[i];
            }
        }
        Self(out)
    }

    /// The sums over the lanes of each of `N` vectors, one per lane.
    #[inline(always)]
    pub fn totals(vectors: &[Self; N]) -> Self {
        as_registers!({
            let pairs = |i: usize| _mm256_hadd_ps(vectors[i].register(), vectors[i + 1].register());
            let fours = |i: usize| _mm256_hadd_ps(pairs(i), pairs(i + 2));
            let (first, last) = (fours(0), fours(4));
            Self::from_register(_mm256_add_ps(
                _mm256_permute2f128_ps::<0x20>(first, last),
                _mm256_permute2f128_ps::<0x31>(first, last),
            ))
        });
        let mut out = [0.0; N];
        for (out, lanes) in out.iter_mut().zip(vectors) {
            let fours = lanes.0.chunks(4);
            let fours = fours.map(|v| v.chunks(2).map(|v| v.iter().sum::<f32>()).sum::<f32>());
            *out = fours.sum();
        }
        Self(out)
    }

    /// `yes` in lanes where `self` is not 0, else `no`.
    #[inline(always)]
    pub fn select(self, yes: Self, no: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = if self.0[i] != 0.0 { yes.0[i] } else { no.0[i] };
        }
        Self(out)
    }

    /// Natural logarithm of normal positive numbers (meaningless for other input); relative error below 3e-7.
    /// Polynomial of degree 9 on [√½, √2], minimax by Lawson's iteration; ln 2 in two parts so that the large term
    /// adds no error.
    #[inline(always)]
    pub fn ln<const F: bool>(self) -> Self {
        self.map(ln::<F>)
    }

    /// Exponential, argument clamped to -87..=88 (so never 0, subnormal or infinite); relative
    /// error below 3e-7. Polynomial of degree 5 on ±½ ln 2, minimax by Lawson's iteration.
    #[inline(always)]
    pub fn exp<const F: bool>(self) -> Self {
        self.map(exp::<F>)
    }
}

#[inline(always)]
fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// ln 2 with 9 significant bits, exact times any exponent, and the remainder.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

#[inline(always)]
fn ln<const FMA: bool>(value: f32) -> f32 {
    const SQRT_HALF_BITS: u32 = 0x3F35_04F3;
    let bits = value.to_bits();
    // Arithmetic shift: exponent of the power of two that brings the value into [√½, √2).
    let exponent = (bits.wrapping_sub(SQRT_HALF_BITS) as i32) >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub((exponent << 23) as u32));
    let f = mantissa - 1.0;
    let mut p = 0.087_003_86;
    for c in [
        -0.142_674_95,
        0.149_147_87,
        -0.165_775_84,
        0.199_630_62,
        -0.250_013_38,
        0.333_339_1,
    ] {
        p = mul_add::<FMA>(p, f, c);
    }
    let square = f * f;
    let e = exponent as f32;
    let low = mul_add::<FMA>(e, LN2_LOW, square * mul_add::<FMA>(p, f, -0.5));
    mul_add::<FMA>(e, LN2_HIGH, f + low)
}

#[inline(always)]
fn exp<const FMA: bool>(value: f32) -> f32 {
    // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let above = if value > -87.0 { value } else { -87.0 };
    let x = if above < 88.0 { above } else { 88.0 };
    let rounded = mul_add::<FMA>(x, std::f32::consts::LOG2_E, ROUND);
    let k = rounded - ROUND;
    let f = mul_add::<FMA>(k, -LN2_LOW, mul_add::<FMA>(k, -LN2_HIGH, x));
    let mut q = 0.008_312_48;
    for c in [0.041_890_54, 0.166_671_16, 0.499_992_28, 1.0, 1.0] {
        q = mul_add::<FMA>(q, f, c);
    }
    f32::from_bits(q.to_bits().wrapping_add(rounded.to_bits() << 23))
}

impl<const N: usize, const AVX: bool> Add for Lanes<N, AVX> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        as_registers!(Self::from_register(_mm256_add_ps(
            self.register(),
            other.register()
        )));
        self.zip(other, |a, b| a + b)
    }
}

impl<const N: usize, const AVX: bool> Sub for Lanes<N, AVX> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        as_registers!(Self::from_register(_mm256_sub_ps(
            self.register(),
            other.register()
        )));
        self.zip(other, |a, b| a - b)
    }
}

impl<const N: usize, const AVX: bool> Mul for Lanes<N, AVX> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        as_registers!(Self::from_register(_mm256_mul_ps(
            self.register(),
            other.register()
        )));
        self.zip(other, |a, b| a * b)
    }
}

impl<const N: usize, const AVX: bool> Div for Lanes<N, AVX> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        as_registers!(Self::from_register(_mm256_div_ps(
            self.register(),
            other.register()
        )));
        self.zip(other, |a, b| a / b)
    }
}

impl<const N: usize, const AVX: bool> Neg for Lanes<N, AVX> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}
