//! Display of the cost: on slices, and in 3-D.

use super::super::display::select_row;
use super::super::volume::{curve_row, cut_row};
use super::OnChange;
use crate::scene;
use crate::scene::draw_list::Transfer;
use crate::state::pathways::{EXCESS_SHOWN, PathwaySettings, ShownCost};
use crate::state::{Phase, State};
use crate::ui::Memory;
use crate::ui::theme::space;
use crate::ui::widgets::button::{checkbox, segmented};
use crate::ui::widgets::slider::{Change, Columns, SliderRow, help_over, label};
use crate::ui::widgets::transfer::TransferEditor;
use crate::ui::widgets::{menu, section};
use egui::{Rect, Ui, pos2};

const ON_SLICES: &str = "Colours, outline, contours";
const IN_SCENE: &str = "Pathways in 3-D";

/// The choice of the displayed cost.
pub fn cost(ui: &mut Ui, settings: &PathwaySettings, set: &mut OnChange) {
    // The labels need more space than the common field has.
    const LABEL: f32 = 72.0;
    let columns = Columns::allocate(ui);
    let name_at = columns.label.with_max_x(columns.label.left() + LABEL);
    let help = "Cost of the best path through a voxel, or from one of the regions to it";
    label(ui, name_at, "Show cost", help);
    let centre = columns.wide.center().y;
    let place = Rect::from_min_max(
        pos2(name_at.right() + 4.0, centre - 0.5 * space::FIELD - 1.0),
        pos2(columns.wide.right(), centre + 0.5 * space::FIELD + 1.0),
    );
    let text = ShownCost::ALL.map(ShownCost::name);
    let now = settings.shown_cost();
    let now = ShownCost::ALL.iter().position(|s| Some(*s) == now);
    let clicked = segmented(ui, place, "Show cost", &text, now.unwrap_or(usize::MAX));
    help_over(ui, place, "Show cost", help);
    if let Some(i) = clicked {
        set(settings.with_cost(ShownCost::ALL[i]), Phase::Done);
    }
}

/// The cost's colours and lines on slices.
pub fn on_slices(ui: &mut Ui, settings: &PathwaySettings, memory: &mut Memory, set: &mut OnChange) {
    if !folded(ui, ON_SLICES, memory) {
        return;
    }
    let default_value = PathwaySettings::defaults();
    let limits = [
        *PathwaySettings::RANGE.start(),
        *PathwaySettings::RANGE.end(),
    ]
    .map(|s| f64::from(s) * 100.0);
    let row = SliderRow::new("Colours up to", f64::from(settings.range) * 100.0, 5.0..=150.0)
        .logarithmic()
        .decimals(0)
        .default(f64::from(EXCESS_SHOWN) * 100.0)
        .limits(limits[0]..=limits[1])
        .unit("%")
        .help("Cost above E* at the end of the colour scale, on slices and in the cloud; higher costs are not \
               shown");
    if let Some((percent, phase)) = row.value(ui) {
        let range = (percent / 100.0) as f32;
        let settings = settings.clone();
        set(PathwaySettings { range, ..settings }, phase);
    }
    let row = SliderRow::new(
        "Cost opacity",
        f64::from(settings.opacity) * 100.0,
        0.0..=100.0,
    )
    .decimals(0)
    .default(f64::from(default_value.opacity) * 100.0)
    .unit("%")
    .help("Opacity of the cost on slices");
    if let Some((percent, phase)) = row.value(ui) {
        let opacity = (percent / 100.0) as f32;
        let settings = settings.clone();
        set(
            PathwaySettings {
                opacity,
                ..settings
            },
            phase,
        );
    }
    check(ui, "Grey images below the cost", settings.greys, |greys| {
        let settings = settings.clone();
        set(PathwaySettings { greys, ..settings }, Phase::Done);
    });
    check(ui, "Pathway outline on slices", settings.outline, |on| {
        let settings = settings.clone();
        set(
            PathwaySettings {
                outline: on,
                ..settings
            },
            Phase::Done,
        );
    });
    contours(ui, settings, set);
}

