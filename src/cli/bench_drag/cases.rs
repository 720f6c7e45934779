//! Regions, sliders and the crosshair that are dragged, and streamlines that are deleted.

use crate::app::offscreen::stroke::{StrokeTimes, Subject, follow, rest, wait_for};
use crate::app::offscreen::{Input, OffscreenWindow};
use crate::cli::bench::Choice;
use crate::compute::{Backend, Control};
use crate::data::{Grid, Role, Shape, Volume};
use crate::io::atomic::Scratch;
use crate::io::nifti;
use crate::solvers::curves::Seeding;
use crate::solvers::geodesic::Directions;
use crate::solvers::level_set::{ScriptEvent, Sphere};
use crate::state::core::live::Detail;
use crate::state::pathways::PathwayKey;
use crate::state::segment::SegmentAction;
use crate::state::streamlines::SelectionMode;
use crate::state::{
    Action, FilesAction, FilterAction, Method, Pane, Phase, RegionAction, RegionsChange, State,
    StreamlineAction, SurfaceUpdate, Task, TrackAction, ViewAction, WholeBrain,
};
use glam::{DVec2, DVec3, dvec3};
use std::f64::consts::{FRAC_PI_4, PI};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A preparation that takes longer counts as an error.
const PREPARATION: Duration = Duration::from_secs(120);
/// Once the pointer rests, a final picture is waited for as long as this.
const FINAL_PICTURE: Duration = Duration::from_secs(10);
/// No stroke begins later than this after the first one of a case.
const STROKES: Duration = Duration::from_secs(20);
/// Ends of the left corticospinal tract: the posterior limb of the internal capsule, and below the motor cortex.
const SEED: (DVec3, f64) = (dvec3(-24.0, -18.0, 8.0), 6.0);
const TARGET: (DVec3, f64) = (dvec3(-30.0, -22.0, 58.0), 9.0);
/// The start of the surface, in the body of the left lateral ventricle.
const START: (DVec3, f64) = (dvec3(-7.5, 8.0, 16.0), 3.0);

pub struct Case {
    pub name: &'static str,
    /// Concerns the built-in head.
    pub on_head: bool,
    /// Prepares and plays the strokes; the first one is a rehearsal.
    pub measure: fn(&mut Session) -> Result<Vec<StrokeTimes>, String>,
}

pub const CASES: [Case; 7] = [
    Case {
        name: "seed of 2000 streamlines",
        on_head: true,
        measure: streamlines,
    },
    Case {
        name: "seed of 8192 rays",
        on_head: true,
        measure: rays,
    },
    Case {
        name: "end of a pathway",
        on_head: true,
        measure: pathway,
    },
    Case {
        name: "sharpening of a pathway",
        on_head: true,
        measure: sharpening,
    },
    Case {
        name: "smoothness of a surface",
        on_head: true,
        measure: surface,
    },
    Case {
        name: "deletion before weights",
        on_head: true,
        measure: weights,
    },
    Case {
        name: "crosshair in 256³ voxels",
        on_head: false,
        measure: crosshair,
    },
];

/// A window and the extent of its measurements.
pub struct Session {
    pub window: OffscreenWindow,
    pub size_px: [u32; 2],
    quick: bool,
    /// Measured strokes, and positions of each.
    strokes: usize,
    moves: usize,
}

impl Session {
    pub fn open(choice: Choice, backend: &Backend) -> Result<Self, String> {
        let open = |size| OffscreenWindow::open(backend.clone(), size).map_err(|e| e.to_string());
        let mut size_px = [1280, 800];
        let mut window = open(size_px)?;
        // Drawing on a CPU takes seconds for what a graphics card does in milliseconds.
        if !window.is_software() && !choice.quick {
            size_px = [1920, 1080];
            window = open(size_px)?;
        }
        let (strokes, moves) = match (choice.quick, window.is_software()) {
            (true, _) => (1, 4),
            (false, true) => (6, 30),
            (false, false) => (20, 60),
        };
        Ok(Self {
            window,
            size_px,
            quick: choice.quick,
            strokes,
            moves,
        })
    }

    fn act(&mut self, action: impl Into<Action>) {
        self.window.act(action.into());
    }

