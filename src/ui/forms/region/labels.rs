//! Regions of a label map: the list of its structures.

use super::compute::{first_threshold, head, image_row, role_row};
use crate::data::{DataId, Role, Volume};
use crate::solvers::region::LabelCount;
use crate::state::regions::types::{Labels, region_name};
use crate::state::{Action, Phase, RegionAction, Severity, State, Tool, ViewAction};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, format, icons, regions};
use egui::{Id, Rect, Sense, Ui, pos2, vec2};
use std::collections::BTreeSet;

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
