//! Bundles with the sums of their weights, and how much worse the signal is explained without each.

use super::act;
use crate::data::Tractogram;
use crate::state::core::colours;
use crate::state::core::text::counted;
use crate::state::filter::{
    ExcludedStreamlines, ExtraBundle, FilterAction, FittedWeights, SummedBundle, VirtualLesion,
    WeightMap,
};
use crate::state::streamlines::in_place::all_streamlines_of;
use crate::state::streamlines::{SameArc, SelectionMode};
use crate::state::{Action, Layer, LayerAction, RegionAction, Severity, State, StreamlineAction};
use crate::ui::format::{count, fixed, significant, with_unit};
use crate::ui::forms::display::select_row;
use crate::ui::theme::{self, size, space};
use crate::ui::weights::KeptSums;
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::note::Note;
use crate::ui::widgets::{menu, paint, rows, section};
use crate::ui::{Memory, icons};
use egui::{Color32, Rect, Response, Sense, Ui, pos2, vec2};

const MORE: f32 = 22.0;
const SWATCH: f32 = 18.0;
/// Widths of the columns from the right: Σ weight × length, Σ weight, number kept.
const COLUMNS: [f32; 3] = [60.0, 54.0, 50.0];
/// Space between a name and its number: closer, they would read as one.
const NAME_GAP: f32 = 12.0;
const HEADINGS: [&str; 3] = ["Σ w × mm", "Σ weight", "Kept"];

fn columns(inner: Rect) -> [Rect; 3] {
    let mut right = inner.right() - MORE - 2.0;
    COLUMNS.map(|width| {
        let place = Rect::from_x_y_ranges(right - width..=right, inner.y_range());
        right -= width;
        place
    })
}

const SUM: &str = "Sums over the streamlines above the cut. Σ w × mm: sum of weight × length in mm, which the \
                   whole bundle explains";

pub fn show(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let Some(lines) = all_streamlines_of(layer) else {
        return;
    };
    let p = theme::palette(ui.style());
    let (rect, response) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::TABLE_HEAD + 4.0),
        Sense::hover(),
    );
    response.on_hover_text(SUM);
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let font = theme::regular(size::CAPTION);
    let name_at = paint::inset(inner, SWATCH, 0.0);
    paint::left(ui.painter(), name_at, "Bundle", font.clone(), p.t3);
    for (place, name) in columns(inner).into_iter().zip(HEADINGS) {
        paint::right(ui.painter(), place, name, font.clone(), p.t3);
    }
    let min_weight = state.document.filter.min_weight(layer.id);
    let known = state.runtime.filter.sums.shown();
    let known = known.filter(|(key, _)| key.tractogram == lines.id());
    let lengths = known.map(|(_, sums)| &sums.lengths_mm);
    let counted = memory
        .caches
        .weights
        .bundles(lines, min_weight, lengths)
        .to_vec();
    let extra = extra_bundles(state, lines, memory, min_weight);
    let alone = counted.len() == 1;
    let groups = counted.into_iter().enumerate().map(|(i, counted)| Row {
        name: match &counted.group {
            Some(name) => name.clone(),
            // Three columns of numbers leave no space for a longer text.
            None if alone => "All".to_owned(),
            None => "Not in a bundle".to_owned(),
        },
        colour: colour(i, counted.group.is_some()),
        bundle: counted
            .group
            .map_or(BundleKind::Ungrouped, BundleKind::Group),
        kept_sums: counted.kept,
        all: counted.all,
    });
    let all: Vec<Row> = groups.chain(extra.iter().cloned()).collect();
    // In every row or in none: a column has one form.
    let both = all.iter().all(|row| has_room(ui, inner, row));
    for (i, row) in all.iter().enumerate() {
        bundle_row(ui, state, layer, (i, row, both), actions);
    }
    if alone && extra.is_empty() {
        let text = "Each TRX group, each region and the streamline filter get a row here";
        rows::hint(ui, text);
    }
}

/// Streamlines with a sum of weights.
#[derive(Clone)]
struct Row {
    name: String,
    colour: Color32,
    bundle: BundleKind,
    kept_sums: KeptSums,
    all: u64,
}

