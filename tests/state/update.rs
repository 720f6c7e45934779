//! The state: every edit can be undone, a drag is one step, coarse results are followed by full ones.

mod agreement;
mod backend;
mod colours;
mod drags;
mod drawn_rays;
mod fibres;
mod figures;
mod filter;
mod fits;
mod fod_images;
mod fods;
mod masks;
mod odf_rays;
mod pathway_crossings;
mod pathway_looks;
mod pathway_maps;
mod pathway_noise;
mod pathway_steps;
mod pathway_surface;
mod pathways;
mod pictures;
mod rays;
mod readings;
mod saves;
mod scans;
mod segment;
mod segment_changes;
mod segment_ended;
mod segment_images;
mod segment_live;
mod stale;
mod steps;
mod track_noise;
mod undone;
mod user_choices;
mod values_in_files;
mod whole_brain;
mod windows;
mod withdrawn;

use crate::support::{Random, opened_event, opened_file, start_of_new_job, test};
use arcuate::compute::{Backend, BackendChoice};
use arcuate::data::region::RegionId;
use arcuate::data::{Gradients, Grid, Role, Shape, Volume, VolumeKind};
use arcuate::jobs::{AnyJob, Job, Jobs, Slot};
use arcuate::solvers::pathway::MIN_PAIRS;
use arcuate::solvers::tensor_fit::Method;
use arcuate::state::core::layer::Content;
use arcuate::state::files::jobs::SaveTractogram;
use arcuate::state::files::jobs::open::{Loaded, OpenFile};
use arcuate::state::pathways::jobs::ComparePathway;
use arcuate::state::tensors::jobs::fit::FitTensors;
use arcuate::state::track::jobs::streamlines::LiveTracking;
use arcuate::state::{
    Action, Convention, Effect, Event, FilesAction, LayerAction, Pane, Phase, RegionAction,
    Severity, State, TensorAction, Tensors, TrackAction, ViewAction, update,
};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test(
            "update::opening_a_scan_asks_for_its_fit",
            opening_requests_a_fit,
        ),
        test(
            "update::undo_and_redo_restore_everything",
            undo_restores_everything,
        ),
        test("update::a_drag_is_one_step", a_drag_is_one_step),
        test("update::dragging_is_coarse_and_settles", dragging_is_coarse),
        test(
            "update::deleting_the_seed_ends_the_live_result",
            no_seed_no_live_result,
        ),
        test(
            "update::gradients_alone_join_the_scan",
            scans::gradients_join_the_scan,
        ),
        test("update::left_stays_left", scans::left_stays_left),
    ];
    let own = own.into_iter().chain(fits::tests()).chain(fods::tests());
    let own = own
        .chain(fibres::tests())
        .chain(figures::tests())
        .chain(fod_images::tests());
    let own = own.chain(odf_rays::tests());
    let own = own.chain(rays::tests()).chain(drawn_rays::tests());
    let own = own.chain(readings::tests());
    let own = own.chain(saves::tests()).chain(stale::tests());
    let own = own.chain(pictures::tests()).chain(windows::tests());
    let own = own.chain(pathways::tests()).chain(pathway_looks::tests());
    let own = own.chain(pathway_surface::tests());
    let own = own.chain(pathway_maps::tests());
    let own = own.chain(pathway_noise::tests());
    let own = own.chain(track_noise::tests());
    let own = own.chain(pathway_crossings::tests());
    let own = own.chain(drags::tests()).chain(colours::tests());
    let own = own.chain(pathway_steps::tests()).chain(segment::tests());
    let own = own
        .chain(segment_changes::tests())
        .chain(segment_ended::tests())
        .chain(segment_images::tests())
        .chain(values_in_files::tests())
        .chain(segment_live::tests())
        .chain(filter::tests());
    let own = own.chain(agreement::tests());
    let own = own.chain(masks::tests()).chain(whole_brain::tests());
    let own = own.chain(steps::tests()).chain(undone::tests());
    let own = own.chain(withdrawn::tests());
    own.chain(backend::tests())
        .chain(user_choices::tests())
        .collect()
}

/// A small ball of a brain with a fibre along y in every voxel.
fn scan() -> (Volume, Gradients) {
    noisy_scan(0.0)
}

