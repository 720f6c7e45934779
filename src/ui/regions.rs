//! The list of regions, and the menu that adds one.

pub mod many;

use super::dialogs::rename::{self, RenameTarget, Renamed};
use super::files::{DialogPosition, PathPurpose, suggestion};
use super::theme::{self, size, space};
use super::widgets::button::{eye, segmented};
use super::widgets::{focus, menu, paint, region, rows, section};
use super::{Memory, figures, format, forms, icons};
use crate::data::region::RegionId;
use crate::data::{Region, Role, Shape};
use crate::state::regions::brush::measured;
use crate::state::{
    Action, Content, FigureSubject, Layer, LayerId, Phase, RegionAction, RegionsChange, State,
    Tool, ViewAction,
};
use egui::{Color32, Rect, Sense, Ui, WidgetInfo, pos2, vec2};
use std::sync::Arc;

/// Keys that activate a tool.
pub const KEYS: [(Role, &str); 5] = [
    (Role::Seed, "S"),
    (Role::Target, "T"),
    (Role::Include, "I"),
    (Role::Exclude, "X"),
    (Role::Terminate, "E"),
];

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let add = section::head_with_add(ui, "Regions", "Add a region");
    add_menu(&add, state, memory, actions);
    if state.document.regions.is_empty() {
        rows::hint(
            ui,
            "No regions yet. Press S, then click a slice to place a seed, or press B to paint one",
        );
    }
    let all = state.document.regions.len();
    if all < many::SEARCHED {
        memory.region_panel.chosen.search.clear();
    }
    let search = memory.region_panel.chosen.search.clone();
    let shown = state.document.regions.iter();
    let shown: Vec<_> = shown.filter(|r| many::matches(&r.name, &search)).collect();
    if all >= many::SEARCHED {
        let (names, counts) = (("Search regions", "Search"), (shown.len(), all));
        many::search_field(
            ui,
            names,
            &mut memory.region_panel.chosen.search,
            counts,
            false,
        );
    }
    let several = memory.region_panel.chosen.several(state);
    if !several.is_empty() {
        many::bar(ui, state, &several, actions);
    }
    list(ui, state, (&shown, &several), memory, actions);
}

