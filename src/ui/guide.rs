//! The guide: one note at a time, which advances by itself when its act is done.

use super::files::{Place, Purpose, suggestion};
use super::widgets::note::{Answer, Note};
use super::{Memory, icons, theme};
use crate::data::Role;
use crate::state::filter::{FilterAction, FilterFile};
use crate::state::pathways::{PathwayAction, PathwayFile, Settings};
use crate::state::session::GuideStep;
use crate::state::{Action, Method, Phase, State, Task, Tool};
use egui::Ui;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some(step) = state.session.guide else {
        return;
    };
    let (text, word, icon) = (
        text(step, Subject::of(state)),
        word(step, Subject::of(state)),
        match step {
            GuideStep::ClickSlice => icons::ARROW_RIGHT,
            GuideStep::PlaceSeed => icons::TARGET,
            GuideStep::DragSeed => icons::CROSSHAIR,
            GuideStep::PlaceTarget => icons::FLAG,
            GuideStep::Width => icons::CURVE,
            GuideStep::Weigh => icons::FUNNEL,
            GuideStep::Save => icons::EXPORT,
        },
    );
    let at = GuideStep::ALL.iter().position(|&s| s == step).unwrap_or(0) + 1;
    let title = format!("Guide · {at} of {}", GuideStep::ALL.len());
    let p = theme::palette(ui.style());
    let all: Vec<&str> = texts().collect();
    let mut note = Note::guide(p, &title, text).leave("Leave guide");
    note = note.room_for(&all);
    if !word.is_empty() {
        note = note.action_with_icon(word, icon);
    }
    match note.show(ui) {
        Some(Answer::Taken) => act(step, state, memory, actions),
        Some(Answer::Left | Answer::Dismissed) => actions.push(Action::LeaveGuide),
        None => {}
    }
}

/// What the task makes of a seed and a target.
#[derive(Clone, Copy)]
enum Subject {
    Streamlines,
    Rays,
    Pathway,
    /// Streamlines to be weighed.
    Weights,
    /// There are none to be weighed.
    NoStreamlines,
    /// Their fit runs.
    Fit,
    /// Its weights are there.
    Weighed,
}

impl Subject {
    const ALL: [Self; 7] = [
        Self::Streamlines,
        Self::Rays,
        Self::Pathway,
        Self::Weights,
        Self::NoStreamlines,
        Self::Fit,
        Self::Weighed,
    ];

    fn of(state: &State) -> Self {
        let weighed = super::forms::commit::weighs(state);
        let saves = state.session.guide == Some(GuideStep::Save);
        match (state.view.task, state.document.method) {
            (Task::Pathways, _) => Self::Pathway,
            (Task::Filter, _) if state.is_filtering() => Self::Fit,
            (Task::Filter, _) if weighed => Self::Weighed,
            (Task::Filter, _) if has_streamlines(state) => Self::Weights,
            (Task::Filter, _) => Self::NoStreamlines,
            _ if saves && weighed => Self::Weighed,
            (_, Method::Rays) => Self::Rays,
            (_, Method::Streamlines) => Self::Streamlines,
        }
    }
}

/// Whether there is something to weigh: a layer, or the live ones.
fn has_streamlines(state: &State) -> bool {
    let live = state.final_live();
    state.document.filtered().is_some() || live.is_some_and(|l| !l.output.kept.is_empty())
}

/// Two lines in a narrow panel: no step is higher than another.
fn text(step: GuideStep, subject: Subject) -> &'static str {
    use Subject::{Fit, NoStreamlines, Pathway, Rays, Streamlines, Weighed, Weights};
    match (step, subject) {
        (GuideStep::ClickSlice, _) => "Click a slice to move the crosshair. All views follow",
        (GuideStep::PlaceSeed, Streamlines | NoStreamlines | Weights | Fit | Weighed) => {
            "Press S, then click white matter on a slice. Streamlines start there"
        }
        (GuideStep::PlaceSeed, Rays) => {
            "Press S, then click white matter on a slice. Rays start there"
        }
        (GuideStep::PlaceSeed, Pathway) => {
            "Press S, then click white matter on a slice: one end of the pathway"
        }
        (GuideStep::DragSeed, Streamlines | NoStreamlines | Weights | Fit | Weighed) => {
            "Drag the yellow seed, or its rim to resize it. The streamlines follow"
        }
        (GuideStep::DragSeed, Rays) => {
            "Drag the yellow seed, or its rim to resize it. The rays follow"
        }
        (GuideStep::DragSeed, Pathway) => {
            "Drag the yellow seed, or its rim to resize it. The pathway follows"
        }
        (GuideStep::PlaceTarget, Streamlines | NoStreamlines | Weights | Fit | Weighed) => {
            "Press T, then click where streamlines should end. The others turn grey"
        }
        (GuideStep::PlaceTarget, Rays) => {
            "Press T, then click where rays should end. The others turn grey"
        }
        (GuideStep::PlaceTarget, Pathway) => {
            "Press T, then click the other end. Paths of least cost join the two"
        }
        (GuideStep::Width, Streamlines | Rays | NoStreamlines | Weights | Fit | Weighed) => {
            "Open Pathways (Ctrl+3): the cheapest path from seed to target"
        }
        (GuideStep::Width, Pathway) => {
            "Drag the pathway width ε: how much more than the cheapest a path may cost"
        }
        (GuideStep::Weigh, Weights) => {
            "Run the fit: it finds how much of the signal each streamline explains"
        }
        (GuideStep::Weigh, NoStreamlines) => {
            "No streamlines yet: track the whole brain, then fit their weights"
        }
        (GuideStep::Weigh, Fit) => {
            "The fit runs. The histogram of its weights appears under Results"
        }
        (GuideStep::Weigh, Weighed) => {
            "Drag the line in the histogram: streamlines of low weight go first"
        }
        (GuideStep::Weigh, _) => {
            "Open Filter (Ctrl+5): how much of the signal each streamline explains"
        }
        (GuideStep::Save, Weighed) => {
            "Save the streamlines that stay and their weights as TCK and text"
        }
        (GuideStep::Save, Streamlines | NoStreamlines | Weights | Fit) => {
            "Save the streamlines as TCK, which other programs read"
        }
        (GuideStep::Save, Rays) => "Save the rays and their CM as files that other programs read",
        (GuideStep::Save, Pathway) => "Save the pathway as a NIfTI mask, which other programs read",
    }
}