/// Noise with a standard deviation in the ball, whose signal without weighting is 1000.
fn noisy_scan(noise: f64) -> (Volume, Gradients) {
    let grid =
        Grid::axis_aligned([24, 24, 24], DVec3::splat(2.0), DVec3::splat(-24.0)).expect("a grid");
    let mut random = Random::fresh("scan");
    let directions: Vec<DVec3> = (0..13)
        .map(|i| {
            if i == 0 {
                DVec3::ZERO
            } else {
                random.direction()
            }
        })
        .collect();
    let b: Vec<f64> = (0..13).map(|i| if i == 0 { 0.0 } else { 1000.0 }).collect();
    let inside = |i: usize| {
        let offset = DVec3::from_array(grid.voxel(i).map(|v| v as f64)) - 11.5;
        offset.length() < 10.0
    };
    let voxels: Vec<bool> = (0..grid.voxel_count()).map(inside).collect();
    let values: Vec<f32> = directions
        .iter()
        .zip(&b)
        .flat_map(|(d, b)| {
            let signal = (1000.0 * (-b * (0.3e-3 + 1.4e-3 * d.y * d.y)).exp()) as f32;
            voxels
                .iter()
                .map(move |&brain| if brain { signal } else { 5.0 })
        })
        .collect();
    let noisy = |v: f32| {
        if v > 5.0 {
            (f64::from(v) + noise * random.normal()).max(6.0) as f32
        } else {
            v
        }
    };
    let values: Vec<f32> = values.into_iter().map(noisy).collect();
    let gradients = Gradients {
        b_s_per_mm2: b,
        directions,
    };
    (
        Volume::new(Arc::new(grid), 13, VolumeKind::Scalar, values),
        gradients,
    )
}

fn opened() -> Event {
    let (dwi, gradients) = scan();
    let loaded = Loaded::Scan {
        dwi,
        gradients: Some(Arc::new(gradients)),
        gradient_files: Vec::new(),
    };
    file("/data/scan.nii.gz", loaded)
}

/// A file was opened.
fn file(path: &str, loaded: Loaded) -> Event {
    opened_event(1, opened_file(path, loaded))
}

/// The job of the only effect.
fn only_job<J: Job>(effects: &[Effect]) -> Option<&J> {
    match effects {
        [effect] => effect.job(),
        _ => None,
    }
}

/// Carries out effects at once, as the command line does; returns the requests that were made.
struct Window {
    state: State,
    jobs: Jobs<State>,
    /// The submitted jobs.
    submitted: Vec<Box<dyn AnyJob<State>>>,
    /// Holds results back, as when a window's jobs take time. Nothing is skipped and cancellations come too late, so
    /// every result that can be out of date is. Their jobs count as new until a test ages them, so the speed of this
    /// machine decides nothing.
    holding: bool,
    pending: Vec<Event>,
    cancelled: Vec<Slot>,
    cancelled_of_document: bool,
    copied: Vec<String>,
    /// Pathways are compared with the fewest random pairs, for tests that do not concern the comparison.
    has_few_pairs: bool,
}

impl Window {
    fn new() -> Self {
        let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
        let jobs = Jobs::new(backend, Arc::new(|| {}));
        Self {
            state: State::new(String::new()),
            jobs,
            submitted: Vec::new(),
            cancelled_of_document: false,
            holding: false,
            pending: Vec::new(),
            cancelled: Vec::new(),
            copied: Vec::new(),
            has_few_pairs: false,
        }
    }

    /// A window with a fitted scan.
    fn fitted() -> Self {
        let mut window = Self::new();
        window.act(Action::Event(opened()));
        assert!(
            window.state.document.tensors.is_some(),
            "{:?}",
            window.state.runtime.notices.messages
        );
        window
    }

    fn act(&mut self, action: Action) {
        let mut effects = update(&mut self.state, action);
        while !effects.is_empty() {
            let request = match effects.remove(0) {
                Effect::Submit(request) => request,
                Effect::Cancel(slot) => {
                    self.cancelled.push(slot);
                    continue;
                }
                Effect::CancelOfDocument => {
                    self.cancelled_of_document = true;
                    continue;
                }
                Effect::CopyText(text) => {
                    self.copied.push(text);
                    continue;
                }
                _ => continue,
            };
            let compared = request.job::<ComparePathway>();
            let few = compared.filter(|_| self.has_few_pairs).map(|job| {
                let pairs = MIN_PAIRS;
                Box::new(ComparePathway {
                    pairs,
                    ..job.clone()
                })
            });
            let request: Box<dyn AnyJob<State>> = match few {
                Some(few) => few,
                None => request,
            };
            self.submitted.push(request.clone());
            let mut job = self.jobs.submit(request);
            let event = self.jobs.wait(&job, |_| {});
            if self.holding {
                job.started = start_of_new_job();
                update(&mut self.state, Action::JobStarted(job));
                self.pending.push(event);
            } else {
                effects.extend(update(&mut self.state, Action::Event(event)));
            }
        }
    }

    /// The results held back so far arrive, in the order of `sorted`.
    fn deliver(&mut self, sorted: impl FnOnce(&mut Vec<Event>)) {
        let mut events = std::mem::take(&mut self.pending);
        sorted(&mut events);
        for event in events {
            self.act(Action::Event(event));
        }
    }

