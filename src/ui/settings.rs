//! Settings for all documents: appearance, mouse, the device and memory of jobs, and the defaults of streamlines.

use super::dialogs::unsaved_changes;
use super::forms::curve_parameters::{self, DEFAULTS_STAND};
use super::forms::display::{segment_row, select_row};
use super::theme::{self, size};
use super::widgets::button::IconButton;
use super::widgets::slider::{Change, SliderRow};
use super::widgets::{rows, section};
use super::{Memory, devices, icons};
use crate::solvers::curves::SeedingKind;
use crate::state::settings::Paths;
use crate::state::{
    Action, Convention, DeviceAction, LinkAction, Mouse, Preferences, State, ViewAction,
};
use egui::{Key, ScrollArea, Ui};

const WIDTH: f32 = 460.0;
/// Height of all rows.
const CONTENTS: f32 = 580.0;
/// Initial memory limit when it is switched on, GB.
const DEFAULT_GB: f64 = 8.0;

pub fn show(ui: &Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    if !memory.settings {
        return;
    }
    let height = ui.max_rect().height() - 180.0;
    let mut closes = false;
    let ground = theme::palette(ui.style()).b1;
    let close = unsaved_changes::modal_on(ui, "settings", WIDTH, ground, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let (rect, _) = ui.allocate_exact_size(egui::vec2(WIDTH, 26.0), egui::Sense::hover());
        let p = theme::palette(ui.style());
        let title = theme::semibold(size::BODY);
        // Aligned with the titles of the blocks, which have an inset of their own.
        let place = super::widgets::paint::inset(rect, theme::space::INSET, 0.0);
        super::widgets::paint::left(ui.painter(), place, "Settings", title, p.t1);
        let cross = IconButton::new(icons::CLOSE, "Close settings").hint("Close (Esc)");
        closes = cross.show_right(ui, rect).clicked();
        ScrollArea::vertical()
            .max_height(height)
            // A new window is low: the sheet opens as high as its content requires.
            .min_scrolled_height(height.min(CONTENTS))
            .show(ui, |ui| contents(ui, state, actions));
    });
    let typing = ui.ctx().text_edit_focused();
    let escape = ui.input(|i| i.key_pressed(Key::Escape));
    if closes || (close && !(typing && escape)) {
        memory.settings = false;
    }
}

/// Stores the interface size, however it was changed.
pub fn follow_size(ui: &Ui, state: &State, actions: &mut Vec<Action>) {
    let (now, settings) = (ui.ctx().zoom_factor(), &state.runtime.settings);
    if now != settings.zoom.unwrap_or(1.0) {
        actions.push(Action::Set(Preferences {
            zoom: Some(now),
            ..settings.clone()
        }));
    }
}

fn contents(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let now = &state.runtime.settings;
    let mut changed = now.clone();
    section::head(ui, "Window");
    let text = ["Dark", "Light"];
    let light = usize::from(state.view.light_theme);
    let help = "Colours of the whole window except the images";
    if let Some(i) = segment_row(ui, "Theme", help, &text, light)
        && i != light
    {
        actions.push(Action::View(ViewAction::ToggleTheme));
    }
    scale(ui);
    let sides = [Convention::Radiological, Convention::Neurological];
    let side = sides.iter().position(|c| *c == now.convention).unwrap_or(0);
    let help = "Radiological: the patient's right on the left of the screen. Every window starts with this; R \
                switches the current one";
    if let Some(i) = segment_row(
        ui,
        "Left and right",
        help,
        &sides.map(Convention::name),
        side,
    ) {
        changed.convention = sides[i];
    }
    let linked = usize::from(state.crosshair_link.is_on);
    let help = "Linked: shares its position, in mm of the scanner, with the other windows in which it is linked. Applies to \
                this window until it is closed";
    if let Some(i) = segment_row(ui, "Crosshair", help, &["Own", "Linked"], linked)
        && i != linked
    {
        actions.push(Action::Link(LinkAction::Link(i == 1)));
    }
    mouse(ui, now, &mut changed);
    section::end(ui);
    section::head(ui, "Computing");
    let help = "Where tracking and rays run, in this window and new ones";
    let backend = state.runtime.device.backend.label.as_str();
    let chosen = select_row(ui, "Runs on", help, backend, |ui| {
        devices::choice(ui, state)
    });
    actions.extend(chosen.map(|kind| Action::Device(DeviceAction::Choose(kind))));
    limit(ui, now, &mut changed);
    section::end(ui);
    let place = section::head(ui, "Defaults for new documents");
    let default_value = Paths::default();
    let reset = IconButton::new(icons::RESET, "Reset to defaults").side(24.0);
    let same = now.paths == default_value;
    let reset = reset.disabled(same.then_some(DEFAULTS_STAND));
    if reset.show_right(ui, place).clicked() {
        changed.paths = default_value.clone();
    }
    paths(ui, &now.paths, &default_value, &mut changed.paths);
    let hint = match state.document.is_empty() {
        true => "Step and length also apply to rays",
        false => "Step and length also apply to rays. The current document keeps its own",
    };
    ui.add_space(4.0);
    rows::hint(ui, hint);
    ui.add_space(8.0);
    if changed != *now {
        actions.push(Action::Set(changed));
    }
}

