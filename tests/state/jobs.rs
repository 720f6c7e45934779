//! Workers: the newest job wins, jobs can be cancelled, faults become sentences, nothing is lost on closing.

mod any;
mod film;
mod from_file;

use crate::support::{test, wait_for};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::shared_slice::Bytes;
use arcuate::data::spherical_harmonics::{Basis, degrees, evaluate};
use arcuate::data::{Grid, Shared, Tensor, TensorField, Tractogram, Volume, VolumeKind};
use arcuate::io::{self, nifti};
use arcuate::jobs::{
    BackendKind, CompletePath, DeviceChoice, JobHandle, Jobs, Outcome, PathAnswer, PathQuestion,
    Receive, ValueNames,
};
use arcuate::solvers::curves::{self, Params, Seeding};
use arcuate::solvers::tractogram::profile::Profile;
use arcuate::solvers::tractogram::selection::SelectionRules;
use arcuate::state::core::live::Detail;
use arcuate::state::device::jobs::{FindCards, UseBackend};
use arcuate::state::files::jobs::open::{Loaded, OpenFile, Opened, OpenedFile};
use arcuate::state::files::jobs::{PathCheck, SAVE, SaveTractogram};
use arcuate::state::pictures::jobs::PICTURE;
use arcuate::state::streamlines::jobs::csv::{SaveProfile, SaveTable};
use arcuate::state::streamlines::jobs::select::FilterStreamlines;
use arcuate::state::streamlines::{SelectionKey, StreamlineRules};
use arcuate::state::track::jobs::LIVE;
use arcuate::state::track::jobs::streamlines::{LiveTracking, TrackStreamlines};
use arcuate::state::{Event, State};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::ThreadId;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("jobs::newest_request_wins", newest_request_wins),
        test("jobs::own_jobs_are_cancelled", own_jobs_are_cancelled),
        test("jobs::a_cancelled_job_stops_in_the_middle", cancelled),
        test(
            "jobs::saves_queue_and_finish_on_closing",
            saves_finish_on_closing,
        ),
        test("jobs::failures_are_sentences", failures_are_sentences),
        test("jobs::tables_are_stopped", tables_stop),
        test(
            "jobs::gradients_next_to_the_scan_and_named",
            gradients_near_and_named,
        ),
        test("jobs::distributions_are_recognised", distributions),
        test("jobs::every_event_wakes_the_window", every_event_wakes),
        test("jobs::the_backend_changes_between_jobs", backends_change),
        test("jobs::memory_has_the_limit_that_was_set", limited),
        test(
            "jobs::a slow disk holds up one answer, not the next",
            slow_disk,
        ),
        test("jobs::the window frees no streamlines", freed_by_a_worker),
    ];
    let all = own.into_iter().chain(any::tests());
    let all = all.chain(from_file::tests());
    all.chain(film::tests()).collect()
}

fn jobs() -> Jobs<State> {
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    Jobs::new(backend, Arc::new(|| {}))
}