/// A block that starts closed in a narrow window; returns whether it is open.
fn folded(ui: &mut Ui, name: &'static str, memory: &mut Memory) -> bool {
    let (open, clicked) = section::fold(ui, name, memory.is_open(name, !memory.narrow));
    if clicked {
        memory.toggle(name);
    }
    open
}

fn check(ui: &mut Ui, name: &str, on: bool, set: impl FnOnce(bool)) {
    let columns = Columns::allocate(ui);
    let place = columns.label.union(columns.wide);
    if let Some(on) = checkbox(ui, place, name, on) {
        set(on);
    }
}

/// Lines of equal cost.
fn contours(ui: &mut Ui, settings: &PathwaySettings, set: &mut OnChange) {
    const EVERY: f64 = 5.0;
    let shown = match settings.shown {
        ShownCost::Second => ShownCost::Second,
        _ => ShownCost::First,
    };
    let row = SliderRow::new("Cost contours", settings.contours.unwrap_or(EVERY), 0.5..=20.0)
        .decimals(1)
        .default(EVERY)
        .limits(0.01..=1e6)
        .unit(shown.name())
        .switch(settings.contours.is_some(), "off")
        .help(
            "Spacing of lines of equal cost from the seed (u₁), or from the target if u₂ is shown; 1 is the \
             cost of 1 mm of isotropic tissue",
        );
    let (contours, phase) = match row.show(ui) {
        Some(Change::Value(every, phase)) => (Some(every), phase),
        Some(Change::Toggled(on)) => (on.then_some(EVERY), Phase::Done),
        None => return,
    };
    let settings = settings.clone();
    set(
        PathwaySettings {
            contours,
            ..settings
        },
        phase,
    );
}

/// The cost as a cloud, the pathway as a surface, both or neither; and the cloud's curve.
pub fn in_scene(ui: &mut Ui, state: &State, memory: &mut Memory, set: &mut OnChange) {
    if !folded(ui, IN_SCENE, memory) {
        return;
    }
    let settings = &state.document.pathways;
    let now = SHAPES
        .iter()
        .position(|(_, kind)| *kind == (settings.cloud, settings.surface));
    let help = "The cost u₁ + u₂ as a cloud, the pathway of width ε as a surface";
    let shown = SHAPES[now.unwrap_or(0)].0;
    let chosen = select_row(ui, "Shown as", help, shown, |ui| {
        let mut chosen = None;
        for (i, (name, kind)) in SHAPES.into_iter().enumerate() {
            if menu::Item::new(name).chosen(now == Some(i)).show(ui) {
                chosen = Some(kind);
            }
        }
        chosen
    });
    if let Some((cloud, surface)) = chosen {
        let settings = settings.clone();
        set(
            PathwaySettings {
                cloud,
                surface,
                ..settings
            },
            Phase::Done,
        );
    }
    let kept = state.document.kept_pathways.iter().any(|k| k.visible);
    if (settings.cloud || settings.surface || kept)
        && let Some(cut) = cut_row(ui, state, settings.cut)
    {
        let settings = settings.clone();
        set(PathwaySettings { cut, ..settings }, Phase::Done);
    }
    let Some(live) = scene::pathways::live_with_cost(state).filter(|_| settings.cloud) else {
        return;
    };
    let preset = curve_row(ui, Transfer::cost_presets(), &settings.transfer);
    let editor = TransferEditor {
        name: "Opacity by excess cost",
        axis: "above E*",
        transfer: &settings.transfer,
        counts: memory
            .caches
            .counted
            .get(&live.excess, 0, (0.0, settings.range)),
        range: (0.0, f64::from(settings.range) * 100.0),
        unit: "%",
    };
    let preset = preset.map(|transfer| (transfer, Phase::Done));
    if let Some((transfer, phase)) = editor.show(ui).or(preset) {
        let settings = settings.clone();
        set(
            PathwaySettings {
                transfer,
                ..settings
            },
            phase,
        );
    }
}

/// Cloud and surface of the live pathway, by name.
pub const SHAPES: [(&str, (bool, bool)); 4] = [
    ("Cloud", (true, false)),
    ("Surface", (false, true)),
    ("Cloud and surface", (true, true)),
    ("Off", (false, false)),
];
