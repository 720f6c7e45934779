//! The guide: one note at a time, which advances by itself when its act is done.

use super::files::{Place, Purpose, suggestion};
use super::widgets::note::{Answer, Note};
use super::{Memory, icons, theme};
use crate::data::Role;
use crate::state::session::GuideStep;
use crate::state::{Action, Method, State, Task, Tool};
use egui::Ui;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some(step) = state.session.guide else {
        return;
    };
    let rays = state.document.method == Method::Rays;
    let (text, word, icon) = match step {
        GuideStep::ClickSlice => (
            "Click a slice to move the crosshair. All views follow",
            "Next: place a seed",
            icons::ARROW_RIGHT,
        ),
        GuideStep::PlaceSeed => (
            match rays {
                true => "Press S, then click white matter on a slice. Rays leave it at once",
                false => {
                    "Press S, then click white matter on a slice. Streamlines start there at once"
                }
            },
            "Take the seed",
            icons::TARGET,
        ),
        GuideStep::DragSeed => (
            match rays {
                true => {
                    "Drag the yellow seed over a slice, or its rim to resize it. The rays follow"
                }
                false => {
                    "Drag the yellow seed over a slice, or its rim to resize it. The streamlines follow"
                }
            },
            "Show the seed",
            icons::CROSSHAIR,
        ),
        GuideStep::PlaceTarget => (
            match rays {
                true => "Press T, then click where the rays should end. The others turn grey",
                false => {
                    "Press T, then click where the streamlines should end. The others turn grey"
                }
            },
            "Take the target",
            icons::FLAG,
        ),
        GuideStep::Save => (
            match rays {
                true => {
                    "Save what you found: rays and their CM go to files that other programs read"
                }
                false => {
                    "Save what you found: streamlines go to a TCK file that other programs read"
                }
            },
            "Export…",
            icons::EXPORT,
        ),
    };
    let at = GuideStep::ALL.iter().position(|&s| s == step).unwrap_or(0) + 1;
    let title = format!("Guide · {at} of {}", GuideStep::ALL.len());
    let p = theme::palette(ui.style());
    let note = Note::guide(p, &title, text)
        .action_with_icon(word, icon)
        .leave("Leave guide");
    match note.show(ui) {
        Some(Answer::Taken) => act(step, state, memory, actions),
        Some(Answer::Left | Answer::Dismissed) => actions.push(Action::LeaveGuide),
        None => {}
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
        GuideStep::Save => {
            actions.push(Action::SelectTask(Task::Track));
            let purpose = Purpose::tracks(state, None);
            let text = suggestion(state, "tracks", &purpose);
            memory.files.type_path(purpose, Place::Middle, &text);
        }
    }
}