    /// Waits until something is shown; `what` names it in an error.
    fn wait(&mut self, what: &str, is_shown: impl FnMut(&State) -> bool) -> Result<(), String> {
        if wait_for(&mut self.window, PREPARATION, is_shown) {
            return Ok(());
        }
        let messages = &self.window.state().runtime.notices.messages;
        let messages: Vec<&str> = messages.iter().map(|m| m.text.as_str()).collect();
        let s = PREPARATION.as_secs();
        Err(format!("No {what} within {s} s. {}", messages.join(". ")))
    }

    /// Shows the built-in head at a task, without regions.
    fn open_head(&mut self, task: Task) -> Result<(), String> {
        if self.window.state().document.is_empty() {
            self.act(Action::OpenDemo { tour: false });
        }
        self.wait("tensors", |state| state.document.tensors.is_some())?;
        let regions = self.window.state().document.regions.iter();
        let regions = regions.map(|region| region.id).collect();
        let change = RegionsChange::Delete;
        self.act(RegionAction::ChangeSeveral { regions, change });
        self.act(ViewAction::SelectTask(task));
        Ok(())
    }

    fn place(&mut self, role: Role, (centre, radius_mm): (DVec3, f64)) {
        let shape = Shape::Sphere { centre, radius_mm };
        self.act(RegionAction::Add { role, shape });
    }

    /// Plays strokes; `script` gives the input of each, by its number.
    fn play<K: PartialEq>(
        &mut self,
        subject: &Subject<K>,
        mut script: impl FnMut(&mut Self, usize) -> Result<Vec<Vec<Input>>, String>,
    ) -> Result<Vec<StrokeTimes>, String> {
        let mut strokes = Vec::new();
        let began = Instant::now();
        while may_play(&strokes, self.strokes, began) {
            let script = script(self, strokes.len())?;
            rest(&mut self.window);
            let shown = (subject.requested)(self.window.state());
            let times = follow(&mut self.window, &script, subject, shown, FINAL_PICTURE);
            if times.first_s.is_empty() && times.final_s.is_some() {
                return Err("The stroke changed nothing".to_owned());
            }
            strokes.push(times);
        }
        Ok(strokes)
    }

    /// A drag that begins here: it moves away and sideways, then comes to rest elsewhere. `reach`: in points; every
    /// other stroke goes the other way.
    fn drag(&self, from: DVec2, reach: DVec2, number: usize) -> Vec<Vec<Input>> {
        let way = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let at = |k: usize| {
            let share = k as f64 / self.moves as f64;
            let swing = DVec2::new((0.8 * PI * share).sin(), (1.7 * PI * share).sin());
            from + way * reach * swing
        };
        let mut script = vec![vec![Input::Move(from), Input::Press(from)]];
        // The first position already counts as a drag.
        script.extend((1..=self.moves).map(|k| vec![Input::Move(at(k))]));
        if let Some(last) = script.last_mut() {
            last.push(Input::Release(at(self.moves)));
        }
        script
    }

    /// Drags the region with this role in the axial view, from its centre.
    fn drag_region(&mut self, role: Role, number: usize) -> Result<Vec<Vec<Input>>, String> {
        let mut regions = self.window.state().document.regions.iter();
        let region = regions.find(|region| region.role == role);
        let centre = region.ok_or("The region is missing")?.shape.centre();
        // The slice through its centre.
        self.act(ViewAction::MoveCrosshair(centre));
        rest(&mut self.window);
        let from = self.window.on_slice(Pane::Axial, centre);
        let from = from.ok_or("The axial view is not shown")?;
        Ok(self.drag(from, DVec2::splat(10.0), number))
    }

    /// Drags a slider's handle from the value that this share of its track stands for.
    fn drag_slider(&mut self, name: &str, number: usize) -> Result<Vec<Vec<Input>>, String> {
        let track = self.window.slider(name);
        let [low, high] = track.ok_or_else(|| format!("No slider “{name}” is shown"))?;
        let from = low.lerp(high, 0.5);
        Ok(self.drag(from, DVec2::new(0.3 * (high.x - low.x), 0.0), number))
    }
}

/// Whether another stroke is played: a rehearsal, one that is measured, and more of them while there is time.
fn may_play(played: &[StrokeTimes], measured: usize, began: Instant) -> bool {
    played.len() < 2 || played.len() <= measured && began.elapsed() < STROKES
}

