//! Keys. Single keys act only while no control shows the focus ring: such a control has the keyboard, and Esc takes it
//! away. Letters act also while that control is a button.

use super::dialogs::unsaved_changes;
use super::files::{DialogPosition, PathPurpose};
use super::palette::{self, Palette};
use super::views::pane_widget;
use super::widgets::focus;
use super::{Memory, forms, regions, top_bar};
use crate::data::Shape;
use crate::solvers::level_set::Sphere;
use crate::state::files::jobs::LOAD;
use crate::state::regions::region_radius_mm;
use crate::state::segment::SPHERE_MM;
use crate::state::{
    Action, AlignmentAction, Camera, Convention, Drawing, FilterAction, LayerAction, Pane,
    PathwayAction, Phase, RegionAction, RegionsChange, SegmentAction, SessionAction,
    SnapshotAction, State, StreamlineAction, Task, Tool, UnsavedAction, ViewAction,
    ViewpointAction,
};
use egui::{Event, Key, Modifiers, Ui};
use glam::{DAffine3, DVec3};

/// The keys of the tasks with Ctrl, in their order, and their names.
const TASK_KEYS: [(Key, &str); Task::ALL.len()] = [
    (Key::Num1, "Ctrl+1"),
    (Key::Num2, "Ctrl+2"),
    (Key::Num3, "Ctrl+3"),
    (Key::Num4, "Ctrl+4"),
    (Key::Num5, "Ctrl+5"),
];

/// The key that shows a task.
pub fn task_key(task: Task) -> &'static str {
    let at = Task::ALL.iter().position(|t| *t == task);
    at.map_or("", |at| TASK_KEYS[at].1)
}

pub fn handle(
    ui: &Ui,
    state: &State,
    memory: &mut Memory,
    popup_was_open: bool,
    actions: &mut Vec<Action>,
) {
    // A slow frame may contain a whole word and its Enter, which removes the focus.
    let now = ui.ctx().text_edit_focused() || memory.takes_typing();
    let was = std::mem::replace(&mut memory.typing, now);
    let typing = was || now;
    let presses: Vec<(Key, Modifiers)> = ui.input(|i| {
        let pressed = i.events.iter().filter_map(|e| match e {
            // A command that toggles something would undo itself while its key is held.
            Event::Key {
                key,
                pressed: true,
                repeat,
                modifiers,
                ..
            } => (!repeat || repeats(*key, *modifiers)).then_some((*key, *modifiers)),
            _ => None,
        });
        pressed.collect()
    });
    // Esc has already taken the focus away.
    let had_focus = std::mem::replace(&mut memory.control_focused, control_focused(ui));
    let over_window = memory.help.keys || memory.help.shown;
    // The first Esc closes what is open or frees the keyboard; a second one in the same frame has its usual effect.
    let mut closes = typing || popup_was_open || had_focus && !over_window;
    // A menu that opened in this frame has already used its key.
    let menu_open = popup_was_open || egui::Popup::is_any_open(ui.ctx());
    let focused = memory.control_focused;
    let on_button = focus::keyboard(ui).is_some_and(|id| focus::is_button(ui, id));
    for (key, modifiers) in presses {
        if modifiers.command {
            let had = memory.palette.is_some();
            command(ui, key, modifiers, state, memory, typing, actions);
            if !had && memory.palette.is_some() {
                palette::focus_field(ui);
                ui.ctx().request_repaint();
            }
            // In a slow frame, the following keys are typed into the field just opened.
            if !typing && memory.takes_typing() {
                memory.typing = true;
                break;
            }
        } else if key == Key::F1 {
            memory.help.shown = !memory.help.shown;
        } else if key == Key::F6 {
            focus::move_focus(ui, modifiers.shift);
        } else if key == Key::Escape {
            if !std::mem::take(&mut closes) {
                escape(ui, state, memory, actions);
            }
        } else if typing || menu_open && moves_in_menus(key) {
            // The field or the menu handles the key.
        } else if !modifiers.alt && focus::moves_slider(ui, key) {
            // So does the slider last dragged.
        } else if modifiers.alt {
            standard_view(key, state, actions);
        } else if !focused || on_button && is_letter(key) {
            letter_key(key, modifiers, state, memory, actions);
        }
    }
}

