//! The backend that runs the solvers.

use super::choice::{BackendChoice, BackendKind, DeviceChoice};
use super::cuda::{self, Device};
use super::opening::Opening;
use super::{simd, thread};
use rayon::ThreadPool;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The backend of all solvers. Chosen once; cheap to clone.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Threads that run parallel work, also beside cards: solvers without a kernel use them alone.
    pool: Arc<Pool>,
    cards: Cards,
}

/// The graphics cards of a backend.
#[derive(Clone, Debug)]
enum Cards {
    /// The processor alone.
    NoCard(NoCard),
    /// Cards that share the work, at least one.
    Open(Arc<[Device]>),
    /// Being opened on another thread.
    Opening(Arc<Opening>),
}

/// Why no graphics card is used.
#[derive(Clone, Debug)]
pub(super) struct NoCard {
    reason: Arc<str>,
    /// The error because of which no graphics card is used although the CPU was not chosen.
    error: Option<Arc<cuda::Error>>,
}

impl NoCard {
    pub(super) fn because(reason: &str) -> Self {
        Self {
            reason: reason.into(),
            error: None,
        }
    }
}

impl From<cuda::Error> for NoCard {
    fn from(error: cuda::Error) -> Self {
        Self {
            reason: error.problem().into(),
            error: Some(Arc::new(error)),
        }
    }
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
        Self::chosen(choice, |which| match cuda::open(which) {
            Ok(devices) => Cards::Open(devices.into()),
            Err(error) => Cards::NoCard(error.into()),
        })
    }

    /// Does the same, but under `Auto` opens the card on another thread, which takes some 0.2 s: whoever first requests
    /// the cards waits for it.
    pub fn begin(choice: &BackendChoice) -> Result<Self, BackendError> {
        Self::chosen(choice, |which| match cuda::is_installed() {
            true => Cards::Opening(Opening::begin(which)),
            false => Cards::NoCard(cuda::Error::NoDriver.into()),
        })
    }

    fn chosen(
        choice: &BackendChoice,
        open_any: impl FnOnce(DeviceChoice) -> Cards,
    ) -> Result<Self, BackendError> {
        let pool = pool(choice.threads)?;
        let cards = match choice.kind {
            BackendKind::Cpu => Cards::NoCard(NoCard::because("chosen by hand")),
            BackendKind::Auto => open_any(DeviceChoice::First),
            BackendKind::Cuda(which) => {
                Cards::Open(cuda::open(which).map_err(BackendError::Cuda)?.into())
            }
        };
        Ok(Self { pool, cards })
    }

    /// The cards in use, once they are open, or why there are none.
    fn cards(&self) -> Result<&Arc<[Device]>, &NoCard> {
        match &self.cards {
            Cards::NoCard(no_card) => Err(no_card),
            Cards::Open(devices) => Ok(devices),
            Cards::Opening(opening) => opening.wait().as_ref(),
        }
    }

    /// A CPU backend on the same threads, for solvers without a kernel.
    pub fn cpu(&self) -> Self {
        let no_card = match &self.cards {
            Cards::NoCard(no_card) => no_card.clone(),
            _ => NoCard::because("no kernel does this"),
        };
        Self {
            pool: self.pool.clone(),
            cards: Cards::NoCard(no_card),
        }
    }

    /// The CPU, for work that it would finish in this many seconds, if a card is still being opened and the rest of its
    /// start is expected to take longer; otherwise `None`.
    pub fn for_short_work(&self, cpu_seconds: f64) -> Option<Self> {
        let Cards::Opening(opening) = &self.cards else {
            return None;
        };
        let no_card = NoCard::because("this work takes less time than starting the graphics card");
        (opening.remaining_s() > cpu_seconds).then(|| Self {
            pool: self.pool.clone(),
            cards: Cards::NoCard(no_card),
        })
    }

    fn pool(&self) -> &Pool {
        &self.pool
    }

    /// One sentence if the operating system started fewer worker threads than requested.
    pub fn shortage(&self) -> Option<&str> {
        self.pool().shortage.as_deref()
    }

    /// The error because of which no graphics card is used although the CPU was not chosen.
    pub fn no_card(&self) -> Option<&cuda::Error> {
        self.cards().err()?.error.as_deref()
    }

    /// Why an installed graphics card is not used although the CPU was not chosen, in one sentence.
    pub fn card_problem(&self) -> Option<String> {
        self.no_card()?.card_problem()
    }

    /// Does the same without waiting for a card that is being opened.
    pub fn known_card_problem(&self) -> Option<String> {
        match &self.cards {
            Cards::Opening(opening) if opening.known().is_none() => None,
            _ => self.card_problem(),
        }
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
        match self.cards() {
            Err(_) => Hardware::Cpu {
                threads: self.threads(),
            },
            Ok(devices) => Hardware::Cuda {
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
        self.cards().ok().map(Accelerator::Cuda)
    }

    /// The graphics cards in use; empty on the CPU.
    pub fn devices(&self) -> &[Device] {
        self.cards().map_or(&[], |devices| devices)
    }

    /// The graphics cards in use, for values that stay on them.
    pub fn shared_devices(&self) -> Arc<[Device]> {
        self.cards().map_or_else(|_| Arc::from([]), Arc::clone)
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
        match self.cards() {
            Err(_) => "cpu",
            Ok(_) => "cuda",
        }
    }

    /// `16 threads · AVX2`, with the vector instructions in use, or `2 × NVIDIA H200 · 139 GB`, with the memory of
    /// one card.
    pub fn detail(&self) -> String {
        match self.cards() {
            Err(_) => self.threads_detail(),
            Ok(devices) => cards(devices),
        }
    }

    fn threads_detail(&self) -> String {
        let n = self.threads();
        let plural = if n == 1 { "" } else { "s" };
        format!("{n} thread{plural} · {}", simd::level().name())
    }

    /// The label for the status line: `CPU 16 threads · AVX2`, `CUDA NVIDIA H200 · 139 GB`.
    pub fn label(&self) -> String {
        let kind = match self.cards() {
            Err(_) => "CPU",
            Ok(_) => "CUDA",
        };
        format!("{kind} {}", self.detail())
    }

    /// Why this backend was chosen: `CPU: no NVIDIA driver found`.
    pub fn reason(&self) -> String {
        match self.cards() {
            Err(no_card) => format!("CPU: {}", no_card.reason),
            Ok(_) => format!(
                "CUDA: the self-test passed; solvers without a kernel run on {}",
                self.threads_detail()
            ),
        }
    }
}

/// Starts the requested threads, or fewer if the operating system refuses some; an error if it refuses all.
fn pool(threads: Option<usize>) -> Result<Arc<Pool>, BackendError> {
    let requested = threads.unwrap_or_else(thread::cores).max(1);
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
