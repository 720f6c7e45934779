//! The one place that changes the state.

pub(in crate::state) mod basis;
pub(in crate::state) mod layers;
mod settings;
mod steps;
mod stopping;

use crate::data::Role;
use crate::jobs::{JobHandle, Slot};
use crate::state::action::{Action, Effect, Phase};
pub use crate::state::alignment::update::fixed_name;
use crate::state::alignment::{self, AlignedBy};
use crate::state::core::pane::Pane;
pub use crate::state::density::update::sent;
use crate::state::edit::{changed, edit, frame_all, stepped};
use crate::state::files::jobs::head::MakeHead;
use crate::state::files::jobs::open::OpenFile;
use crate::state::files::types::RecentExports;
pub use crate::state::filter::update::{
    key as filter_key, recipe as filter_recipe, request as weight_request,
};
pub use crate::state::pathways::update::{find as find_pathway, recipe as pathway_recipe};
use crate::state::regions::update::change_all;
pub use crate::state::segment::update::{now as segmented_now, recipe as segment_recipe};
use crate::state::session::{Severity, TourStep};
pub use crate::state::sessions::update::is_session;
pub use crate::state::streamlines::update::{asked as asked_recipe, sifted as sifted_recipe};
pub use crate::state::track::kept::losses;
use crate::state::view::{Layout, Slab, SliceCamera, Task, View};
use crate::state::{
    Content, Layer, LayerId, Reading, Recipe, State, UnsavedAction, density, device, files, filter,
    pathways, pictures, regions, sampling, segment, sessions, snapshots, streamlines, tensors,
    track,
};
pub use basis::remake;
use glam::DVec3;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stopping::{escape, stop};

pub(in crate::state) use crate::state::files::opening::exported;
pub(super) use crate::state::track::update::is_current;

/// Applies one action; what it returns is for the window to carry out.
pub fn update(state: &mut State, action: Action) -> Vec<Effect> {
    let mut effects = Vec::new();
    let filter = streamlines::update::apart::before(state, &action);
    apply(state, action, &mut effects);
    follow_failures(state, &mut effects);
    streamlines::update::apart::keep(state, filter);
    track::follow::follow(state, &mut effects);
    pathways::update::follow(state, &mut effects);
    segment::update::follow(state, &mut effects);
    filter::update::follow(state, &mut effects);
    sessions::update::follow(state);
    skip_done(state);
    streamlines::update::follow(state, &mut effects);
    alignment::update::follow(state, &mut effects);
    effects
}

/// The features learn of jobs that ended without an output.
fn follow_failures(state: &mut State, effects: &mut Vec<Effect>) {
    for failed in std::mem::take(&mut state.session.failed_jobs) {
        sessions::update::failed(state, failed.slot);
        let Some(reason) = failed.reason else {
            continue;
        };
        match failed.slot {
            Slot::Device => device::update::not_opened(state),
            Slot::Save => {
                files::opening::export_failed(state, &reason, effects);
                pictures::update::not_saved(state, failed.ticket);
            }
            _ => {}
        }
    }
}

/// The guide asks for nothing that is there already.
fn skip_done(state: &mut State) {
    let there = |role| state.document.regions.iter().any(|r| r.role == role);
    let session = &mut state.session;
    if session.guide == Some(TourStep::PlaceSeed) && there(Role::Seed) {
        session.guide_done(TourStep::PlaceSeed);
    }
    if session.guide == Some(TourStep::PlaceTarget) && there(Role::Target) {
        session.guide_done(TourStep::PlaceTarget);
    }
}