#[derive(Clone)]
enum BundleKind {
    Group(String),
    /// Streamlines in no group.
    Ungrouped,
    Extra(ExtraBundle, SameArc<bool>),
}

/// Streamlines that pass regions, and those that the filter keeps, as far as they are known.
fn extra_bundles(
    state: &State,
    lines: &Tractogram,
    memory: &mut Memory,
    min_weight: f32,
) -> Vec<Row> {
    let known = state.runtime.filter.sums.shown();
    let Some((key, sums)) = known.filter(|(key, _)| key.tractogram == lines.id()) else {
        return Vec::new();
    };
    let kept = memory
        .caches
        .weights
        .extra_bundles(lines, sums, min_weight)
        .iter();
    let each = key.rows.iter().zip(&sums.bundles).zip(kept);
    let row = |((extra, summed), kept): ((&ExtraBundle, &SummedBundle), &KeptSums)| {
        let (name, colour) = match extra {
            ExtraBundle::Region(id) => {
                let region = state.document.region(*id)?;
                let name = format!("Through {}", region.name);
                (name, theme::region_colour(region))
            }
            ExtraBundle::Filter => ("The filter".to_owned(), colour(0, false)),
        };
        Some(Row {
            name,
            colour,
            bundle: BundleKind::Extra(*extra, SameArc(summed.marks.clone())),
            kept_sums: *kept,
            all: summed.count,
        })
    };
    each.filter_map(row).collect()
}

fn colour(i: usize, group: bool) -> Color32 {
    if !group {
        return Color32::from_rgb(0x8D, 0x95, 0xA1);
    }
    let [r, g, b] = colours::CATEGORIES[i % colours::CATEGORIES.len()];
    Color32::from_rgb(r, g, b)
}

/// `20 of 60`.
fn of_all(row: &Row) -> String {
    format!("{} of {}", count(row.kept_sums.count), count(row.all))
}

/// Whether a row has space for its whole name and both numbers of streamlines.
fn has_room(ui: &Ui, inner: Rect, row: &Row) -> bool {
    let font = theme::regular(size::LABEL);
    let number = paint::width(ui, &of_all(row), font.clone());
    let name = paint::width(ui, &row.name, font);
    let place = columns(inner)[2];
    number < place.width() && inner.left() + SWATCH + name + NAME_GAP + number <= place.right()
}

fn bundle_row(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    (i, row, both): (usize, &Row, bool),
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let name = &*row.name;
    let sum = row.kept_sums.weight_mm.map_or("…".to_owned(), significant);
    let weight = significant(row.kept_sums.weight);
    let kept = of_all(row);
    let spoken = format!("{name}, {kept} kept, Σ weight {weight}, Σ weight × length {sum}");
    let selected = match &row.bundle {
        BundleKind::Group(group) => {
            let rules = state.document.streamlines.rules_of(layer.id);
            rules.is_some_and(|s| s.group.as_ref() == Some(group))
        }
        BundleKind::Extra(ExtraBundle::Region(id), _) => {
            state.runtime.regions.selected == Some(*id)
        }
        BundleKind::Ungrouped | BundleKind::Extra(ExtraBundle::Filter, _) => false,
    };
    let response = rows::list_row(ui, &spoken, ("bundle", i), selected);
    let inner = paint::inset(response.rect, space::INSET, space::INSET);
    let painter = ui.painter().clone();
    let swatch = Rect::from_center_size(pos2(inner.left() + 6.0, inner.center().y), vec2(9.0, 9.0));
    painter.rect_filled(swatch, 2.0, row.colour);
    let places = columns(inner);
    let font = theme::regular(size::LABEL);
    // Where the total does not fit, it is shown on hover.
    let shown = match both {
        true => kept.clone(),
        false => count(row.kept_sums.count),
    };
    for (place, text) in places.iter().zip([&sum, &weight, &shown]) {
        paint::right(&painter, *place, text, font.clone(), p.t1);
    }
    // The name gets the space that the number leaves.
    let number = paint::width(ui, &shown, font.clone());
    let name_at =
        paint::inset(inner, SWATCH, 0.0).with_max_x(places[2].right() - number - NAME_GAP);
    paint::name(&painter, name_at, name, font, p.t1);
    if response.clicked() {
        match &row.bundle {
            BundleKind::Group(group) => {
                let group = (!selected).then(|| group.clone());
                act(actions, FilterAction::ShowGroup(group));
            }
            BundleKind::Extra(ExtraBundle::Region(id), _) => {
                actions.push(Action::Region(RegionAction::Select(
                    (!selected).then_some(*id),
                )));
            }
            BundleKind::Ungrouped | BundleKind::Extra(ExtraBundle::Filter, _) => {}
        }
    }
    let sentence = match (&row.bundle, selected) {
        (BundleKind::Ungrouped, _) => {
            response.on_hover_text(format!("{kept} kept"));
            return;
        }
        (BundleKind::Group(_), true) => "Click to show all streamlines again",
        (BundleKind::Group(_), false) => "Click to show this bundle alone",
        (BundleKind::Extra(ExtraBundle::Region(_), _), _) => {
            "All streamlines that pass through the region, from any bundle. Click to select the region"
        }
        (BundleKind::Extra(ExtraBundle::Filter, _), _) => {
            "All streamlines that pass the filter, whatever their weight"
        }
    };
    response.on_hover_text(format!("{kept} kept\n{sentence}"));
    let centre = pos2(inner.right() - 0.5 * MORE, inner.center().y);
    let square = Rect::from_center_size(centre, vec2(MORE, MORE));
    let more = format!("More of {name}");
    let more = IconButton::new(icons::MORE, &more).side(MORE);
    let more = more.show_at(ui, square);
    more_of(&more, layer, &row.bundle, actions);
}

