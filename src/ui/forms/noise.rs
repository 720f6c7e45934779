//! Parts that the noise of pathways and that of streamlines share: the table of levels, the object whose distance is
//! measured, the margin, the plot.

pub mod plot;

use super::display::{colour_of, select_row};
use super::parameters::{self, Shown};
use crate::data::appearance::ColourMap;
use crate::data::statistics::wilson_interval;
use crate::parameters::Parameters as _;
use crate::state::pathways::{
    DISTANCE_TO, DistanceTarget, Level, NoiseDistances, NoiseFile, NoiseMargin,
};
use crate::state::{CommandLine, Content, Phase, Severity, State};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{Button, IconButton, checkbox};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::slider::{Columns, help_over};
use crate::ui::widgets::{menu, paint, rows};
use crate::ui::{format, icons, panels};
use egui::{Rect, Role as Spoken, Sense, Ui, WidgetInfo, pos2, vec2};

/// Title of the section.
pub const NAME: &str = "Noise";
/// The button after work that failed or was stopped.
const CONTINUE: &str = "Continue";
/// Widths of the columns volume and nearest distance, from the right.
const COLUMNS: [f32; 2] = [66.0, 62.0];
const SWATCH: f32 = 16.0;
const ROW: f32 = 22.0;

/// A switch with its help.
pub fn check(ui: &mut Ui, name: &str, help: &str, is_on: bool, set: impl FnOnce(bool)) {
    let columns = Columns::allocate(ui);
    let place = columns.label.union(columns.wide);
    if let Some(is_on) = checkbox(ui, place, name, is_on) {
        set(is_on);
    }
    help_over(ui, place, name, help);
}

/// Why something is not computed, and a button that requests it again; returns whether it was pressed.
pub fn continue_note(ui: &mut Ui, why: &str) -> bool {
    let p = theme::palette(ui.style());
    let note = Note::new(p, Severity::Information, why).action(CONTINUE);
    note.show(ui) == Some(NoteResponse::Accepted)
}

/// `± 7 percentage points`: how well shares of so many repetitions are known.
pub fn known_within(repetitions: usize) -> String {
    let points = format::fixed(100.0 * half_width(repetitions), 0);
    format::with_unit(&format!("± {points}"), "percentage points")
}

/// Half the width of the 95 % confidence interval of a share of one half.
fn half_width(repetitions: usize) -> f64 {
    let [low, high] = wilson_interval(repetitions / 2, repetitions);
    0.5 * (high - low)
}

/// A share in whole percent.
pub fn percent(share: f64) -> String {
    format::with_unit(&format::fixed(100.0 * share, 0), "%")
}

/// Volumes and nearest distances of three shares; `help` explains the voxels.
pub fn levels(ui: &mut Ui, levels: &[Level], measured: Option<&NoiseDistances>, help: &str) {
    level_row(ui, None, ["In at least", "Volume", "Nearest"], help);
    for (i, level) in levels.iter().enumerate() {
        let name = format!("{} of repetitions", percent(level.share));
        let volume = format::ml(level.volume_ml, 2);
        let from_mask = measured.and_then(|measured| measured.levels.get(i));
        let nearest = from_mask.map_or_else(|| "–".to_owned(), nearest);
        let [name, volume, nearest] = [&name, &volume, &nearest].map(String::as_str);
        level_row(ui, Some(level.share), [name, volume, nearest], help);
    }
    if measured.is_some() {
        rows::hint(
            ui,
            "Nearest is the distance of the voxels of each share; the plot below gives that of the lines within them",
        );
    }
}

/// The distance between a mask and the voxels of a level, rounded down.
fn nearest(level: &Level) -> String {
    match level.from_mask {
        None => "–".to_owned(),
        Some(mask) if mask.shared_ml > 0.0 => "overlaps".to_owned(),
        Some(mask) if mask.nearest_mm <= 0.0 => "touches".to_owned(),
        Some(mask) => format::distance_text(mask.nearest_mm),
    }
}

/// How much of the mask the widest of the levels shares with it; `which` and `target` name the two.
pub fn overlap(measured: &NoiseDistances, which: &str, target: &str) -> Option<String> {
    let mut levels = measured.levels.iter().rev();
    let (level, mask) = levels.find_map(|level| {
        let mask = level.from_mask.filter(|mask| mask.shared_ml > 0.0)?;
        Some((level, mask))
    })?;
    Some(format!(
        "In at least {} of the repetitions, {which} and “{target}” overlap in {}",
        percent(level.share),
        format::ml(mask.shared_ml, 2)
    ))
}

