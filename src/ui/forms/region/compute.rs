//! Computed regions: threshold, flood fill's tolerance, growing and smoothing, label maps. The region follows its
//! controls; there is nothing to apply.

use crate::data::{DataId, Region, Role, Shape, Volume};
use crate::solvers::region::{Change, Combine, Fill, LabelCount};
use crate::state::core::text::counted;
use crate::state::regions::brush::measured;
use crate::state::regions::types::{Labels, RegionInProgress, RegionSource, region_name};
use crate::state::{
    Action, Drawing, Layer, LayerId, Phase, RegionAction, Severity, State, Tool, ViewAction,
};
use crate::ui::forms::display::{extent, select_row, short_unit};
use crate::ui::forms::parameters::{self, Rows, Shown};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::slider::{RangeRow, Scale};
use crate::ui::widgets::{menu, paint, region, rows, section};
use crate::ui::{Memory, format, icons, panels, regions};
use egui::{Id, Rect, Sense, Ui, pos2, vec2};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Range that the field of a fill's largest volume accepts, ml.
const TYPED_ML: RangeInclusive<f64> = 0.001..=10_000.0;

/// The head of a tool's block, with a button to leave it.
pub fn head(ui: &mut Ui, title: &str, actions: &mut Vec<Action>) {
    let place = section::head(ui, title);
    let close = IconButton::new(icons::CLOSE, "End the tool");
    let close = close.hint("End the tool (Esc)").side(24.0);
    if close.show_right(ui, place).clicked() {
        actions.push(Action::View(ViewAction::SetTool(Tool::Crosshair)));
    }
}

/// The initial threshold of a layer: the brighter half of its window.
pub fn first_threshold(layer: &Layer, volume: &Volume, memory: &mut Memory) -> RegionSource {
    let frame = frame(layer, volume);
    let (_, max) = extent(memory, volume, frame);
    let (low, high) = layer.display.window;
    RegionSource::Threshold {
        layer: layer.id,
        frame,
        low: (low + high) * 0.5,
        high: max.max((low + high) * 0.5),
    }
}

fn frame(layer: &Layer, volume: &Volume) -> usize {
    layer.display.frame.min(volume.frames.saturating_sub(1))
}

/// The image whose values are used, chosen among the loaded ones.
fn image_row(ui: &mut Ui, state: &State, chosen: LayerId) -> Option<LayerId> {
    let name = |id: LayerId| state.document.layer(id).map_or("", |l| l.name.as_str());
    let help = "Image whose values are used";
    let picked = select_row(ui, "Image", help, name(chosen), |ui| {
        let mut picked = None;
        let layers = state.document.layers.iter().rev();
        for layer in layers.filter(|l| measured::is(l)) {
            let item = menu::Item::new(&layer.name).icon(icons::IMAGE);
            if item.chosen(layer.id == chosen).show(ui) {
                picked = Some(layer.id);
            }
        }
        picked
    });
    picked.filter(|id| *id != chosen)
}

