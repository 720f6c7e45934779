//! The machine that runs the solvers.

use std::sync::Arc;

/// What the user asked for (`--backend`, `--threads`, or the setting).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BackendChoice {
    /// Worker threads; `None` means one per core.
    pub threads: Option<usize>,
}

/// Where solvers run. Chosen once; cheap to clone.
#[derive(Clone, Debug)]
pub enum Backend {
    /// All cores of this machine, through a pool of our own.
    Cpu { pool: Arc<rayon::ThreadPool> },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BackendError {
    /// The operating system refused to start the worker threads.
    Threads { wanted: usize, why: String },
}

impl std::fmt::Display for BackendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Threads { wanted, why } => {
                write!(
                    f,
                    "Could not start {wanted} worker threads ({why}); ask for fewer with --threads"
                )
            }
        }
    }
}

impl std::error::Error for BackendError {}

impl Backend {
    pub fn choose(choice: &BackendChoice) -> Result<Self, BackendError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let wanted = choice.threads.unwrap_or(cores).max(1);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(wanted)
            .thread_name(|i| format!("solver-{i}"))
            .build()
            .map_err(|e| BackendError::Threads {
                wanted,
                why: e.to_string(),
            })?;
        Ok(Self::Cpu {
            pool: Arc::new(pool),
        })
    }

    /// Runs `work` with every rayon call inside it on this backend's threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::Cpu { pool } => pool.install(work),
        }
    }

    pub fn threads(&self) -> usize {
        match self {
            Self::Cpu { pool } => pool.current_num_threads(),
        }
    }

    /// For `--json` and benchmarks: `cpu`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpu { .. } => "cpu",
        }
    }

    /// For the status line, with the vector instructions in use: `16 threads · AVX2`.
    pub fn detail(&self) -> String {
        let n = self.threads();
        let plural = if n == 1 { "" } else { "s" };
        format!("{n} thread{plural} · {}", super::simd::level().name())
    }
}
