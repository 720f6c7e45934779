//! The only place that changes the state.

mod files;
pub(in crate::state) mod layers;
mod settings;
mod steps;
mod stopping;
mod view;
mod viewpoints;

use crate::data::Role;
use crate::jobs::JobHandle;
use crate::state::action::{Action, Effect};
pub use crate::state::alignment::update::fixed_name;
use crate::state::core::notices::Severity;
pub use crate::state::density::update::sent;
use crate::state::device::jobs::DEVICE;
pub use crate::state::figures::command_line::command_line as figures_command;
use crate::state::files::jobs::SAVE;
use crate::state::files::opening::export_failed;
pub use crate::state::filter::update::{command_line as filter_command, request as weight_request};
pub use crate::state::pathways::update::{
    FindKept, command_line as pathway_command, find as find_pathway,
    find_of_layer as find_pathway_of_layer,
    noise::{command_line as pathway_noise_command, repeat_share},
};
pub use crate::state::regions::make::change_command as region_change_command;
use crate::state::runtime::TourStep;
pub use crate::state::segment::update::command_line as segment_command;
pub use crate::state::sessions::update::arriving::several_sessions;
pub use crate::state::sessions::update::is_session;
pub use crate::state::streamlines::update::export::unsupported_contents;
pub use crate::state::streamlines::update::{panel_command, selection_command};
pub use crate::state::track_noise::update::command_line as track_noise_command;
use crate::state::{
    CommandLine, State, UnsavedAction, alignment, crosshair_link, density, device, figures, filter,
    pathways, pictures, protocols, regions, sampling, scene_look, segment, session_report,
    sessions, snapshots, streamlines, tensors, track, track_noise,
};
use stopping::{escape, stop};

/// Applies one action; the window carries out the returned effects.
pub fn update(state: &mut State, action: Action) -> Vec<Effect> {
    let mut effects = Vec::new();
    let filter = streamlines::update::keep_rules::rules_before(state, &action);
    apply(state, action, &mut effects);
    view::follow_tool(state);
    follow_opened(state, &mut effects);
    follow_failures(state, &mut effects);
    streamlines::update::keep_rules::exclude_new_regions(state, filter);
    tensors::fods::follow(state, &mut effects);
    track::follow::follow(state, &mut effects);
    segment::for_pathways::offer(state);
    pathways::update::follow(state, &mut effects);
    segment::update::follow(state, &mut effects);
    // A surface that Segment has just requested is no longer that of the document.
    if segment::for_pathways::offer(state) {
        pathways::update::follow(state, &mut effects);
    }
    track_noise::update::follow(state, &mut effects);
    figures::update::follow(state, &mut effects);
    scene_look::update::follow(state, &mut effects);
    filter::update::follow(state, &mut effects);
    sessions::update::follow(state);
    skip_done(state);
    streamlines::update::follow(state, &mut effects);
    alignment::update::follow(state, &mut effects);
    crosshair_link::update::follow(state, &mut effects);
    effects
}

/// Informs the features of a file that was opened.
fn follow_opened(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(opened) = state.runtime.files.just_opened.take() else {
        return;
    };
    if opened.is_first {
        sessions::update::untouched(state);
    }
    tensors::update::fit(state, effects);
    tensors::orders::request(state, effects);
}

/// Informs the features of jobs that ended without an output.
fn follow_failures(state: &mut State, effects: &mut Vec<Effect>) {
    for failed in std::mem::take(&mut state.runtime.jobs.failed) {
        sessions::update::failed(state, failed.slot);
        let Some(reason) = failed.reason else {
            continue;
        };
        match failed.slot {
            DEVICE => device::update::not_opened(state),
            SAVE => {
                export_failed(state, &reason, effects);
                pictures::update::not_saved(state, failed.ticket);
            }
            _ => {}
        }
    }
}

/// The tour skips steps that are already done.
fn skip_done(state: &mut State) {
    let has_role = |role| state.document.regions.iter().any(|r| r.role == role);
    let runtime = &mut state.runtime;
    if runtime.tour == Some(TourStep::PlaceSeed) && has_role(Role::Seed) {
        runtime.tour_step_done(TourStep::PlaceSeed);
    }
    if runtime.tour == Some(TourStep::PlaceTarget) && has_role(Role::Target) {
        runtime.tour_step_done(TourStep::PlaceTarget);
    }
}