/// Whether a text field is on screen, or about to open, that takes what is typed.
fn field_open(ui: &Ui, memory: &Memory) -> bool {
    let drawn = ui.memory(|m| m.focused());
    let drawn = drawn.is_some_and(|id| is_drawn(ui, id));
    drawn && ui.ctx().text_edit_focused() || memory.takes_typing()
}

/// egui forgets the focus of a control that has gone only after the next frame.
fn is_drawn(ui: &Ui, id: egui::Id) -> bool {
    ui.ctx()
        .viewport(|v| v.this_pass.used_ids.contains_key(&id))
}

/// Whether a held key repeats its command: those that move or resize by steps, undo and redo.
fn repeats(key: Key, modifiers: Modifiers) -> bool {
    match key {
        Key::ArrowLeft | Key::ArrowRight | Key::ArrowUp | Key::ArrowDown => true,
        Key::PageUp | Key::PageDown | Key::Plus | Key::Equals | Key::Minus => true,
        Key::Z | Key::Y => modifiers.command,
        _ => false,
    }
}

/// Whether a control on screen has the keyboard; a view is none.
fn control_focused(ui: &Ui) -> bool {
    let is_view = |id| Pane::ALL.into_iter().any(|pane| id == pane_widget(pane));
    focus::keyboard(ui).is_some_and(|id| !is_view(id) && is_drawn(ui, id))
}

/// A button with the focus has no use for letters.
fn is_letter(key: Key) -> bool {
    (Key::A..=Key::Z).contains(&key)
}

/// Keys that an open menu handles: they move through its rows and choose one.
fn moves_in_menus(key: Key) -> bool {
    matches!(
        key,
        Key::ArrowUp
            | Key::ArrowDown
            | Key::ArrowLeft
            | Key::ArrowRight
            | Key::PageUp
            | Key::PageDown
            | Key::Home
            | Key::End
            | Key::Enter
            | Key::Space
    )
}

/// The action of a key, pressed or chosen by name.
pub fn press(
    ui: &Ui,
    (key, modifiers): (Key, Modifiers),
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    if modifiers.command {
        command(ui, key, modifiers, state, memory, false, actions);
    } else if modifiers.alt {
        standard_view(key, state, actions);
    } else {
        letter_key(key, modifiers, state, memory, actions);
    }
}

/// Closes what is open before anything is cancelled.
fn escape(ui: &Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    if let Some(focused) = ui.memory(|m| m.focused()) {
        ui.memory_mut(|m| m.surrender_focus(focused));
    }
    if memory.help.keys {
        memory.help.keys = false;
    } else if memory.help.shown {
        memory.help.shown = false;
    } else if memory.narrow && state.view.visible.side_list.is_some() {
        actions.push(Action::View(ViewAction::OpenList(None)));
    } else {
        actions.push(Action::Escape);
    }
}

fn command(
    ui: &Ui,
    key: Key,
    modifiers: Modifiers,
    state: &State,
    memory: &mut Memory,
    typing: bool,
    actions: &mut Vec<Action>,
) {
    let open = !state.document.is_empty();
    match key {
        Key::K if memory.palette.take().is_none() => {
            memory.files.close();
            memory.palette = Some(Palette::after(std::mem::take(&mut memory.typed_early)));
        }
        Key::Comma => super::settings::open(memory, actions),
        Key::O => {
            memory
                .files
                .ask_for_path(ui.ctx(), PathPurpose::Open, DialogPosition::Middle, "")
        }
        Key::S if open && modifiers.shift => unsaved_changes::save_as(ui, state, memory, None),
        Key::S if open => unsaved_changes::save(ui, state, memory, None, actions),
        Key::N if open => actions.push(Action::Session(SessionAction::CloseDocument(
            UnsavedAction::New,
        ))),
        // A task chosen while the first file is being read opens with it.
        // A field has no use for these keys, so they work from the frame in which it has gone.
        Key::Num1 | Key::Num2 | Key::Num3 | Key::Num4 | Key::Num5
            if !field_open(ui, memory) && (open || loading(state)) =>
        {
            let at = TASK_KEYS.iter().position(|(k, _)| *k == key);
            let task = at.and_then(|at| Task::ALL.get(at).copied());
            actions.extend(task.map(|task| Action::View(ViewAction::SelectTask(task))));
        }
        // A text field undoes its own typing.
        _ if typing => {}
        // Also without layers: the deletion of the last one can be undone.
        Key::Z if modifiers.shift => actions.push(Action::Redo),
        Key::Z => actions.push(Action::Undo),
        Key::Y => actions.push(Action::Redo),
        _ if !open => {}
        Key::Backslash => actions.push(Action::View(ViewAction::TogglePanels)),
        Key::E => forms::export(state, memory, DialogPosition::Middle),
        Key::ArrowLeft
        | Key::ArrowRight
        | Key::ArrowUp
        | Key::ArrowDown
        | Key::PageUp
        | Key::PageDown => actions.extend(nudge(state, key, modifiers.shift)),
        Key::A if state.manual_selection().is_some() || state.view.bottom_panel.is_some() => {
            actions.push(Action::Streamline(StreamlineAction::ChooseAll));
        }
        Key::B if modifiers.shift => {
            actions.push(Action::Snapshot(SnapshotAction::ToggleComparing))
        }
        Key::B => actions.push(Action::Snapshot(SnapshotAction::Take)),
        Key::C if modifiers.shift => {
            let copy = forms::command_line(state).map(Action::CopyCommand);
            actions.push(copy.unwrap_or(Action::NothingToCopy));
        }
        _ => {}
    }
}