/// Interface size: the window stores it, as after Ctrl + plus and minus.
fn scale(ui: &mut Ui) {
    const FACTORS: [f32; 5] = [0.8, 1.0, 1.25, 1.5, 2.0];
    let text = ["80 %", "100 %", "125 %", "150 %", "200 %"];
    let now = ui.ctx().zoom_factor();
    let at = FACTORS.iter().position(|f| (f - now).abs() < 0.01);
    let help = "Scale of the whole window; Ctrl + plus and minus change it in smaller steps";
    if let Some(i) = segment_row(ui, "Interface size", help, &text, at.unwrap_or(usize::MAX)) {
        ui.ctx().set_zoom_factor(FACTORS[i]);
    }
}

fn mouse(ui: &mut Ui, now: &Preferences, changed: &mut Preferences) {
    let help = "Mouse actions on slices";
    let names = Mouse::ALL.map(Mouse::name);
    let at = Mouse::ALL.iter().position(|m| *m == now.mouse).unwrap_or(0);
    if let Some(i) = segment_row(ui, "Mouse buttons like", help, &names, at) {
        changed.mouse = Mouse::ALL[i];
    }
    rows::hint(
        ui,
        match now.mouse {
            Mouse::Arcuate => "Left: crosshair. Right: window and level. Middle: pan",
            Mouse::ItkSnap => {
                "Left: crosshair. Right: zoom. Ctrl + right: window and level. Middle: pan"
            }
            Mouse::Slicer => "Left: window and level; a click: crosshair. Right: zoom. Middle: pan",
        },
    );
}

fn limit(ui: &mut Ui, now: &Preferences, changed: &mut Preferences) {
    let gb = now.memory_gb.unwrap_or(DEFAULT_GB);
    let row = SliderRow::new("Memory", gb, Preferences::MINIMUM_GB..=64.0)
        .decimals(0)
        .default(DEFAULT_GB)
        .limits(Preferences::MINIMUM_GB..=4096.0)
        .unit("GB")
        .switch(now.memory_gb.is_some(), "off: no limit")
        .help("Files and jobs that would exceed it are refused with a message");
    match row.show(ui) {
        Some(Change::Value(gb, _)) => changed.memory_gb = Some(gb),
        Some(Change::Toggled(on)) => changed.memory_gb = on.then_some(DEFAULT_GB),
        None => {}
    }
}

fn paths(ui: &mut Ui, now: &Paths, default_value: &Paths, changed: &mut Paths) {
    let (now, default_value) = (now.params(), default_value.params());
    let set: &mut curve_parameters::OnChange = &mut |params, _| *changed = Paths::from(&params);
    curve_parameters::seeding(ui, &now, SeedingKind::Random.key(), set);
    curve_parameters::step(ui, &now, &default_value, set);
    curve_parameters::angle(ui, &now, &default_value, set);
    curve_parameters::fa(ui, &now, &default_value, "off: paths cross low FA", set);
    curve_parameters::length(ui, &now, &default_value, set);
}

/// Opens the sheet, with the available graphics cards.
pub fn open(memory: &mut Memory, actions: &mut Vec<Action>) {
    memory.settings = true;
    actions.push(Action::Device(DeviceAction::FindCards));
}
