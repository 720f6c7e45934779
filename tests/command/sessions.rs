//! Sessions: what was saved comes back, what is gone is named, nothing is half written.

mod checked;
mod figures;
mod files;
mod filter;
pub mod kill;
mod maps;
mod masks;
mod mutations;
mod pathways;
mod recovery;
mod replay;
mod segment;
mod snapshots;
pub mod unsaved;
mod unsaved_tasks;
mod worker;

use crate::support::test;
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::{Grid, Mask, Role, Shape, Volume, VolumeKind};
use arcuate::io::nifti;
use arcuate::jobs::Jobs;
use arcuate::solvers::geodesic::{Cut, Sharpening};
use arcuate::solvers::tracking::Seeding;
use arcuate::state::saving::{Found, Opening};
use arcuate::state::{
    Action, Content, Effect, Leaving, Method, Phase, SessionAction, State, Task, WholeBrain, update,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("sessions::all_comes_back", all_comes_back),
        test("sessions::the_demo_comes_back", demo),
        test("sessions::turned_gradients_come_back", turned),
        test("sessions::the_same_session_is_the_same_text", same_text),
        test("sessions::masks_are_packed", masks),
        test("sessions::work_is_asked_about", questions),
        test("sessions::kept_streamlines_are_made_again", made_again),
        test(
            "sessions::what did not start is not called tracked",
            not_started,
        ),
    ];
    let own = own.into_iter().chain(files::tests());
    let own = own.chain(checked::tests());
    let own = own.chain(figures::tests()).chain(masks::tests());
    let own = own.chain(mutations::tests()).chain(replay::tests());
    let own = own.chain(recovery::tests()).chain(kill::tests());
    let own = own.chain(snapshots::tests()).chain(worker::tests());
    let own = own.chain(segment::tests()).chain(filter::tests());
    let own = own.chain(unsaved::tests()).chain(unsaved_tasks::tests());
    own.chain(maps::tests()).chain(pathways::tests()).collect()
}

/// A ball of a brain with fibres along y, as files: `dwi.nii.gz` with gradients, `mask.nii.gz`.
pub fn scan(folder: &Path) -> PathBuf {
    let grid = Grid::axis_aligned([20, 24, 20], DVec3::splat(2.0), dvec3(-20.0, -24.0, -20.0));
    let grid = Arc::new(grid.expect("a grid"));
    let (mut bvals, mut bvecs) = (String::new(), [String::new(), String::new(), String::new()]);
    let mut values: Vec<f32> = Vec::new();
    let inside = |i: usize| {
        let v = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        (v - dvec3(9.5, 11.5, 9.5)).length() < 9.0
    };
    for volume in 0..13 {
        let b = if volume == 0 { 0.0 } else { 1000.0 };
        // A spiral over the half sphere.
        let (z, turn) = ((f64::from(volume) - 0.5) / 12.0, 2.4 * f64::from(volume));
        let r = (1.0 - z * z).max(0.0).sqrt();
        let d = match volume {
            0 => DVec3::ZERO,
            _ => dvec3(r * turn.cos(), r * turn.sin(), z).normalize(),
        };
        let _ = write!(bvals, "{b} ");
        for axis in 0..3 {
            // Relative to the image's axes, x against the world's.
            let v = if axis == 0 { -d[axis] } else { d[axis] };
            let _ = write!(bvecs[axis], "{v} ");
        }
        let signal = (1000.0 * (-b * (0.3e-3 + 1.4e-3 * d.y * d.y)).exp()) as f32;
        let of = |i| if inside(i) { signal } else { 5.0 };
        values.extend((0..grid.voxel_count()).map(of));
    }
    let dwi = Volume::new(grid.clone(), 13, VolumeKind::Scalar, values);
    let path = folder.join("dwi.nii.gz");
    nifti::save_volume(&path, &dwi, "made", &Control::new()).expect("saved");
    std::fs::write(folder.join("dwi.bval"), bvals).expect("written");
    std::fs::write(folder.join("dwi.bvec"), bvecs.join("\n")).expect("written");
    let mask: Vec<u8> = (0..grid.voxel_count()).map(|i| inside(i).into()).collect();
    let mask = Mask::new(grid, mask);
    let path_of_mask = folder.join("mask.nii.gz");
    nifti::save_mask(&path_of_mask, &mask, "made", &Control::new()).expect("saved");
    path
}

