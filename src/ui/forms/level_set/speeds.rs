//! Other terms that move the surface, and their display.

use super::act;
use crate::data::region::RegionId;
use crate::solvers::level_set::Params;
use crate::state::segment::{SegmentAction, SegmentSettings, scalar};
use crate::state::{Action, Phase, State};
use crate::ui::forms::display::select_row;
use crate::ui::forms::parameters::{self, Rows, Shown};
use crate::ui::forms::volume::fade_row;
use crate::ui::widgets::button::checkbox;
use crate::ui::widgets::slider::{Change, Columns, SliderRow, help_over};
use crate::ui::widgets::{menu, section};
use crate::ui::{Memory, icons};
use egui::Ui;

const SPEEDS: &str = "More forces";
const DISPLAY: &str = "Display and stepping";

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, SPEEDS, memory.is_open(SPEEDS, false));
    if clicked {
        memory.toggle(SPEEDS);
    }
    if open {
        speeds(ui, state, actions);
    }
    let (open, clicked) = section::fold(ui, DISPLAY, memory.is_open(DISPLAY, false));
    if clicked {
        memory.toggle(DISPLAY);
    }
    if open {
        display(ui, state, actions);
    }
}

/// Parameters with a row elsewhere; all others come last.
const PLACED: &[&str] = &[
    "smoothness",
    "intensity",
    "region",
    "edge",
    "edge-contrast",
    "layer-weight",
    "bias",
];

fn speeds(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let settings = &state.document.segment.settings;
    let params = &settings.params;
    let defaults = Params::defaults_for(params.target, params.tolerance);
    let contrast = contrast(state);
    let mut chosen: Option<(Params, Phase)> = None;
    let set: &mut parameters::OnChange<Params> = &mut |changed, phase| {
        // The first positive weight sets a contrast that suits the image.
        let first = params.edge == 0.0 && changed.edge > 0.0;
        let edge_contrast = if first {
            0.1 * contrast
        } else {
            changed.edge_contrast
        };
        let changed = Params {
            edge_contrast,
            ..changed
        };
        chosen = Some((changed, phase));
    };
    let rows = |ui: &mut Ui, rows: Rows, set: &mut parameters::OnChange<Params>| {
        parameters::rows(ui, params, &defaults, rows, set);
    };
    rows(ui, Rows::Only(&["intensity", "region", "edge"]), set);
    let shown = Shown {
        range: Some(f64::from(contrast) * 1e-3..=f64::from(contrast)),
        ..Shown::default()
    };
    parameters::number(ui, params, &defaults, "edge-contrast", shown, set);
    layer(ui, state, actions);
    rows(ui, Rows::Only(&["layer-weight"]), set);
    painted(ui, state, actions);
    rows(ui, Rows::Only(&["bias"]), set);
    rows(ui, Rows::AllBut(PLACED), set);
    if let Some((params, phase)) = chosen {
        let settings = SegmentSettings {
            params,
            ..settings.clone()
        };
        act(actions, SegmentAction::Set { settings, phase });
    }
}

/// Width of the image's display window, above 0.
fn contrast(state: &State) -> f32 {
    let image = state.document.segmented_image();
    let (low, high) = image.map_or((0.0, 1.0), |(l, _)| l.display.window);
    (high - low).abs().max(1e-6)
}

/// An image that serves as a speed: FA, a cost, a probability.
fn layer(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let now = document.segment.layer.and_then(|id| document.layer(id));
    let help = "Another image whose values act as a speed: FA, a cost, a probability";
    let shown = now.map_or("none", |l| &l.name);
    let chosen = select_row(ui, "Speed image", help, shown, |ui| {
        let mut chosen = None;
        if menu::Item::new("none").chosen(now.is_none()).show(ui) {
            chosen = Some(None);
        }
        for layer in document.layers.iter().rev().filter(|l| scalar(l).is_some()) {
            let is_now = now.is_some_and(|l| l.id == layer.id);
            if menu::Item::new(&layer.name)
                .icon(icons::IMAGE)
                .chosen(is_now)
                .show(ui)
            {
                chosen = Some(Some(layer.id));
            }
        }
        chosen
    });
    if let Some(layer) = chosen {
        act(actions, SegmentAction::SpeedLayer(layer));
    }
}

