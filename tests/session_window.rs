//! A state without a window, whose effects are carried out at once, and sessions with all kinds of work in them.

use crate::Random;
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::{Grid, Mask, Role, Shape, Volume, VolumeKind};
use arcuate::io::nifti;
use arcuate::jobs::Jobs;
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::{Cut, Sharpening};
use arcuate::solvers::level_set::Sphere;
use arcuate::state::filter::FilterAction;
use arcuate::state::pathways::PathwayAction;
use arcuate::state::segment::SegmentAction;
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::streamlines::Measurement;
use arcuate::state::{
    Action, Content, Effect, FilesAction, LayerAction, LayerId, Method, Pane, Phase, RegionAction,
    SessionAction, SnapshotAction, State, StreamlineAction, Task, TrackAction, ViewAction,
    WholeBrain, density, update,
};
use glam::{DVec3, dvec3};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A ball of brain with fibres along y, as files: `dwi.nii.gz` with gradients, `mask.nii.gz`.
pub fn scan(folder: &Path) -> PathBuf {
    scan_with(folder, |signal| signal)
}

/// The scan, each of whose signals is replaced.
fn scan_with(folder: &Path, mut measured: impl FnMut(f32) -> f32) -> PathBuf {
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
        // A spiral over the hemisphere.
        let (z, turn) = ((f64::from(volume) - 0.5) / 12.0, 2.4 * f64::from(volume));
        let r = (1.0 - z * z).max(0.0).sqrt();
        let d = match volume {
            0 => DVec3::ZERO,
            _ => dvec3(r * turn.cos(), r * turn.sin(), z).normalize(),
        };
        let _ = write!(bvals, "{b} ");
        for axis in 0..3 {
            // Relative to the image's axes; x is opposite to the world's.
            let v = if axis == 0 { -d[axis] } else { d[axis] };
            let _ = write!(bvecs[axis], "{v} ");
        }
        let signal = (1000.0 * (-b * (0.3e-3 + 1.4e-3 * d.y * d.y)).exp()) as f32;
        let mut value = |i| if inside(i) { measured(signal) } else { 5.0 };
        values.extend((0..grid.voxel_count()).map(&mut value));
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

/// A state without a window: effects are carried out at once.
pub struct Window {
    pub state: State,
    pub jobs: Jobs<State>,
    pub closed: bool,
    pub copied: Vec<String>,
}

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
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
        Self::with(folder, scan(folder))
    }

    /// With a scan whose signal of 1000 without weighting has noise with a standard deviation of 50.
    pub fn with_noisy_scan(folder: &Path) -> Self {
        let mut random = Random::fresh("noise");
        let noisy = |signal: f32| (f64::from(signal) + 50.0 * random.normal()).max(6.0) as f32;
        Self::with(folder, scan_with(folder, noisy))
    }

    fn with(folder: &Path, scan: PathBuf) -> Self {
        let mut window = Self::new();
        let mask = folder.join("mask.nii.gz");
        window.act(Action::Files(FilesAction::Open(vec![scan, mask])));
        assert!(
            window.state.document.tensors.is_some(),
            "{}",
            window.messages()
        );
        window
    }

    pub fn act(&mut self, action: Action) {
        let mut effects = update(&mut self.state, action);
        while !effects.is_empty() {
            match effects.remove(0) {
                Effect::Submit(job) => {
                    let job = self.jobs.submit(job);
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
        self.session(SessionAction::Save { path, next: None });
        assert!(!self.state.is_dirty(), "{}", self.messages());
    }

    pub fn open(&mut self, path: &Path) {
        self.act(Action::Files(FilesAction::Open(vec![path.to_owned()])));
    }

    pub fn opened(path: &Path) -> Self {
        let mut window = Self::new();
        window.open(path);
        window
    }

    pub fn messages(&self) -> String {
        let messages = self.state.runtime.notices.messages.iter();
        let texts: Vec<&str> = messages.map(|m| m.text.as_str()).collect();
        texts.join("\n")
    }

    pub fn place(&mut self, role: Role, centre: DVec3, radius_mm: f64) {
        let shape = Shape::Sphere { centre, radius_mm };
        self.act(Action::Region(RegionAction::Add { role, shape }));
    }

    /// Regions of every kind, kept streamlines and rays, parameters, displays.
    pub fn work(&mut self) {
        let mask = self.state.document.layer_named("mask").expect("opened").id;
        let role = Role::Mask;
        self.act(Action::Region(RegionAction::FromLayer {
            layer: mask,
            role,
        }));
        self.place(Role::Seed, dvec3(0.1, -6.7, 1.3), 5.3);
        let mut track = self.state.document.track.streamlines.clone();
        track.min_length_mm = 7.0;
        track.max_angle_rad = Some(0.1 + 0.2);
        track.seeding = Seeding::Random { count: 60 };
        let phase = Phase::Done;
        self.act(Action::Track(TrackAction::SetStreamlines {
            params: track,
            phase,
        }));
        self.act(Action::Track(TrackAction::SetWholeBrain {
            whole_brain: WholeBrain {
                seeds: 12_345,
                by_regions: true,
            },
            phase,
        }));
        self.act(Action::Track(TrackAction::Keep));
        let half_mm = dvec3(4.0, 3.1, 5.0);
        let centre = dvec3(0.0, 8.0, 0.0);
        let shape = Shape::Box { centre, half_mm };
        let role = Role::Target;
        self.act(Action::Region(RegionAction::Add { role, shape }));
        self.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
        let mut rays = self.state.document.track.rays.clone();
        rays.params.curves.min_length_mm = 5.0;
        rays.params.curves.seeding = Seeding::Random { count: 10 };
        rays.cut = Cut::TopShare(0.5);
        // The sharpening of sessions that were saved before the default changed.
        rays.metric.sharpening = Sharpening::Power { alpha: 1.0 };
        self.act(Action::Track(TrackAction::SetRays { rays, phase }));
        assert!(self.state.final_live().is_some(), "{}", self.messages());
        self.act(Action::Track(TrackAction::Keep));
        let painted = painted(self);
        let role = Role::Exclude;
        let shape = Shape::Mask(painted);
        self.act(Action::Region(RegionAction::Add { role, shape }));
        let region = self.state.runtime.regions.selected.expect("selected");
        let colour = Some([1, 2, 3]);
        self.act(Action::Region(RegionAction::SetColour { region, colour }));
        let fa = self
            .state
            .document
            .layer_named("FA")
            .expect("fitted")
            .clone();
        let mut display = fa.display.clone();
        display.window = (0.1, 0.7);
        display.visible = true;
        self.act(Action::Layer(LayerAction::SetDisplay {
            layer: fa.id,
            display,
            phase,
        }));
        let name = "Anisotropy".to_owned();
        self.act(Action::Layer(LayerAction::Rename { layer: fa.id, name }));
        let md = self.state.document.layer_named("MD").expect("fitted").id;
        self.act(Action::Layer(LayerAction::Delete(md)));
        self.act(Action::Layer(LayerAction::Move {
            layer: fa.id,
            index: 0,
        }));
        self.act(Action::View(ViewAction::SelectTask(Task::Track)));
        self.act(Action::View(ViewAction::MoveCrosshair(dvec3(
            1.25, -2.5, 3.75,
        ))));
    }
}

/// A mask without a file, away from the streamlines.
fn painted(window: &Window) -> Mask {
    let tensors = window.state.document.tensors.as_ref().expect("fitted");
    let grid = tensors.field.grid.clone();
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|i| u8::from(grid.voxel(i)[0] == 1 && i % 3 == 0))
        .collect();
    Mask::new(grid, inside)
}

/// The content of a document as text: names, displays, shapes, parameters, points.
pub fn document_text(state: &State) -> String {
    let document = &state.document;
    let mut text = format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
        document.name,
        document.fit,
        document.track.method,
        document.track.streamlines,
        document.track.whole_brain,
        document.track.rays,
        state.view
    );
    for layer in &document.layers {
        let stored = match &layer.content {
            Content::Scan { dwi, gradients } => format!("{:?} {gradients:?}", dwi.grid),
            Content::Image(image) => format!("{:?} {:?}", image.grid, image.values[100]),
            Content::Mask(mask) => format!("{:?} {}", mask.grid, mask.count()),
            Content::Tractogram(t) => format!("{:?} {:?}", t.points, t.per_streamline),
            Content::InPlace(lines) => format!("{:?}", lines.first.numbers),
        };
        let _ = writeln!(
            text,
            "{} {:?} {:?} {}\n{stored}",
            layer.name,
            layer.display,
            document.path(layer),
            document.command_line(layer).text()
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

/// Unsaved work of every kind.
pub fn everything(folder: &Path) -> Window {
    let mut window = Window::with_scan(folder);
    assert_eq!(window.state.unsaved(), []);
    let phase = Phase::Done;
    let mut params = window.state.document.track.streamlines.clone();
    params.min_length_mm = 5.0;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    assert_eq!(window.state.unsaved(), [UnsavedPart::Parameters]);
    window.place(Role::Seed, dvec3(0.0, -4.0, 0.0), 6.0);
    window.act(Action::Track(TrackAction::Keep));
    let tracks = layer(&window, "Streamlines");
    let requested = crate::density_map(density::DensityValue::Count);
    let map = density::DensityAction::Map {
        layer: Some(tracks),
        options: requested,
    };
    window.act(Action::Density(map));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    window.act(Action::Filter(FilterAction::Run));
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let layers = window.state.document.layers.iter();
    let mut scans = layers.filter(|l| matches!(l.content, Content::Scan { .. }));
    let scan = scans.next().expect("a scan").clone();
    let (low, high) = scan.content.volume().expect("an image").range(0);
    window.act(Action::Segment(SegmentAction::Image(scan.id)));
    let mut settings = window.state.document.segment.settings.clone();
    (settings.params.target, settings.params.tolerance) = (high, 0.6 * (high - low));
    (settings.target_chosen, settings.watched) = (true, false);
    window.act(Action::Segment(SegmentAction::Set { settings, phase }));
    let sphere = |centre| {
        Action::Segment(SegmentAction::Sphere(Sphere {
            add: true,
            centre,
            radius_mm: 5.0,
        }))
    };
    for centre in [DVec3::ZERO, dvec3(4.0, 0.0, 0.0)] {
        window.act(sphere(centre));
        window.act(Action::Segment(SegmentAction::Step));
        window.act(Action::Segment(SegmentAction::Keep));
    }
    window.act(sphere(dvec3(0.0, 6.0, 0.0)));
    window.act(Action::Segment(SegmentAction::Step));
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0), 4.0);
    window.act(Action::Pathway(PathwayAction::Keep));
    window.act(Action::Streamline(StreamlineAction::Measure(Measurement {
        points: vec![DVec3::ZERO, DVec3::X],
        pane: Pane::Coronal,
    })));
    window.act(Action::Snapshot(SnapshotAction::Take));
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert!(window.state.final_live().is_some(), "{}", window.messages());
    window
}

pub fn layer(window: &Window, begins: &str) -> LayerId {
    let mut layers = window.state.document.layers.iter();
    let found = layers.find(|l| l.name.starts_with(begins));
    let names = || {
        let layers = window.state.document.layers.iter();
        layers.map(|l| l.name.clone()).collect::<Vec<_>>()
    };
    found
        .unwrap_or_else(|| panic!("{begins} of {:?}", names()))
        .id
}
