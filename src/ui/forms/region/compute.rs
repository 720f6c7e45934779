//! Computed regions: threshold, flood fill's tolerance, growing and smoothing. The region follows its
//! controls; there is nothing to apply.

use crate::data::{Region, Role, Shape, Volume};
use crate::solvers::region::{Change, Combine, Fill};
use crate::state::core::text::counted;
use crate::state::regions::brush::measured;
use crate::state::regions::types::{RegionInProgress, RegionSource};
use crate::state::update::region_change_command;
use crate::state::{
    Action, Drawing, Layer, LayerId, Phase, RegionAction, Severity, State, Tool, ViewAction,
};
use crate::ui::forms::display::{extent, segment_row, select_row, short_unit};
use crate::ui::forms::parameters::{self, Rows, Shown};
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::slider::{RangeRow, Scale};
use crate::ui::widgets::{menu, paint, region, rows, section};
use crate::ui::{Memory, format, icons, panels, regions};
use egui::{Sense, Ui, vec2};
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
pub fn image_row(ui: &mut Ui, state: &State, chosen: LayerId) -> Option<LayerId> {
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
pub fn role_row(ui: &mut Ui, help: &str, role: Role) -> Option<Role> {
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

/// The values that the brush paints.
pub fn painted_values(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    set: &mut impl FnMut(Drawing),
) {
    let Some((layer, volume)) = measured::image(state) else {
        return;
    };
    let drawing = &state.view.drawing;
    let help =
        "Whether the brush paints all voxels, or only those with some values of the image shown";
    let ways = ["All voxels", "A range"];
    let now = usize::from(drawing.range.is_some());
    if let Some(i) = segment_row(ui, "Paints", help, &ways, now) {
        let (low, high) = layer.display.window;
        set(Drawing {
            range: (i == 1).then(|| drawing.range.unwrap_or(((low + high) * 0.5, high))),
            ..drawing.clone()
        });
    }
    let Some((low, high)) = drawing.range else {
        return;
    };
    let scale = f64::from(layer.unit_scale);
    let frame = frame(layer, volume);
    let (min, max) = extent(memory, volume, frame);
    let (min, max) = (f64::from(min) * scale, f64::from(max) * scale);
    let decimals = (2.0 - (max - min).max(1e-30).log10().round()).clamp(-3.0, 8.0) as i32;
    let row = RangeRow {
        name: "Values",
        values: (f64::from(low) * scale, f64::from(high) * scale),
        scale: Scale {
            range: min..=max,
            logarithmic: false,
            decimals,
        },
        default: &|| (min + (max - min) * 0.5, max),
        unit: short_unit(layer),
        help: "The brush paints only voxels with values in this range",
        limits: f64::MIN..=f64::MAX,
        waits: false,
    };
    if let Some(((low, high), _)) = row.show(ui) {
        set(Drawing {
            range: Some(((low / scale) as f32, (high / scale) as f32)),
            ..drawing.clone()
        });
    }
    rows::hint(
        ui,
        &format!("Only voxels with these values of {}", layer.name),
    );
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
    let line = region_change_command(state);
    let why = line.is_none().then_some("Change the region first");
    let copy = Button::plain("Copy as command");
    let copy = copy.icon(icons::TERMINAL).disabled(why);
    let wide = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(wide, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = paint::at_left(row, vec2(copy.width(ui), space::BUTTON));
    if copy.show_at(ui, place).clicked() {
        actions.extend(line.map(Action::CopyCommand));
    }
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