/// The rows of the list, of which only the visible ones are laid out: hundreds of regions cost no more than a few.
fn list(
    ui: &mut Ui,
    state: &State,
    (regions, several): (&[&Arc<Region>], &[RegionId]),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let desired_size = vec2(ui.available_width(), space::ROW * regions.len() as f32);
    let (all, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    let place = |i: usize| {
        let top = pos2(all.left(), all.top() + space::ROW * i as f32);
        Rect::from_min_size(top, vec2(all.width(), space::ROW))
    };
    let seen = ui.clip_rect();
    let at = |y: f32| ((y - all.top()) / space::ROW).max(0.0);
    let first = at(seen.top()).floor() as usize;
    let last = (at(seen.bottom()).ceil() as usize).min(regions.len());
    for (i, region) in regions.iter().enumerate().take(last).skip(first) {
        row(
            ui,
            state,
            (region, regions, several),
            place(i),
            memory,
            actions,
        );
    }
    // A region selected elsewhere scrolls into sight.
    let selected = state.runtime.regions.selected;
    if selected != memory.region_panel.shown_region {
        memory.region_panel.shown_region = selected;
        let index = regions.iter().position(|r| Some(r.id) == selected);
        if let Some(row) = index.map(place).filter(|row| !seen.contains_rect(*row)) {
            ui.scroll_to_rect(row, None);
        }
    }
    // Others may lie between the matches.
    if regions.len() == state.document.regions.len() {
        move_dragged_region(ui, state, all, actions);
    }
}

/// Dragging a row moves its region, and scrolls the list near its ends.
fn move_dragged_region(ui: &mut Ui, state: &State, all: Rect, actions: &mut Vec<Action>) {
    /// Distance from the end of the visible list within which it scrolls, points.
    const EDGE: f32 = 24.0;
    let regions = &state.document.regions;
    let first = Rect::from_min_size(all.min, vec2(all.width(), space::ROW));
    let Some(drag) = rows::dragged_row(ui, regions.iter().map(|r| r.id), first) else {
        return;
    };
    if drag.is_released {
        let region = regions[drag.from].id;
        let moved = drag.index();
        actions.extend(moved.map(|index| Action::Region(RegionAction::Move { region, index })));
        return;
    }
    let seen = ui.clip_rect();
    let y = drag.pointer.y;
    let beyond = (seen.top() + EDGE - y).max(0.0) - (y - seen.bottom() + EDGE).max(0.0);
    if beyond != 0.0 {
        ui.scroll_with_delta(vec2(0.0, beyond.clamp(-EDGE, EDGE) * 0.5));
        ui.ctx().request_repaint();
    }
}

/// The menu under an add button.
pub fn add_menu(
    anchor: &egui::Response,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    enum Add {
        Tool(Role),
        Draw(Tool),
        Threshold,
        Labels,
        Layer(LayerId),
        File,
    }
    let mut cube = memory.region_panel.cube;
    let chosen = menu::popup_with_controls(anchor, 220.0, |ui| {
        let (place, _) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::hover());
        let shapes = ["Sphere", "Box"];
        if let Some(i) = segmented(ui, place.shrink(1.0), "Shape", &shapes, usize::from(cube)) {
            cube = i == 1;
        }
        menu::caption(ui, "Click a slice to place");
        let mut chosen = None;
        for role in Role::ALL {
            let key = KEYS.iter().find(|k| k.0 == role).map_or("", |k| k.1);
            let colour = theme::role_colour(role);
            if menu::glyph_item(ui, role.name(), key, false, |painter, at| {
                region::glyph(painter, at, role, colour);
            }) {
                chosen = Some(Add::Tool(role));
            }
        }
        menu::caption(ui, "Draw");
        for (tool, name, key) in forms::region::TOOLS {
            let colour = theme::palette(ui.style()).t2;
            if menu::glyph_item(ui, name, key, false, |painter, at| {
                region::tool(painter, at, tool, colour);
            }) {
                chosen = Some(Add::Draw(tool));
            }
        }
        menu::line(ui);
        if measured::image(state).is_some() {
            if menu::Item::new("From a threshold…")
                .icon(icons::IMAGE)
                .show(ui)
            {
                chosen = Some(Add::Threshold);
            }
            if menu::Item::new("From a label map…")
                .icon(icons::MAP)
                .show(ui)
            {
                chosen = Some(Add::Labels);
            }
        }
        for layer in state.document.layers.iter().rev() {
            if matches!(layer.content, Content::Mask(_)) {
                let text = format!("From {}", layer.name);
                if menu::Item::new(&text).icon(icons::REGION).show(ui) {
                    chosen = Some(Add::Layer(layer.id));
                }
            }
        }
        if menu::Item::new("Open a mask file…")
            .icon(icons::FOLDER)
            .show(ui)
        {
            chosen = Some(Add::File);
        }
        chosen
    });
    memory.region_panel.cube = cube;
    match chosen {
        Some(Add::Tool(role)) => actions.push(Action::View(ViewAction::SetTool(Tool::NewRegion {
            role,
            cube,
        }))),
        Some(Add::Draw(tool)) => {
            // Drawing from this menu starts a new region.
            actions.push(Action::View(ViewAction::SetTool(tool)));
            let role = next_role(state);
            actions.push(Action::Region(RegionAction::DrawInto {
                region: None,
                role,
            }));
        }
        Some(Add::Threshold) => from_threshold(state, memory, actions),
        Some(Add::Labels) => actions
            .extend(label_map(state).map(|layer| Action::Region(RegionAction::CountLabels(layer)))),
        Some(Add::Layer(layer)) => actions.push(from_layer(state, layer)),
        Some(Add::File) => {
            memory
                .files
                .ask_for_path(&anchor.ctx, PathPurpose::Open, DialogPosition::Middle, "")
        }
        None => {}
    }
}

