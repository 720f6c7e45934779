//! The backend that runs the solvers.

use super::choice::{BackendChoice, BackendKind, DeviceChoice};
use super::cuda::{self, Device};
use super::{simd, thread};
use rayon::ThreadPool;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The backend of all solvers. Chosen once; cheap to clone.
#[derive(Clone, Debug)]
pub enum Backend {
    /// All cores of this machine, through our own thread pool.
    Cpu {
        /// Threads that run parallel work.
        pool: Arc<Pool>,
        /// Why no graphics card is used, as text.
        reason: Arc<str>,
        /// The error because of which no graphics card is used although the CPU was not chosen.
        no_card: Option<Arc<cuda::Error>>,
    },
    /// NVIDIA graphics cards, at least one; solvers without a kernel use the pool.
    Cuda {
        /// Threads for the work that stays on the CPU.
        pool: Arc<Pool>,
        /// Cards that share the work, at least one.
        devices: Arc<[Device]>,
    },
}

/// The devices of a backend; a run can continue on an equal one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hardware {
    /// The processor alone.
    Cpu {
        /// Number of threads.
        threads: usize,
    },
    /// Numbers of the cards in the driver's order.
    Cuda {
        /// Numbers of the cards, as the driver counts them.
        cards: Vec<usize>,
    },
}

/// An accelerator besides the CPU. A solver requests those for which it has kernels and otherwise runs on the CPU, so
/// an accelerator unknown to a solver needs no arm in it.
#[derive(Clone, Copy, Debug)]
pub enum Accelerator<'a> {
    /// NVIDIA graphics cards, at least one.
    Cuda(&'a Arc<[Device]>),
}

/// Number of threads needed besides the workers: those of jobs of several kinds and of their listeners.
const SPARE_THREADS: usize = 6;

/// Worker threads.
#[derive(Debug)]
pub struct Pool {
    threads: ThreadPool,
    /// The sentence about requested threads that could not be started.
    shortage: Option<String>,
}

/// The requested backend is not available.
#[derive(Clone, PartialEq, Debug)]
pub enum BackendError {
    /// The operating system refused to start the worker threads.
    Threads {
        /// Number of threads that was requested.
        requested: usize,
        /// Reason given by the operating system.
        why: String,
    },
    /// The requested graphics card cannot be used.
    Cuda(cuda::Error),
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads { requested, why } => {
                write!(
                    f,
                    "Could not start any of {requested} worker threads ({why}); close other programs, or raise \
                     the limit of processes (ulimit -u)"
                )
            }
            Self::Cuda(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BackendError {}

impl Backend {
    /// Starts the threads and finds the cards; under `Auto`, an unusable card leads to the CPU and a reason.
    pub fn choose(choice: &BackendChoice) -> Result<Self, BackendError> {
        let pool = pool(choice.threads)?;
        let cpu = |pool, reason: &str| Self::Cpu {
            pool,
            reason: reason.into(),
            no_card: None,
        };
        let which = match choice.kind {
            BackendKind::Cpu => return Ok(cpu(pool, "chosen by hand")),
            BackendKind::Auto => DeviceChoice::First,
            BackendKind::Cuda(which) => which,
        };
        match cuda::open(which) {
            Ok(devices) => Ok(Self::Cuda {
                pool,
                devices: devices.into(),
            }),
            Err(error) if choice.kind == BackendKind::Auto => Ok(Self::Cpu {
                pool,
                reason: error.problem().into(),
                no_card: Some(Arc::new(error)),
            }),
            Err(error) => Err(BackendError::Cuda(error)),
        }
    }

    /// A CPU backend on the same threads, for solvers without a kernel.
    pub fn cpu(&self) -> Self {
        match self {
            Self::Cpu { .. } => self.clone(),
            Self::Cuda { pool, .. } => Self::Cpu {
                pool: pool.clone(),
                reason: "no kernel does this".into(),
                no_card: None,
            },
        }
    }

    fn pool(&self) -> &Pool {
        match self {
            Self::Cpu { pool, .. } | Self::Cuda { pool, .. } => pool,
        }
    }

    /// One sentence if the operating system started fewer worker threads than requested.
    pub fn shortage(&self) -> Option<&str> {
        self.pool().shortage.as_deref()
    }

    /// The error because of which no graphics card is used although the CPU was not chosen.
    pub fn no_card(&self) -> Option<&cuda::Error> {
        match self {
            Self::Cpu { no_card, .. } => no_card.as_deref(),
            Self::Cuda { .. } => None,
        }
    }

    /// Why an installed graphics card is not used although the CPU was not chosen, in one sentence.
    pub fn card_problem(&self) -> Option<String> {
        self.no_card()?.card_problem()
    }

    /// Runs `work` with every rayon call inside it on this backend's threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool().threads.install(work)
    }

    /// Runs two closures side by side on this backend's threads.
    pub fn install_both<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        self.install(|| rayon::join(first, second))
    }

    /// Processor or cards, in the form that a session records.
    pub fn hardware(&self) -> Hardware {
        match self {
            Self::Cpu { .. } => Hardware::Cpu {
                threads: self.threads(),
            },
            Self::Cuda { devices, .. } => Hardware::Cuda {
                cards: devices.iter().map(Device::number).collect(),
            },
        }
    }

    /// Number of threads that run parallel work.
    pub fn threads(&self) -> usize {
        self.pool().threads.current_num_threads()
    }

