//! What else moves the surface, and how it is shown.

use super::act;
use crate::data::region::RegionId;
use crate::solvers::level_set;
use crate::solvers::level_set::{Edge, Mode, Params};
use crate::state::segment::{SegmentAction, Settings, scalar};
use crate::state::{Action, Phase, State};
use crate::ui::Memory;
use crate::ui::forms::display::{segment_row, select_row};
use crate::ui::forms::volume::fade_row;
use crate::ui::icons;
use crate::ui::widgets::button::checkbox;
use crate::ui::widgets::slider::{Change, Columns, SliderRow};
use crate::ui::widgets::{menu, section};
use egui::Ui;

const SPEEDS: &str = "Further speeds";
const DISPLAY: &str = "Display, steps";

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

type Change1<'a> = &'a mut dyn FnMut(Params, Phase);

fn weight(
    ui: &mut Ui,
    (name, help): (&str, &str),
    (now, usual): (f32, f32),
    most: f64,
    why: Option<&str>,
    set: impl FnOnce(f32, Phase),
) {
    let row = SliderRow::new(name, f64::from(now), 0.0..=most)
        .default(f64::from(usual))
        .limits(0.0..=10.0)
        .inactive(why)
        .help(help);
    if let Some((value, phase)) = row.value(ui) {
        set(value as f32, phase);
    }
}

fn speeds(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let settings = &state.document.segment.settings;
    let params = &settings.params;
    let usual = level_set::Params::defaults_for(params.target, params.tolerance);
    let paper = params.mode == Mode::Paper;
    let none = paper.then_some("not in Paper");
    let mut chosen: Option<(Params, Phase)> = None;
    let set: Change1 = &mut |params, phase| chosen = Some((params, phase));
    weight(
        ui,
        (
            "Intensity",
            "Weight of the value's own speed, the tent above",
        ),
        (params.intensity, usual.intensity),
        2.0,
        none,
        |intensity, phase| {
            set(
                Params {
                    intensity,
                    ..params.clone()
                },
                phase,
            )
        },
    );
    weight(
        ui,
        (
            "Region means",
            "Chan–Vese: grows where values are nearer to the mean inside than to that outside",
        ),
        (params.region, usual.region),
        2.0,
        none,
        |region, phase| {
            set(
                Params {
                    region,
                    ..params.clone()
                },
                phase,
            )
        },
    );
    let (low, high) = state
        .document
        .segmented_image()
        .map_or((0.0, 1.0), |(l, _)| l.display.window);
    let contrast = params
        .edge
        .map_or((high - low).abs().max(1e-6) * 0.1, |e| e.contrast);
    let edge = params.edge.map_or(0.0, |e| e.weight);
    weight(
        ui,
        (
            "Edge stopping",
            "Slows at edges and draws the surface onto them (geodesic active contour)",
        ),
        (edge, 0.0),
        1.0,
        none,
        |weight, phase| {
            let edge = (weight > 0.0).then_some(Edge {
                weight: weight.min(1.0),
                contrast,
            });
            set(
                Params {
                    edge,
                    ..params.clone()
                },
                phase,
            );
        },
    );
    if let Some(edge) = params.edge {
        let most = f64::from((high - low).abs().max(1e-6));
        let row = SliderRow::new(
            "Edge contrast",
            f64::from(edge.contrast),
            most * 1e-3..=most,
        )
        .logarithmic()
        .decimals(3)
        .limits(1e-9..=1e9)
        .unit("/mm")
        .inactive(none)
        .help("Gradient that half stops it");
        if let Some((contrast, phase)) = row.value(ui) {
            let edge = Some(Edge {
                contrast: contrast as f32,
                ..edge
            });
            set(
                Params {
                    edge,
                    ..params.clone()
                },
                phase,
            );
        }
    }
    layer(ui, state, actions);
    if let Some(own) = params
        .layer
        .filter(|_| state.document.segment.layer.is_some())
    {
        let row = SliderRow::new("Its weight", f64::from(own.weight), 0.0..=2.0)
            .default(1.0)
            .limits(-10.0..=10.0)
            .inactive(none)
            .help("Speed from its window's low end, inwards, to the high one, outwards; negative turns it");
        if let Some((weight, phase)) = row.value(ui) {
            let layer = Some(crate::solvers::level_set::LayerSpeed {
                weight: weight as f32,
                ..own
            });
            set(
                Params {
                    layer,
                    ..params.clone()
                },
                phase,
            );
        }
    }
    painted(ui, state, actions);
    if state.document.segment.painted.iter().any(Option::is_some) {
        weight(
            ui,
            (
                "Their speed",
                "Speed where it is painted; smoothness leaves it alone",
            ),
            (params.bias, usual.bias),
            2.0,
            none,
            |bias, phase| {
                set(
                    Params {
                        bias,
                        ..params.clone()
                    },
                    phase,
                )
            },
        );
    }
    weight(
        ui,
        ("Rescaling", "How fast φ is drawn back to a distance"),
        (params.rescaling, usual.rescaling),
        1.0,
        None,
        |rescaling, phase| {
            set(
                Params {
                    rescaling: rescaling.min(1.0),
                    ..params.clone()
                },
                phase,
            )
        },
    );
    let help = "Scaled: settings mean the same on every scan. Paper: Lefohn's discretisation and raw grey values, \
                to compare";
    if let Some(i) = segment_row(ui, "Units", help, &["Scaled", "Paper"], usize::from(paper)) {
        let mode = [Mode::Scaled, Mode::Paper][i];
        set(
            Params {
                mode,
                ..params.clone()
            },
            Phase::Done,
        );
    }
    if let Some((params, phase)) = chosen {
        let settings = Settings {
            params,
            ..settings.clone()
        };
        act(actions, SegmentAction::Set { settings, phase });
    }
}