/// A region of the values above a threshold, which a panel then adjusts.
pub fn from_threshold(state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    actions.push(Action::View(ViewAction::SetTool(Tool::Threshold)));
    if let Some((layer, volume)) = measured::image(state) {
        let source = forms::region::first_threshold(layer, volume, memory);
        let phase = Phase::Done;
        actions.push(Action::Region(RegionAction::Make { source, phase }));
    }
}

/// Turns a mask into a seed, or into a target if there is a seed.
pub fn from_layer(state: &State, layer: LayerId) -> Action {
    let role = next_role(state);
    Action::Region(RegionAction::FromLayer { layer, role })
}

/// The most likely label map: an image known as one, else one with a single volume, else any.
pub fn label_map(state: &State) -> Option<LayerId> {
    let layers = || {
        state
            .document
            .layers
            .iter()
            .rev()
            .filter(|l| measured::is(l))
    };
    let volume = |l: &Layer| l.content.volume().cloned();
    let known = layers().find(|l| volume(l).is_some_and(|v| v.labels.is_some()));
    let is_file = |l: &Layer| state.document.path(l).is_some();
    let single = || layers().find(|l| is_file(l) && volume(l).is_some_and(|v| v.frames == 1));
    let layer = known.or_else(single).or_else(|| layers().next());
    layer.map(|l| l.id)
}

/// The regions as rows of a menu, however many.
pub fn menu_rows(
    ui: &mut Ui,
    state: &State,
    now: Option<RegionId>,
    offered: impl Fn(&Region) -> bool,
) -> Option<RegionId> {
    const ROWS: f32 = 10.0;
    let mut chosen = None;
    let regions: Vec<_> = state
        .document
        .regions
        .iter()
        .filter(|r| offered(r))
        .collect();
    let list = egui::ScrollArea::vertical().max_height(ROWS * space::ROW);
    list.show_rows(ui, space::ROW, regions.len(), |ui, range| {
        for r in &regions[range] {
            let colour = theme::region_colour(r);
            if menu::glyph_item(ui, &r.name, "", now == Some(r.id), |painter, at| {
                region::glyph(painter, at, r.role, colour);
            }) {
                chosen = Some(r.id);
            }
        }
    });
    chosen
}

/// The role of the next region: the first is a seed, the following ones are targets.
fn next_role(state: &State) -> Role {
    let seeded = state.document.regions.iter().any(|r| r.role == Role::Seed);
    if seeded { Role::Target } else { Role::Seed }
}

/// Radius of a sphere, edges of a box, volume of a mask.
fn extent(shape: &Shape) -> String {
    match shape {
        Shape::Sphere { radius_mm, .. } => format::with_unit(&format::fixed(*radius_mm, 1), "mm"),
        Shape::Box { half_mm, .. } => {
            let longest = half_mm.max_element() * 2.0;
            let cube = half_mm.max_element() - half_mm.min_element() < 0.05;
            let sign = if cube { "" } else { "≤ " };
            format!(
                "{sign}{}",
                format::with_unit(&format::fixed(longest, 1), "mm")
            )
        }
        Shape::Mask(mask) => {
            let ml = mask.volume_ml();
            format::ml(ml, if ml < 9.95 { 1 } else { 0 })
        }
    }
}

