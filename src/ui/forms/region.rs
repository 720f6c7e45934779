//! The right panel while a region is made: the tool, the target of its drawing, the tool's size.

mod compute;
mod labels;

use super::display::{segment_row, select_row};
use crate::data::{Role, Shape};
use crate::solvers::region::{self as region_solver, SliceAxis};
use crate::state::regions::brush::{canvas, drawn, grid, layer_on, measured};
use crate::state::regions::types::{MAXIMUM_RADIUS_MM, MINIMUM_RADIUS_MM, RegionSource};
use crate::state::{Action, Drawing, Phase, RegionAction, Severity, State, Tool, ViewAction};
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, segmented};
use crate::ui::widgets::note::Note;
use crate::ui::widgets::slider::{Change, SliderRow, help_over};
use crate::ui::widgets::{anchor, menu, paint, region, rows, section};
use crate::ui::{Memory, format, panels, regions};
pub use compute::first_threshold;
use egui::{Sense, Ui, vec2};

/// The drawing tools with their keys.
pub const TOOLS: [(Tool, &str, &str); 4] = [
    (Tool::Brush, "Brush", "B"),
    (Tool::Rectangle, "Rectangle", "U"),
    (Tool::Polygon, "Polygon", "L"),
    (Tool::Fill, "Fill", "G"),
];

/// Shown only while a region tool is active.
pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let kind = std::mem::discriminant(&state.view.tool);
    let with_block = state.view.tool.draws()
        || matches!(
            state.view.tool,
            Tool::Threshold | Tool::Change | Tool::Labels
        );
    if memory.tool_kind.replace(kind) != Some(kind) && with_block {
        // Scrolls the tool just chosen into view, wherever the panel stood.
        let place = egui::Rect::from_min_size(ui.cursor().min, egui::vec2(1.0, 1.0));
        ui.scroll_to_rect(place, None);
        anchor::opened(ui);
    }
    match state.view.tool {
        Tool::Threshold => compute::threshold(ui, state, memory, actions),
        Tool::Change => compute::change(ui, state, memory, actions),
        Tool::Labels => labels::labels(ui, state, memory, actions),
        tool if tool.draws() => draw(ui, state, memory, actions),
        _ => {}
    }
}

fn draw(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    compute::head(ui, "Draw", actions);
    tools(ui, state, actions);
    destination(ui, state, actions);
    let drawing = &state.view.drawing;
    let mut set =
        |drawing: Drawing| actions.push(Action::Region(RegionAction::SetDrawing(drawing)));
    match state.view.tool {
        Tool::Brush => {
            brush(ui, drawing, &mut set);
            compute::painted_values(ui, state, memory, &mut set);
        }
        Tool::Fill => compute::fill(ui, state, actions),
        _ => thickness(ui, drawing, &mut set),
    }
    let sides = ["Adds", "Removes"];
    let help = match state.view.tool {
        Tool::Polygon => "What a closed polygon does",
        _ => "The right button always removes",
    };
    let now = usize::from(drawing.erase);
    if let Some(i) = segment_row(ui, "Left button", help, &sides, now) {
        actions.push(Action::Region(RegionAction::SetDrawing(Drawing {
            erase: i == 1,
            ..drawing.clone()
        })));
    }
    slices(ui, state, actions);
    let making = state.runtime.regions.making.as_ref();
    let change = making.filter(|m| matches!(m.source, RegionSource::Change(_)));
    if let Some(note) = change.and_then(|m| m.note.as_ref()) {
        let p = theme::palette(ui.style());
        Note::new(p, Severity::Information, note).show(ui);
    }
    ui.add_space(6.0);
    rows::hint(ui, &where_on(state));
    ui.add_space(4.0);
    rows::hint(ui, keys(state.view.tool));
    section::end(ui);
}

fn tools(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let height = space::ROW + 4.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let mut row = paint::inset(rect, space::INSET, space::INSET);
    row.max.y -= 4.0;
    let text = TOOLS.map(|t| t.1);
    let now = TOOLS.iter().position(|t| t.0 == state.view.tool);
    let clicked = segmented(ui, row, "Drawing tool", &text, now.unwrap_or(0));
    let help = "How a drag over a slice changes the region; the lines below give the keys";
    help_over(ui, row, "Drawing tool", help);
    if let Some(i) = clicked {
        actions.push(Action::View(ViewAction::SetTool(TOOLS[i].0)));
    }
}

/// The region that is drawn into.
fn destination(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let drawn = drawn(state);
    let fresh = |role: Role| format!("New {}", role.name().to_lowercase());
    let shown = drawn.map_or_else(|| fresh(state.view.drawing.role), |r| r.name.clone());
    let help = "The region that the tool changes";
    let chosen = select_row(ui, "Region", help, &shown, |ui| {
        let mut chosen = None;
        for role in Role::ALL {
            let now = drawn.is_none() && role == state.view.drawing.role;
            let colour = theme::role_colour(role);
            if menu::glyph_item(ui, &fresh(role), "", now, |painter, at| {
                region::glyph(painter, at, role, colour);
            }) {
                chosen = Some((None, role));
            }
        }
        if !state.document.regions.is_empty() {
            menu::line(ui);
        }
        let id = regions::menu_rows(ui, state, drawn.map(|d| d.id), |_| true);
        if let Some(region) = id.and_then(|id| state.document.region(id)) {
            chosen = Some((Some(region.id), region.role));
        }
        chosen
    });
    if let Some((region, role)) = chosen {
        actions.push(Action::Region(RegionAction::DrawInto { region, role }));
    }
}