/// The window without a window: effects are carried out at once.
pub struct Window {
    pub state: State,
    pub jobs: Jobs,
    pub closed: bool,
    pub copied: Vec<String>,
}

impl Window {
    pub fn new() -> Self {
        let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
        let label = backend.label();
        Self {
            state: State::new(label),
            jobs: Jobs::new(backend, Arc::new(|| {})),
            closed: false,
            copied: Vec::new(),
        }
    }

    pub fn with_scan(folder: &Path) -> Self {
        let mut window = Self::new();
        let mask = folder.join("mask.nii.gz");
        window.act(Action::Open(vec![scan(folder), mask]));
        assert!(window.state.document.tensors.is_some(), "{}", window.said());
        window
    }

    pub fn act(&mut self, action: Action) {
        let mut effects = update(&mut self.state, action);
        while !effects.is_empty() {
            match effects.remove(0) {
                Effect::Submit(request) => {
                    let job = self.jobs.submit(request);
                    let event = self.jobs.wait(&job, |_| {});
                    effects.extend(update(&mut self.state, Action::Event(event)));
                }
                Effect::Close => self.closed = true,
                Effect::CopyText(text) => self.copied.push(text),
                _ => {}
            }
        }
    }

    pub fn session(&mut self, action: SessionAction) {
        self.act(Action::Session(action));
    }

    pub fn save(&mut self, path: &Path) {
        let path = Some(path.to_owned());
        self.session(SessionAction::Save { path, then: None });
        assert!(!self.state.is_dirty(), "{}", self.said());
    }

    pub fn open(&mut self, path: &Path) {
        self.act(Action::Open(vec![path.to_owned()]));
    }

    pub fn opened(path: &Path) -> Self {
        let mut window = Self::new();
        window.open(path);
        window
    }

    pub fn said(&self) -> String {
        let messages = self.state.session.messages.iter();
        let texts: Vec<&str> = messages.map(|m| m.text.as_str()).collect();
        texts.join("\n")
    }

    pub fn place(&mut self, role: Role, centre: DVec3, radius_mm: f64) {
        let shape = Shape::Sphere { centre, radius_mm };
        self.act(Action::PlaceRegion { role, shape });
    }

    /// Regions of every kind, kept streamlines and rays, parameters, displays.
    pub fn work(&mut self) {
        let mask = self.state.document.layer_named("mask").expect("opened").id;
        let role = Role::Mask;
        self.act(Action::RegionFromLayer { layer: mask, role });
        self.place(Role::Seed, dvec3(0.1, -6.7, 1.3), 5.3);
        let mut track = self.state.document.track.clone();
        track.min_length_mm = 7.0;
        track.max_angle_rad = Some(0.1 + 0.2);
        track.seeding = Seeding::Random { count: 60 };
        let phase = Phase::Done;
        self.act(Action::SetTrack {
            params: track,
            phase,
        });
        self.act(Action::SetWholeBrain {
            whole_brain: WholeBrain {
                seeds: 12_345,
                by_regions: true,
            },
            phase,
        });
        self.act(Action::KeepTracks);
        let half_mm = dvec3(4.0, 3.1, 5.0);
        let centre = dvec3(0.0, 8.0, 0.0);
        let shape = Shape::Box { centre, half_mm };
        let role = Role::Target;
        self.act(Action::PlaceRegion { role, shape });
        self.act(Action::SetMethod(Method::Rays));
        let mut rays = self.state.document.rays.clone();
        rays.params.walk.min_length_mm = 5.0;
        rays.params.walk.seeding = Seeding::Random { count: 10 };
        rays.cut = Cut::TopShare(0.5);
        // As sessions have it from before the default was another.
        rays.medium.sharpening = Sharpening::Power { alpha: 1.0 };
        self.act(Action::SetRays { rays, phase });
        assert!(self.state.final_live().is_some(), "{}", self.said());
        self.act(Action::KeepTracks);
        let painted = painted(self);
        let role = Role::Exclude;
        let shape = Shape::Mask(painted);
        self.act(Action::PlaceRegion { role, shape });
        let region = self.state.session.selected_region.expect("selected");
        let colour = Some([1, 2, 3]);
        self.act(Action::SetRegionColour { region, colour });
        let fa = self
            .state
            .document
            .layer_named("FA")
            .expect("fitted")
            .clone();
        let mut display = fa.display.clone();
        display.window = (0.1, 0.7);
        display.visible = true;
        self.act(Action::SetDisplay {
            layer: fa.id,
            display,
            phase,
        });
        let name = "Anisotropy".to_owned();
        self.act(Action::RenameLayer { layer: fa.id, name });
        let md = self.state.document.layer_named("MD").expect("fitted").id;
        self.act(Action::DeleteLayer(md));
        self.act(Action::MoveLayer {
            layer: fa.id,
            to: 0,
        });
        self.act(Action::SelectTask(Task::Track));
        self.act(Action::MoveCrosshair(dvec3(1.25, -2.5, 3.75)));
    }
}