pub fn threshold(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    head(ui, "Threshold", actions);
    let making = state.runtime.regions.making.as_ref();
    let now = making.map(|m| &m.source);
    let Some(RegionSource::Threshold {
        layer,
        frame,
        low,
        high,
    }) = now
    else {
        match measured::image(state) {
            Some((layer, volume)) => {
                let p = theme::palette(ui.style());
                let text = format!("No region uses the threshold of {}", layer.name);
                let note = Note::new(p, Severity::Information, &text).action("Make one");
                if note.show(ui) == Some(NoteResponse::Accepted) {
                    let source = first_threshold(layer, volume, memory);
                    let phase = Phase::Done;
                    actions.push(Action::Region(RegionAction::Make { source, phase }));
                }
            }
            None => rows::hint(ui, "No scalar image: open one first"),
        }
        return section::end(ui);
    };
    let volume = |id: LayerId| {
        let layer = state.document.layer(id)?;
        Some((layer, layer.content.volume()?))
    };
    if let Some((other, volume)) = image_row(ui, state, *layer).and_then(volume) {
        let source = first_threshold(other, volume, memory);
        let phase = Phase::Done;
        actions.push(Action::Region(RegionAction::Make { source, phase }));
    }
    if let Some((shown, volume)) = volume(*layer) {
        let scale = f64::from(shown.unit_scale);
        let (min, max) = extent(memory, volume, *frame);
        let (min, max) = (f64::from(min) * scale, f64::from(max) * scale);
        let decimals = (2.0 - (max - min).max(1e-30).log10().round()).clamp(-3.0, 8.0) as i32;
        let row = RangeRow {
            name: "Values",
            values: (f64::from(*low) * scale, f64::from(*high) * scale),
            scale: Scale {
                range: min..=max,
                logarithmic: false,
                decimals,
            },
            default: &|| (min + (max - min) * 0.5, max),
            unit: short_unit(shown),
            help: "Voxels with values in this range belong to the region",
            limits: f64::MIN..=f64::MAX,
            waits: false,
        };
        if let Some(((low, high), phase)) = row.show(ui) {
            let source = RegionSource::Threshold {
                layer: *layer,
                frame: *frame,
                low: (low / scale) as f32,
                high: (high / scale) as f32,
            };
            actions.push(Action::Region(RegionAction::Make { source, phase }));
        }
    }
    let region = making.and_then(|m| state.document.region(m.region?));
    if let Some(region) = region
        && let Some(role) = role_row(ui, "What the region does", region.role)
    {
        let region = region.id;
        actions.push(Action::Region(RegionAction::SetRole { region, role }));
    }
    outcome(ui, state, making);
    section::end(ui);
}

/// The role of the region being made.
fn role_row(ui: &mut Ui, help: &str, role: Role) -> Option<Role> {
    select_row(ui, "As", help, role.name(), |ui| {
        let mut picked = None;
        for other in Role::ALL {
            let colour = theme::role_colour(other);
            let chosen = other == role;
            if menu::glyph_item(ui, other.name(), "", chosen, |painter, at| {
                region::glyph(painter, at, other, colour);
            }) {
                picked = Some(other);
            }
        }
        picked
    })
}

/// The current volume of the region, and remarks about it.
fn outcome(ui: &mut Ui, state: &State, making: Option<&RegionInProgress>) {
    let p = theme::palette(ui.style());
    let Some(making) = making else {
        return;
    };
    if let Some(note) = &making.note {
        Note::new(p, Severity::Warning, note).show(ui);
    }
    let region = making.region.and_then(|id| state.document.region(id));
    if let Some(region) = region
        && let Shape::Mask(mask) = &*region.shape
    {
        if mask.count() == 0 {
            let text = "No voxel is left in the region";
            Note::new(p, Severity::Warning, text).show(ui);
        }
        let voxels = counted(mask.count(), "voxel");
        let ml = format::ml(mask.volume_ml(), 2);
        panels::caption(ui, &region.name, &format!("{voxels}, {ml}"));
    }
    ui.add_space(2.0);
    rows::hint(ui, "The region updates. Esc keeps it, Ctrl+Z undoes it");
}

/// Tolerance and limit of flood fills; the last fill follows.
pub fn fill(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let drawing = &state.view.drawing;
    let Some((layer, _)) = measured::image(state) else {
        return rows::hint(ui, "There is no scalar image to fill on");
    };
    let (low, high) = layer.display.window;
    let width = (high - low).abs().max(f32::MIN_POSITIVE);
    let scale = f64::from(layer.unit_scale);
    let range = f64::from(width) * scale;
    let decimals = (2.0 - range.max(1e-30).log10().round()).clamp(-3.0, 8.0) as i32;
    // In the displayed unit.
    let now = Fill {
        tolerance: f64::from(drawing.tolerance * width) * scale,
        max_ml: drawing.most_ml,
    };
    let defaults = Fill::defaults_for(range);
    let mut changed = None;
    let mut set = |fill: Fill, phase: Phase| {
        // An unchanged value keeps all its digits.
        let tolerance = match fill.tolerance == now.tolerance {
            true => drawing.tolerance,
            false => (fill.tolerance / scale) as f32 / width,
        };
        let next = Drawing {
            tolerance,
            most_ml: fill.max_ml,
            ..drawing.clone()
        };
        changed = Some((next, phase));
    };
    let shown = Shown {
        range: Some(0.0..=range * 0.6),
        decimals: Some(decimals),
        ..Shown::default()
    };
    parameters::number(ui, &now, &defaults, "tolerance", shown, &mut set);
    let shown = Shown {
        limits: Some(TYPED_ML),
        ..Shown::default()
    };
    parameters::number(ui, &now, &defaults, "at-most", shown, &mut set);
    parameters::rows(
        ui,
        &now,
        &defaults,
        Rows::AllBut(&["tolerance", "at-most"]),
        &mut set,
    );
    let making = state.runtime.regions.making.as_ref();
    if let Some((next, phase)) = changed {
        if let Some(RegionSource::Fill {
            layer: filled,
            frame,
            seed,
            erase,
            ..
        }) = making.map(|m| &m.source)
        {
            let shown = state
                .document
                .layer(*filled)
                .map_or((low, high), |l| l.display.window);
            let source = RegionSource::Fill {
                layer: *filled,
                frame: *frame,
                seed: *seed,
                tolerance: next.tolerance * (shown.1 - shown.0).abs(),
                max_ml: next.most_ml,
                erase: *erase,
            };
            actions.push(Action::Region(RegionAction::Make { source, phase }));
        }
        actions.push(Action::Region(RegionAction::SetDrawing(next)));
    }
    if let Some(note) = making.and_then(|m| m.note.as_ref()) {
        let p = theme::palette(ui.style());
        Note::new(p, Severity::Warning, note).show(ui);
    }
}

