//! Buttons that appear over a view while the pointer is in it.

use super::legend::{self, Legend};
use super::scene_view::Scene;
use super::slice_paint::TITLE;
use super::slice_view::Slice;
use super::{Views, scene_paint};
use crate::state::{Action, LayerAction, Layout, Pane, Slab, State, View, ViewAction};
use crate::ui::icons;
use crate::ui::theme::{IN_VIEW, radius};
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::menu;
use egui::{Color32, Rect, Ui, pos2, vec2};

const SIDE: f32 = 24.0;

impl Views {
    pub(super) fn slice_buttons(
        &mut self,
        ui: &mut Ui,
        slice: &Slice,
        legend: bool,
        actions: &mut Vec<Action>,
    ) {
        let corner = slice_buttons_at(slice, legend).right_top();
        let layers = buttons(ui, slice.pane, corner, slice.state, actions);
        let chosen = menu::popup(&layers, 200.0, |ui| layer_rows(ui, slice.state));
        actions.extend(chosen);
        self.note_menu(&layers, slice.pane);
    }

    pub(super) fn scene_buttons(&mut self, ui: &mut Ui, scene: &Scene, actions: &mut Vec<Action>) {
        let corner = scene_buttons_at(scene).right_top();
        let layers = buttons(ui, Pane::Scene, corner, scene.state, actions);
        let chosen = menu::popup(&layers, 200.0, |ui| {
            let view = &scene.state.view;
            let slices = menu::Item::new("Slices").chosen(view.slices_in_scene());
            let outline = menu::Item::new("Head outline").chosen(view.visible.outline);
            let mut chosen = slices
                .show(ui)
                .then_some(Action::View(ViewAction::ToggleSlicesInScene));
            if outline.show(ui) {
                chosen = Some(Action::View(ViewAction::ToggleOutline));
            }
            chosen = slab_rows(ui, view).or(chosen);
            menu::line(ui);
            layer_rows(ui, scene.state).or(chosen)
        });
        actions.extend(chosen);
        self.note_menu(&layers, Pane::Scene);
    }

    /// The buttons stay while their menu is open, wherever the pointer is.
    fn note_menu(&mut self, button: &egui::Response, pane: Pane) {
        let id = egui::Popup::default_response_id(button);
        let open = egui::Popup::is_id_open(&button.ctx, id);
        if open {
            self.menu = Some(pane);
        } else if self.menu == Some(pane) {
            self.menu = None;
        }
    }
}

/// Rectangle of the buttons of a slice.
pub(super) fn slice_buttons_at(slice: &Slice, legend: bool) -> Rect {
    let legend = legend::of_slices(slice.state).filter(|_| legend);
    // Next to the legend, not over it.
    let width = match legend {
        Some(Legend::Dec) => 66.0,
        Some(Legend::Classes(_)) => scene_paint::CLASSES,
        Some(Legend::Bar { .. }) | None => 8.0,
    };
    let right = slice.rect.right() - width;
    // Below the title if there is no space beside it.
    let fits = slice.rect.width() >= TITLE.x + 2.0 * SIDE + 16.0;
    let top = slice.rect.top() + if fits { 8.0 } else { 8.0 + TITLE.y };
    Rect::from_min_size(pos2(right - 2.0 * SIDE, top), vec2(2.0 * SIDE, SIDE))
}

/// Rectangle of the buttons of the 3-D view.
pub(super) fn scene_buttons_at(scene: &Scene) -> Rect {
    let legends = legend::of_scene(scene.state);
    let width = legends.iter().map(|legend| match legend {
        Legend::Dec => 66.0,
        Legend::Classes(_) => scene_paint::CLASSES,
        Legend::Bar { .. } => 8.0,
    });
    let right = scene.rect.right() - width.fold(8.0, f32::max);
    let top = Views::scene_top(scene);
    Rect::from_min_size(pos2(right - 2.0 * SIDE, top), vec2(2.0 * SIDE, SIDE))
}

/// Maximise and layers, right-aligned; returns the latter, to which a menu belongs.
fn buttons(
    ui: &mut Ui,
    pane: Pane,
    corner: egui::Pos2,
    state: &State,
    actions: &mut Vec<Action>,
) -> egui::Response {
    let place = Rect::from_min_size(
        pos2(corner.x - 2.0 * SIDE, corner.y),
        vec2(2.0 * SIDE, SIDE),
    );
    let painter = ui.painter();
    painter.rect_filled(place, radius::CONTROL, Color32::from_black_alpha(140));
    let (left, right) = place.split_left_right_at_fraction(0.5);
    let alone = state.view.layout == Layout::Single;
    let name = if alone {
        "All views".to_owned()
    } else {
        format!("Maximise {}", pane.name())
    };
    let maximise = IconButton::new(icons::MAXIMISE, &name)
        .side(SIDE)
        .colour(IN_VIEW.t1);
    if maximise.show_at(ui, right).clicked() {
        actions.push(Action::View(ViewAction::ToggleMaximised(pane)));
    }
    let name = format!("Layers of {}", pane.name());
    IconButton::new(icons::LAYERS, &name)
        .side(SIDE)
        .colour(IN_VIEW.t1)
        .show_at(ui, left)
}

/// The streamlines that the 3-D view shows: all, or those near a slice.
fn slab_rows(ui: &mut Ui, view: &View) -> Option<Action> {
    menu::line(ui);
    menu::caption(ui, "Streamlines");
    let mut chosen = None;
    let panes = [Pane::Axial, Pane::Sagittal, Pane::Coronal].map(Some);
    for pane in [None].into_iter().chain(panes) {
        let thickness_mm = view.slab.map_or(Slab::DEFAULT_MM, |s| s.thickness_mm);
        let name = match pane {
            None => "Whole".to_owned(),
            Some(pane) => format!("Near the {} slice", pane.name().to_lowercase()),
        };
        let now = view.slab.map(|s| s.pane) == pane;
        if menu::Item::new(&name).chosen(now).show(ui) {
            let slab = pane.map(|pane| Slab { pane, thickness_mm });
            chosen = Some(Action::View(ViewAction::CutToSlab(slab)));
        }
    }
    chosen
}

/// A row for each layer; a click shows or hides it.
fn layer_rows(ui: &mut Ui, state: &State) -> Option<Action> {
    let mut chosen = None;
    for layer in state.document.layers.iter().rev() {
        let visible = state.shows(layer);
        let icon = if visible { icons::EYE } else { icons::EYE_OFF };
        let item = menu::Item::new(&layer.name).icon(icon).chosen(visible);
        if item.show(ui) {
            chosen = Some(Action::Layer(LayerAction::Show {
                layer: layer.id,
                visible: !visible,
            }));
        }
    }
    chosen
}