/// All texts of all steps.
fn texts() -> impl Iterator<Item = &'static str> {
    GuideStep::ALL.into_iter().flat_map(|step| {
        let subjects = Subject::ALL.into_iter();
        subjects.map(move |subject| text(step, subject))
    })
}

fn word(step: GuideStep, subject: Subject) -> &'static str {
    match step {
        GuideStep::Width if matches!(subject, Subject::Pathway) => "Widen it",
        GuideStep::Width => "Show the pathway",
        GuideStep::ClickSlice => "Next: place a seed",
        GuideStep::PlaceSeed => "Use the seed tool",
        GuideStep::DragSeed => "Show the seed",
        GuideStep::PlaceTarget => "Use the target tool",
        GuideStep::Weigh if matches!(subject, Subject::Weights) => "Run the fit",
        GuideStep::Weigh if matches!(subject, Subject::Weighed) => "Cut the lower half",
        GuideStep::Weigh if matches!(subject, Subject::NoStreamlines) => "Track whole brain",
        // There is nothing to do but wait.
        GuideStep::Weigh if matches!(subject, Subject::Fit) => "",
        GuideStep::Weigh => "Weigh streamlines",
        GuideStep::Save => "Export…",
    }
}

/// The button does the step's act, or puts the tool for it into the hand.
fn act(step: GuideStep, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let tool = |role| Action::SetTool(Tool::Place { role, cube: false });
    match step {
        GuideStep::ClickSlice => actions.push(Action::MoveCrosshair(state.view.crosshair)),
        GuideStep::PlaceSeed => actions.push(tool(Role::Seed)),
        GuideStep::DragSeed => {
            if let Some(seed) = state.document.regions.iter().find(|r| r.role == Role::Seed) {
                actions.push(Action::SelectRegion(Some(seed.id)));
                actions.push(Action::MoveCrosshair(seed.shape.centre()));
            }
        }
        GuideStep::PlaceTarget => actions.push(tool(Role::Target)),
        GuideStep::Width if state.view.task == Task::Pathways => {
            let settings = &state.document.pathways;
            let epsilon = (1.5 * settings.epsilon).min(*Settings::EPSILON.end());
            let settings = Settings {
                epsilon,
                ..settings.clone()
            };
            let phase = Phase::Done;
            actions.push(Action::Pathway(PathwayAction::Set { settings, phase }));
        }
        GuideStep::Width => actions.push(Action::SelectTask(Task::Pathways)),
        GuideStep::Weigh if state.view.task != Task::Filter => {
            actions.push(Action::SelectTask(Task::Filter));
        }
        GuideStep::Weigh if super::forms::commit::weighs(state) => {
            let weighed = state.document.filtered();
            let weighed = weighed.and_then(|(layer, _)| state.document.weighed_of(layer));
            let half = weighed.and_then(|(w, _)| w.sorted.get(w.sorted.len() / 2).copied());
            let (least, phase) = (half.unwrap_or(0.0), Phase::Done);
            actions.push(Action::Filter(FilterAction::Cut { least, phase }));
        }
        GuideStep::Weigh if !has_streamlines(state) => actions.push(Action::TrackWholeBrain),
        GuideStep::Weigh => {
            if state.document.filtered().is_none() {
                actions.push(Action::Filter(FilterAction::TakeLive));
            }
            actions.push(Action::Filter(FilterAction::Run));
        }
        GuideStep::Save if state.view.task == Task::Pathways => {
            super::forms::eikonal::ask(state, memory, None, PathwayFile::Mask, Place::Middle);
        }
        GuideStep::Save if super::forms::commit::weighs(state) => {
            actions.push(Action::SelectTask(Task::Filter));
            super::forms::commit::ask(state, memory, FilterFile::Kept, Place::Middle);
        }
        GuideStep::Save => {
            actions.push(Action::SelectTask(Task::Track));
            let purpose = Purpose::tracks(state, None);
            let text = suggestion(state, "tracks", &purpose);
            memory.files.type_path(purpose, Place::Middle, &text);
        }
    }
}