fn apply(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::Open(paths) => open(state, paths, effects),
        Action::OpenAs { path, reading } => {
            state.session.forget_failures(Slot::Load);
            effects.push(Effect::submit(OpenFile::with_reading(path, reading)));
        }
        Action::OpenDemo { guide } => {
            sessions::update::leave(state, UnsavedAction::Demo { guide }, effects);
        }
        Action::OpenVisit(Some(number)) => files::opening::open_visit(state, number, effects),
        Action::OpenVisit(None) => state.session.folder = None,
        Action::Set(settings) => settings::set(state, settings, effects),
        Action::Session(action) => sessions::update::act(state, action, effects),
        Action::SaveTracks { layer, path } => {
            exported(state, RecentExports::TRACKS, &path, effects);
            track::kept::save(state, layer, path, effects);
        }
        Action::SaveLayer { layer, path } => {
            exported(state, RecentExports::LAYER, &path, effects);
            layers::save(state, layer, path, effects);
        }
        Action::SaveRegion { region, path } => {
            exported(state, RecentExports::REGION, &path, effects);
            regions::update::save(state, region, path, effects);
        }
        Action::Screenshot(shot) => {
            exported(state, RecentExports::PICTURE, &shot.path, effects);
            pictures::update::take(state, shot, effects);
        }
        Action::NextFrame => pictures::update::next_frame(state, effects),
        Action::TakeSnapshot => {
            snapshots::take(state);
            changed(state);
        }
        Action::NameSnapshot { number, name } => {
            snapshots::rename(state, number, &name);
            changed(state);
        }
        Action::Compare(with) => {
            snapshots::compare(state, with);
            tensors::update::fit_snapshot(state, effects);
        }
        Action::ToggleComparing => {
            snapshots::toggle(state);
            tensors::update::fit_snapshot(state, effects);
        }
        Action::MoveDivider(share) => {
            if let Some(comparing) = &mut state.session.comparing {
                comparing.share = share.clamp(0.0, 1.0);
            }
        }

        Action::SelectTask(task) => track::update::look_at(state, task, effects),
        Action::SetLayout(layout) => state.view.layout = layout,
        Action::SetMosaic(pane, mm) => set_mosaic(&mut state.view, pane, mm),
        Action::ToggleMaximised(pane) => {
            let alone = state.view.layout == Layout::Single && state.view.single == pane;
            state.view.layout = if alone { Layout::Grid } else { Layout::Single };
            state.view.single = pane;
        }
        Action::MoveCrosshair(world) => move_crosshair(state, world),
        Action::StepSlice { pane, steps } => step_slice(state, pane, steps),
        Action::SetSlice { pane, slice } => {
            if let Some(i) = Pane::ALL.iter().position(|&p| p == pane).filter(|&i| i < 3) {
                let zoom = slice.zoom.clamp(0.2, 40.0);
                state.view.slices[i] = SliceCamera { zoom, ..slice };
            }
        }
        Action::SetCamera { camera, phase } => {
            (state.view.camera, state.view.moving) = (camera, phase == Phase::Live);
        }
        Action::FrameAll => frame_all(state),
        Action::SetConvention(convention) => state.view.convention = convention,
        Action::SetTool(tool) => regions::draw::take(state, tool, effects),
        Action::ToggleCrosshair => state.view.show_crosshair ^= true,
        Action::ToggleLetters => state.view.show_letters ^= true,
        Action::TogglePanels => state.view.show_panels ^= true,
        Action::ToggleSlicesInScene => match state.view.task {
            Task::View | Task::Segment => state.view.show_slices_in_scene ^= true,
            Task::Track | Task::Pathways | Task::Filter => {
                state.view.show_slices_with_tracks ^= true;
            }
        },
        Action::ToggleOutline => state.view.show_outline ^= true,
        Action::CutToSlab(slab) => state.view.slab = slab.filter(Slab::is_sound),
        Action::SetGlyphs(glyphs) => pathways::update::set_glyphs(state, glyphs),
        Action::ToggleMissed => state.view.show_missed ^= true,
        Action::ShowStop(reason) => state.view.stop = reason,
        Action::ToggleTheme => {
            state.view.light_theme ^= true;
            effects.push(Effect::Store);
        }

        Action::SelectLayer(layer) => select_layer(state, layer),
        Action::SetDisplay {
            layer,
            display,
            phase,
        } => {
            edit(state, "Display", phase == Phase::Live, |d| {
                d.edit_layer(layer, |l| l.display = display)
            });
            if phase == Phase::Done {
                files::opening::remember_window(state, layer, effects);
            }
        }
        Action::ShiftLayer { layer, by, phase } => {
            alignment::update::shift(state, layer, (by, AlignedBy::Hand), phase, effects);
        }
        Action::AlignLayer(layer) => alignment::update::align(state, layer, effects),
        Action::ApplyAffine { layer, path } => {
            alignment::update::apply(state, layer, path, effects)
        }
        Action::ShowOnly(layer) => layers::show_only(state, layer),
        Action::MoveLayer { layer, to } => layers::move_to(state, layer, to, effects),
        Action::RenameLayer { layer, name } => {
            edit(state, "Rename layer", false, |d| {
                d.edit_layer(layer, |l| l.name = name)
            });
        }
        Action::DeleteLayer(layer) => layers::delete(state, layer, effects),

        Action::PlaceRegion { role, shape } => regions::update::place(state, role, shape, effects),
        Action::RegionFromLayer { layer, role } => {
            regions::update::from_layer(state, layer, role, effects)
        }
        Action::SelectRegion(region) => regions::draw::select(state, region, effects),
        Action::SetRegionShape {
            region,
            shape,
            phase,
        } => {
            regions::update::reshape(state, region, shape, phase, effects);
        }
        Action::SetRole { region, role } => {
            edit(state, "Region role", false, |d| {
                d.edit_region(region, |r| r.role = role)
            });
            track::update::retrack(state, false, effects);
        }
        Action::RenameRegion { region, name } => {
            edit(state, "Rename region", false, |d| {
                d.edit_region(region, |r| r.name = name)
            });
        }
        Action::SetRegionColour { region, colour } => {
            edit(state, "Region colour", false, |d| {
                d.edit_region(region, |r| r.colour = colour)
            });
        }
        Action::ToggleRegion(region) => {
            edit(state, "Show region", false, |d| {
                d.edit_region(region, |r| r.visible ^= true)
            });
        }
        Action::DeleteRegion(region) => regions::update::delete(state, region, effects),
        Action::ChangeRegions { regions, change } => change_all(state, &regions, change, effects),
        Action::MoveRegion { region, to } => regions::update::move_to(state, region, to, effects),
        Action::DuplicateRegion(region) => regions::update::duplicate(state, region, effects),
        Action::SaveRegions { path, as_labels } => {
            exported(state, RecentExports::REGION, &path, effects);
            regions::update::save_all(state, path, as_labels, effects);
        }

        Action::Make { source, phase } => regions::make::set(state, source, phase, effects),
        Action::CountLabels(layer) => regions::make::count_labels(state, layer, effects),
        Action::RegionsFromLabels { labels, role } => {
            regions::make::from_labels(state, labels, role, effects);
        }
        Action::Bundle(action) => streamlines::update::act(state, action, effects),
        Action::SetDrawing(settings) => state.view.drawing = settings,
        Action::DrawInto { region, role } => regions::draw::into(state, region, role, effects),
        Action::Stroke {
            stroke,
            erase,
            begins,
            phase,
        } => regions::draw::stroke(state, &stroke, erase, (begins, phase), effects),
        Action::DrawOutline { outline, erase } => {
            regions::draw::outline(state, &outline, erase, effects);
        }

        Action::CheckGradients => tensors::axes::check(state, effects),
        Action::TurnGradients(turn) => tensors::axes::turn(state, turn, effects),
        Action::CompareTensors(layer) => tensors::orders::compare(state, layer, effects),
        Action::ReadTensors { layer, layout } => {
            tensors::orders::read(state, layer, layout, effects)
        }

        Action::SetFit { params } => {
            edit(state, "Fit", false, |d| d.fit = params);
            tensors::update::fit(state, effects);
        }
        Action::TakeOfferedMask => files::opening::take_offered_mask(state, effects),
        Action::SetFitMask(layer) => {
            edit(state, "Fit", false, |d| d.fit_mask = layer);
            tensors::update::fit(state, effects);
        }
        Action::SetTrack { params, phase } => {
            edit(state, "Tracking", phase == Phase::Live, |d| {
                d.track = params
            });
            track::update::retrack(state, phase == Phase::Live, effects);
        }
        Action::SetMethod(method) => {
            edit(state, method.name(), false, |d| d.method = method);
            track::update::retrack(state, false, effects);
        }
        Action::SetRays { rays, phase } => track::rays::set(state, rays, phase, effects),
        Action::SetLiveDisplay { display, phase } => {
            edit(state, "Display", phase == Phase::Live, |d| {
                *d.live_display_mut() = display
            });
        }
        Action::SetWholeBrain { whole_brain, phase } => {
            track::kept::set_whole_brain(state, whole_brain, phase);
        }
        Action::TrackWholeBrain => track::kept::whole_brain(state, effects),
        Action::Retrack => track::update::retrack(state, false, effects),
        Action::KeepTracks => track::kept::keep(state),
        Action::MapDensity { layer, density } => {
            density::update::map(state, layer, density, effects);
        }

        Action::Sample(action) => sampling::update::act(state, action, effects),
        Action::Pathway(action) => pathways::update::act(state, action, effects),
        Action::Segment(action) => segment::update::act(state, action, effects),
        Action::Filter(action) => filter::update::act(state, action, effects),
        Action::FindCards => device::update::find_cards(state, effects),
        Action::LoadKernels => device::update::load_kernels(effects),
        Action::ChooseBackend(kind) => device::update::choose(state, kind, effects),
        Action::RunOnCpu => device::update::run_on_cpu(state, effects),

        Action::CopyCommand(recipe) => copy_command(state, &recipe, effects),
        Action::CopyPicture(pane, look) => pictures::update::copy(state, pane, look, effects),
        Action::NothingToCopy => "There is no result here yet: no command was copied"
            .clone_into(&mut state.session.status),
        Action::CopyMethods => {
            effects.push(Effect::CopyText(super::methods::methods(state)));
            "Methods paragraph copied, with the works it cites"
                .clone_into(&mut state.session.status);
        }
        Action::Undo => steps::undo(state, effects),
        Action::Redo => steps::redo(state, effects),
        Action::Settle => {
            state.view.moving = false;
            if state.session.pathways.unsettled {
                pathways::update::rest(state);
            }
            // A coarse result that is nearly there is waited for.
            if state.session.unsettled && !state.session.full_next {
                track::update::retrack(state, false, effects);
            }
        }
        Action::Escape => escape(state, effects),
        Action::AbandonDrag(before) => steps::abandon(state, *before, effects),
        Action::CheckPath(check) => state.session.paths.ask(check, effects),
        Action::CancelJob(slot) => stop(state, slot, effects),
        Action::DismissMessage(index) => {
            if index < state.session.messages.len() {
                let message = state.session.messages.remove(index);
                // Nobody can ask for it any more.
                if let Some(slot) = message.slot.filter(|_| message.on_card) {
                    state.session.stranded.requests.retain(|r| r.slot() != slot);
                }
            }
        }
        Action::StartGuide => state.session.start_guide(),
        Action::LeaveGuide => state.session.guide = None,

        // Nobody needs to know about a save for recovery as long as it goes well.
        Action::JobStarted(job) if job.slot == Slot::Recovery => {}
        Action::JobStarted(job) => job_started(state, job),
        Action::Event(event) => event.receive(state, effects),
        Action::ShotTaken {
            ticket,
            path,
            writing,
        } => pictures::update::taken(state, ticket, &path, writing),
        Action::ShotCancelled { ticket } => pictures::update::drawing_cancelled(state, ticket),
    }
}

