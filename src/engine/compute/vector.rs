//! Vectors of `f32` or `f64` as wide as the processor's registers, for solvers whose inner loops depend on them.
//!
//! A [`Kernel`] is generic over its [`Vector`] and runs with the widest one of the processor: sixteen `f32` with
//! AVX-512, eight with AVX2, otherwise arrays that the compiler turns into the instructions of every processor of the
//! architecture. All operations are element-wise and correctly rounded, so that a lane's result depends neither on the
//! other lanes nor on their number: AVX-512 and AVX2 give equal bytes. [`super::Lanes`] is for kernels that work with
//! a fixed number of lanes.
//!
//! The types are private: safe code meets them only as the parameter of a kernel that [`Scalar::dispatch`]
//! runs, after a check that the processor has the instructions.

use super::simd;
use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Sub};

/// `f32` or `f64`.
pub trait Scalar: Copy + Debug + Default + PartialOrd + Send + Sync + 'static {
    /// The nearest value.
    fn from_f64(value: f64) -> Self;
    /// Converts to double precision, exactly.
    fn to_f64(self) -> f64;
    /// Runs a kernel with the widest vectors of this processor.
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output;
}

impl Scalar for f32 {
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output {
        dispatch_f32(kernel)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    fn dispatch<K: Kernel<Self>>(kernel: K) -> K::Output {
        dispatch_f64(kernel)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// One value for each lane.
pub trait Vector:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Type of one lane.
    type Scalar: Scalar;
    /// Number of lanes.
    const LANES: usize;
    /// Whether the instruction set has 32 registers (otherwise 16).
    const MANY_REGISTERS: bool;

    /// One value in every lane.
    fn splat(value: Self::Scalar) -> Self;
    /// The first [`Self::LANES`] values.
    fn load(values: &[Self::Scalar]) -> Self;
    /// Writes the first [`Self::LANES`] values.
    fn store(self, values: &mut [Self::Scalar]);
    /// `self * factor + term`, fused if there is an instruction for it.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// `term - self * factor`, fused if there is an instruction for it.
    fn neg_mul_add(self, factor: Self, term: Self) -> Self;
    /// Square root of each lane, correctly rounded.
    fn sqrt(self) -> Self;
    /// The larger of the two; `other` where either is NaN.
    fn max(self, other: Self) -> Self;
    /// `yes` in lanes where `self > limit`, else `no`; `no` where either is NaN.
    fn select_above(self, limit: Self, yes: Self, no: Self) -> Self;

    /// Lanes that are all 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(Self::Scalar::default())
    }

    /// One value in every lane, rounded to the lane's type.
    #[inline(always)]
    fn splat_f64(value: f64) -> Self {
        Self::splat(Self::Scalar::from_f64(value))
    }
}

/// Work that runs with the widest vectors of this processor.
pub trait Kernel<S> {
    /// Result of the work.
    type Output;

    /// The work. Mark it, and everything that its inner loop calls, `#[inline(always)]`: code that is not inlined
    /// keeps the base instructions.
    fn run<V: Vector<Scalar = S>>(self) -> Self::Output;
}

fn dispatch_f32<K: Kernel<f32>>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if simd::has_avx512() {
            // SAFETY: the processor has AVX-512F, AVX2 and FMA.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            return unsafe { x86::wide::<f32, x86::F32x16, K>(kernel) };
        }
        if simd::level() == simd::Level::Avx2 {
            // SAFETY: the processor has AVX2 and FMA.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            return unsafe { x86::narrow::<f32, x86::F32x8, K>(kernel) };
        }
    }
    kernel.run::<Plain<f32, 8>>()
}

fn dispatch_f64<K: Kernel<f64>>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if simd::has_avx512() {
            // SAFETY: the processor has AVX-512F, AVX2 and FMA.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            return unsafe { x86::wide::<f64, x86::F64x8, K>(kernel) };
        }
        if simd::level() == simd::Level::Avx2 {
            // SAFETY: the processor has AVX2 and FMA.
            #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
            return unsafe { x86::narrow::<f64, x86::F64x4, K>(kernel) };
        }
    }
    kernel.run::<Plain<f64, 4>>()
}