    /// The submitted jobs of one type.
    fn jobs_of<J: Job>(&self) -> impl DoubleEndedIterator<Item = &J> {
        self.submitted.iter().filter_map(|job| job.job())
    }

    fn fits(&self) -> usize {
        self.jobs_of::<FitTensors>().count()
    }

    fn tensors(&self) -> &Tensors {
        self.state.document.tensors.as_ref().expect("tensors")
    }

    /// The command of the fit.
    fn fit(&self) -> arcuate::state::CommandLine {
        self.state.document.command_line_from(self.tensors().origin)
    }

    /// Fits with the plainest method.
    fn ordinary(&mut self) {
        let mut params = self.state.document.fit.clone();
        params.method = Method::Ols;
        self.act(Action::Tensors(TensorAction::SetFit { params }));
    }

    fn place(&mut self, role: Role, centre: DVec3) -> RegionId {
        self.act(Action::Region(RegionAction::Add {
            role,
            shape: Shape::Sphere {
                centre,
                radius_mm: 5.0,
            },
        }));
        self.state
            .runtime
            .regions
            .selected
            .expect("a new region is selected")
    }

    fn coarse_requests(&self) -> Vec<bool> {
        let jobs = self.jobs_of::<LiveTracking>();
        jobs.map(|LiveTracking(track)| track.coarse).collect()
    }
}

fn opening_requests_a_fit() {
    let mut state = State::new(String::new());
    let effects = update(&mut state, Action::Event(opened()));
    assert!(
        effects.iter().any(|e| e.job::<FitTensors>().is_some()),
        "{effects:?}"
    );
    assert!(effects.iter().any(|e| matches!(e, Effect::Store)));
    assert_eq!(state.document.name, "scan");
    let window = Window::fitted();
    for name in ["FA", "MD", "AD", "RD", "DEC"] {
        assert!(window.state.document.layer_named(name).is_some(), "{name}");
    }
    let shown: Vec<&str> = window
        .state
        .document
        .layers
        .iter()
        .filter(|l| l.display.visible && l.content.volume().is_some())
        .map(|l| l.name.as_str())
        .collect();
    assert_eq!(shown, ["DEC"]);
}

/// The state that undo restores, as text.
fn picture(state: &State) -> String {
    let d = &state.document;
    let regions: Vec<String> = d.regions.iter().map(|r| format!("{r:?}")).collect();
    let layers: Vec<String> = d
        .layers
        .iter()
        .map(|l| {
            let content = match &l.content {
                Content::Scan { dwi: volume, .. } | Content::Image(volume) => volume.id(),
                Content::Mask(mask) => mask.id(),
                Content::Tractogram(tractogram) => tractogram.id(),
                Content::InPlace(lines) => lines.file.id(),
            };
            let (name, display, line) = (&l.name, &l.display, d.command_line(l));
            format!("{:?} {name} {content:?} {display:?} {line:?}", l.id)
        })
        .collect();
    let tensors = d.tensors.as_ref();
    let tensors = tensors.map(|t| (t.field.id(), &t.key, d.command_line_from(t.origin)));
    format!(
        "{regions:?} {layers:?} {tensors:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        d.fit,
        d.fit_mask,
        d.track.method,
        d.track.streamlines,
        d.track.streamline_display,
        d.track.rays,
        (&d.track.odf, d.track.model, &d.track.ray_display)
    )
}

