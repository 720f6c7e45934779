//! Run-time choice of vector instructions, the only code that queries the processor.

use std::sync::OnceLock;

/// Instruction sets for which solvers may compile a second copy of their inner loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The instructions of every processor of this architecture.
    Base,
    /// x86-64 with AVX2 and fused multiply-add.
    Avx2,
}

impl Level {
    /// Name for reports, such as `AVX2`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base if cfg!(target_arch = "aarch64") => "NEON",
            Self::Base if cfg!(target_arch = "x86_64") => "SSE2",
            Self::Base => "scalar",
            Self::Avx2 => "AVX2",
        }
    }
}

/// The best level of this processor, queried once.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(detect)
}

fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return Level::Avx2;
    }
    Level::Base
}

/// Whether the processor has AVX-512 besides AVX2 and fused multiply-add.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx512() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| level() == Level::Avx2 && is_x86_feature_detected!("avx512f"))
}

/// Work whose inner loop is compiled once per instruction set and chosen at run time.
pub trait Kernel {
    /// Result of the work.
    type Output;

    /// The work. Mark it, and everything that its inner loop calls, `#[inline(always)]`: code that is not inlined
    /// keeps the base instructions. `FMA` states whether a fused multiply-add is one instruction (otherwise
    /// `f32::mul_add` is a slow library call).
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// Runs a kernel with the best instructions of this processor.
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx2 {
        #[target_feature(enable = "avx2,fma")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<true>()
        }
        // SAFETY: `level` is `Avx2` only where the processor reports both avx2 and fma.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        return unsafe { avx2(kernel) };
    }
    base(kernel)
}

/// Prefetches an element; does nothing if it does not exist.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and the address is that of a value.
        #[allow(unsafe_code, reason = "sound for the reason given as SAFETY")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

/// Runs a kernel with the instructions of every processor of this architecture (NEON has the fused form).
pub fn base<K: Kernel>(kernel: K) -> K::Output {
    if cfg!(target_arch = "aarch64") {
        kernel.run::<true>()
    } else {
        kernel.run::<false>()
    }
}
