//! The device that solvers run on: the last entry of the status bar, and its menu.

use super::theme::{self, radius, size};
use super::widgets::{focus, menu, paint};
use super::{format, icons};
use crate::data::text::capitalised;
use crate::state::{Action, BackendKind, DeviceAction, DeviceChoice, State};
use egui::{Rect, Sense, Stroke, Ui, pos2};

const MENU: f32 = 320.0;

/// The device, always shown; a click opens the choice. Returns its left edge.
pub fn show(
    ui: &mut Ui,
    inner: Rect,
    state: &State,
    narrow: bool,
    actions: &mut Vec<Action>,
) -> f32 {
    let p = theme::palette(ui.style());
    let (kind, detail) = state
        .runtime
        .device
        .backend
        .label
        .split_once(' ')
        .unwrap_or((&state.runtime.device.backend.label, ""));
    let detail = if narrow {
        detail.split(" · ").next().unwrap_or(detail)
    } else {
        detail
    };
    let detail = format!("  {detail}");
    let spans = [
        (kind, theme::semibold(size::LABEL), p.t1),
        (&*detail, theme::regular(size::LABEL), p.t2),
    ];
    let wide: f32 = spans
        .iter()
        .map(|(text, font, _)| paint::width(ui, text, font.clone()))
        .sum();
    let start = inner.right() - wide - 22.0;
    let whole = Rect::from_min_max(
        pos2(start - 6.0, inner.top() + 3.0),
        pos2(inner.right() + 6.0, inner.bottom() - 2.0),
    );
    let response = ui.interact(whole, ui.make_persistent_id("backend"), Sense::click());
    if response.hovered()
        || egui::Popup::is_id_open(ui.ctx(), egui::Popup::default_response_id(&response))
    {
        ui.painter().rect_filled(whole, radius::CHIP, p.b3);
    }
    let painter = ui.painter();
    paint::spans(painter, inner, egui::Align2::RIGHT_CENTER, &spans);
    let icon = if state.runtime.is_on_card() {
        icons::GPU
    } else {
        icons::CPU
    };
    let at = pos2(start + 8.0, inner.center().y);
    paint::icon(painter, at, icon, size::ICON, p.t2);
    paint::focus_ring(painter, p, &response, whole, radius::CHIP);
    let name = format!("Backend: {}", state.runtime.device.backend.label);
    focus::named_button(&response, &name);
    if response.clicked() {
        actions.push(Action::Device(DeviceAction::FindCards));
    }
    if let Some(kind) = menu::popup(&response, MENU, |ui| choice(ui, state)) {
        actions.push(Action::Device(DeviceAction::Choose(kind)));
    }
    let (place, why) = (
        &state.runtime.device.backend.label,
        &state.runtime.device.backend.reason,
    );
    response.on_hover_text(format!("Computed here: {place}\n{why}").trim_end());
    let x = (start - 12.0).round() + 0.5;
    ui.painter().vline(
        x,
        inner.top() + 5.0..=inner.bottom() - 4.0,
        Stroke::new(1.0, p.line),
    );
    x
}

/// Why this device was chosen, what took how long, and the alternatives.
pub fn choice(ui: &mut Ui, state: &State) -> Option<BackendKind> {
    let runtime = &state.runtime;
    for sentence in [runtime.device.backend.reason.clone(), timings(state)] {
        if !sentence.is_empty() {
            menu::text(ui, &sentence);
        }
    }
    menu::line(ui);
    let now = match runtime.device.kind {
        BackendKind::Cuda(DeviceChoice::First) => BackendKind::Cuda(DeviceChoice::Number(0)),
        kind => kind,
    };
    let mut chosen = None;
    let mut row = |ui: &mut Ui, text: &str, icon: &str, fact: &str, kind: BackendKind| {
        let item = menu::Item::new(text).icon(icon).key(fact);
        if item.chosen(kind == now).show(ui) {
            chosen = Some(kind);
        }
    };
    let fact = "a graphics card, else the CPU";
    row(ui, "Automatic", icons::COMPASS, fact, BackendKind::Auto);
    row(ui, "CPU", icons::CPU, "", BackendKind::Cpu);
    match &runtime.device.cards {
        None => menu::text(ui, "Looking for graphics cards"),
        // The reason is already shown above.
        Some(Err(error)) if runtime.device.backend.no_card.as_ref() == Some(error) => {}
        Some(Err(error)) => {
            let why = error.problem();
            menu::text(ui, &capitalised(&why));
        }
        Some(Ok(names)) => {
            for (i, name) in names.iter().enumerate() {
                let kind = BackendKind::Cuda(DeviceChoice::Number(i));
                row(ui, name, icons::GPU, &kind.to_string(), kind);
            }
            if names.len() > 1 {
                let kind = BackendKind::Cuda(DeviceChoice::LeastUsed);
                row(ui, "Least used card", icons::GPU, &kind.to_string(), kind);
                let kind = BackendKind::Cuda(DeviceChoice::All);
                let text = format!("All {} cards", names.len());
                row(ui, &text, icons::GPU, &kind.to_string(), kind);
            }
        }
    }
    chosen
}

/// `Fit 0.43 s · rays 18 ms`.
fn timings(state: &State) -> String {
    let fit = state.document.tensors.as_ref();
    let fit = fit.map(|t| format!("fit {}", format::duration_text(t.wall_ms)));
    let live = state.runtime.track.live.value().map(|live| {
        let what = match live.rays {
            Some(_) => "rays",
            None => "streamlines",
        };
        format!("{what} {}", format::duration_text(live.wall_ms))
    });
    let all: Vec<String> = fit.into_iter().chain(live).collect();
    if all.is_empty() {
        return String::new();
    }
    format!("Last: {}", all.join(" · "))
}