/// Actions on the streamlines of a row.
fn more_of(button: &Response, layer: &Layer, bundle: &BundleKind, actions: &mut Vec<Action>) {
    enum RowAction {
        Lesion(ExcludedStreamlines),
        Choose,
    }
    let without = match bundle {
        BundleKind::Group(group) => Some(ExcludedStreamlines::Group(group.clone())),
        BundleKind::Extra(ExtraBundle::Region(id), _) => Some(ExcludedStreamlines::Region(*id)),
        BundleKind::Ungrouped | BundleKind::Extra(ExtraBundle::Filter, _) => None,
    };
    let chosen = menu::popup(button, 210.0, |ui| {
        let mut chosen = None;
        if let Some(without) = without
            && menu::Item::new("Fit without it (virtual lesion)").show(ui)
        {
            chosen = Some(RowAction::Lesion(without));
        }
        if menu::Item::new("Choose its streamlines").show(ui) {
            chosen = Some(RowAction::Choose);
        }
        chosen
    });
    match chosen {
        Some(RowAction::Lesion(what)) => act(actions, FilterAction::Lesion(what)),
        Some(RowAction::Choose) => {
            let streamlines = match (bundle, all_streamlines_of(layer)) {
                (BundleKind::Group(group), Some(streamlines)) => {
                    let members = streamlines.groups.get(group);
                    members.map_or_else(Vec::new, |members| members.to_vec())
                }
                (BundleKind::Extra(_, marks), _) => {
                    let marked = (0..).zip(marks.0.iter()).filter(|(_, mark)| **mark);
                    marked.map(|(i, _)| i).collect()
                }
                _ => Vec::new(),
            };
            actions.push(Action::Layer(LayerAction::Select(Some(layer.id))));
            actions.push(Action::Streamline(StreamlineAction::Choose {
                anchor: streamlines.first().copied(),
                streamlines,
                mode: SelectionMode::Replace,
            }));
        }
        None => {}
    }
}

const LESION: &str = "Virtual lesion";
/// Key of the fold once it has results.
const LESIONS: &str = "Virtual lesions";

/// Streamlines that can be left out, and results without them.
pub fn lesions(
    ui: &mut Ui,
    state: &State,
    weights: &FittedWeights,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    // Results are shown even if the user had toggled the empty fold.
    let (key, open) = match weights.lesions.is_empty() {
        true => (LESION, !memory.narrow),
        false => (LESIONS, true),
    };
    let (open, clicked) = section::fold(ui, LESION, memory.is_open(key, open));
    if clicked {
        memory.toggle(key);
    }
    if !open {
        return;
    }
    match state.holds_fit() || state.is_filtering() {
        true => excluded_rows(ui, state, weights, actions),
        false => {
            let p = theme::palette(ui.style());
            let text = "Another virtual lesion needs the fit in memory: run it again first";
            // The button at the foot of the panel runs it.
            Note::new(p, Severity::Information, text).show(ui);
        }
    }
    for lesion in &weights.lesions {
        lesion_rows(ui, state, lesion, actions);
    }
}