/// Regions, painted with the brush or of any other kind, that attract or repel the surface.
fn painted(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let rows = [
        (
            "Grow in",
            "Region that draws the surface outwards: paint one with B",
        ),
        (
            "Keep out of",
            "Region that keeps the surface out: paint one with B",
        ),
    ];
    for (which, (name, help)) in rows.into_iter().enumerate() {
        let now: Option<RegionId> = document.segment.painted[which];
        let region = now.and_then(|id| document.region(id));
        let shown = region.map_or("none", |r| &r.name);
        let chosen = select_row(ui, name, help, shown, |ui| {
            let mut chosen = None;
            if menu::Item::new("none").chosen(region.is_none()).show(ui) {
                chosen = Some(None);
            }
            for region in &document.regions {
                let item = menu::Item::new(&region.name).icon(icons::REGION);
                if item.chosen(now == Some(region.id)).show(ui) {
                    chosen = Some(Some(region.id));
                }
            }
            chosen
        });
        if let Some(region) = chosen {
            act(actions, SegmentAction::Painted(which, region));
        }
    }
}

fn display(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let settings = &state.document.segment.settings;
    let mut chosen: Option<(SegmentSettings, Phase)> = None;
    let percent = f64::from(settings.speed_opacity) * 100.0;
    let row = SliderRow::new("Speed overlay", percent, 0.0..=60.0)
        .decimals(0)
        .default(f64::from(SegmentSettings::defaults().speed_opacity) * 100.0)
        .limits(0.0..=100.0)
        .unit("%")
        .help("Blue grows, black shrinks; the layout Image beside speed shows it on its own");
    if let Some((percent, phase)) = row.value(ui) {
        let speed_opacity = (percent / 100.0) as f32;
        chosen = Some((
            SegmentSettings {
                speed_opacity,
                ..settings.clone()
            },
            phase,
        ));
    }
    const SLOW: u64 = 10;
    let row = SliderRow::new(
        "Steps per frame",
        settings.steps_per_update.unwrap_or(SLOW) as f64,
        1.0..=500.0,
    )
    .logarithmic()
    .whole()
    .default(SLOW as f64)
    .limits(1.0..=1e6)
    .switch(settings.steps_per_update.is_some(), "auto")
    .help("A fixed number slows the surface down so that you can watch it; otherwise as many as time allows");
    let pace = match row.show(ui) {
        Some(Change::Value(n, phase)) => Some((Some(n as u64), phase)),
        Some(Change::Toggled(on)) => Some((on.then_some(SLOW), Phase::Done)),
        None => None,
    };
    if let Some((pace, phase)) = pace {
        chosen = Some((
            SegmentSettings {
                steps_per_update: pace,
                ..settings.clone()
            },
            phase,
        ));
    }
    let help = "Distance from the cut of the image at which the surface fades out";
    if let Some((fade_mm, phase)) = fade_row(ui, "Fade near the cut", help, settings.fade_mm) {
        chosen = Some((
            SegmentSettings {
                fade_mm,
                ..settings.clone()
            },
            phase,
        ));
    }
    let mut check = |ui: &mut Ui,
                     (name, help): (&str, &str),
                     on: bool,
                     with: &dyn Fn(bool) -> SegmentSettings| {
        let columns = Columns::allocate(ui);
        let place = columns.label.union(columns.wide);
        if let Some(on) = checkbox(ui, place, name, on) {
            chosen = Some((with(on), Phase::Done));
        }
        help_over(ui, place, name, help);
    };
    let base = || settings.clone();
    let leaks = "Pauses the run when the surface reaches the background or its volume multiplies";
    check(
        ui,
        ("Pause at leaks", leaks),
        settings.watched,
        &|watched| SegmentSettings { watched, ..base() },
    );
    check(
        ui,
        (
            "Dim the volume outside the surface",
            "Draws the clouds in 3-D more faintly outside the surface",
        ),
        settings.dims,
        &|dims| SegmentSettings { dims, ..base() },
    );
    check(
        ui,
        (
            "Sampling sets the opacity curve",
            "The cloud of the image in 3-D then shows the values between T − ε and T + ε",
        ),
        settings.curve,
        &|curve| SegmentSettings { curve, ..base() },
    );
    if let Some((settings, phase)) = chosen {
        act(actions, SegmentAction::Set { settings, phase });
    }
}
