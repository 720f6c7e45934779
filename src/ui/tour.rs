//! The tour: one note at a time, which advances by itself when its action is done.

use super::files::{DialogPosition, PathPurpose, suggestion};
use super::widgets::note::{Note, NoteResponse};
use super::{Memory, icons, theme};
use crate::data::Role;
use crate::state::filter::{FilterAction, FilterFile};
use crate::state::pathways::{PathwayAction, PathwayFile, PathwaySettings};
use crate::state::runtime::TourStep;
use crate::state::{
    Action, Method, Phase, RegionAction, State, Task, Tool, TrackAction, ViewAction,
};
use egui::Ui;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some(step) = state.runtime.tour else {
        return;
    };
    let (text, action, icon) = (
        text(step, Subject::from_state(state)),
        action(step, Subject::from_state(state)),
        match step {
            TourStep::ClickSlice => icons::ARROW_RIGHT,
            TourStep::PlaceSeed => icons::TARGET,
            TourStep::DragSeed => icons::CROSSHAIR,
            TourStep::PlaceTarget => icons::FLAG,
            TourStep::Width => icons::CURVE,
            TourStep::FitWeights => icons::FUNNEL,
            TourStep::Save => icons::EXPORT,
        },
    );
    let at = TourStep::ALL.iter().position(|&s| s == step).unwrap_or(0) + 1;
    let title = format!("Guide · {at} of {}", TourStep::ALL.len());
    let p = theme::palette(ui.style());
    let all: Vec<&str> = texts().collect();
    let mut note = Note::guide(p, &title, text).second_action("Leave guide");
    note = note.room_for(&all);
    if !action.is_empty() {
        note = note.action_with_icon(action, icon);
    }
    match note.show(ui) {
        Some(NoteResponse::Accepted) => act(step, state, memory, actions),
        Some(NoteResponse::SecondAction | NoteResponse::Dismissed) => {
            actions.push(Action::LeaveTour)
        }
        None => {}
    }
}

/// The result that the task computes from a seed and a target.
#[derive(Clone, Copy)]
enum Subject {
    Streamlines,
    Rays,
    Pathway,
    /// Streamlines to fit weights to.
    Weights,
    /// There are no streamlines to fit.
    NoStreamlines,
    /// The fit is running.
    Fit,
    /// The fit has weights.
    Fitted,
}

impl Subject {
    const ALL: [Self; 7] = [
        Self::Streamlines,
        Self::Rays,
        Self::Pathway,
        Self::Weights,
        Self::NoStreamlines,
        Self::Fit,
        Self::Fitted,
    ];

    fn from_state(state: &State) -> Self {
        let has_weights = super::forms::commit::has_weights(state);
        let saves = state.runtime.tour == Some(TourStep::Save);
        match (state.view.task, state.document.track.method) {
            (Task::Pathways, _) => Self::Pathway,
            (Task::Filter, _) if state.is_filtering() => Self::Fit,
            (Task::Filter, _) if has_weights => Self::Fitted,
            (Task::Filter, _) if has_streamlines(state) => Self::Weights,
            (Task::Filter, _) => Self::NoStreamlines,
            _ if saves && has_weights => Self::Fitted,
            (_, Method::Rays) => Self::Rays,
            (_, Method::Streamlines) => Self::Streamlines,
        }
    }
}

/// Whether there are streamlines to fit: a layer, or the live ones.
fn has_streamlines(state: &State) -> bool {
    let live = state.final_live();
    state.document.filtered().is_some() || live.is_some_and(|l| !l.output.kept.is_empty())
}

/// The text of a step, at most two lines in a narrow panel, so that all steps have one height.
fn text(step: TourStep, subject: Subject) -> &'static str {
    use Subject::{Fit, Fitted, NoStreamlines, Pathway, Rays, Streamlines, Weights};
    match (step, subject) {
        (TourStep::ClickSlice, _) => "Click a slice to move the crosshair. All views follow",
        (TourStep::PlaceSeed, Streamlines | NoStreamlines | Weights | Fit | Fitted) => {
            "Press S, then click white matter on a slice. Streamlines start there"
        }
        (TourStep::PlaceSeed, Rays) => {
            "Press S, then click white matter on a slice. Rays start there"
        }
        (TourStep::PlaceSeed, Pathway) => {
            "Press S, then click white matter on a slice: one end of the pathway"
        }
        (TourStep::DragSeed, Streamlines | NoStreamlines | Weights | Fit | Fitted) => {
            "Drag the yellow seed, or its rim to resize it. The streamlines follow"
        }
        (TourStep::DragSeed, Rays) => {
            "Drag the yellow seed, or its rim to resize it. The rays follow"
        }
        (TourStep::DragSeed, Pathway) => {
            "Drag the yellow seed, or its rim to resize it. The pathway follows"
        }
        (TourStep::PlaceTarget, Streamlines | NoStreamlines | Weights | Fit | Fitted) => {
            "Press T, then click where streamlines should end. The others fade"
        }
        (TourStep::PlaceTarget, Rays) => {
            "Press T, then click where rays should end. The others fade"
        }
        (TourStep::PlaceTarget, Pathway) => {
            "Press T, then click the other end. Paths of least cost join the two"
        }
        (TourStep::Width, Streamlines | Rays | NoStreamlines | Weights | Fit | Fitted) => {
            "Open Pathways (Ctrl+3): the cheapest path from seed to target"
        }
        (TourStep::Width, Pathway) => {
            "Drag the pathway width ε: how much more than the cheapest a path may cost"
        }
        (TourStep::FitWeights, Weights) => {
            "Run the fit: it finds how much of the signal each streamline explains"
        }
        (TourStep::FitWeights, NoStreamlines) => {
            "No streamlines yet: track the whole brain, then fit their weights"
        }
        (TourStep::FitWeights, Fit) => {
            "The fit is running. The histogram of weights appears in Results"
        }
        (TourStep::FitWeights, Fitted) => {
            "Drag the line in the histogram: streamlines of low weight go first"
        }
        (TourStep::FitWeights, _) => {
            "Open Filter (Ctrl+5): how much of the signal each streamline explains"
        }
        (TourStep::Save, Fitted) => "Save the kept streamlines and their weights as TCK and text",
        (TourStep::Save, Streamlines | NoStreamlines | Weights | Fit) => {
            "Save the streamlines as TCK, which other programs read"
        }
        (TourStep::Save, Rays) => "Save the rays and their CM as files that other programs read",
        (TourStep::Save, Pathway) => "Save the pathway as a NIfTI mask, which other programs read",
    }
}

