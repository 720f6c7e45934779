//! Run-time choice of vector instructions, the only place that asks the processor.

use std::sync::OnceLock;

/// Vector instructions that solvers may compile a second copy of their inner loop for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// What every processor of this architecture has.
    Base,
    /// x86-64 with AVX2 and fused multiply-add.
    Avx2,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Base if cfg!(target_arch = "aarch64") => "NEON",
            Self::Base if cfg!(target_arch = "x86_64") => "SSE2",
            Self::Base => "scalar",
            Self::Avx2 => "AVX2",
        }
    }
}

/// The best level this processor has, asked once.
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