fn set_mosaic(view: &mut View, pane: Pane, mm: f64) {
    let (low, high) = View::MOSAIC_LIMITS_MM.into_inner();
    (view.single, view.mosaic_mm) = (pane, mm.clamp(low, high));
}

/// The panel shows a layer, and no region.
fn select_layer(state: &mut State, layer: Option<LayerId>) {
    let chosen = state.session.bundle.chosen.as_ref();
    if chosen.is_some_and(|c| Some(c.layer) != layer) {
        state.session.bundle.chosen = None;
    }
    state.session.selected_layer = layer;
    state.session.selected_region = None;
}

fn job_started(state: &mut State, job: JobHandle) {
    // The newest job of a slot stands for those it replaced.
    let jobs = &mut state.session.jobs;
    jobs.retain(|j| j.slot != job.slot || job.slot.queues());
    jobs.push(job);
}

/// Whether a name may be that of a colour table of labels.
fn is_colours(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str());
    let ending = ending.unwrap_or_default().to_lowercase();
    ["txt", "lut", "tsv", "label", "ctab"].contains(&ending.as_str())
}

pub(in crate::state) fn demo(state: &mut State, guide: bool, effects: &mut Vec<Effect>) {
    match guide {
        true => state.session.start_guide(),
        false => state.session.guide = None,
    }
    effects.push(Effect::submit(MakeHead { seed: 1 }));
}