/// All texts of all steps.
fn texts() -> impl Iterator<Item = &'static str> {
    TourStep::ALL.into_iter().flat_map(|step| {
        let subjects = Subject::ALL.into_iter();
        subjects.map(move |subject| text(step, subject))
    })
}

fn action(step: TourStep, subject: Subject) -> &'static str {
    match step {
        TourStep::Width if matches!(subject, Subject::Pathway) => "Widen the pathway",
        TourStep::Width => "Show the pathway",
        TourStep::ClickSlice => "Next: place a seed",
        TourStep::PlaceSeed => "Use the seed tool",
        TourStep::DragSeed => "Show the seed",
        TourStep::PlaceTarget => "Use the target tool",
        TourStep::FitWeights if matches!(subject, Subject::Weights) => "Run the fit",
        TourStep::FitWeights if matches!(subject, Subject::Fitted) => "Cut the lower half",
        TourStep::FitWeights if matches!(subject, Subject::NoStreamlines) => "Track whole brain",
        // The user can only wait.
        TourStep::FitWeights if matches!(subject, Subject::Fit) => "",
        TourStep::FitWeights => "Fit weights",
        TourStep::Save => "Export…",
    }
}

/// The button performs the step's action, or activates its tool.
fn act(step: TourStep, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let tool = |role| Action::View(ViewAction::SetTool(Tool::NewRegion { role, cube: false }));
    match step {
        TourStep::ClickSlice => actions.push(Action::View(ViewAction::MoveCrosshair(
            state.view.crosshair,
        ))),
        TourStep::PlaceSeed => actions.push(tool(Role::Seed)),
        TourStep::DragSeed => {
            if let Some(seed) = state.document.regions.iter().find(|r| r.role == Role::Seed) {
                actions.push(Action::Region(RegionAction::Select(Some(seed.id))));
                actions.push(Action::View(ViewAction::MoveCrosshair(seed.shape.centre())));
            }
        }
        TourStep::PlaceTarget => actions.push(tool(Role::Target)),
        TourStep::Width if state.view.task == Task::Pathways => {
            let settings = &state.document.pathways;
            let epsilon = (1.5 * settings.epsilon).min(*PathwaySettings::EPSILON.end());
            let settings = PathwaySettings {
                epsilon,
                ..settings.clone()
            };
            let phase = Phase::Done;
            actions.push(Action::Pathway(PathwayAction::Set { settings, phase }));
        }
        TourStep::Width => actions.push(Action::View(ViewAction::SelectTask(Task::Pathways))),
        TourStep::FitWeights if state.view.task != Task::Filter => {
            actions.push(Action::View(ViewAction::SelectTask(Task::Filter)));
        }
        TourStep::FitWeights if super::forms::commit::has_weights(state) => {
            let weights = state.document.filtered();
            let weights = weights.and_then(|(layer, _)| state.document.weights_of_layer(layer));
            let half = weights.and_then(|(w, _)| w.sorted.get(w.sorted.len() / 2).copied());
            let (min_weight, phase) = (half.unwrap_or(0.0), Phase::Done);
            actions.push(Action::Filter(FilterAction::Cut { min_weight, phase }));
        }
        TourStep::FitWeights if !has_streamlines(state) => {
            actions.push(Action::Track(TrackAction::WholeBrain))
        }
        TourStep::FitWeights => {
            if state.document.filtered().is_none() {
                actions.push(Action::Filter(FilterAction::TakeLive));
            }
            actions.push(Action::Filter(FilterAction::Run));
        }
        TourStep::Save if state.view.task == Task::Pathways => {
            super::forms::eikonal::ask_for_path(
                state,
                memory,
                None,
                PathwayFile::Mask,
                DialogPosition::Middle,
            );
        }
        TourStep::Save if super::forms::commit::has_weights(state) => {
            actions.push(Action::View(ViewAction::SelectTask(Task::Filter)));
            super::forms::commit::ask_for_path(
                state,
                memory,
                FilterFile::Kept,
                DialogPosition::Middle,
            );
        }
        TourStep::Save => {
            actions.push(Action::View(ViewAction::SelectTask(Task::Track)));
            let purpose = PathPurpose::streamlines(state, None);
            let text = suggestion(state, "streamlines", &purpose);
            memory
                .files
                .type_path(purpose, DialogPosition::Middle, &text);
        }
    }
}
