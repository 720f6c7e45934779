//! Shared by the test programs: external data, a graphics card, random numbers, synthetic images and sessions.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

pub mod composed_nifti;
pub mod distributions;
/// Called by the fuzzers with damaged bytes; their package shares the file.
#[path = "fuzz/entries/mod.rs"]
pub mod entries;
pub mod fields;
pub mod origins;
pub mod panes;
pub mod session_window;

use arcuate::compute::{Backend, BackendChoice, BackendError, BackendKind, DeviceChoice};
use arcuate::data::Tractogram;
use arcuate::io::Reading;
use arcuate::jobs::{Delivery, Event, Job, Jobs, Outcome, Receive};
use arcuate::state::density::{DensityOptions, DensityValue};
use arcuate::state::files::jobs::open::{Loaded, OpenFile, Opened, OpenedFile};
use arcuate::state::files::jobs::saved;
use arcuate::state::pictures::jobs::SavePng;
use arcuate::state::{Action, Effect, State, update};
use libtest_mimic::{Failed, Trial};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The repository's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the tests that the command line selects, and ends the process.
pub fn run(tests: impl IntoIterator<Item = Vec<Trial>>) -> ! {
    let arguments = libtest_mimic::Arguments::from_args();
    match seed() {
        Ok(_) if arguments.list => {}
        Ok(seed) => println!("ARCUATE_TEST_SEED={seed} repeats the random numbers of this run"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
    let conclusion = libtest_mimic::run(&arguments, tests.into_iter().flatten().collect());
    print_slowest();
    conclusion.exit()
}

/// The tests of this run that have ended, with the time that each took.
static TIMES: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// Lists the tests that took longest: those to shorten first if a run takes too long.
fn print_slowest() {
    const LISTED: usize = 12;
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    times.sort_by(|a, b| b.cmp(a));
    // A few tests by name need no list.
    if times.len() > LISTED {
        println!("slowest, s:");
        for (time, name) in times.iter().take(LISTED) {
            println!("{:7.1} {name}", time.as_secs_f64());
        }
    }
}

/// A path under `$ARCUATE_DATA`, else under `../shared/data`; `None` if it does not exist.
pub fn data(relative: &str) -> Option<PathBuf> {
    let root = std::env::var_os("ARCUATE_DATA")
        .map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let path = root.join(relative);
    path.exists().then_some(path)
}

/// The files of a data folder by name, in the same order on every machine; empty if it does not exist.
pub fn data_files(relative: &str) -> Vec<PathBuf> {
    let entries = data(relative).and_then(|folder| std::fs::read_dir(folder).ok());
    let entries = entries.into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// A test that always runs.
pub fn test(name: &str, run: impl FnOnce() + Send + 'static) -> Trial {
    let own = name.to_owned();
    Trial::test(name, move || {
        let begin = Instant::now();
        let result = with_seed(&own, run);
        let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
        times.push((begin.elapsed(), own));
        result
    })
}

/// A test on external data; reported as ignored, with the reason in its name, if they are missing.
pub fn data_test(name: &str, needs: &str, run: impl FnOnce(PathBuf) + Send + 'static) -> Trial {
    match data(needs) {
        Some(path) => test(name, move || run(path)),
        None => Trial::test(
            format!("{name} (not run: {needs} is not at $ARCUATE_DATA)"),
            || Err(Failed::from("outside data is missing")),
        )
        .with_ignored_flag(true),
    }
}

/// Every graphics card of this machine, opened once.
fn cards() -> &'static Result<Backend, BackendError> {
    static CARDS: OnceLock<Result<Backend, BackendError>> = OnceLock::new();
    CARDS.get_or_init(|| {
        Backend::choose(&BackendChoice {
            kind: BackendKind::Cuda(DeviceChoice::All),
            threads: None,
        })
    })
}

/// Every graphics card of this machine, if one works.
pub fn cuda_backend() -> Option<Backend> {
    cards().as_ref().ok().cloned()
}

/// Shared by tests on a card; exclusive for one that leaves the others no memory.
static CARD: RwLock<()> = RwLock::new(());

/// Like [`cuda_test`], while no other runs.
pub fn cuda_test_alone(name: &str, run: impl FnOnce(Backend) + Send + 'static) -> Trial {
    match cuda_backend() {
        Some(backend) => test(name, move || {
            let _alone = CARD.write().unwrap_or_else(PoisonError::into_inner);
            run(backend);
        }),
        None => cuda_test(name, run),
    }
}

/// A test on a graphics card; reported as ignored, with the reason in its name, if there is none.
pub fn cuda_test(name: &str, run: impl FnOnce(Backend) + Send + 'static) -> Trial {
    let reason = match cards() {
        Ok(_) => String::new(),
        Err(BackendError::Cuda(error)) => error.problem(),
        Err(error) => error.to_string(),
    };
    match cuda_backend() {
        Some(backend) => test(name, move || {
            let _shared = CARD.read().unwrap_or_else(PoisonError::into_inner);
            run(backend);
        }),
        None => Trial::test(format!("{name} (not run: {reason})"), || {
            Err(Failed::from("there is no graphics card"))
        })
        .with_ignored_flag(true),
    }
}

/// A test on two graphics cards or more; reported as ignored if there are fewer.
pub fn cards_test(name: &str, run: impl FnOnce(Backend) + Send + 'static) -> Trial {
    match cuda_backend() {
        Some(backend) if backend.devices().len() < 2 => {
            let reason = "found one graphics card, two are needed";
            Trial::test(format!("{name} (not run: {reason})"), || {
                Err(Failed::from("there is one graphics card"))
            })
            .with_ignored_flag(true)
        }
        _ => cuda_test(name, run),
    }
}

/// Streamlines through these points, world mm.
pub fn lines(all: &[Vec<glam::DVec3>]) -> Tractogram {
    let mut offsets = vec![0];
    let mut points = Vec::new();
    for line in all {
        points.extend(line.iter().map(|p| p.as_vec3().to_array()));
        offsets.push(points.len() as u64);
    }
    Tractogram::new(points, offsets)
}

/// Seed of the random numbers of all tests, unless `ARCUATE_TEST_SEED` gives another.
pub const FIXED_SEED: u64 = 20_261_123;

/// The seed of this run: [`FIXED_SEED`], a given number, or with `fresh` one from the clock.
pub fn seed() -> Result<u64, String> {
    static CLOCK: OnceLock<u64> = OnceLock::new();
    let given = std::env::var("ARCUATE_TEST_SEED").ok();
    match given.as_deref().map(str::trim) {
        None | Some("") => Ok(FIXED_SEED),
        Some("fresh") => Ok(*CLOCK.get_or_init(|| {
            let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            clock.map_or(1, |d| d.as_nanos() as u64)
        })),
        Some(text) => text.parse().map_err(|_| {
            format!("Found ARCUATE_TEST_SEED={text}, expected a whole number or \"fresh\"")
        }),
    }
}

thread_local! {
    /// The test that runs on this thread, and how many generators it has made.
    static RUNNING: RefCell<(String, u64)> = const { RefCell::new((String::new(), 0)) };
}

/// Runs a test under its name; if it fails, its message gives the seed to repeat it.
pub fn with_seed(name: &str, run: impl FnOnce()) -> Result<(), Failed> {
    RUNNING.replace((name.to_owned(), 0));
    let Err(panic) = catch_unwind(AssertUnwindSafe(run)) else {
        return Ok(());
    };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied());
    Err(Failed::from(format!(
        "{}\nRepeat it: ARCUATE_TEST_SEED={} cargo test --release -- --exact '{name}'",
        text.unwrap_or("The test panicked"),
        seed().unwrap_or(FIXED_SEED)
    )))
}

/// Numbers that depend on the run's seed, on the test's name, and on how many generators this test has created: other
/// tests that are added, removed or run first have no effect.
pub struct Random(u64);

impl Random {
    pub fn fresh(purpose: &str) -> Self {
        let seed = seed().unwrap_or_else(|error| panic!("{error}"));
        let (test, before) = RUNNING.with_borrow_mut(|(test, created)| {
            *created += 1;
            (test.clone(), *created)
        });
        let mut random = Self(seed);
        for byte in test.bytes().chain([0]).chain(purpose.bytes()) {
            random.0 = random.bits() ^ u64::from(byte);
        }
        Self(random.bits() ^ before)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `low..high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Standard normal (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform(f64::MIN_POSITIVE, 1.0).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(0.0, 1.0)).cos()
    }

    /// A uniform direction.
    pub fn direction(&mut self) -> glam::DVec3 {
        glam::DVec3::new(self.normal(), self.normal(), self.normal()).normalize()
    }

    /// A uniform rotation.
    pub fn rotation(&mut self) -> glam::DQuat {
        glam::DQuat::from_xyzw(self.normal(), self.normal(), self.normal(), self.normal())
            .normalize()
    }
}

/// Longest time that a test waits for another thread or program. It ends a test that would wait for ever and is no
/// measure of speed: other programs may occupy the processors for minutes.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Calls `ask` until it returns a value, for [`PATIENCE`] at most; `what` names the missing value in the panic.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < PATIENCE, "{what}: not in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The time of a processor clock of this process.
#[cfg(unix)]
fn processor_time(clock: rustix::time::ClockId) -> Duration {
    let now = rustix::time::clock_gettime(clock);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Processor time of this thread; the work of other tests and programs does not count.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    processor_time(rustix::time::ClockId::ThreadCPUTime)
}

/// Processor time of all threads of this process.
#[cfg(unix)]
pub fn process_time() -> Duration {
    processor_time(rustix::time::ClockId::ProcessCPUTime)
}

/// Elapsed time, where the system has no processor clocks.
#[cfg(not(unix))]
pub fn thread_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(not(unix))]
pub fn process_time() -> Duration {
    thread_time()
}

/// A start in the future: a job with it counts as new for as long as the test runs, however slow the machine is.
pub fn start_of_new_job() -> Instant {
    Instant::now() + Duration::from_secs(24 * 3600)
}

/// The start of a job that has run for at least this long.
pub fn start_of_old_job(age: Duration) -> Instant {
    Instant::now()
        .checked_sub(age)
        .expect("a machine that has run for longer")
}

/// Whether a test that damages files continues: for a fixed number, so that every run reads the same ones, and then for
/// `ARCUATE_FUZZ_SECONDS` seconds.
pub fn damages_more(tried: usize, files: usize, started: Instant) -> bool {
    let given = std::env::var("ARCUATE_FUZZ_SECONDS").ok();
    let seconds = given.and_then(|s| Duration::try_from_secs_f64(s.parse().ok()?).ok());
    tried < files || started.elapsed() < seconds.unwrap_or_default()
}

/// A density map with these values.
pub fn density_map(value: DensityValue) -> DensityOptions {
    let mut map = DensityOptions::default();
    map.set_value(value);
    map
}

/// The event of a finished job.
pub fn done_event<J: Receive<State>>(job: J, ticket: u64, output: J::Output) -> Event<State> {
    let delivery = Delivery {
        slot: Job::slot(&job),
        ticket,
        wall_ms: 1.0,
        outcome: Outcome::Done(output),
    };
    Event::new(job, delivery)
}

/// A file of this name was opened.
pub fn opened_file(path: &str, loaded: Loaded) -> OpenedFile {
    OpenedFile {
        path: PathBuf::from(path),
        loaded,
        reading: Reading::default(),
        notes: Vec::new(),
        companion_mask: None,
        gradients_refused: None,
    }
}

/// The event of an opened file.
pub fn opened_event(ticket: u64, file: OpenedFile) -> Event<State> {
    let job = OpenFile::new(file.path.clone());
    done_event(job, ticket, Opened::File(Box::new(file)))
}

/// The event of a written file.
pub fn saved_event(ticket: u64, path: &str, what: &str) -> Event<State> {
    done_event(
        save_png(path),
        ticket,
        saved(PathBuf::from(path), what, None),
    )
}

/// A file was not written.
pub fn failed_save(ticket: u64, path: &str, why: String) -> Event<State> {
    let job = save_png(path);
    let delivery = Delivery {
        slot: Job::slot(&job),
        ticket,
        wall_ms: 1.0,
        outcome: Outcome::Failed(why.into()),
    };
    Event::new(job, delivery)
}

fn save_png(path: &str) -> SavePng {
    SavePng {
        size: [0; 2],
        rgba: Vec::new(),
        metadata: Vec::new(),
        path: PathBuf::from(path),
    }
}

/// A window without widgets, whose jobs are waited for.
pub struct Window {
    pub state: State,
    pub jobs: Jobs<State>,
}

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
}

impl Window {
    /// A window on two threads.
    pub fn new() -> Self {
        let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
        Self {
            state: State::new(String::new()),
            jobs: Jobs::new(backend, Arc::new(|| {})),
        }
    }

    pub fn act(&mut self, action: Action) {
        let mut effects = update(&mut self.state, action);
        while !effects.is_empty() {
            if let Effect::Submit(job) = effects.remove(0) {
                let job = self.jobs.submit(job);
                let event = self.jobs.wait(&job, |_| {});
                effects.extend(update(&mut self.state, Action::Event(event)));
            }
        }
    }
}
