//! Bundles with the sums of their weights, and how much worse the signal is explained without one.

use super::act;
use crate::state::bundle::{How, lines_of};
use crate::state::filter::{FilterAction, Lesion, Lesioned, Weighed, WeightMap};
use crate::state::{Action, BundleAction, Layer, State, defaults};
use crate::ui::format::{count, fixed, significant, with_unit};
use crate::ui::forms::display::select_row;
use crate::ui::theme::{self, size, space};
use crate::ui::weights::Counted;
use crate::ui::widgets::button::IconButton;
use crate::ui::widgets::{menu, paint, rows, section};
use crate::ui::{Memory, icons};
use egui::{Color32, Rect, Sense, Ui, pos2, vec2};

const MORE: f32 = 22.0;
const SWATCH: f32 = 18.0;
/// Widths of the columns, from the right: what the bundle explains, how many stay.
const COLUMNS: [f32; 2] = [58.0, 98.0];

fn columns(inner: Rect) -> [Rect; 2] {
    let mut right = inner.right() - MORE - 2.0;
    COLUMNS.map(|width| {
        let place = Rect::from_x_y_ranges(right - width..=right, inner.y_range());
        right -= width;
        place
    })
}

const SUM: &str = "Sum of weight times length, mm: what the bundle explains together, whichever of its \
                   near-duplicates have the weight";