/// A row of the table; `None`: its head.
fn level_row(ui: &mut Ui, share: Option<f64>, [name, volume, nearest]: [&str; 3], help: &str) {
    let p = theme::palette(ui.style());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let painter = ui.painter();
    let (font, ink) = match share {
        Some(_) => (theme::medium(size::LABEL), p.t1),
        None => (theme::regular(size::CAPTION), p.t3),
    };
    if let Some(share) = share {
        let centre = pos2(inner.left() + 6.0, inner.center().y);
        let swatch = Rect::from_center_size(centre, vec2(10.0, 10.0));
        painter.rect_filled(swatch, 2.0, colour_of(ColourMap::Share, share as f32));
    }
    let mut right = inner.right();
    for (text, width) in [nearest, volume].into_iter().zip(COLUMNS) {
        let place = Rect::from_min_max(
            pos2(right - width, inner.top()),
            pos2(right, inner.bottom()),
        );
        paint::right(painter, place, text, font.clone(), ink);
        right -= width;
    }
    let room = paint::inset(inner, SWATCH, 0.0).with_max_x(right - 4.0);
    let name_font = match share {
        Some(_) => theme::regular(size::LABEL),
        None => font,
    };
    let name_ink = if share.is_some() { p.t2 } else { p.t3 };
    paint::name(painter, room, name, name_font, name_ink);
    let spoken = match share {
        Some(_) => format!("In at least {name}: {volume}, {nearest}"),
        None => format!("{name}: {volume}, {nearest}"),
    };
    response.widget_info(|| WidgetInfo::labeled(Spoken::Label, true, &spoken));
    response.on_hover_text(help);
}

/// The choice of the object whose distance is measured: the surface of Segment, or a mask layer.
pub fn target_row(
    ui: &mut Ui,
    state: &State,
    now: DistanceTarget,
    help: &str,
) -> Option<DistanceTarget> {
    let name = state.target_name(now);
    let shown = match name.as_str() {
        "" => "deleted: choose another",
        name => name,
    };
    select_row(ui, DISTANCE_TO, help, shown, |ui| {
        let mut chosen = None;
        let layers = state.document.layers.iter().rev();
        let masks = layers.filter(|layer| matches!(layer.content, Content::Mask(_)));
        let masks = masks.map(|layer| DistanceTarget::Layer(layer.id));
        for target in std::iter::once(DistanceTarget::Surface).chain(masks) {
            let name = state.target_name(target);
            if menu::Item::new(&name).chosen(target == now).show(ui) {
                chosen = Some(target);
            }
        }
        chosen
    })
}

/// The margin of the plot.
pub fn margin(ui: &mut Ui, mm: f64, mut set: impl FnMut(f64, Phase)) {
    let key = NoiseMargin::TABLE[0].key;
    let defaults = NoiseMargin::defaults();
    let set: &mut parameters::OnChange<NoiseMargin> =
        &mut |margin: NoiseMargin, phase| set(margin.mm, phase);
    parameters::number(
        ui,
        &NoiseMargin { mm },
        &defaults,
        key,
        Shown::default(),
        set,
    );
}

/// The buttons that keep, export and copy repetitions.
#[derive(Clone, Debug)]
pub struct Buttons<'a> {
    /// Why nothing can be kept or exported; `None` if it can.
    pub why: Option<&'a str>,
    pub has_distances: bool,
    /// The command of the repetitions, or why there is none.
    pub line: Option<CommandLine>,
    pub no_line: &'a str,
    /// The label of a file in the menu.
    pub file_label: fn(NoiseFile) -> &'static str,
}

/// The choice of the user.
#[derive(Clone, Debug)]
pub enum Pressed {
    Keep,
    Export(NoiseFile),
    Copy(Box<CommandLine>),
}

impl Buttons<'_> {
    pub fn show(self, ui: &mut Ui) -> Option<Pressed> {
        let height = space::BUTTON + 10.0;
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
        let place = paint::inset(rect, space::INSET, space::INSET);
        let place = Rect::from_min_size(
            place.min + vec2(0.0, 4.0),
            vec2(place.width(), space::BUTTON),
        );
        let why = self.why;
        let all = vec![
            Button::plain("Keep share").icon(icons::PLUS).disabled(why),
            Button::plain("Export noise…")
                .icon(icons::EXPORT)
                .disabled(why),
        ];
        let (responses, end) = panels::button_row(ui, place, all);
        let mut pressed = responses[0].clicked().then_some(Pressed::Keep);
        if why.is_none() {
            let files = |ui: &mut Ui| {
                let files = NoiseFile::ALL.into_iter();
                let files =
                    files.filter(|file| self.has_distances || *file != NoiseFile::Distances);
                menu::choice(ui, files.collect::<Vec<_>>(), |file| {
                    (self.file_label)(*file)
                })
            };
            let file = menu::popup(&responses[1], 220.0, files);
            pressed = pressed.or(file.map(Pressed::Export));
        }
        let terminal = Rect::from_min_size(
            pos2(end + 2.0, place.top()),
            vec2(space::BUTTON, space::BUTTON),
        );
        let no_line = why.unwrap_or(self.no_line);
        let copy = IconButton::new(icons::TERMINAL, "Copy the repetitions as command")
            .disabled(self.line.is_none().then_some(no_line))
            .show_at(ui, terminal);
        let line = self.line.filter(|_| copy.clicked());
        pressed.or(line.map(|line| Pressed::Copy(Box::new(line))))
    }
}