fn row(
    ui: &mut Ui,
    state: &State,
    (region, shown, several): (&Region, &[&Arc<Region>], &[RegionId]),
    place: Rect,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let together = several.contains(&region.id);
    let selected = together || state.runtime.regions.selected == Some(region.id);
    let name = match region.role {
        Role::Region => format!("Plain region {}", region.name),
        role => format!("{} region {}", role.name(), region.name),
    };
    let response = rows::list_row_at(ui, place, &name, region.id, selected);
    let inner = paint::inset(response.rect, space::INSET, space::INSET);
    let ink = if region.visible { p.t1 } else { p.t2 };
    let colour = theme::region_colour(region);
    let at = pos2(inner.left() + 6.0, inner.center().y);
    region::glyph(ui.painter(), at, region.role, colour);

    let rest = paint::inset(inner, 18.0, 28.0);
    let size_at = paint::right(
        ui.painter(),
        rest,
        &extent(&region.shape),
        theme::regular(size::LABEL),
        p.t3,
    );
    let menu_right = (size_at.left() - 8.0).min(rest.right() - 50.0);
    // Hundreds from a label map have no role: their names take its place.
    let role_width = match region.role {
        Role::Region => 0.0,
        role => paint::width(ui, role.name(), theme::regular(size::LABEL)),
    };
    let menu_at = Rect::from_min_max(
        pos2(menu_right - role_width - 18.0, rest.top()),
        pos2(menu_right, rest.bottom()),
    );
    let renamed = rename::rename(ui, response.rect, RenameTarget::Region(region.id), memory);
    match renamed {
        Renamed::Inactive => {
            let name_at = Rect::from_min_max(rest.min, pos2(menu_at.left() - 4.0, rest.bottom()));
            let font = theme::regular(size::LABEL);
            if paint::width(ui, &region.name, font.clone()) > name_at.width() {
                response.clone().on_hover_text(&region.name);
            }
            paint::name(ui.painter(), name_at, &region.name, font, ink);
            role_menu(ui, menu_at, region, actions);
        }
        Renamed::Editing => {}
        Renamed::Done(name) => actions.push(Action::Region(RegionAction::Rename {
            region: region.id,
            name,
        })),
    }
    let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
    if eye(ui, place, &region.name, region.visible) {
        actions.push(match together {
            true => Action::Region(RegionAction::ChangeSeveral {
                regions: several.to_vec(),
                change: RegionsChange::Show(!region.visible),
            }),
            false => Action::Region(RegionAction::Toggle(region.id)),
        });
    }
    if response.double_clicked() {
        rename::begin(RenameTarget::Region(region.id), &region.name, memory);
    } else if response.clicked() {
        let modifiers = ui.input(|i| i.modifiers);
        let now = (shown, state.runtime.regions.selected);
        let selected = memory.region_panel.chosen.click(now, region.id, modifiers);
        // The row is already visible.
        memory.region_panel.shown_region = selected;
        actions.push(Action::Region(RegionAction::Select(selected)));
    }
    menu::context(&response, |ui| match together {
        true => many::context_menu(ui, state, several, actions),
        false => context_menu(ui, state, region, memory, actions),
    });
}

/// The role of a region, changed in place.
fn role_menu(ui: &mut Ui, rect: Rect, region: &Region, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let id = ui.make_persistent_id(("role", region.id));
    let response = menu::field(ui, rect, id);
    let colour = if response.hovered() { p.t1 } else { p.t2 };
    let painter = ui.painter();
    let caret = pos2(rect.right() - 5.0, rect.center().y + 0.5);
    paint::icon(painter, caret, icons::CARET_DOWN, 10.0, colour);
    if region.role != Role::Region {
        let text = paint::inset(rect, 0.0, 13.0);
        let font = theme::regular(size::LABEL);
        paint::right(painter, text, region.role.name(), font, colour);
    }
    paint::focus_ring(
        painter,
        p,
        &response,
        rect.shrink2(vec2(0.0, 3.0)),
        theme::radius::CHIP,
    );
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(region.role.name().to_owned()),
        ..WidgetInfo::labeled(
            egui::Role::ComboBox,
            true,
            format!("Role of {}", region.name),
        )
    });
    let chosen = menu::drop_down(&response, 150.0, |ui| {
        let mut chosen = None;
        for role in Role::ALL {
            let current = role == region.role;
            let hit = menu::glyph_item(ui, role.name(), "", current, |painter, at| {
                region::glyph(painter, at, role, theme::role_colour(role));
            });
            if hit && !current {
                chosen = Some(role);
            }
        }
        chosen
    });
    if chosen.is_none() {
        response.on_hover_text(
            "Role of the region: how it takes part in tracking and in the filter of streamlines",
        );
    }
    actions.extend(chosen.map(|role| {
        Action::Region(RegionAction::SetRole {
            region: region.id,
            role,
        })
    }));
}