pub fn show(
    ui: &mut Ui,
    state: &State,
    (layer, weighed): (&Layer, &Weighed),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let Some(lines) = lines_of(layer) else {
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
    for (place, name) in columns(inner).into_iter().zip(["Σ weight", "Kept"]) {
        paint::right(ui.painter(), place, name, font.clone(), p.t3);
    }
    let counted = memory
        .weights
        .bundles(lines, state.document.filter.least())
        .to_vec();
    let alone = counted.len() == 1;
    for (i, row) in counted.iter().enumerate() {
        one(ui, state, (layer, weighed), (i, row, alone), actions);
    }
    if alone {
        rows::hint(ui, "Groups of a TRX file have a row each");
    }
}

fn colour(i: usize, group: bool) -> Color32 {
    if !group {
        return Color32::from_rgb(0x8D, 0x95, 0xA1);
    }
    let [r, g, b] = defaults::CATEGORIES[i % defaults::CATEGORIES.len()];
    Color32::from_rgb(r, g, b)
}

fn one(
    ui: &mut Ui,
    state: &State,
    (layer, weighed): (&Layer, &Weighed),
    (i, row, alone): (usize, &Counted, bool),
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let name = match &row.group {
        Some(name) => name.as_str(),
        None if alone => "All streamlines",
        None => "Not in a bundle",
    };
    let figures = &weighed.figures;
    let sum = match &row.group {
        Some(name) => figures.bundles.get(name).copied(),
        None => Some(figures.rest),
    };
    let sum = sum.map_or("–".to_owned(), significant);
    let kept = format!("{} of {}", count(row.kept), count(row.all));
    let spoken = format!("{name}, {kept} kept, sum of weights {sum}");
    let sieve = state.document.bundle.sieve.as_ref();
    let only = sieve
        .filter(|s| s.layer == layer.id)
        .and_then(|s| s.group.clone());
    let selected = row.group.is_some() && only == row.group;
    let response = rows::list_row(ui, &spoken, ("bundle", i), selected);
    let inner = paint::inset(response.rect, space::INSET, space::INSET);
    let painter = ui.painter().clone();
    let swatch = Rect::from_center_size(pos2(inner.left() + 6.0, inner.center().y), vec2(9.0, 9.0));
    painter.rect_filled(swatch, 2.0, colour(i, row.group.is_some()));
    let places = columns(inner);
    let font = theme::regular(size::LABEL);
    for (place, text) in places.iter().zip([&sum, &kept]) {
        paint::right(&painter, *place, text, font.clone(), p.t1);
    }
    let name_at = paint::inset(inner, SWATCH, 0.0).with_max_x(places[1].left() + 18.0);
    paint::name(&painter, name_at, name, font, p.t1);
    let Some(group) = &row.group else {
        return;
    };
    if response.clicked() {
        let group = (!selected).then(|| group.clone());
        act(actions, FilterAction::ShowGroup(group));
    }
    let words = match selected {
        true => "Click: all streamlines again",
        false => "Click: this bundle alone",
    };
    response.on_hover_text(words);
    let centre = pos2(inner.right() - 0.5 * MORE, inner.center().y);
    let square = Rect::from_center_size(centre, vec2(MORE, MORE));
    let more = format!("More of {name}");
    let more = IconButton::new(icons::MORE, &more).side(MORE);
    let more = more.show_at(ui, square);
    enum Does {
        Lesion,
        Choose,
    }
    let chosen = menu::popup(&more, 210.0, |ui| {
        let mut chosen = None;
        if menu::Item::new("Fit without it (virtual lesion)").show(ui) {
            chosen = Some(Does::Lesion);
        }
        if menu::Item::new("Choose its streamlines").show(ui) {
            chosen = Some(Does::Choose);
        }
        chosen
    });
    match chosen {
        Some(Does::Lesion) => {
            let what = Lesioned::Group(group.clone());
            act(actions, FilterAction::Lesion(what));
        }
        Some(Does::Choose) => {
            let lines = lines_of(layer).and_then(|lines| lines.groups.get(group));
            let lines = lines.map_or_else(Vec::new, |members| members.to_vec());
            actions.push(Action::SelectLayer(Some(layer.id)));
            actions.push(Action::Bundle(BundleAction::Choose {
                anchor: lines.first().copied(),
                lines,
                how: How::Replace,
            }));
        }
        None => {}
    }
}

const LESION: &str = "Virtual lesion";

/// What can be left out, and what was.
pub fn lesions(
    ui: &mut Ui,
    state: &State,
    weighed: &Weighed,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let open = !weighed.lesions.is_empty() || !memory.narrow;
    let (open, clicked) = section::fold(ui, LESION, memory.is_open(LESION, open));
    if clicked {
        memory.toggle(LESION);
    }
    if !open {
        return;
    }
    let help = "Fits the other streamlines without some, and tells how much worse the signal is explained: no \
                streamline is deleted";
    let what = select_row(ui, "Fit without", help, "choose…", |ui| {
        let mut chosen = None;
        let mut item = |ui: &mut Ui, name: &str, what: Lesioned| {
            if menu::Item::new(name).show(ui) {
                chosen = Some(what);
            }
        };
        if let Some(own) = state.chosen() {
            let name = format!("The {} chosen streamlines", count(own.count as u64));
            item(ui, &name, Lesioned::Chosen);
        }
        let groups = state.document.filtered().map(|(_, lines)| &lines.groups);
        for name in groups.into_iter().flat_map(|g| g.keys()) {
            item(ui, &format!("Bundle {name}"), Lesioned::Group(name.clone()));
        }
        for region in &state.document.regions {
            let name = format!("What passes {}", region.name);
            item(ui, &name, Lesioned::Region(region.id));
        }
        for kept in state
            .document
            .kept_pathways
            .iter()
            .filter(|k| k.found.is_some())
        {
            let name = format!("What passes {}", kept.name);
            item(ui, &name, Lesioned::Pathway(Some(kept.id)));
        }
        if state.final_pathway().is_some() {
            item(ui, "What passes the live pathway", Lesioned::Pathway(None));
        }
        chosen
    });
    if let Some(what) = what {
        act(actions, FilterAction::Lesion(what));
    }
    if weighed.lesions.is_empty() {
        return rows::hint(
            ui,
            "Choose streamlines (K), place a region or open a TRX with groups to leave some out",
        );
    }
    for lesion in &weighed.lesions {
        told(ui, state, lesion, actions);
    }
}

fn told(ui: &mut Ui, state: &State, lesion: &Lesion, actions: &mut Vec<Action>) {
    let [before, after] = lesion.rmse;
    let percent = 100.0 * (after / before.max(f64::MIN_POSITIVE) - 1.0);
    let sign = if percent > 0.0 { "+" } else { "" };
    let more = with_unit(&format!("{sign}{}", fixed(percent, 2)), "%");
    let name = format!("Without {}", lesion.name);
    rows::reading(ui, &name, &format!("RMSE {more}"));
    let rmse = lesion.rmse.map(significant).join(" → ");
    rows::reading(ui, "Root mean square error", &rmse);
    let objective = lesion.objective.map(significant).join(" → ");
    rows::reading(ui, "Objective", &objective);
    rows::reading(ui, "Streamlines left out", &count(lesion.streamlines));
    let map = WeightMap::Worse(lesion.name.clone());
    let layer = state.document.filtered().map(|(layer, _)| layer.id);
    let Some(layer) = layer.and_then(|of| state.document.weight_map(of, &map)) else {
        return;
    };
    let words = ["Off", "On"];
    let now = usize::from(layer.display.visible);
    let help = "Unexplained signal without them, less that with them: orange is worse";
    if let Some(i) =
        crate::ui::forms::display::segment_row(ui, "Where it is worse", help, &words, now)
    {
        act(actions, FilterAction::ShowMap((i == 1).then_some(map)));
    }
}