/// One sentence about each file that differs from the saved session, with its path.
fn wrong_files(opening: &Opening) -> Vec<String> {
    let sentence = |found: &Found| {
        let why = found.standing.why().expect("it is another");
        format!("{why}: {}", found.path.display())
    };
    opening.wrong().map(|(_, found)| sentence(found)).collect()
}

/// A mask that is in no file, away from where the streamlines run.
fn painted(window: &Window) -> Mask {
    let tensors = window.state.document.tensors.as_ref().expect("fitted");
    let grid = tensors.field.grid.clone();
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|i| u8::from(grid.voxel(i)[0] == 1 && i % 3 == 0))
        .collect();
    Mask::new(grid, inside)
}

/// What a document is, as text: names, displays, shapes, parameters, points.
pub fn told(state: &State) -> String {
    let document = &state.document;
    let mut text = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
        document.name,
        document.fit,
        document.method,
        document.track,
        document.whole_brain,
        document.rays,
        state.view
    );
    for layer in &document.layers {
        let held = match &layer.content {
            Content::Scan { dwi, gradients } => format!("{:?} {gradients:?}", dwi.grid),
            Content::Image(image) => format!("{:?} {:?}", image.grid, image.values[100]),
            Content::Mask(mask) => format!("{:?} {}", mask.grid, mask.count()),
            Content::Tractogram(t) => format!("{:?} {:?}", t.points, t.per_streamline),
        };
        let _ = writeln!(
            text,
            "{} {:?} {:?} {}\n{held}",
            layer.name,
            layer.display,
            layer.path,
            layer.recipe.command()
        );
    }
    for region in &document.regions {
        let shape = match &*region.shape {
            Shape::Mask(mask) => format!("{:?} {:?}", mask.grid, mask.inside),
            shape => format!("{shape:?}"),
        };
        let (name, role, colour) = (&region.name, region.role, region.colour);
        let _ = writeln!(text, "{name} {role:?} {colour:?} {shape}");
    }
    if let Some(live) = state.final_live() {
        let _ = writeln!(text, "{:?}", live.output.kept.points);
    }
    text
}

/// The first line in which two texts differ, or nothing.
fn difference(a: &str, b: &str) -> Option<String> {
    let short = |line: &str| line.chars().take(400).collect::<String>();
    let mut lines = a.lines().zip(b.lines());
    let differs = lines.find(|(a, b)| a != b);
    match differs {
        Some((a, b)) => Some(format!("{}\n{}", short(a), short(b))),
        None => (a.lines().count() != b.lines().count()).then(|| "more lines".to_owned()),
    }
}

fn all_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let path = folder.path().join("all.arcuate");
    window.save(&path);
    let text = std::fs::read_to_string(&path).expect("written");
    assert!(!text.contains(&*folder.path().to_string_lossy()), "{text}");
    let again = Window::opened(&path);
    assert_eq!(again.said(), "");
    assert!(again.state.document.absent.is_empty());
    assert_eq!(difference(&told(&window.state), &told(&again.state)), None);
    assert!(!again.state.is_dirty());
    assert!(again.state.history.undo_label().is_none());
    // The list of files says of it what it said when it was saved.
    let [saved, opened] = [&window, &again].map(|w| &w.state.session.recent[0].summary);
    assert_eq!(saved, opened);
    // Moved with its data, it is the same.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let moved = elsewhere.path().join("moved");
    std::fs::rename(folder.path(), &moved).expect("moved");
    let again = Window::opened(&moved.join("all.arcuate"));
    assert_eq!(again.said(), "");
    assert_eq!(
        again.state.document.layers.len(),
        window.state.document.layers.len()
    );
}