/// Whether a file or the demo head is being loaded.
fn loading(state: &State) -> bool {
    state.runtime.jobs.is_running(&[LOAD])
}

fn viewpoint(action: ViewpointAction) -> Action {
    Action::View(ViewAction::Viewpoint(action))
}

/// Standard views of the 3-D camera, and the keys of viewpoints.
fn standard_view(key: Key, state: &State, actions: &mut Vec<Action>) {
    use std::f64::consts::{FRAC_PI_2, PI};
    match key {
        Key::ArrowUp => return actions.extend(move_region(state, -1)),
        Key::ArrowDown => return actions.extend(move_region(state, 1)),
        Key::ArrowLeft => return actions.push(viewpoint(ViewpointAction::Back)),
        Key::ArrowRight => return actions.push(viewpoint(ViewpointAction::Forward)),
        _ => {}
    }
    let (azimuth, elevation) = match key {
        // From the front, from the patient's left, from above.
        Key::Num1 => (PI, 0.0),
        Key::Num3 => (FRAC_PI_2, 0.0),
        Key::Num7 => (0.0, FRAC_PI_2 - 1e-3),
        _ => return,
    };
    let camera = Camera {
        azimuth,
        elevation,
        ..state.view.camera
    };
    actions.push(Action::View(ViewAction::SetCamera {
        camera,
        phase: Phase::Done,
    }));
}

/// A key without Ctrl and Alt.
fn letter_key(
    key: Key,
    modifiers: Modifiers,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    match key {
        Key::G if modifiers.shift => {
            if !state.document.is_empty() {
                actions.push(Action::View(ViewAction::ToggleGlyphs));
            }
        }
        key => single_key(key, state, memory, actions),
    }
}