fn curves(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    session.place(Role::Seed, SEED);
    session.wait("curves", |state| state.final_live().is_some())?;
    let subject = Subject {
        requested: &|state| state.document.curve_key(),
        shown: &|state, key| {
            let live = state.runtime.track.live.value()?;
            live.key.is_of(key).then(|| live.detail())
        },
    };
    session.play(&subject, |session, number| {
        session.drag_region(Role::Seed, number)
    })
}

fn streamlines(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    session.open_head(Task::Track)?;
    let mut params = session.window.state().document.track.streamlines.clone();
    params.seeding = Seeding::Random { count: 2000 };
    let phase = Phase::Done;
    session.act(TrackAction::SetStreamlines { params, phase });
    session.act(TrackAction::SetMethod(Method::Streamlines));
    curves(session)
}

fn rays(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    session.open_head(Task::Track)?;
    let mut rays = session.window.state().document.track.rays.clone();
    rays.params.directions = Directions::Cone {
        count: 32,
        half_angle_rad: FRAC_PI_4,
    };
    rays.params.curves.seeding = Seeding::Random { count: 8192 / 32 };
    rays.params.curves.max_steps = 500;
    let phase = Phase::Done;
    session.act(TrackAction::SetRays { rays, phase });
    session.act(TrackAction::SetMethod(Method::Rays));
    curves(session)
}

fn solved_pathway(session: &mut Session) -> Result<(), String> {
    session.open_head(Task::Pathways)?;
    session.place(Role::Seed, SEED);
    session.place(Role::Target, TARGET);
    session.wait("pathway", |state| state.final_pathway().is_some())
}

fn pathway_subject() -> Subject<'static, PathwayKey> {
    Subject {
        requested: &|state| state.pathway_key(),
        shown: &|state, key| {
            let live = state.runtime.pathways.live.value()?;
            let detail = if live.coarse {
                Detail::Coarse
            } else {
                Detail::Full
            };
            (live.key == *key).then_some(detail)
        },
    }
}

fn pathway(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    solved_pathway(session)?;
    session.play(&pathway_subject(), |session, number| {
        session.drag_region(Role::Target, number)
    })
}

fn sharpening(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    solved_pathway(session)?;
    session.play(&pathway_subject(), |session, number| {
        session.drag_slider("Sharpening α", number)
    })
}

/// The step from which a surface moved by its present parameters, and these.
fn last_change(surface: &SurfaceUpdate) -> (u64, &crate::solvers::level_set::Params) {
    let mut events = surface.script.events.iter().rev();
    let changed = events.find_map(|event| match &event.event {
        ScriptEvent::Params(params) => Some((event.step, params)),
        ScriptEvent::Sphere(_) | ScriptEvent::Inputs(_) => None,
    });
    changed.unwrap_or((0, &surface.script.params))
}

fn surface(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    session.open_head(Task::Segment)?;
    let (centre, radius_mm) = START;
    session.act(SegmentAction::Sphere(Sphere {
        add: true,
        centre,
        radius_mm,
    }));
    session.wait("surface", |state| state.resting_surface().is_some())?;
    let document = &session.window.state().document;
    let mut settings = document.segment.settings.clone();
    let image = document.segmented_image();
    let fluid = image.and_then(|(_, image)| image.nearest(0, centre));
    settings.params.target = fluid.ok_or("There is no image to segment")?;
    settings.params.tolerance = 0.3 * settings.params.target;
    settings.target_chosen = true;
    // A surface that stops for the watch would follow no slider.
    settings.watched = false;
    let phase = Phase::Done;
    session.act(SegmentAction::Set { settings, phase });
    session.act(SegmentAction::Play);
    let subject = Subject {
        requested: &|state| Some(state.document.segment.settings.params.clone()),
        shown: &|state, key| {
            let surface = state.runtime.segment.live.as_ref()?;
            let (step, params) = last_change(surface);
            // A surface that no longer moves rests by the present parameters.
            let rests =
                || !state.runtime.segment.running && state.document.segment.settings.params == *key;
            (params == key && surface.step > step || rests()).then_some(Detail::Full)
        },
    };
    session.play(&subject, |session, number| {
        session.drag_slider("Smoothness", number)
    })
}