fn undo_restores_everything() {
    let mut window = Window::fitted();
    let seed = window.place(Role::Seed, DVec3::ZERO);
    let layer = window.state.document.layer_named("FA").expect("FA").id;
    let mut display = window
        .state
        .document
        .layer(layer)
        .expect("FA")
        .display
        .clone();
    display.opacity = 0.25;
    let mut track = window.state.document.track.streamlines.clone();
    track.step_mm = 1.0;
    let mut fit = window.state.document.fit.clone();
    fit.method = Method::Ols;
    let edits = vec![
        Action::Region(RegionAction::Add {
            role: Role::Target,
            shape: Shape::Box {
                centre: dvec3(0.0, 14.0, 0.0),
                half_mm: DVec3::splat(4.0),
            },
        }),
        Action::Region(RegionAction::SetRole {
            region: seed,
            role: Role::Include,
        }),
        Action::Region(RegionAction::SetRole {
            region: seed,
            role: Role::Seed,
        }),
        Action::Region(RegionAction::Rename {
            region: seed,
            name: "Capsule L".to_owned(),
        }),
        Action::Region(RegionAction::SetColour {
            region: seed,
            colour: Some([1, 2, 3]),
        }),
        Action::Region(RegionAction::Toggle(seed)),
        Action::Track(TrackAction::SetStreamlines {
            params: track,
            phase: Phase::Done,
        }),
        Action::Tensors(TensorAction::SetFit { params: fit }),
        Action::Layer(LayerAction::SetDisplay {
            layer,
            display,
            phase: Phase::Done,
        }),
        Action::Layer(LayerAction::ShowOnly(layer)),
        Action::Layer(LayerAction::Move { layer, index: 0 }),
        Action::Layer(LayerAction::Rename {
            layer,
            name: "Anisotropy".to_owned(),
        }),
        Action::Track(TrackAction::Keep),
        Action::Layer(LayerAction::Delete(layer)),
        Action::Region(RegionAction::Delete(seed)),
    ];
    let mut pictures = vec![picture(&window.state)];
    for edit in edits {
        let message = format!("{edit:?}");
        window.act(edit);
        let now = picture(&window.state);
        assert_ne!(Some(&now), pictures.last(), "{message} changed nothing");
        pictures.push(now);
    }
    let last = pictures.len() - 1;
    for expected in pictures[..last].iter().rev() {
        window.act(Action::Undo);
        assert_eq!(&picture(&window.state), expected);
    }
    for expected in &pictures[1..] {
        window.act(Action::Redo);
        assert_eq!(&picture(&window.state), expected);
    }
    assert!(window.state.history.redo_label().is_none());
    let errors = window
        .state
        .runtime
        .notices
        .messages
        .iter()
        .filter(|m| m.severity == Severity::Error)
        .count();
    assert_eq!(errors, 0, "{:?}", window.state.runtime.notices.messages);
}

fn a_drag_is_one_step() {
    let mut window = Window::fitted();
    let seed = window.place(Role::Seed, DVec3::ZERO);
    let before = picture(&window.state);
    for i in 1..=10 {
        let shape = Shape::Sphere {
            centre: DVec3::X * f64::from(i),
            radius_mm: 5.0,
        };
        let phase = if i == 10 { Phase::Done } else { Phase::Live };
        window.act(Action::Region(RegionAction::SetShape {
            region: seed,
            shape,
            phase,
        }));
    }
    let dragged = picture(&window.state);
    window.act(Action::Undo);
    assert_eq!(picture(&window.state), before);
    window.act(Action::Redo);
    assert_eq!(picture(&window.state), dragged);
    // A second drag is a second step.
    for (x, phase) in [(11.0, Phase::Live), (12.0, Phase::Done)] {
        let shape = Shape::Sphere {
            centre: DVec3::X * x,
            radius_mm: 5.0,
        };
        window.act(Action::Region(RegionAction::SetShape {
            region: seed,
            shape,
            phase,
        }));
    }
    window.act(Action::Undo);
    assert_eq!(picture(&window.state), dragged);
}

fn dragging_is_coarse() {
    let mut window = Window::fitted();
    let seed = window.place(Role::Seed, DVec3::ZERO);
    assert_eq!(window.coarse_requests(), [false]);
    let full = window
        .state
        .runtime
        .track
        .live
        .value()
        .expect("a live result")
        .seeds;
    let shape = Shape::Sphere {
        centre: DVec3::X,
        radius_mm: 5.0,
    };
    window.act(Action::Region(RegionAction::SetShape {
        region: seed,
        shape,
        phase: Phase::Live,
    }));
    let live = window
        .state
        .runtime
        .track
        .live
        .value()
        .expect("a live result");
    assert!(live.coarse && live.seeds < full, "{} of {full}", live.seeds);
    // No coarse result is kept or saved.
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: None,
        path: PathBuf::from("/nowhere/t.tck"),
    }));
    let saves = window
        .submitted
        .iter()
        .filter(|job| job.job::<SaveTractogram>().is_some())
        .count();
    assert_eq!(saves, 0);
    window.act(Action::Settle);
    window.act(Action::Settle);
    assert_eq!(window.coarse_requests(), [false, true, false]);
    let live = window
        .state
        .runtime
        .track
        .live
        .value()
        .expect("a live result");
    assert!(!live.coarse && live.seeds == full);
}

fn no_seed_no_live_result() {
    let mut window = Window::fitted();
    let seed = window.place(Role::Seed, DVec3::ZERO);
    window.place(Role::Target, dvec3(0.0, 14.0, 0.0));
    assert_eq!(
        window
            .state
            .runtime
            .track
            .live
            .value()
            .map(|l| l.targets.len()),
        Some(1)
    );
    window.act(Action::Region(RegionAction::Delete(seed)));
    assert!(window.state.runtime.track.live.value().is_none());
    window.act(Action::Undo);
    assert!(window.state.runtime.track.live.value().is_some());
}