/// No streamline was tracked where none began.
fn not_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, dvec3(-19.0, -23.0, -19.0), 1.0);
    let mut params = window.state.document.track.clone();
    params.seeding = Seeding::Random { count: 1500 };
    let phase = Phase::Done;
    window.act(Action::SetTrack { params, phase });
    let status = &window.state.session.status;
    let why = (&window.state.session.live_error, window.said());
    assert_eq!(
        status,
        "No streamline started from 1\u{202F}500 seeds: the seeds lie outside the mask 'mask'",
        "{why:?}"
    );
}

fn demo() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::new();
    // A task that is chosen while the head is on its way.
    window.act(Action::SelectTask(Task::Pathways));
    window.act(Action::OpenDemo { guide: false });
    assert_eq!(window.state.view.task, Task::Pathways);
    window.act(Action::SelectTask(Task::Track));
    window.place(Role::Seed, dvec3(-24.0, -16.0, 10.0), 5.0);
    window.act(Action::KeepTracks);
    assert!(window.state.document.made.len() == 1, "{}", window.said());
    let path = folder.path().join("demo.arcuate");
    window.save(&path);
    let again = Window::opened(&path);
    assert_eq!(again.said(), "");
    assert_eq!(difference(&told(&window.state), &told(&again.state)), None);
}

/// Gradients whose axes were exchanged stay so, and so does what was made with them.
fn turned() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let turn = "y,x,-z".parse().expect("a turn");
    window.act(Action::TurnGradients(turn));
    window.work();
    let path = folder.path().join("turned.arcuate");
    window.save(&path);
    let again = Window::opened(&path);
    assert_eq!(again.said(), "");
    assert!(told(&again.state).contains("--turn=y,x,-z"));
    assert_eq!(difference(&told(&window.state), &told(&again.state)), None);
}