fn apply(state: &mut State, action: Action, effects: &mut Vec<Effect>) {
    match action {
        Action::Files(action) => files::act(state, action, effects),
        Action::Layer(action) => layers::act(state, action, effects),
        Action::Region(action) => regions::actions::act(state, action, effects),
        Action::Alignment(action) => alignment::actions::act(state, action, effects),
        Action::Tensors(action) => tensors::actions::act(state, action, effects),
        Action::Track(action) => track::actions::act(state, action, effects),
        Action::TrackNoise(action) => track_noise::actions::act(state, action, effects),
        Action::Picture(action) => pictures::actions::act(state, action, effects),
        Action::Report(action) => {
            session_report::actions::act(state, action, super::methods::methods, effects);
        }
        Action::Protocol(action) => protocols::actions::act(state, action, effects),
        Action::Snapshot(action) => snapshots::actions::act(state, action, effects),
        Action::Device(action) => device::actions::act(state, action, effects),
        Action::Link(action) => crosshair_link::actions::act(state, action, effects),
        Action::View(action) => view::act(state, action, effects),
        Action::SceneLook(action) => scene_look::actions::act(state, action),
        Action::OpenDemo { tour } => {
            sessions::update::close_document(state, UnsavedAction::Demo { tour }, effects);
        }
        Action::Set(settings) => settings::set(state, settings, effects),
        Action::Session(action) => sessions::actions::act(state, action, effects),
        Action::Streamline(action) => streamlines::actions::act(state, action, effects),
        Action::Density(action) => density::actions::act(state, action, effects),
        Action::Sample(action) => sampling::actions::act(state, action, effects),
        Action::Pathway(action) => pathways::actions::act(state, action, effects),
        Action::Segment(action) => segment::actions::act(state, action, effects),
        Action::Figures(action) => figures::actions::act(state, action, effects),
        Action::Filter(action) => filter::actions::act(state, action, effects),
        Action::CopyCommand(command_line) => copy_command(state, &command_line, effects),
        Action::NothingToCopy => {
            state.runtime.notices.status =
                "There is no result here yet: no command was copied".into()
        }
        Action::CopyMethods => {
            effects.push(Effect::CopyText(super::methods::methods(state)));
            state.runtime.notices.status =
                "Methods paragraph copied, with the works it cites".into();
        }
        Action::Undo => steps::undo(state, effects),
        Action::Redo => steps::redo(state, effects),
        Action::Settle => {
            state.view.moving = false;
            let pathway_key = state.pathway_key();
            state.runtime.pathways.live.rest(pathway_key.as_ref());
            let curve_key = state.document.curve_key();
            state.runtime.track.live.rest(curve_key.as_ref());
        }
        Action::Escape => escape(state, effects),
        Action::AbandonDrag(before) => steps::abandon(state, *before, effects),
        Action::CancelJob(slot) => stop(state, slot, effects),
        Action::DismissMessage(index) => {
            if index < state.runtime.notices.messages.len() {
                let message = state.runtime.notices.messages.remove(index);
                // It can no longer be requested.
                if let Some(slot) = message.slot.filter(|_| message.on_card) {
                    state
                        .runtime
                        .device
                        .fallback
                        .requests
                        .retain(|r| r.slot() != slot);
                }
            }
        }
        Action::StartTour => state.runtime.start_tour(),
        Action::LeaveTour => state.runtime.tour = None,
        Action::JobStarted(job) if job.slot.is_in_background() => {}
        Action::JobStarted(job) => job_started(state, job),
        Action::Event(event) => event.receive(state, effects),
    }
}

fn job_started(state: &mut State, job: JobHandle) {
    // The newest job of a slot represents those it replaced.
    let jobs = &mut state.runtime.jobs.running;
    jobs.retain(|j| j.slot != job.slot || job.slot.queues());
    jobs.push(job);
}

/// Copies the command of one result, or of the whole session if there is none.
fn copy_command(state: &mut State, command_line: &CommandLine, effects: &mut Vec<Effect>) {
    let file = state.runtime.sessions.file.as_ref();
    let saved = file.filter(|_| !state.is_dirty());
    match (command_line.no_command(), saved) {
        (None, _) => {
            effects.push(Effect::CopyText(command_line.text()));
            state.runtime.notices.status = "Command copied".into();
        }
        (Some(_), Some(file)) => {
            effects.push(Effect::CopyText(super::command_line::replay(file)));
            state.runtime.notices.status =
                "Command copied: it recomputes all results of the session".into();
        }
        (Some(sentence), None) => state.runtime.notify(Severity::Information, sentence),
    }
}