/// Runs a kernel with the instructions of every processor of this architecture: for tests.
pub fn plain_f32<K: Kernel<f32>>(kernel: K) -> K::Output {
    kernel.run::<Plain<f32, 8>>()
}

/// Runs a kernel with AVX2, also where the processor has wider vectors, and without it as [`plain_f32`]: for tests.
pub fn narrow_f32<K: Kernel<f32>>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if simd::level() == simd::Level::Avx2 {
        // SAFETY: the processor has AVX2 and FMA.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        return unsafe { x86::narrow::<f32, x86::F32x8, K>(kernel) };
    }
    plain_f32(kernel)
}

/// An array, for processors without a type of their own.
#[derive(Clone, Copy)]
struct Plain<S, const N: usize>([S; N]);

/// The fused operation is a slow library call on x86-64 without FMA.
const FUSED: bool = cfg!(target_arch = "aarch64");

macro_rules! plain {
    ($scalar:ty) => {
        impl<const N: usize> Plain<$scalar, N> {
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($scalar, $scalar) -> $scalar) -> Self {
                Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
            }
        }

        plain!(Add, add, $scalar);
        plain!(Sub, sub, $scalar);
        plain!(Mul, mul, $scalar);
        plain!(Div, div, $scalar);

        impl<const N: usize> Vector for Plain<$scalar, N> {
            type Scalar = $scalar;
            const LANES: usize = N;
            const MANY_REGISTERS: bool = cfg!(target_arch = "aarch64");

            #[inline(always)]
            fn splat(value: $scalar) -> Self {
                Self([value; N])
            }

            #[inline(always)]
            fn load(values: &[$scalar]) -> Self {
                let mut out = [0.0; N];
                out.copy_from_slice(&values[..N]);
                Self(out)
            }

            #[inline(always)]
            fn store(self, values: &mut [$scalar]) {
                values[..N].copy_from_slice(&self.0);
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                match FUSED {
                    true => Self(std::array::from_fn(|i| {
                        self.0[i].mul_add(factor.0[i], term.0[i])
                    })),
                    false => self * factor + term,
                }
            }

            #[inline(always)]
            fn neg_mul_add(self, factor: Self, term: Self) -> Self {
                match FUSED {
                    true => Self(std::array::from_fn(|i| {
                        (-self.0[i]).mul_add(factor.0[i], term.0[i])
                    })),
                    false => term - self * factor,
                }
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(self.0.map(<$scalar>::sqrt))
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                self.zip(other, |a, b| if a > b { a } else { b })
            }

            #[inline(always)]
            fn select_above(self, limit: Self, yes: Self, no: Self) -> Self {
                Self(std::array::from_fn(|i| {
                    if self.0[i] > limit.0[i] {
                        yes.0[i]
                    } else {
                        no.0[i]
                    }
                }))
            }
        }
    };
    ($trait:ident, $method:ident, $scalar:ty) => {
        impl<const N: usize> $trait for Plain<$scalar, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, |a, b| $trait::$method(a, b))
            }
        }
    };
}