/// Opening and saving changes nothing but the time.
fn same_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let [a, b] = ["a", "b"].map(|n| folder.path().join(format!("{n}.arcuate")));
    window.save(&a);
    let mut again = Window::opened(&a);
    again.save(&b);
    let text = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("written");
        let text = text.replace("a.arcuate.files", "FILES");
        let text = text.replace("b.arcuate.files", "FILES");
        let lines = text.lines().filter(|l| !l.contains("saved_s"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(difference(&text(&a), &text(&b)), None);
}

fn masks() {
    use arcuate::io::session::PackedMask;
    let mut random = crate::support::Random::fresh("masks");
    for density in [0.0, 0.01, 0.5, 0.99, 1.0] {
        let grid = Grid::axis_aligned([13, 7, 200], DVec3::splat(1.5), dvec3(0.1, -3.0, 7.7));
        let grid = Arc::new(grid.expect("a grid").with_space_code(4));
        let inside: Vec<u8> = (0..grid.voxel_count())
            .map(|_| u8::from(random.uniform(0.0, 1.0) < density))
            .collect();
        let mask = Mask::new(grid, inside);
        let packed = PackedMask::pack(&mask);
        let text = serde_json::to_string(&packed).expect("text");
        let read: PackedMask = serde_json::from_str(&text).expect("read");
        let back = read.unpack().expect("a mask");
        assert_eq!(back.inside, mask.inside);
        assert_eq!(*back.grid, *mask.grid);
        if density == 0.0 {
            assert!(text.len() < 400, "{text}");
        }
        // Cut to a block, it keeps the image's grid.
        let cut = Mask::cut_to(&mask.grid, ([2, 1, 30], [9, 5, 90]), |i| {
            mask.inside[i] != 0
        });
        let back = PackedMask::pack(&cut).unpack().expect("a mask");
        assert_eq!(back.inside, cut.inside);
        assert_eq!((&*back.grid, &**back.frame()), (&*cut.grid, &*mask.grid));
        assert_eq!(back.whole().inside, cut.whole().inside);
        let mut other = packed.clone();
        other.shape[2] += 1;
        assert!(other.unpack().is_err());
        other.shape[2] -= 2;
        assert!(other.unpack().is_err());
        other.shape = [1 << 30, 1 << 30, 1 << 30];
        assert!(other.unpack().is_err());
        // A little more than there is, which the system may promise all the same, from a few bytes of text.
        if let Some(free) = arcuate::io::available_bytes() {
            other.shape = [1 << 10, 1 << 10, 1 + free as usize / 1_000_000];
            let error = other.unpack().expect_err("too large");
            assert!(error.contains("from so short a text"), "{error}");
        }
    }
}

fn questions() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let path = folder.path().join("q.arcuate");
    let leave = |leaving| SessionAction::Leave(leaving);
    // Nothing is lost with a scan that was only looked at.
    assert!(!window.state.asks_before_leaving());
    window.place(Role::Seed, DVec3::ZERO, 4.0);
    window.session(leave(Leaving::Quit));
    assert_eq!(window.state.session.saving.leaving, Some(Leaving::Quit));
    window.session(SessionAction::Stay);
    assert!(!window.closed && window.state.session.saving.leaving.is_none());
    // Saved, then closed.
    window.session(leave(Leaving::Quit));
    window.session(SessionAction::Save {
        path: Some(path.clone()),
        then: Some(Leaving::Quit),
    });
    assert!(window.closed && path.exists());
    // A document with a session is asked about for any change, and undo is one.
    window.closed = false;
    window.act(Action::Undo);
    assert!(window.state.is_dirty());
    window.session(leave(Leaving::New));
    assert!(!window.state.document.is_empty());
    window.session(SessionAction::Discard);
    assert!(window.state.document.is_empty() && !window.state.is_dirty());
    assert!(window.state.session.saving.file.is_none());
    // Where it cannot be saved, nothing follows.
    window.open(&path);
    window.place(Role::Seed, dvec3(1.0, 0.0, 0.0), 4.0);
    window.session(leave(Leaving::Quit));
    window.session(SessionAction::Save {
        path: Some(folder.path().join("no/such/folder.arcuate")),
        then: Some(Leaving::Quit),
    });
    assert!(!window.closed && window.state.is_dirty());
    assert!(window.said().contains("folder"), "{}", window.said());
    assert!(window.state.session.saving.then.is_none());
}

fn made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    // The files beside the session are lost.
    let stored = folder.path().join("s.arcuate.files");
    assert_eq!(std::fs::read_dir(&stored).expect("a folder").count(), 2);
    std::fs::remove_dir_all(&stored).expect("removed");
    let mut again = Window::opened(&path);
    let absent: Vec<_> = again.state.document.absent.clone();
    assert_eq!(absent.len(), 2, "{}", again.said());
    // Saved elsewhere meanwhile, they stay in it.
    let other = folder.path().join("other.arcuate");
    again.save(&other);
    assert_eq!(Window::opened(&other).state.document.absent.len(), 2);
    for (at, absent) in absent.into_iter().enumerate() {
        let said = again.said();
        let words = [
            "2 kept results are not stored",
            "1 kept result is not stored",
        ][at];
        assert!(
            said.starts_with(words) && said.lines().count() == 1,
            "{said}"
        );
        let layer = arcuate::state::LayerId(absent.layer.id);
        again.session(SessionAction::MakeAgain(layer));
        let status = &again.state.session.status;
        assert!(status.ends_with("same bytes"), "{status} {}", again.said());
    }
    assert!(again.state.document.absent.is_empty());
    // What was said of them is no longer so.
    assert_eq!(again.said(), "");
    let lines = |state: &State| {
        let layers = state.document.layers.iter();
        let mut all: Vec<String> = layers
            .filter_map(|l| match &l.content {
                Content::Tractogram(t) => Some(format!("{} {:?}", l.name, t.points)),
                _ => None,
            })
            .collect();
        all.sort();
        all
    };
    assert_eq!(lines(&window.state), lines(&again.state));
    // And an undo takes them out again.
    again.act(Action::Undo);
    assert_eq!(again.state.document.absent.len(), 1);
}