/// The streamlines that can be left out.
fn excluded_rows(ui: &mut Ui, state: &State, weights: &FittedWeights, actions: &mut Vec<Action>) {
    let help = "Refits the weights without some streamlines, from the last weights, and shows how much worse the signal is explained; \
                no streamline is deleted";
    let what = select_row(ui, "Fit without", help, "choose…", |ui| {
        let mut chosen = None;
        let mut item = |ui: &mut Ui, name: &str, what: ExcludedStreamlines| {
            if menu::Item::new(name).show(ui) {
                chosen = Some(what);
            }
        };
        if let Some(own) = state.manual_selection() {
            let name = format!("The {} chosen streamlines", count(own.count as u64));
            item(ui, &name, ExcludedStreamlines::Chosen);
        }
        let groups = state.document.filtered().map(|(_, lines)| &lines.groups);
        for name in groups.into_iter().flat_map(|g| g.keys()) {
            item(
                ui,
                &format!("Bundle {name}"),
                ExcludedStreamlines::Group(name.clone()),
            );
        }
        for region in &state.document.regions {
            let name = format!("Streamlines through {}", region.name);
            item(ui, &name, ExcludedStreamlines::Region(region.id));
        }
        for kept in state
            .document
            .kept_pathways
            .iter()
            .filter(|k| k.result.is_some())
        {
            let name = format!("Streamlines through {}", kept.name);
            item(ui, &name, ExcludedStreamlines::Pathway(Some(kept.id)));
        }
        if state.final_pathway().is_some() {
            item(
                ui,
                "Streamlines through the live pathway",
                ExcludedStreamlines::Pathway(None),
            );
        }
        chosen
    });
    if let Some(what) = what {
        act(actions, FilterAction::Lesion(what));
    }
    if weights.lesions.is_empty() {
        rows::hint(
            ui,
            "To leave some out, choose streamlines (K), place a region or open a TRX with groups",
        );
    }
}

/// Formats numbers that differ by little.
fn figures(value: f64) -> String {
    let before = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    fixed(value, (3.0 - before).clamp(0.0, 8.0) as usize)
}

fn lesion_rows(ui: &mut Ui, state: &State, lesion: &VirtualLesion, actions: &mut Vec<Action>) {
    let percent = lesion.percent();
    let sign = if percent > 0.0 { "+" } else { "" };
    let more = with_unit(&format!("{sign}{}", fixed(percent, 1)), "%");
    let name = format!("Without {}", lesion.name);
    rows::reading(ui, &name, &format!("RMSE {more}"));
    rows::reading(ui, "Streamlines left out", &count(lesion.streamlines));
    let arrow = |[before, after]: [f64; 2]| format!("{} → {}", figures(before), figures(after));
    if let Some(evidence) = &lesion.evidence {
        let name = format!(
            "RMSE in their {}",
            counted(evidence.voxels as usize, "voxel")
        );
        rows::reading(ui, &name, &arrow(evidence.rmse));
    }
    rows::reading(ui, "RMSE in all voxels", &arrow(lesion.rmse));
    rows::reading(ui, "Objective", &arrow(lesion.objective));
    let map = WeightMap::Worse(lesion.name.clone());
    let layer = state.document.filtered().map(|(layer, _)| layer.id);
    let Some(layer) = layer.and_then(|filtered| state.document.weight_map(filtered, &map)) else {
        return;
    };
    let text = ["Off", "Where worse"];
    let now = usize::from(layer.display.visible);
    let help = "Unexplained signal without them minus that with them: orange is worse";
    if let Some(i) = crate::ui::forms::display::segment_row(ui, "Map", help, &text, now) {
        act(actions, FilterAction::ShowMap((i == 1).then_some(map)));
    }
}