plain!(f32);
plain!(f64);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kernel, Vector};
    use std::arch::x86_64::*;
    use std::ops::{Add, Div, Mul, Sub};

    #[target_feature(enable = "avx512f,avx2,fma")]
    pub fn wide<S, V: Vector<Scalar = S>, K: Kernel<S>>(kernel: K) -> K::Output {
        kernel.run::<V>()
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn narrow<S, V: Vector<Scalar = S>, K: Kernel<S>>(kernel: K) -> K::Output {
        kernel.run::<V>()
    }

    macro_rules! register {
        ($name:ident, $register:ty, $scalar:ty, $lanes:literal, $many:literal, $set:ident, $load:ident, $store:ident,
         $add:ident, $sub:ident, $mul:ident, $div:ident, $mul_add:ident, $neg_mul_add:ident, $sqrt:ident, $max:ident,
         ($test:ident, $limit:ident, $yes:ident, $no:ident) => $select:expr) => {
            /// A register; its values exist only below [`wide`] or [`narrow`].
            #[derive(Clone, Copy)]
            #[repr(transparent)]
            pub struct $name($register);

            register!($name, Add, add, $add);
            register!($name, Sub, sub, $sub);
            register!($name, Mul, mul, $mul);
            register!($name, Div, div, $div);

            #[allow(
                unsafe_code,
                reason = "intrinsics of one instruction set, see the type"
            )]
            impl Vector for $name {
                type Scalar = $scalar;
                const LANES: usize = $lanes;
                const MANY_REGISTERS: bool = $many;

                #[inline(always)]
                fn splat(value: $scalar) -> Self {
                    // SAFETY: the processor has the instruction, see the type.
                    unsafe { Self($set(value)) }
                }

                #[inline(always)]
                fn load(values: &[$scalar]) -> Self {
                    let values = &values[..$lanes];
                    // SAFETY: the processor has the instruction, and there are as many values.
                    unsafe { Self($load(values.as_ptr())) }
                }

                #[inline(always)]
                fn store(self, values: &mut [$scalar]) {
                    let values = &mut values[..$lanes];
                    // SAFETY: the processor has the instruction, and there are as many values.
                    unsafe { $store(values.as_mut_ptr(), self.0) }
                }

                #[inline(always)]
                fn mul_add(self, factor: Self, term: Self) -> Self {
                    // SAFETY: the processor has the instruction, see the type.
                    unsafe { Self($mul_add(self.0, factor.0, term.0)) }
                }

                #[inline(always)]
                fn neg_mul_add(self, factor: Self, term: Self) -> Self {
                    // SAFETY: the processor has the instruction, see the type.
                    unsafe { Self($neg_mul_add(self.0, factor.0, term.0)) }
                }

                #[inline(always)]
                fn sqrt(self) -> Self {
                    // SAFETY: the processor has the instruction, see the type.
                    unsafe { Self($sqrt(self.0)) }
                }

                #[inline(always)]
                fn max(self, other: Self) -> Self {
                    // SAFETY: the processor has the instruction, see the type.
                    unsafe { Self($max(self.0, other.0)) }
                }

                #[inline(always)]
                fn select_above(self, limit: Self, yes: Self, no: Self) -> Self {
                    // SAFETY: the processor has the instruction, see the type.
                    unsafe {
                        let ($test, $limit, $yes, $no) = (self.0, limit.0, yes.0, no.0);
                        Self($select)
                    }
                }
            }
        };
        ($name:ident, $trait:ident, $method:ident, $function:ident) => {
            impl $trait for $name {
                type Output = Self;
                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: the processor has the instruction, see the type.
                    #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
                    unsafe {
                        Self($function(self.0, other.0))
                    }
                }
            }
        };
    }

    register!(
        F32x16,
        __m512,
        f32,
        16,
        true,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_div_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps,
        _mm512_sqrt_ps,
        _mm512_max_ps,
        (test, limit, yes, no) => _mm512_mask_blend_ps(
            _mm512_cmp_ps_mask::<_CMP_GT_OQ>(test, limit),
            no,
            yes
        )
    );
    register!(
        F64x8,
        __m512d,
        f64,
        8,
        true,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_div_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd,
        _mm512_sqrt_pd,
        _mm512_max_pd,
        (test, limit, yes, no) => _mm512_mask_blend_pd(
            _mm512_cmp_pd_mask::<_CMP_GT_OQ>(test, limit),
            no,
            yes
        )
    );
    register!(
        F32x8,
        __m256,
        f32,
        8,
        false,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_div_ps,
        _mm256_fmadd_ps,
        _mm256_fnmadd_ps,
        _mm256_sqrt_ps,
        _mm256_max_ps,
        (test, limit, yes, no) => _mm256_blendv_ps(
            no,
            yes,
            _mm256_cmp_ps::<_CMP_GT_OQ>(test, limit)
        )
    );
    register!(
        F64x4,
        __m256d,
        f64,
        4,
        false,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_div_pd,
        _mm256_fmadd_pd,
        _mm256_fnmadd_pd,
        _mm256_sqrt_pd,
        _mm256_max_pd,
        (test, limit, yes, no) => _mm256_blendv_pd(
            no,
            yes,
            _mm256_cmp_pd::<_CMP_GT_OQ>(test, limit)
        )
    );
}