/// Growing, shrinking and smoothing of the selected region, and combining it with others.
pub fn change(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    head(ui, "Change a region", actions);
    let selected = state.runtime.regions.selected;
    let Some(chosen) = selected.and_then(|id| state.document.region(id)) else {
        rows::hint(ui, "Click the region to change, in its list or in a view");
        return section::end(ui);
    };
    let making = state.runtime.regions.making.as_ref();
    let making = making.filter(|m| m.region == selected);
    let now = match making.map(|m| &m.source) {
        Some(RegionSource::Change(change)) => *change,
        _ => Change::defaults(),
    };
    if let Some(region) = region_row(ui, state, "Region", Some(chosen), |_| true) {
        actions.push(Action::Region(RegionAction::Select(Some(region))));
    }
    let mut set = |change: Change, phase: Phase| {
        let source = RegionSource::Change(change);
        actions.push(Action::Region(RegionAction::Make { source, phase }));
    };
    let defaults = Change::defaults();
    parameters::rows(ui, &now, &defaults, Rows::AllBut(&[]), &mut set);
    ui.add_space(4.0);
    combine(ui, state, chosen, memory, actions);
    let shown = making.cloned().or_else(|| {
        Some(RegionInProgress {
            region: selected,
            base: None,
            source: RegionSource::Change(now),
            serial: 0,
            requests: 0,
            jobs: Default::default(),
            live: false,
            note: None,
        })
    });
    outcome(ui, state, shown.as_ref());
    section::end(ui);
}

/// A row that names a region and offers others.
fn region_row(
    ui: &mut Ui,
    state: &State,
    name: &str,
    now: Option<&Arc<Region>>,
    offered: impl Fn(&Region) -> bool,
) -> Option<crate::data::region::RegionId> {
    let shown = now.map_or("Choose a region", |r| r.name.as_str());
    select_row(ui, name, "", shown, |ui| {
        regions::menu_rows(ui, state, now.map(|r| r.id), offered)
    })
}

fn combine(
    ui: &mut Ui,
    state: &State,
    chosen: &Arc<Region>,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let with = memory
        .region_panel
        .combine_with
        .and_then(|id| state.document.region(id));
    let with = with.filter(|r| r.id != chosen.id);
    if let Some(id) = region_row(ui, state, "Other region", with, |r| r.id != chosen.id) {
        memory.region_panel.combine_with = Some(id);
    }
    let why = with.is_none().then_some("Choose the other region first");
    let ways = [
        (Combine::Union, "Add it", "Union: voxels in either region"),
        (
            Combine::Intersection,
            "Keep common",
            "Intersection: voxels in both regions",
        ),
        (
            Combine::Difference,
            "Subtract it",
            "Difference: voxels in this region only",
        ),
    ];
    let height = space::BUTTON + 8.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let mut row = paint::inset(rect, space::INSET, space::INSET);
    row.min.y += 2.0;
    let buttons = ways.map(|(_, label, help)| Button::plain(label).hint(help).disabled(why));
    let (responses, _) = panels::button_row(ui, row, buttons.into());
    for (response, (operation, ..)) in responses.iter().zip(ways) {
        if response.clicked()
            && let Some(with) = with
        {
            let source = RegionSource::Combine {
                operation,
                other: with.id,
            };
            let phase = Phase::Done;
            actions.push(Action::Region(RegionAction::Make { source, phase }));
        }
    }
}