    /// The accelerators of this backend; `None` on the CPU alone.
    pub fn accelerator(&self) -> Option<Accelerator<'_>> {
        match self {
            Self::Cpu { .. } => None,
            Self::Cuda { devices, .. } => Some(Accelerator::Cuda(devices)),
        }
    }

    /// The graphics cards in use; empty on the CPU.
    pub fn devices(&self) -> &[Device] {
        match self {
            Self::Cpu { .. } => &[],
            Self::Cuda { devices, .. } => devices,
        }
    }

    /// Equal shares of `count` items, one per card, in order.
    pub fn split_among_devices(&self, count: usize) -> Vec<Range<usize>> {
        let cards = self.devices().len();
        let share = count.div_ceil(cards.max(1));
        (0..cards)
            .map(|i| (i * share).min(count)..((i + 1) * share).min(count))
            .collect()
    }

    /// The results of `work` on all cards at the same time, in the order of the cards; `work` receives the card's
    /// index in [`Backend::devices`].
    pub fn on_each_device<R: Send>(&self, work: impl Fn(usize, &Device) -> R + Sync) -> Vec<R> {
        let devices = self.devices();
        Self::on_own_threads(devices.len(), |i| work(i, &devices[i]))
    }

    /// The results of `work` on threads of its own, one for each index: they wait for cards, so those of the pool go on
    /// working. A single one runs on the caller's thread.
    pub fn on_own_threads<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        if count == 1 {
            return vec![work(0)];
        }
        let work = &work;
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..count)
                .map(|i| std::thread::Builder::new().spawn_scoped(scope, move || work(i)))
                .collect();
            let finished = started.into_iter().enumerate();
            let finished = finished.map(|(i, thread)| match thread {
                Ok(thread) => match thread.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                // No thread could be started: this work waits for the others.
                Err(_) => work(i),
            });
            finished.collect()
        })
    }

    /// The name in `--json` and benchmarks: `cpu` or `cuda`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cpu { .. } => "cpu",
            Self::Cuda { .. } => "cuda",
        }
    }

    /// `16 threads · AVX2`, with the vector instructions in use, or `2 × NVIDIA H200 · 139 GB`, with the memory of
    /// one card.
    pub fn detail(&self) -> String {
        match self {
            Self::Cpu { .. } => self.threads_detail(),
            Self::Cuda { devices, .. } => cards(devices),
        }
    }

    fn threads_detail(&self) -> String {
        let n = self.threads();
        let plural = if n == 1 { "" } else { "s" };
        format!("{n} thread{plural} · {}", simd::level().name())
    }

    /// The label for the status line: `CPU 16 threads · AVX2`, `CUDA NVIDIA H200 · 139 GB`.
    pub fn label(&self) -> String {
        let kind = match self {
            Self::Cpu { .. } => "CPU",
            Self::Cuda { .. } => "CUDA",
        };
        format!("{kind} {}", self.detail())
    }

    /// Why this backend was chosen: `CPU: no NVIDIA driver found`.
    pub fn reason(&self) -> String {
        match self {
            Self::Cpu { reason, .. } => format!("CPU: {reason}"),
            Self::Cuda { .. } => format!(
                "CUDA: the self-test passed; solvers without a kernel run on {}",
                self.threads_detail()
            ),
        }
    }
}

/// Starts the requested threads, or fewer if the operating system refuses some; an error if it refuses all.
fn pool(threads: Option<usize>) -> Result<Arc<Pool>, BackendError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let requested = threads.unwrap_or(cores).max(1);
    let refused = |why: &str| BackendError::Threads {
        requested,
        why: thread::without_os_error(why),
    };
    let mut next = requested;
    loop {
        let built = rayon::ThreadPoolBuilder::new()
            .num_threads(next)
            .thread_name(|i| format!("solver-{i}"))
            .build();
        // If threads are scarce, some must be left for a job and its watcher.
        let common = if next < requested { 1 } else { requested };
        let built = built.map_err(|e| e.to_string()).and_then(|threads| {
            let common = thread::start_common(common).map_err(|e| e.to_string());
            common.map(|()| threads)
        });
        let built = built.and_then(
            |threads| match next == 1 || thread::has_room(SPARE_THREADS) {
                true => Ok(threads),
                false => Err("no more threads".to_owned()),
            },
        );
        match built {
            Ok(threads) => {
                let shortage = (next < requested).then(|| {
                    format!(
                        "Started {next} of {requested} worker threads, because the operating system refused \
                         more; raise the limit of processes (ulimit -u), or ask for fewer with --threads"
                    )
                });
                return Ok(Arc::new(Pool { threads, shortage }));
            }
            Err(_) if next > 1 => {
                next /= 2;
                // Threads that were started count until they have ended.
                thread::pause(Duration::from_millis(50));
            }
            Err(why) => return Err(refused(&why)),
        }
    }
}

/// Equal cards listed once, with their number.
fn cards(devices: &[Device]) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for device in devices {
        let card = format!("{} · {}", device.name(), cuda::gigabytes(device.total()));
        match kinds.iter_mut().find(|(known, _)| *known == card) {
            Some((_, count)) => *count += 1,
            None => kinds.push((card, 1)),
        }
    }
    let text = kinds.into_iter().map(|(card, count)| match count {
        1 => card,
        _ => format!("{count} × {card}"),
    });
    text.collect::<Vec<_>>().join(", ")
}