fn context_menu(
    ui: &mut Ui,
    state: &State,
    region: &Region,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    ui.set_width(200.0);
    ui.spacing_mut().item_spacing.y = 0.0;
    if menu::Item::new("Move the crosshair here")
        .icon(icons::CROSSHAIR)
        .show(ui)
    {
        actions.push(Action::View(ViewAction::MoveCrosshair(
            region.shape.centre(),
        )));
        ui.close();
    }
    if figures::item(ui, FigureSubject::Region(region.id), actions) {
        ui.close();
    }
    if menu::Item::new("Grow, smooth, combine…")
        .icon(icons::REGION)
        .show(ui)
    {
        actions.push(Action::Region(RegionAction::Select(Some(region.id))));
        actions.push(Action::View(ViewAction::SetTool(Tool::Change)));
        ui.close();
    }
    if menu::Item::new("Draw on it")
        .icon(icons::REGION)
        .key("B")
        .show(ui)
    {
        actions.push(Action::Region(RegionAction::Select(Some(region.id))));
        actions.push(Action::View(ViewAction::SetTool(Tool::Brush)));
        let role = region.role;
        let region = Some(region.id);
        actions.push(Action::Region(RegionAction::DrawInto { region, role }));
        ui.close();
    }
    if menu::Item::new("Duplicate").icon(icons::COPY).show(ui) {
        actions.push(Action::Region(RegionAction::Duplicate(region.id)));
        ui.close();
    }
    rename::rename_item(ui, RenameTarget::Region(region.id), &region.name, memory);
    menu::line(ui);
    if menu::Item::new("Export as mask…")
        .icon(icons::EXPORT)
        .show(ui)
    {
        export(state, memory, region);
        ui.close();
    }
    if state.document.regions.len() > 1 {
        for (as_labels, label) in [
            (true, "Export all as label map…"),
            (false, "Export all as masks…"),
        ] {
            if menu::Item::new(label).icon(icons::EXPORT).show(ui) {
                export_all(state, memory, as_labels);
                ui.close();
            }
        }
    }
    menu::caption(ui, "Colour");
    if let Some(colour) = swatches(ui, region) {
        actions.push(Action::Region(RegionAction::SetColour {
            region: region.id,
            colour,
        }));
        ui.close();
    }
    menu::line(ui);
    if rename::delete_item(ui) {
        actions.push(Action::Region(RegionAction::Delete(region.id)));
    }
}

/// Asks where to write a region.
pub fn export(state: &State, memory: &mut Memory, region: &Region) {
    let purpose = PathPurpose::Region(region.id);
    let text = suggestion(state, &region.name, &purpose);
    memory
        .files
        .type_path(purpose, DialogPosition::Middle, &text);
}

/// Asks where to write all regions: as one label map, or as one mask each.
pub fn export_all(state: &State, memory: &mut Memory, as_labels: bool) {
    let names = state.document.regions.iter().map(|r| r.name.clone());
    let purpose = PathPurpose::Regions {
        as_labels,
        names: names.collect(),
    };
    let text = suggestion(state, "regions", &purpose);
    memory
        .files
        .type_path(purpose, DialogPosition::Middle, &text);
}

/// The role's colour, then the categories.
fn swatches(ui: &mut Ui, region: &Region) -> Option<Option<[u8; 3]>> {
    let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::hover());
    let p = theme::palette(ui.style());
    let choices = std::iter::once(None).chain(theme::CATEGORIES.map(Some));
    let mut chosen = None;
    for (i, colour) in choices.enumerate() {
        let [r, g, b] = colour.unwrap_or(theme::role_rgb(region.role));
        let at = pos2(row.left() + 18.0 + 26.0 * i as f32, row.center().y);
        let place = Rect::from_center_size(at, vec2(22.0, 22.0));
        let response = ui.interact(place, ui.make_persistent_id(("swatch", i)), Sense::click());
        ui.painter()
            .circle_filled(at, 7.0, Color32::from_rgb(r, g, b));
        if region.colour == colour || response.hovered() || response.has_focus() {
            ui.painter()
                .circle_stroke(at, 9.5, egui::Stroke::new(1.5, p.t1));
        }
        let name = match colour {
            None => "Colour of the role".to_owned(),
            Some(_) => format!("Colour {i}"),
        };
        focus::named_button(&response, &name);
        if response.clicked() {
            chosen = Some(colour);
        }
    }
    chosen
}