/// The structures of a label map: a click makes a region from one.
pub fn labels(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    head(ui, "Regions from labels", actions);
    let p = theme::palette(ui.style());
    let Some(labels) = &state.runtime.regions.labels else {
        rows::hint(ui, "No scalar image: open a label map first");
        return section::end(ui);
    };
    if let Some(other) = image_row(ui, state, labels.layer) {
        actions.push(Action::Region(RegionAction::CountLabels(other)));
    }
    match &labels.numbers {
        None => rows::hint(ui, "Counting…"),
        Some(Err(why)) => {
            let why = why.to_string();
            let note = Note::new(p, Severity::Warning, &why).action("Threshold…");
            let layer = state.document.layer(labels.layer);
            let volume = layer.and_then(|l| l.content.volume());
            if note.show(ui) == Some(NoteResponse::Accepted)
                && let Some((layer, volume)) = layer.zip(volume)
            {
                let source = first_threshold(layer, volume, memory);
                actions.push(Action::View(ViewAction::SetTool(Tool::Threshold)));
                let phase = Phase::Done;
                actions.push(Action::Region(RegionAction::Make { source, phase }));
            }
        }
        Some(Ok(numbers)) if numbers.0.is_empty() => {
            rows::hint(ui, "Every voxel is 0: the image has no labels");
        }
        Some(Ok(numbers)) => {
            let role = memory.region_panel.label_role;
            if let Some(role) = role_row(ui, "What the regions do", role) {
                memory.region_panel.label_role = role;
            }
            let search = &mut memory.region_panel.label_search;
            label_list(ui, state, (labels, &numbers.0), (role, search), actions);
            let layer = state.document.layer(labels.layer);
            let existing: BTreeSet<&str> = state
                .document
                .regions
                .iter()
                .map(|r| r.name.as_str())
                .collect();
            let is_unused = |label_count: &&LabelCount| {
                layer.is_some_and(|l| {
                    !existing.contains(region_name(l, label_count.number).as_str())
                })
            };
            let volume = layer.and_then(|l| l.content.volume());
            let search = &memory.region_panel.label_search;
            let sought = |f: &&LabelCount| regions::many::matches(&described(volume, f), search);
            let rest = numbers.0.iter().filter(is_unused).filter(sought);
            let rest: Vec<LabelCount> = rest.copied().collect();
            let text = match (rest.len(), numbers.0.len()) {
                (0, _) if !search.is_empty() => "No others were found".to_owned(),
                (n, _) if !search.is_empty() => {
                    format!("The {} found as regions", format::count(n as u64))
                }
                (0, all) => format!("All {} are regions", format::count(all as u64)),
                (n, all) if n == all => format!("All {} as regions", format::count(n as u64)),
                (n, _) => format!("The other {} as regions", format::count(n as u64)),
            };
            let why = rest.is_empty().then_some("All labels are regions already");
            let button = Button::plain(&text).icon(icons::PLUS).disabled(why);
            let height = space::BUTTON + 8.0;
            let requested = vec2(ui.available_width(), height);
            let (rect, _) = ui.allocate_exact_size(requested, Sense::hover());
            let row = paint::inset(rect, space::INSET, space::INSET);
            let place = vec2(button.width(ui), space::BUTTON);
            let place = Rect::from_min_size(pos2(row.left(), row.top() + 6.0), place);
            if button.show_at(ui, place).clicked() {
                actions.push(Action::Region(RegionAction::FromLabels {
                    labels: rest,
                    role,
                }));
            }
        }
    }
    section::end(ui);
}

/// A label as text: `17 Left-Hippocampus`, or its number.
fn described(volume: Option<&Volume>, label_count: &LabelCount) -> String {
    let table = volume.and_then(|v| v.labels.as_ref());
    let named = table.zip(u32::try_from(label_count.number).ok());
    named.map_or(label_count.number.to_string(), |(labels, n)| {
        labels.described(n)
    })
}