fn open(state: &mut State, paths: Vec<PathBuf>, effects: &mut Vec<Effect>) {
    let (mut sessions, paths): (Vec<_>, Vec<_>) = paths
        .into_iter()
        .partition(|p| sessions::update::is_session(p));
    if let Some(session) = sessions.pop() {
        if !(sessions.is_empty() && paths.is_empty()) {
            let sentence = format!(
                "A session takes the place of everything, so only this one is opened; open the other \
                 files after it: {}",
                session.display()
            );
            state.session.notify(Severity::Information, sentence);
        }
        return sessions::update::leave(state, UnsavedAction::Open(session), effects);
    }
    let is_gradients = |p: &PathBuf| {
        let extension = p
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or_default()
            .to_lowercase();
        matches!(
            extension.as_str(),
            "bval" | "bvals" | "bvec" | "bvecs" | "b"
        )
    };
    state.session.forget_failures(Slot::Load);
    let (mut gradients, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_gradients);
    // bval before bvec, as every reader of the pair expects.
    gradients.sort_by_key(|p| {
        p.extension()
            .is_none_or(|e| !e.to_string_lossy().starts_with("bval"))
    });
    if files.is_empty() && !gradients.is_empty() {
        let scans = || {
            let layers = state.document.layers.iter().rev();
            layers.filter_map(|l| match (&l.content, state.document.path(l)) {
                (Content::Scan { gradients, .. }, Some(path)) => Some((gradients, path)),
                _ => None,
            })
        };
        // The one that waits for them, else the topmost.
        let waiting = scans().find(|(gradients, _)| gradients.is_none());
        match waiting.or_else(|| scans().next()) {
            Some((_, path)) => {
                let path = path.to_owned();
                effects.push(Effect::submit(OpenFile::with_gradients(path, gradients)));
            }
            None => state.session.notify(
                Severity::Error,
                "Gradient files need a scan: open the scan first, or drop both together",
            ),
        }
        return;
    }
    let (tables, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|p| is_colours(p));
    for table in tables {
        open_colours(state, table, effects);
    }
    state.session.together.clone_from(&files);
    for path in files {
        effects.push(Effect::submit(OpenFile::with_gradients(
            path,
            gradients.clone(),
        )));
    }
}