/// An image whose values are a speed: FA, a cost, a probability.
fn layer(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let now = document.segment.layer.and_then(|id| document.layer(id));
    let help = "Another image whose values are a speed: FA, a cost, a probability";
    let shown = now.map_or("none", |l| &l.name);
    let chosen = select_row(ui, "Speed of layer", help, shown, |ui| {
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

/// Regions, painted with the brush or of any other kind, that draw the surface out or keep it off.
fn painted(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    let rows = [
        (
            "Grow in",
            "A region that draws the surface outwards: paint one with B",
        ),
        (
            "Keep out of",
            "A region that the surface is kept out of: paint one with B",
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
    let mut chosen: Option<(Settings, Phase)> = None;
    let percent = f64::from(settings.speed_opacity) * 100.0;
    let row = SliderRow::new("Speed overlay", percent, 0.0..=60.0)
        .decimals(0)
        .default(0.0)
        .limits(0.0..=100.0)
        .unit("%")
        .help("Blue grows, black shrinks; the layout Source beside speed shows it by itself");
    if let Some((percent, phase)) = row.value(ui) {
        let speed_opacity = (percent / 100.0) as f32;
        chosen = Some((
            Settings {
                speed_opacity,
                ..settings.clone()
            },
            phase,
        ));
    }
    const SLOW: u64 = 10;
    let row = SliderRow::new(
        "Steps a frame",
        settings.pace.unwrap_or(SLOW) as f64,
        1.0..=500.0,
    )
    .logarithmic()
    .whole()
    .default(SLOW as f64)
    .limits(1.0..=1e6)
    .switch(settings.pace.is_some(), "auto")
    .help("Slow it down to watch; else as many as there is time for");
    let pace = match row.show(ui) {
        Some(Change::To(n, phase)) => Some((Some(n as u64), phase)),
        Some(Change::Switched(on)) => Some((on.then_some(SLOW), Phase::Done)),
        None => None,
    };
    if let Some((pace, phase)) = pace {
        chosen = Some((
            Settings {
                pace,
                ..settings.clone()
            },
            phase,
        ));
    }
    let help = "How far from the cut of the image's volume the surface is seen";
    if let Some((fade_mm, phase)) = fade_row(ui, "Surface fades", help, settings.fade_mm) {
        chosen = Some((
            Settings {
                fade_mm,
                ..settings.clone()
            },
            phase,
        ));
    }
    let mut check = |ui: &mut Ui, name: &str, on: bool, with: &dyn Fn(bool) -> Settings| {
        let columns = Columns::allocate(ui);
        if let Some(on) = checkbox(ui, columns.label.union(columns.wide), name, on) {
            chosen = Some((with(on), Phase::Done));
        }
    };
    let base = || settings.clone();
    check(ui, "Pause at leaks", settings.watched, &|watched| {
        Settings { watched, ..base() }
    });
    check(
        ui,
        "Dim volumes outside the surface",
        settings.dims,
        &|dims| Settings { dims, ..base() },
    );
    check(
        ui,
        "Sampling sets the volume's curve",
        settings.curve,
        &|curve| Settings { curve, ..base() },
    );
    if let Some((settings, phase)) = chosen {
        act(actions, SegmentAction::Set { settings, phase });
    }
}