/// The streamlines whose weights are fitted, and how many of them are selected.
fn counted_lines(state: &State) -> (usize, usize) {
    let lines = state.document.filtered().map_or(0, |(_, l)| l.len());
    (lines, state.manual_selection().map_or(0, |c| c.count))
}

fn weights(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    let count = if session.quick { 500 } else { 10_000 };
    session.open_head(Task::Track)?;
    let whole_brain = WholeBrain {
        seeds: 3 * count,
        by_regions: false,
    };
    let phase = Phase::Done;
    session.act(TrackAction::SetWholeBrain { whole_brain, phase });
    session.act(TrackAction::WholeBrain);
    session.wait("streamlines", |state| counted_lines(state).0 > 0)?;
    session.act(ViewAction::SelectTask(Task::Filter));
    let delete = |session: &mut Session, streamlines: Vec<u32>| {
        session.act(StreamlineAction::Choose {
            streamlines,
            mode: SelectionMode::Replace,
            anchor: None,
        });
    };
    let tracked = counted_lines(session.window.state()).0;
    if tracked > count {
        delete(session, (count as u32..tracked as u32).collect());
        session.act(StreamlineAction::DeleteChosen);
    }
    session.wait("streamlines", |state| counted_lines(state).0 <= count)?;
    session.act(FilterAction::Run);
    let is_weighted = |state: &State| {
        let filtered = state.document.filtered();
        let weights = filtered.and_then(|(layer, _)| state.document.weights_of_layer(layer));
        let lines = filtered.map(|(_, lines)| lines.id());
        let weighted = weights.map(|(weights, _)| weights.weighted);
        weighted.is_some() && weighted == lines && !state.is_filtering()
    };
    session.wait("weights", is_weighted)?;
    let subject = Subject {
        // The number of streamlines that are left: none before the key, since the selection alone requests nothing.
        requested: &|state| {
            let (all, selected) = counted_lines(state);
            Some(all - selected)
        },
        shown: &|state, left| {
            let is_left = counted_lines(state) == (*left, 0);
            let detail = match is_weighted(state) {
                true => Detail::Full,
                false => Detail::Coarse,
            };
            is_left.then_some(detail)
        },
    };
    let mut strokes = Vec::new();
    let began = Instant::now();
    while may_play(&strokes, session.strokes.min(5), began) {
        let number = strokes.len();
        let (all, _) = counted_lines(session.window.state());
        delete(session, (number as u32..all as u32).step_by(50).collect());
        rest(&mut session.window);
        let script = [vec![Input::Delete]];
        let window = &mut session.window;
        strokes.push(follow(window, &script, &subject, None, FINAL_PICTURE));
    }
    Ok(strokes)
}

/// Balls that overlap, so that no two slices are alike.
fn image() -> Option<Volume> {
    let grid = Grid::axis_aligned([256; 3], DVec3::ONE, DVec3::splat(-127.5))?;
    let wave = |x: f64| (0.11 * x).sin();
    let value = |index| {
        let at = grid.world(DVec3::from_array(grid.voxel(index).map(|v| v as f64)));
        let ball = 1.0 - at.length() / 120.0;
        (ball.max(0.0) * (1.5 + wave(at.x) * wave(at.y + at.z))) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Some(Volume::scalar(Arc::new(grid), values))
}

fn crosshair(session: &mut Session) -> Result<Vec<StrokeTimes>, String> {
    let volume = image().ok_or("There is no grid")?;
    let folder = Scratch::new().map_err(|e| e.to_string())?;
    let path = folder.path().join("image.nii");
    let saved = nifti::save_volume(&path, &volume, "", &Control::new());
    saved.map_err(|e| e.to_string())?;
    drop(volume);
    session.act(FilesAction::Open(vec![path]));
    session.wait("image", |state| !state.document.layers.is_empty())?;
    let subject = Subject {
        requested: &|state| Some(state.view.crosshair),
        shown: &|state, at| (state.view.crosshair == *at).then_some(Detail::Full),
    };
    session.play(&subject, |session, number| {
        let pane = session.window.pane(Pane::Axial);
        let [low, high] = pane.ok_or("The axial view is not shown")?;
        Ok(session.drag(low.lerp(high, 0.5), 0.3 * (high - low), number))
    })
}