fn brush(ui: &mut Ui, drawing: &Drawing, set: &mut impl FnMut(Drawing)) {
    let default_value = Drawing::default();
    let radius = SliderRow::new("Radius", drawing.radius_mm, 0.5..=30.0)
        .logarithmic()
        .decimals(2)
        .default(default_value.radius_mm)
        .limits(MINIMUM_RADIUS_MM..=MAXIMUM_RADIUS_MM)
        .unit("mm")
        .help("Shift + wheel or + and − over a slice do the same");
    if let Some((radius_mm, _)) = radius.value(ui) {
        set(Drawing {
            radius_mm,
            ..drawing.clone()
        });
    }
    let help = "A ball reaches into adjacent slices, a disc does not";
    let shapes = ["Ball", "Disc"];
    if let Some(i) = segment_row(ui, "Shape", help, &shapes, usize::from(drawing.flat)) {
        set(Drawing {
            flat: i == 1,
            ..drawing.clone()
        });
    }
}

fn thickness(ui: &mut Ui, drawing: &Drawing, set: &mut impl FnMut(Drawing)) {
    const DEFAULT_MM: f64 = 10.0;
    let mm = drawing.thickness_mm;
    let row = SliderRow::new("Thickness", mm.unwrap_or(DEFAULT_MM), 1.0..=50.0)
        .decimals(1)
        .default(DEFAULT_MM)
        .limits(0.1..=500.0)
        .unit("mm")
        .switch(mm.is_some(), "off: one voxel")
        .help("Thickness of the slab that the outline cuts out");
    let thickness_mm = match row.show(ui) {
        Some(Change::Value(mm, _)) => Some(mm),
        Some(Change::Toggled(on)) => on.then_some(DEFAULT_MM),
        None => return,
    };
    set(Drawing {
        thickness_mm,
        ..drawing.clone()
    });
}

/// Copies the drawing of a slice to the next one, and fills the slices between drawn ones.
fn slices(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let height = space::BUTTON + 8.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let mut row = paint::inset(rect, space::INSET, space::INSET);
    row.min.y += 4.0;
    let drawn = drawn(state).filter(|r| matches!(*r.shape, Shape::Mask(_)));
    let why = match drawn {
        _ if !state.view.turn.is_straight() => {
            Some("Turned slices are no slices of voxels: Z turns them back")
        }
        None => Some("Draw on a slice first"),
        Some(_) => None,
    };
    let slices = state.view.drawing.slices;
    let (forward, back) = match slices {
        SliceAxis::Axial => ("up", "down"),
        SliceAxis::Coronal => ("forward", "back"),
        SliceAxis::Sagittal => ("right", "left"),
    };
    let copies = [(true, forward, "C"), (false, back, "Shift+C")].map(|(is_forward, to, key)| {
        let label = format!("Copy {to}");
        let hint = format!(
            "Add the drawing of this {} slice to the next one, and go there ({key} over a slice)",
            slices.key()
        );
        (is_forward, label, hint)
    });
    let between = format!(
        "Fill the empty {} slices between the drawn ones",
        slices.key()
    );
    let mut buttons: Vec<Button> = copies
        .iter()
        .map(|(_, label, hint)| Button::plain(label).hint(hint).disabled(why))
        .collect();
    buttons.push(Button::plain("Interpolate").hint(&between).disabled(why));
    let (responses, _) = panels::button_row(ui, row, buttons);
    for (response, (forward, ..)) in responses.iter().zip(&copies) {
        if response.clicked() {
            let forward = *forward;
            actions.push(Action::Region(RegionAction::CopySlice { slices, forward }));
        }
    }
    if responses.last().is_some_and(|r| r.clicked())
        && let Some(region) = drawn
    {
        actions.push(Action::Region(RegionAction::Select(Some(region.id))));
        let source = RegionSource::Change(region_solver::Change {
            interpolate: Some(slices),
            ..region_solver::Change::defaults()
        });
        let phase = Phase::Done;
        actions.push(Action::Region(RegionAction::Make { source, phase }));
    }
}

/// `Voxels of dwi, 1.75 × 1.75 × 2 mm`.
fn where_on(state: &State) -> String {
    let Some(grid) = grid(state) else {
        return "Open an image: a region is drawn on its voxels".to_owned();
    };
    if state.view.tool == Tool::Fill
        && let Some((layer, _)) = measured::image(state)
    {
        return format!("Compares the values of {}", layer.name);
    }
    // Maps share the scan's voxels: the scan is named, not the map.
    let layer = layer_on(&state.document, grid).or_else(|| canvas(state));
    let image = layer.map_or("another image".to_owned(), |l| l.name.clone());
    format!(
        "On the grid of {image}, {}",
        format::spacing(grid.spacing())
    )
}

fn keys(tool: Tool) -> &'static str {
    match tool {
        Tool::Brush => {
            "Left paints, right erases, on slices and on anything visible in 3-D. B swaps the buttons, Shift + \
             wheel sets the radius. C copies the slice to the next one"
        }
        Tool::Fill => {
            "Click to add connected voxels of similar value; the tolerance still changes them until the next \
             click. Right-click removes"
        }
        Tool::Rectangle => "Drag from corner to corner. Right-drag removes",
        _ => {
            "Click corners, or drag freehand. Enter, a double click or the first corner closes; Backspace \
             removes the last corner, Esc cancels"
        }
    }
}