/// Gives the topmost image that can be a label map its names and colours.
fn open_colours(state: &mut State, table: PathBuf, effects: &mut Vec<Effect>) {
    let layers = || state.document.layers.iter().rev();
    let image = |l: &&Arc<Layer>| matches!(&l.content, Content::Image(v) if v.frames == 1);
    let labelled = |l: &&Arc<Layer>| l.content.volume().is_some_and(|v| v.labels.is_some());
    let selected = state.session.selected_layer;
    let is_file = |l: &Layer| state.document.path(l).is_some();
    let chosen = layers()
        .filter(image)
        .find(|l| Some(l.id) == selected && is_file(l))
        .or_else(|| layers().filter(image).find(|l| labelled(l) && is_file(l)));
    match chosen.and_then(|l| state.document.path(l)) {
        Some(path) => {
            let path = path.to_owned();
            let reported = Reading {
                colours: Some(table),
                ..Reading::default()
            };
            effects.push(Effect::submit(OpenFile::with_reading(path, reported)));
        }
        None => state.session.notify(
            Severity::Error,
            "A colour table needs a label map: open that first, and select its layer",
        ),
    }
}

fn move_crosshair(state: &mut State, world: DVec3) {
    let (low, high) = state.document.bounds();
    if world.is_finite() {
        state.view.crosshair = world.clamp(low, high);
    }
    state.session.guide_done(TourStep::ClickSlice);
}

fn step_slice(state: &mut State, pane: Pane, steps: i32) {
    let Some(axis) = pane.normal_axis() else {
        return;
    };
    // The voxel edge that runs most along the normal.
    let step = stepped(&state.document).map_or(1.0, |grid| {
        let m = grid.world_from_voxel.matrix3;
        (0..3).map(|a| m.col(a)).fold(DVec3::ZERO, |best, edge| {
            if edge[axis].abs() > best[axis].abs() {
                edge
            } else {
                best
            }
        })[axis]
            .abs()
    });
    let mut world = state.view.crosshair;
    world[axis] += f64::from(steps) * step;
    let (low, high) = state.document.bounds();
    state.view.crosshair = world.clamp(low, high);
}

/// Copies the command of one result; where there is none, that of the whole session.
fn copy_command(state: &mut State, recipe: &Recipe, effects: &mut Vec<Effect>) {
    let file = state.session.saving.file.as_ref();
    let saved = file.filter(|_| !state.is_dirty());
    match (recipe.no_command(), saved) {
        (None, _) => {
            effects.push(Effect::CopyText(recipe.command()));
            "Command copied".clone_into(&mut state.session.status);
        }
        (Some(_), Some(file)) => {
            effects.push(Effect::CopyText(super::recipe::replay(file)));
            "Command copied: it makes all results of the session again"
                .clone_into(&mut state.session.status);
        }
        (Some(sentence), None) => state.session.notify(Severity::Information, sentence),
    }
}
