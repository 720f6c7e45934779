//! Density maps of the streamlines that a panel is about.

use super::display::{segment_row, segment_row_but};
use crate::state::density::jobs::DENSITY;
use crate::state::density::{Value, Wanted};
use crate::state::update::sent;
use crate::state::{Action, LayerId, State};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::slider::{Change, SliderRow};
use crate::ui::widgets::{paint, section};
use crate::ui::{Memory, icons};
use egui::{Rect, Sense, Ui, pos2, vec2};

const TITLE: &str = "Density map";
/// Where voxels of an own size are switched on: half of a usual scan's.
const EDGE_MM: f64 = 1.0;

/// What the user chose last.
#[derive(Clone, Copy, Default)]
pub struct Chosen(Wanted);

/// `layer`: none for the live streamlines. `why`: why they cannot be mapped now.
pub fn show(
    ui: &mut Ui,
    state: &State,
    layer: Option<LayerId>,
    why: Option<&str>,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let (open, clicked) = section::fold(ui, TITLE, memory.is_open(TITLE, false));
    if clicked {
        memory.toggle(TITLE);
    }
    if !open {
        return;
    }
    let known = layer.is_none_or(|id| sent(&state.document, id).is_some());
    let wanted = &mut memory.density.0;
    if !known && wanted.value == Value::Share {
        wanted.value = Value::Count;
    }
    let unknown = (!known).then_some("The number of streamlines sent is unknown");
    let now = Value::ALL
        .iter()
        .position(|&v| v == wanted.value)
        .unwrap_or(1);
    let help = "Share: fraction of all streamlines sent that pass the voxel. Count: how many pass it. Length: \
                mm of streamline in it. A streamline counts once per voxel";
    let why_not = |i: usize| unknown.filter(|_| Value::ALL[i] == Value::Share);
    let words = ["Share", "Count", "Length"];
    if let Some(i) = segment_row_but(ui, "Value", help, &words, now, why_not) {
        wanted.value = Value::ALL[i];
    }
    let row = SliderRow::new("Voxel size", wanted.voxel_mm.unwrap_or(EDGE_MM), 0.25..=4.0)
        .default(EDGE_MM)
        .limits(0.05..=50.0)
        .unit("mm")
        .switch(wanted.voxel_mm.is_some(), "off: the image's voxels")
        .help("Smaller than the scan's: a super-resolved track-density image");
    match row.show(ui) {
        Some(Change::To(mm, _)) => wanted.voxel_mm = Some(mm),
        Some(Change::Switched(on)) => wanted.voxel_mm = on.then_some(EDGE_MM),
        None => {}
    }
    let help = "Red: left–right, green: front–back, blue: up–down";
    let now = usize::from(wanted.by_direction);
    if let Some(i) = segment_row(ui, "Colours", help, &["By value", "By direction"], now) {
        wanted.by_direction = i == 1;
    }
    let wanted = *wanted;
    let running = state.session.jobs.iter().any(|j| j.slot == DENSITY);
    let why = why.or(running.then_some("A map is being made"));
    let button = Button::plain("Map density")
        .icon(icons::PLUS)
        .disabled(why)
        .hint("Adds the map as a layer; live streamlines are kept with it");
    let size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(
        pos2(row.left(), row.top() + 4.0),
        vec2(button.width(ui), space::BUTTON),
    );
    if button.show_at(ui, place).clicked() {
        actions.push(Action::MapDensity { layer, wanted });
    }
}