fn single_key(key: Key, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    if key == Key::Questionmark {
        memory.help.keys = !memory.help.keys;
        return;
    }
    if state.document.is_empty() {
        return;
    }
    let letter = key.symbol_or_name();
    if let Some((role, _)) = regions::KEYS.iter().find(|(_, k)| *k == letter) {
        let tool = Tool::NewRegion {
            role: *role,
            cube: memory.region_panel.cube,
        };
        actions.push(Action::View(ViewAction::SetTool(tool)));
        return;
    }
    let tool = forms::region::TOOLS.iter().find(|t| t.2 == letter);
    if let Some((tool, ..)) = tool {
        actions.push(drawing_tool_action(state, *tool));
        return;
    }
    if state.view.task == Task::Segment {
        match key {
            Key::A => {
                return actions.push(Action::View(ViewAction::SetTool(toggled(
                    state,
                    Tool::Sphere { add: true },
                ))));
            }
            Key::D => {
                return actions.push(Action::View(ViewAction::SetTool(toggled(
                    state,
                    Tool::Sphere { add: false },
                ))));
            }
            Key::Space => {
                let action = match forms::level_set::plays(state) {
                    true => SegmentAction::Pause,
                    false => SegmentAction::Play,
                };
                return actions.push(Action::Segment(action));
            }
            _ => {}
        }
    }
    if state.view.task == Task::Filter && key == Key::Space {
        let action = match state.is_filtering() {
            true => FilterAction::Stop,
            false => forms::commit::run_action(state),
        };
        return actions.push(Action::Filter(action));
    }
    match key {
        Key::K => actions.push(Action::View(ViewAction::SetTool(toggled(
            state,
            Tool::Pick,
        )))),
        Key::M => actions.push(Action::View(ViewAction::SetTool(toggled(
            state,
            Tool::Ruler,
        )))),
        Key::N => actions.push(Action::View(ViewAction::SetTool(toggled(
            state,
            Tool::Angle,
        )))),
        Key::R => actions.push(Action::View(ViewAction::SetConvention(top_bar::other(
            state.view.convention,
        )))),
        Key::F => actions.push(Action::View(ViewAction::ToggleCrosshair)),
        Key::Z => actions.push(Action::View(ViewAction::StraightenSlices)),
        Key::O => actions.push(Action::View(ViewAction::ToggleLetters)),
        Key::Num1 => actions.push(Action::View(ViewAction::ToggleMaximised(Pane::Axial))),
        Key::Num2 => actions.push(Action::View(ViewAction::ToggleMaximised(Pane::Sagittal))),
        Key::Num3 => actions.push(Action::View(ViewAction::ToggleMaximised(Pane::Coronal))),
        Key::Num4 => actions.push(Action::View(ViewAction::ToggleMaximised(Pane::Scene))),
        Key::ArrowLeft
        | Key::ArrowRight
        | Key::ArrowUp
        | Key::ArrowDown
        | Key::PageUp
        | Key::PageDown => actions.extend(step_crosshair(state, key)),
        Key::Enter => actions.extend(place_here(state)),
        Key::Home => actions.push(Action::View(ViewAction::FrameAll)),
        Key::H => actions.extend(toggle_selection(state, memory)),
        Key::Delete | Key::Backspace => actions.extend(delete_selection(state, memory)),
        Key::Plus | Key::Equals => actions.extend(resize(state, 1.0)),
        Key::Minus => actions.extend(resize(state, -1.0)),
        _ => {}
    }
}

/// Moves the crosshair by a voxel, as seen in the axial view; the view under the pointer has already handled its own
/// keys.
fn step_crosshair(state: &State, key: Key) -> Option<Action> {
    // The patient's right is on the left of the screen, or on the right.
    let left = match state.view.convention {
        Convention::Radiological => 1,
        Convention::Neurological => -1,
    };
    let (pane, steps) = match key {
        Key::ArrowLeft => (Pane::Sagittal, left),
        Key::ArrowRight => (Pane::Sagittal, -left),
        Key::ArrowUp => (Pane::Coronal, 1),
        Key::ArrowDown => (Pane::Coronal, -1),
        Key::PageUp => (Pane::Axial, 1),
        Key::PageDown => (Pane::Axial, -1),
        _ => return None,
    };
    Some(Action::View(ViewAction::StepSlice { pane, steps }))
}

/// Places the region of the active tool at the crosshair.
fn place_here(state: &State) -> Option<Action> {
    if let Tool::Sphere { add } = state.view.tool {
        let sphere = Sphere {
            add,
            centre: state.view.crosshair,
            radius_mm: SPHERE_MM,
        };
        return Some(Action::Segment(SegmentAction::Sphere(sphere)));
    }
    let Tool::NewRegion { role, cube } = state.view.tool else {
        return None;
    };
    let (centre, radius_mm) = (state.view.crosshair, region_radius_mm(role));
    let shape = match cube {
        true => Shape::Box {
            centre,
            half_mm: DVec3::splat(radius_mm),
        },
        false => Shape::Sphere { centre, radius_mm },
    };
    Some(Action::Region(RegionAction::Add { role, shape }))
}

/// A tool, or the crosshair if the tool is already active.
fn toggled(state: &State, tool: Tool) -> Tool {
    match state.view.tool == tool {
        true => Tool::Crosshair,
        false => tool,
    }
}

/// A drawing tool; the active brush turns into the eraser and back.
fn drawing_tool_action(state: &State, tool: Tool) -> Action {
    if tool == state.view.tool {
        let erase = !state.view.drawing.erase;
        let drawing = state.view.drawing.clone();
        return Action::Region(RegionAction::SetDrawing(Drawing { erase, ..drawing }));
    }
    Action::View(ViewAction::SetTool(tool))
}