/// Whether something was not shown in the last pass.
fn is_new(ui: &Ui, id: Id) -> bool {
    let pass = ui.ctx().cumulative_pass_nr();
    let before: Option<u64> = ui.data(|d| d.get_temp(id));
    ui.data_mut(|d| d.insert_temp(id, pass));
    before.is_none_or(|before| before + 1 < pass)
}

/// Lays out only the visible rows, of possibly thousands.
fn label_list(
    ui: &mut Ui,
    state: &State,
    (labels, numbers): (&Labels, &[LabelCount]),
    (role, search): (Role, &mut String),
    actions: &mut Vec<Action>,
) {
    /// The list has at least this many rows, and takes at most this share of the window.
    const ROWS: usize = 9;
    const SHARE: f32 = 0.45;
    let layer = state.document.layer(labels.layer);
    let volume = layer.and_then(|l| l.content.volume());
    let (Some(layer), Some(volume)) = (layer, volume) else {
        return;
    };
    let image: DataId = volume.id();
    let voxel_ml = volume.grid.world_from_voxel.matrix3.determinant().abs() / 1000.0;
    let p = theme::palette(ui.style());
    let table = |label_count: &LabelCount| {
        volume
            .labels
            .as_ref()
            .zip(u32::try_from(label_count.number).ok())
    };
    let label = |label_count: &LabelCount| described(Some(volume), label_count);
    if numbers.len() < regions::many::SEARCHED {
        search.clear();
    }
    let shown = numbers
        .iter()
        .filter(|f| regions::many::matches(&label(f), search));
    let shown: Vec<&LabelCount> = shown.collect();
    if numbers.len() >= regions::many::SEARCHED {
        let counts = (shown.len(), numbers.len());
        let names = ("Search labels", "Number or name");
        let opens = is_new(ui, Id::unique("list of labels"));
        regions::many::search_field(ui, names, search, counts, opens);
    }
    let names = state.document.regions.iter().map(|r| r.name.as_str());
    let regions: BTreeSet<&str> = names.collect();
    let max_height = ui.ctx().content_rect().height() * SHARE / space::ROW;
    let visible_rows = (max_height as usize).max(ROWS).min(shown.len());
    let height = space::ROW * visible_rows as f32;
    use egui::scroll_area::ScrollBarVisibility::{AlwaysHidden, AlwaysVisible};
    let more = visible_rows < shown.len();
    let list = egui::ScrollArea::vertical()
        .id_salt(("labels", image))
        .scroll_bar_visibility(if more { AlwaysVisible } else { AlwaysHidden })
        .max_height(height);
    list.show_rows(ui, space::ROW, shown.len(), |ui, range| {
        for label_count in &shown[range] {
            let name = region_name(layer, label_count.number);
            let exists = regions.contains(&*name);
            let spoken = format!("Label {}", label_count.number);
            let response = rows::list_row(ui, &spoken, ("label", label_count.number), exists);
            let inner = paint::inset(response.rect, space::INSET, space::INSET);
            let icon = if exists { icons::CHECK } else { icons::PLUS };
            let at = pos2(inner.left() + 7.0, inner.center().y);
            paint::icon(ui.painter(), at, icon, 14.0, p.t2);
            let mut text = paint::inset(inner, 24.0, 4.0);
            if let Some((labels, number)) = table(label_count) {
                let [r, g, b] = labels.colour(number);
                let swatch = pos2(text.left() + 5.0, text.center().y);
                let swatch = Rect::from_center_size(swatch, vec2(10.0, 10.0));
                let painter = ui.painter();
                painter.rect_filled(swatch, 2.0, egui::Color32::from_rgb(r, g, b));
                text.min.x += 18.0;
            }
            let ml = format::ml(label_count.count as f64 * voxel_ml, 2);
            let font = theme::regular(size::LABEL);
            let fact = paint::right(ui.painter(), text, &ml, font.clone(), p.t3);
            let name_at = Rect::from_min_max(text.min, pos2(fact.left() - 8.0, text.bottom()));
            paint::name(ui.painter(), name_at, &label(label_count), font, p.t1);
            if response.clicked() && !exists {
                actions.push(Action::Region(RegionAction::FromLabels {
                    labels: vec![**label_count],
                    role,
                }));
            }
        }
    });
}