/// Straight fibres along y in a box of 80 mm: long enough that a million seeds take seconds.
fn tracking(seeds: usize) -> LiveTracking {
    let grid =
        Arc::new(Grid::axis_aligned([40; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid"));
    let tensor = Tensor::new([0.3e-3, 0.0, 0.0, 1.7e-3, 0.0, 0.3e-3]);
    let field = TensorField::new(grid.clone(), vec![tensor; grid.voxel_count()]);
    let fa = Volume::scalar(grid.clone(), vec![0.8; grid.voxel_count()]);
    let params = Params {
        seeding: Seeding::Random { count: seeds },
        ..curves::Params::defaults()
    };
    LiveTracking(TrackStreamlines {
        field,
        fa,
        regions: Vec::new(),
        params,
        resample: None,
        coarse: false,
        drawing: None,
    })
}

/// A query about a folder that never answers is replaced by the next query.
fn slow_disk() {
    let (slow, quick) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(quick.path().join("a.tck"), "").unwrap();
    let (release, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let watcher: io::disk::Watcher = Arc::new(move |_, _| {
        // Ends when the sender is dropped.
        let _ = wait.lock().unwrap().recv();
        Ok(())
    });
    let watch = io::disk::watch(slow.path(), watcher);
    let complete = |number: u64, folder: &Path| PathCheck {
        number,
        question: PathQuestion::Complete(CompletePath {
            text: String::new(),
            prefix: String::new(),
            path: folder.to_owned(),
            list_folder: true,
        }),
    };
    let mut jobs = jobs();
    jobs.submit(complete(1, slow.path()));
    let second = jobs.submit(complete(2, quick.path()));
    let event = jobs.wait(&second, |_| {});
    let Some(Outcome::Done(PathAnswer::Complete(found))) = event.outcome::<PathCheck>() else {
        panic!("{event:?}");
    };
    assert_eq!(found.text, "a.tck");
    drop(release);
    drop(watch);
}

/// Polls as a window does until `done`.
fn poll(jobs: &mut Jobs<State>, mut done: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
    let mut events = Vec::new();
    wait_for("an answer", || {
        events.extend(jobs.poll());
        done(&events).then_some(())
    });
    events
}

/// The outcome of a job that is waited for.
fn outcome<J: Receive<State>>(jobs: &mut Jobs<State>, job: J) -> Outcome<J::Output> {
    let job = jobs.submit(job);
    let event = jobs.wait(&job, |_| {});
    event.into_outcome::<J>().expect("an outcome")
}

/// Waits until a job has begun its work.
fn wait_until_started(job: &JobHandle) {
    wait_for("a beginning", || {
        (job.control.progress().total > 0).then_some(())
    });
}

fn newest_request_wins() {
    let mut jobs = jobs();
    // Seconds of work, and little enough to fit into the memory of a small machine.
    let first = jobs.submit(tracking(1_000_000));
    wait_until_started(&first);
    let waiting = jobs.submit(tracking(1_000_000));
    let newest = jobs.submit(tracking(50));
    let events = poll(&mut jobs, |events| !events.is_empty());
    assert!(first.control.is_cancelled());
    let tickets: Vec<u64> = events.iter().map(|e| e.ticket).collect();
    assert_eq!(
        tickets,
        [newest.ticket],
        "{} and {} were replaced",
        first.ticket,
        waiting.ticket
    );
    let Some(Outcome::Done(output)) = events[0].outcome::<LiveTracking>() else {
        panic!("{:?}", events[0])
    };
    assert_eq!(output.seed_outcomes.iter().sum::<u64>(), 50);
}

/// Cancelling ends a job in the middle of its work; `tracking::cancel` measures how soon.
fn cancelled() {
    let mut jobs = jobs();
    let job = jobs.submit(tracking(1_000_000));
    wait_until_started(&job);
    jobs.cancel(LIVE);
    let events = poll(&mut jobs, |events| !events.is_empty());
    assert!(
        matches!(events[0].ending(), Outcome::Cancelled),
        "{:?}",
        events[0]
    );
    let progress = job.control.progress();
    assert!(progress.done < progress.total, "{progress:?}");
}

/// The window's own computations are stopped like those done for it.
fn own_jobs_are_cancelled() {
    let mut jobs = jobs();
    let other = jobs.submit(tracking(50));
    let own = jobs.window_job(PICTURE, "Drawing a.png".to_owned());
    assert!(own.ticket > other.ticket && own.slot == PICTURE);
    jobs.cancel(LIVE);
    assert!(!own.control.is_cancelled());
    jobs.cancel(PICTURE);
    assert!(own.control.is_cancelled());
}

fn saves_finish_on_closing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let points: Vec<[f32; 3]> = (0..200_000).map(|i| [i as f32, 0.5, -1.0]).collect();
    let tractogram = Tractogram::new(points, vec![0, 200_000]);
    let paths = [0, 1, 2].map(|i| folder.path().join(format!("{i}.tck")));
    let mut jobs = jobs();
    for path in &paths {
        let path = path.clone();
        let command = "test".to_owned();
        jobs.submit(SaveTractogram {
            tractogram: tractogram.clone(),
            path,
            command,
            values: ValueNames::default(),
        });
    }
    drop(jobs);
    for path in &paths {
        assert!(path.exists(), "{} was asked for", path.display());
    }
}

/// A table being written, and one waiting for it: no file remains, not even part of one.
fn tables_stop() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let count = 2_000_000;
    let table = SaveTable {
        path: folder.path().join("table.csv"),
        columns: vec![("length".to_owned(), vec![0.1; count].into())],
        order: (0..count as u32).collect(),
    };
    let profile = SaveProfile {
        path: folder.path().join("profile.csv"),
        profile: Arc::new(Profile {
            centre: vec![[0.5; 3]; 3],
            length_mm: 1.0,
            used: 1,
            passed_over: 0,
            curves: Vec::new(),
        }),
        names: Vec::new(),
    };
    let mut jobs = jobs();
    let all = [jobs.submit(table), jobs.submit(profile)];
    jobs.cancel(SAVE);
    for job in all {
        let outcome = jobs.wait(&job, |_| {}).ending();
        assert!(
            matches!(outcome, Outcome::Cancelled),
            "{}: {outcome:?}",
            job.label
        );
    }
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0);
}

fn failures_are_sentences() {
    let mut jobs = jobs();
    let path = std::path::PathBuf::from("/no/such/scan.nii.gz");
    jobs.submit(OpenFile::new(path));
    let events = poll(&mut jobs, |events| !events.is_empty());
    let Outcome::Failed(sentence) = events[0].ending() else {
        panic!("{:?}", events[0])
    };
    assert!(
        sentence.contains("/no/such/scan.nii.gz") && sentence.lines().count() == 1,
        "{sentence}"
    );
}

fn opened(path: &Path, gradients: Vec<PathBuf>) -> Outcome<Opened> {
    let mut jobs = jobs();
    let path = path.to_owned();
    outcome(&mut jobs, OpenFile::with_gradients(path, gradients))
}

/// An image of spherical harmonics is named when it is opened, in every basis; a scan without gradients, noise and a
/// tensor are not.
fn distributions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let grid = Grid::axis_aligned([5; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid");
    let n = grid.voxel_count();
    let axis = |voxel: usize| {
        let angle = voxel as f64;
        DVec3::new(angle.cos(), angle.sin(), (0.7 * angle).sin()).normalize()
    };
    let note_of = |name: &str, series: &dyn Fn(usize) -> Vec<f64>| {
        let all: Vec<Vec<f64>> = (0..n).map(series).collect();
        let frames = all[0].len();
        let values = (0..n * frames).map(|i| all[i % n][i / n] as f32);
        let values: Vec<f32> = values.collect();
        let volume = Volume::new(Arc::new(grid.clone()), frames, VolumeKind::Scalar, values);
        let path = folder.path().join(name);
        io::image::save_volume(&path, &volume, "", &Control::new()).expect("saved");
        let Outcome::Done(Opened::File(file)) = opened(&path, Vec::new()) else {
            panic!("{name} opens")
        };
        let mut notes = file.notes.into_iter();
        notes.find(|note| note.contains("fibre orientation distributions"))
    };
    // A lobe along an axis, smoothed so that it has no negative values; air in some voxels.
    let lobe = |order: usize, basis: Basis| {
        move |voxel: usize| {
            let mut all = evaluate(order, axis(voxel));
            for (c, (l, _)) in all.iter_mut().zip(degrees(order)) {
                *c *= (-0.06 * (l * (l + 1)) as f64).exp()
                    * f64::from(u8::from(!voxel.is_multiple_of(5)));
            }
            basis.from_mrtrix(order, &all)
        }
    };
    for basis in Basis::ALL {
        for (order, volumes) in [(4, 15), (8, 45)] {
            for suffix in ["mif", "nii.gz"] {
                let name = format!("{}_{order}.{suffix}", basis.key());
                let note = note_of(&name, &lobe(order, basis)).expect(&name);
                assert!(note.is_note, "{note}");
                let found = format!("The {volumes} volumes appear to be");
                assert!(note.starts_with(&found), "{note}");
                assert!(note.contains(&format!("of order {order})")), "{note}");
                assert_eq!(note.contains("read as MRtrix 3"), suffix == "mif", "{note}");
            }
        }
    }
    // Gradients of as many volumes that are opened with it are those of the scan.
    let path = folder
        .path()
        .join(format!("{}_4.nii.gz", Basis::ALL[0].key()));
    let rows = ["1", "0", "0"].map(|v| format!("0{}", format!(" {v}").repeat(14)));
    let table = ["dwi.bval", "dwi.bvec"].map(|name| folder.path().join(name));
    std::fs::write(&table[0], rows[0].replace('1', "1000")).expect("written");
    std::fs::write(&table[1], rows.join("\n")).expect("written");
    let Outcome::Done(Opened::File(file)) = opened(&path, table.to_vec()) else {
        panic!("it opens")
    };
    let Loaded::Scan { gradients, .. } = &file.loaded else {
        panic!("a series of volumes")
    };
    assert!(gradients.is_none());
    assert!(file.notes.iter().any(io::Remark::is_about_distributions));
    let signal = |voxel: usize| {
        let along = |i: usize| axis(voxel).dot(axis(i)).powi(2);
        (0..45).map(|i| 900.0 * (-2.0 * along(i)).exp()).collect()
    };
    assert_eq!(note_of("dwi.nii.gz", &signal), None);
    let noise = |voxel: usize| {
        let value = |i: usize| ((voxel * 45 + i) as f64 * 12.9898).sin();
        (0..45).map(value).collect()
    };
    assert_eq!(note_of("noise.nii.gz", &noise), None);
    assert_eq!(note_of("order_2.nii.gz", &lobe(2, Basis::MRtrix)), None);
}

/// Gradients that merely lie next to a scan are optional; explicitly named ones are not, and are remembered where no
/// search would find them.
fn gradients_near_and_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scan = folder.path().join("dwi.nii");
    let grid =
        Arc::new(Grid::axis_aligned([4; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid"));
    let values: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let volume = Volume::new(grid, 2, VolumeKind::Scalar, values);
    nifti::save_volume(&scan, &volume, "", &Control::new()).expect("saved");
    let table = |name: &str, volumes: usize| {
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let ones = "1 ".repeat(volumes);
        let zeros = "0 ".repeat(volumes);
        let b = write(&format!("{name}.bval"), "1000 ".repeat(volumes));
        let v = write(
            &format!("{name}.bvec"),
            format!("{ones}\n{zeros}\n{zeros}\n"),
        );
        vec![b, v]
    };
    let adjacent = table("dwi", 3);
    let Outcome::Done(Opened::File(file)) = opened(&scan, Vec::new()) else {
        panic!("a table in the way")
    };
    let OpenedFile {
        loaded,
        notes,
        gradients_refused,
        ..
    } = *file;
    // The error of a command that needs gradients.
    let refused = gradients_refused.expect("the reason");
    assert!(
        refused.contains("Found 3 b-values") && refused.ends_with("dwi.bvec"),
        "{refused}"
    );
    assert!(matches!(
        loaded,
        Loaded::Scan {
            gradients: None,
            ..
        }
    ));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].contains("Found 3 b-values") && !notes[0].contains("dwi.bv"),
        "{notes:?}"
    );
    assert!(matches!(
        opened(&scan, adjacent.clone()),
        Outcome::Failed(_)
    ));

    let elsewhere = table("other", 2);
    table("dwi", 2);
    for (named, remembered) in [
        (Vec::new(), Vec::new()),
        (adjacent, Vec::new()),
        (elsewhere.clone(), elsewhere),
    ] {
        let Outcome::Done(Opened::File(file)) = opened(&scan, named.clone()) else {
            panic!("{named:?}")
        };
        let Loaded::Scan {
            gradients: Some(_),
            gradient_files,
            ..
        } = file.loaded
        else {
            panic!("{named:?}")
        };
        assert_eq!(gradient_files, remembered);
    }
}

/// A backend that cannot be opened leaves the jobs where they are.
fn backends_change() {
    let mut jobs = jobs();
    let mut open = |kind| outcome(&mut jobs, UseBackend { kind });
    let Outcome::Failed(sentence) = open(BackendKind::Cuda(DeviceChoice::Number(4_000))) else {
        panic!("no machine has so many cards")
    };
    assert!(!sentence.contains("--"), "{sentence}");
    let Outcome::Done(placed) = open(BackendKind::Cpu) else {
        panic!("there is a CPU")
    };
    assert_eq!(placed.kind, BackendKind::Cpu);
    assert!(placed.label.starts_with("CPU 2 threads"), "{placed:?}");
    let Outcome::Done(cards) = outcome(&mut jobs, FindCards) else {
        panic!("having none is not a failure")
    };
    match cards {
        Ok(names) => assert!(names.iter().all(|n| !n.is_empty())),
        Err(error) => {
            let why = error.problem();
            assert!(why.starts_with(char::is_lowercase), "{why}");
        }
    }
}

fn every_event_wakes() {
    let woken = Arc::new(AtomicU64::new(0));
    let counter = woken.clone();
    let backend = Backend::choose(&BackendChoice::cpu(Some(1))).expect("one thread");
    let wake = Arc::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let mut jobs = Jobs::new(backend, wake);
    jobs.submit(tracking(10));
    poll(&mut jobs, |events| events.len() == 1);
    // The event is sent before the window is woken for it.
    wait_for("a wake", || {
        (woken.load(Ordering::SeqCst) > 0).then_some(())
    });
    assert_eq!(woken.load(Ordering::SeqCst), 1);
}

/// The remaining memory: the user's limit less the process's memory; without a limit, the machine's free memory.
fn limited() {
    const GIB: u64 = 1 << 30;
    let stored = io::private_bytes;
    if io::available_bytes().is_none_or(|free| free < 4 * GIB) {
        return;
    }
    let jobs = jobs();
    // Other tests take and free memory meanwhile, so the result lies between the memory left before and after, unless
    // they do both in between; then the next attempt counts.
    let mut found = Vec::new();
    let right = (0..100).any(|_| {
        let free = io::available_bytes().expect("Linux");
        // The limit leaves a gibibyte to other tests.
        let limit = free + stored() - GIB;
        jobs.limit_memory(Some(limit));
        let before = stored();
        let left = io::available_bytes().expect("Linux");
        let after = stored();
        jobs.limit_memory(None);
        let [least, most] = [before.max(after), before.min(after)].map(|h| limit.saturating_sub(h));
        found.push((least, left, most));
        (least..=most).contains(&left)
    });
    assert!(right, "{found:?}");
}

/// Bytes that report which thread frees them.
struct Witness(Vec<[f32; 3]>, Sender<ThreadId>);

impl AsRef<[u8]> for Witness {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.1.send(std::thread::current().id()).unwrap();
    }
}

/// A worker frees the memory of streamlines, whoever drops the last reference: the same lines are in two results, one
/// of which was replaced before the window polled.
fn freed_by_a_worker() {
    let (sender, by) = channel();
    let points = vec![[1.0; 3]; 1 << 20];
    let bytes = size_of_val(points.as_slice());
    let witness: Bytes = Arc::new(Witness(points, sender));
    let points = Shared::view(witness, 0..bytes).expect("aligned");
    let lines = Tractogram::new(points, vec![0, 1 << 19, 1 << 20]);
    let mut jobs = jobs();
    for tractogram in [lines.clone(), lines] {
        let layer = arcuate::state::LayerId(1);
        let key = SelectionKey {
            tractogram: tractogram.id(),
            rules: StreamlineRules::new(layer),
            regions: Vec::new(),
            images: Vec::new(),
        };
        jobs.submit(FilterStreamlines {
            layer,
            key,
            detail: Detail::Full,
            tractogram,
            rules: SelectionRules::default(),
        });
    }
    let shown = poll(&mut jobs, |events| {
        let done = |e: &Event| matches!(e.ending(), Outcome::Done(_));
        events.iter().any(done)
    });
    drop(shown);
    let freed = wait_for("memory that is given back", || {
        jobs.poll();
        by.try_recv().ok()
    });
    assert_ne!(freed, std::thread::current().id());
}