fn toggle_selection(state: &State, memory: &Memory) -> Option<Action> {
    let several = memory.region_panel.chosen.several(state);
    if !several.is_empty() {
        let mut chosen = several.iter().filter_map(|id| state.document.region(*id));
        let change = RegionsChange::Show(!chosen.any(|r| r.visible));
        let regions = several;
        return Some(Action::Region(RegionAction::ChangeSeveral {
            regions,
            change,
        }));
    }
    if let Some(region) = state.runtime.regions.selected {
        return Some(Action::Region(RegionAction::Toggle(region)));
    }
    let layer = state.document.layer(state.runtime.selected_layer?)?;
    Some(Action::Layer(LayerAction::Show {
        layer: layer.id,
        visible: !state.shows(layer),
    }))
}

/// Moves the selected region up or down in its list.
fn move_region(state: &State, by: isize) -> Option<Action> {
    let region = state.runtime.regions.selected?;
    let regions = &state.document.regions;
    let from = regions.iter().position(|r| r.id == region)?;
    let index = from
        .checked_add_signed(by)
        .filter(|&index| index < regions.len())?;
    Some(Action::Region(RegionAction::Move { region, index }))
}

/// Moves the selected image or streamlines by half a millimetre, with Shift by five, as seen in the axial view: left
/// and right, front and back; up and down.
fn nudge(state: &State, key: Key, shift: bool) -> Option<Action> {
    let layer = state.runtime.selected_layer?;
    if !state.document.can_move(layer) {
        return None;
    }
    let step_mm = if shift { 5.0 } else { 0.5 };
    // The patient's right is on the left of the screen, or on the right.
    let left = match state.view.convention {
        Convention::Radiological => DVec3::X,
        Convention::Neurological => DVec3::NEG_X,
    };
    let way = match key {
        Key::ArrowLeft => left,
        Key::ArrowRight => -left,
        Key::ArrowUp => DVec3::Y,
        Key::ArrowDown => DVec3::NEG_Y,
        Key::PageUp => DVec3::Z,
        _ => DVec3::NEG_Z,
    };
    let transform = DAffine3::from_translation(way * step_mm) * state.requested_transform(layer);
    Some(Action::Alignment(AlignmentAction::Shift {
        layer,
        transform,
        phase: Phase::Done,
    }))
}

fn delete_selection(state: &State, memory: &Memory) -> Option<Action> {
    if state.manual_selection().is_some() {
        return Some(Action::Streamline(StreamlineAction::DeleteChosen));
    }
    if state.view.tool == Tool::Pick {
        // The user is picking streamlines: a notice says that none is selected, and their layer stays.
        return Some(Action::Streamline(StreamlineAction::DeleteChosen));
    }
    let regions = memory.region_panel.chosen.several(state);
    if !regions.is_empty() {
        let change = RegionsChange::Delete;
        return Some(Action::Region(RegionAction::ChangeSeveral {
            regions,
            change,
        }));
    }
    let region = state
        .runtime
        .regions
        .selected
        .map(|region| Action::Region(RegionAction::Delete(region)));
    let layer = state
        .runtime
        .selected_layer
        .map(|layer| Action::Layer(LayerAction::Delete(layer)));
    region.or(selected_pathway(state)).or(layer)
}

/// The selected pathway, in the task that lists pathways.
fn selected_pathway(state: &State) -> Option<Action> {
    let selected = state.runtime.pathways.selected?;
    let listed = state.view.task == Task::Pathways;
    let exists = listed
        && state
            .document
            .kept_pathways
            .iter()
            .any(|k| k.id == selected);
    exists.then_some(Action::Pathway(PathwayAction::Delete(selected)))
}

/// Enlarges or shrinks the selected region in steps of 0.5 mm, to at least 0.5 mm.
fn resize(state: &State, steps: f64) -> Option<Action> {
    const STEP_MM: f64 = 0.5;
    if state.view.tool == Tool::Brush {
        return Some(Action::Region(RegionAction::SetDrawing(
            state.view.drawing.resized(steps as i32),
        )));
    }
    let region = state.document.region(state.runtime.regions.selected?)?;
    let grown = |mm: f64| (mm + steps * STEP_MM).max(STEP_MM);
    let shape = match &*region.shape {
        Shape::Sphere { centre, radius_mm } => Shape::Sphere {
            centre: *centre,
            radius_mm: grown(*radius_mm),
        },
        Shape::Box { centre, half_mm } => Shape::Box {
            centre: *centre,
            half_mm: half_mm.map(grown),
        },
        Shape::Mask(_) => return None,
    };
    Some(Action::Region(RegionAction::SetShape {
        region: region.id,
        shape,
        phase: Phase::Done,
    }))
}
