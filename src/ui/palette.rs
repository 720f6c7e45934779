//! The command palette (Ctrl+K): every command, found by typing a part of its name.

mod entries;
mod layers;
mod pathways;
mod regions;
mod track_noise;

use super::files::{DialogPosition, PathPurpose, suggestion};
use super::theme::{self, size};
use super::widgets::paint;
use super::{Memory, forms, keys, regions as region_list};
use crate::data::region::RegionId;
use crate::guide::synonyms::Subject;
use crate::state::filter::FilterFile;
use crate::state::segment::SegmentFile;
use crate::state::{Action, Look, Pane, State, Task, ViewAction};
use egui::{
    Align2, Area, Event, Frame, Key, Margin, Modifiers, Order, Rect, Role, Sense, Stroke, TextEdit,
    Ui, WidgetInfo, pos2, vec2,
};
use entries::entries;

const WIDTH: f32 = 520.0;
const ROW: f32 = 28.0;
const FIELD: f32 = 32.0;
/// More rows are scrolled.
const ROWS: usize = 12;

/// The typed text and the chosen row.
#[derive(Clone, Default, Debug)]
pub struct Palette {
    text: String,
    chosen: usize,
    /// The first visible row.
    top: usize,
    /// Becomes true after the first frame.
    settled: bool,
    /// Keys and letters that were typed before it was first drawn.
    early: Vec<Event>,
}

impl Palette {
    /// A palette that still receives what was typed before it is drawn.
    pub(super) fn after(early: Vec<Event>) -> Self {
        Self {
            early,
            ..Self::default()
        }
    }
}

/// Takes the keys and letters that follow Ctrl+K in the frame that opens the palette: it receives them in the next frame,
/// in which it is drawn. Until then the widget with the keyboard would receive them.
pub(super) fn take_early(ui: &Ui) -> Vec<Event> {
    let opens = |event: &Event| match event {
        Event::Key {
            key: Key::K,
            pressed: true,
            repeat: false,
            modifiers,
            ..
        } => modifiers.command,
        _ => false,
    };
    let is_typed = |event: &Event| {
        let is_press = matches!(event, Event::Key { pressed: true, .. });
        is_press || matches!(event, Event::Text(_) | Event::Paste(_))
    };
    ui.input_mut(|i| {
        let Some(at) = i.events.iter().position(opens) else {
            return Vec::new();
        };
        let after = i.events.split_off(at + 1).into_iter();
        let (typed, others): (Vec<Event>, Vec<Event>) = after.partition(is_typed);
        i.events.extend(others);
        typed
    })
}

/// Returns what [`take_early`] took in the last frame if no palette opened: a field that an earlier key of that frame
/// opened receives it.
pub(super) fn return_early(ui: &Ui, typed: Vec<Event>) {
    ui.input_mut(|i| {
        i.events.splice(0..0, typed);
    });
}

/// The action of a row.
#[allow(
    clippy::large_enum_variant,
    reason = "a few dozen exist while the palette is open, so the size difference between variants is harmless"
)]
enum EntryAction {
    Act(Action),
    /// Acts as if the key were pressed: the action of a key is defined in one place.
    Press(Key, Modifiers),
    /// Makes a region.
    Threshold,
    /// Asks where to write a region, or all regions as one label map or as masks.
    Region(RegionId),
    Regions {
        as_labels: bool,
    },
    /// Asks where to write the surface, or a result of a fit.
    Segment(SegmentFile),
    Filter(FilterFile),
    /// Asks for a path to open.
    Path,
    Screenshot,
    /// Opens the angles of the slices.
    TurnSlices,
    /// Adds a clip to the 3-D view, and opens the block that lists clips.
    AddClip(forms::clips::NewClip),
    /// Asks where to write the report.
    Report,
    Protocol,
    Keys,
    /// A page of the guide.
    Help(&'static str),
}

struct Entry {
    name: String,
    /// Synonyms by which it is found.
    synonyms: &'static str,
    key: &'static str,
    run: EntryAction,
}

impl Entry {
    /// It is also found by the other names of its subject.
    fn about(&mut self, subject: Subject) {
        self.synonyms = subject.synonyms();
    }
}

/// How well a name matches the typed letters: all of them in their order; the more of them begin a word or follow the
/// letter before, the better. `None`: no match.
pub fn match_score(name: &str, typed: &str) -> Option<i32> {
    let lower = |text: &str| -> Vec<char> { text.chars().flat_map(char::to_lowercase).collect() };
    let (name, typed) = (lower(name), lower(typed));
    let requested: Vec<char> = typed.into_iter().filter(|c| !c.is_whitespace()).collect();
    if requested.len() > name.len() {
        return None;
    }
    let starts = |i: usize| i == 0 || !name[i - 1].is_alphanumeric();
    // The best score of the first letters of `requested` that ends at each letter of `name`.
    let mut best: Vec<Option<i32>> = Vec::new();
    for (n, &letter) in requested.iter().enumerate() {
        let mut so_far: Option<i32> = None;
        let next = (0..name.len()).map(|i| {
            let before = if n == 0 { Some(0) } else { so_far };
            let adjacent = match n {
                0 => None,
                _ => i
                    .checked_sub(1)
                    .and_then(|j| best[j])
                    .map(|score| score + 8),
            };
            if n > 0 {
                so_far = so_far.max(best[i]);
            }
            let here = before.max(adjacent)?;
            let place = if starts(i) { 6 } else { 0 };
            (name[i] == letter).then_some(here + 1 + place)
        });
        best = next.collect();
    }
    if requested.is_empty() {
        return Some(0);
    }
    // The shorter of two equal matches wins.
    let score = best.into_iter().flatten().max()?;
    Some(16 * score - (name.len() as i32).min(64))
}

/// The terms of a text, in lower-case letters.
fn terms_in(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}

/// Whether the name and the synonyms together contain all of these terms, in any order.
fn contains_all(entry: &Entry, terms: &[String]) -> bool {
    let (name, synonyms) = (entry.name.to_lowercase(), entry.synonyms.to_lowercase());
    let known = |word: &String| name.contains(word.as_str()) || synonyms.contains(word.as_str());
    terms.iter().all(known)
}

/// Matches the name, or else one of the synonyms, which rank below all names; or else each word for itself, which ranks
/// lowest. Pages of the guide rank below commands that match as well.
fn entry_score(entry: &Entry, typed: &str) -> Option<i32> {
    const ALSO: i32 = 64;
    let page = match entry.run {
        EntryAction::Help(_) => ALSO,
        _ => 0,
    };
    let also = |typed: &str| {
        let synonyms = entry.synonyms.split(", ").filter(|known| !known.is_empty());
        let scores = synonyms.filter_map(|synonym| match_score(synonym, typed));
        scores.max().map(|score| score - ALSO)
    };
    let best = |typed: &str| match_score(&entry.name, typed).or_else(|| also(typed));
    let by_terms = || {
        let terms = terms_in(typed);
        let lowest = terms.iter().map(|term| best(term)).min().flatten();
        lowest.filter(|_| contains_all(entry, &terms))
    };
    let score = best(typed).or_else(|| by_terms().map(|score| score - ALSO));
    score.map(|score| score - page)
}

/// The matches, best first.
fn matching_entries(state: &State, typed: &str) -> Vec<Entry> {
    let scored = entries(state).into_iter();
    let mut scored: Vec<(i32, Entry)> = scored
        .filter_map(|entry| Some((entry_score(&entry, typed)?, entry)))
        .collect();
    let terms = terms_in(typed);
    if !terms.is_empty() {
        // Scattered letters match only if no name or synonym contains the typed terms.
        let called = |entry: &Entry| contains_all(entry, &terms);
        if scored.iter().any(|(_, entry)| called(entry)) {
            scored.retain(|(_, entry)| called(entry));
        }
        scored.sort_by_key(|(score, _)| -score);
    }
    scored.into_iter().map(|(_, entry)| entry).collect()
}

/// Names and keys of all matches, as displayed.
pub fn names(state: &State, typed: &str) -> Vec<String> {
    matching_entries(state, typed)
        .into_iter()
        .map(|e| e.name)
        .collect()
}

pub fn show(ui: &Ui, window: Rect, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some(mut palette) = memory.palette.clone() else {
        return;
    };
    let p = theme::palette(ui.style());
    let early = std::mem::take(&mut palette.early);
    ui.input_mut(|i| {
        let now = std::mem::replace(&mut i.events, early);
        i.events.extend(now);
    });
    let (up, down, enter, escape) = ui.input(|i| {
        let pressed = |key| i.key_pressed(key);
        (
            pressed(Key::ArrowUp),
            pressed(Key::ArrowDown),
            pressed(Key::Enter),
            pressed(Key::Escape),
        )
    });
    let mut run = None;
    let mut rows = Vec::new();
    let area = Area::new(egui::Id::unique("palette"))
        .order(Order::Foreground)
        .anchor(Align2::CENTER_TOP, vec2(0.0, window.top() + 72.0))
        .constrain_to(window)
        .accessible_name("Commands");
    let response = area.show(ui.ctx(), |ui| {
        let frame = Frame::new()
            .fill(p.b2)
            .stroke(Stroke::new(1.0, p.line))
            .corner_radius(theme::radius::CARD)
            .inner_margin(Margin::same(8));
        frame.show(ui, |ui| {
            ui.set_width(WIDTH.min(window.width() - 40.0));
            // A slow frame may contain a whole word and its Enter: the typed text comes first.
            let before = palette.text.clone();
            field(ui, &mut palette);
            if !palette.settled && palette.text == before {
                palette.text += &first_letters(ui);
            }
            rows = matching_entries(state, &palette.text);
            let last = rows.len().saturating_sub(1);
            if down {
                palette.chosen = match palette.chosen < last {
                    true => palette.chosen + 1,
                    false => 0,
                };
            }
            if up {
                palette.chosen = palette.chosen.checked_sub(1).unwrap_or(last);
            }
            palette.chosen = palette.chosen.min(last);
            run = enter.then_some(palette.chosen);
            list(ui, &rows, &mut palette, &mut run);
        });
    });
    let outside = response.response.clicked_elsewhere() && palette.settled;
    palette.settled = true;
    memory.palette = (!escape && !outside && run.is_none()).then_some(palette);
    if memory.palette.is_none() {
        // The next key goes to the window.
        ui.memory_mut(|m| m.surrender_focus(field_id()));
    }
    if let Some(entry) = run.and_then(|i| rows.into_iter().nth(i)) {
        carry_out(ui, entry.run, state, memory, actions);
    }
}

fn field_id() -> egui::Id {
    egui::Id::unique("palette text")
}

/// Gives the keyboard focus to the palette before it is first shown; until then the focused widget would receive the
/// keys.
pub fn focus_field(ui: &Ui) {
    ui.memory_mut(|m| m.request_focus(field_id()));
}

/// The letters typed in the frame that opens the palette: egui shows a new area without letting anything in it receive
/// input.
fn first_letters(ui: &Ui) -> String {
    let text = |event: &Event| match event {
        Event::Text(text) => Some(text.clone()),
        _ => None,
    };
    ui.input(|i| i.events.iter().filter_map(text).collect())
}

fn field(ui: &mut Ui, palette: &mut Palette) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), FIELD), Sense::hover());
    let before = palette.text.clone();
    let id = field_id();
    // The field has the keyboard while it exists, including the keys of its first frame.
    ui.memory_mut(|m| m.request_focus(id));
    let edit = TextEdit::singleline(&mut palette.text)
        .id(id)
        .hint_text("What do you want to do?")
        .font(theme::regular(size::BODY))
        .frame(Frame::NONE)
        .margin(Margin::ZERO)
        .desired_width(rect.width() - 16.0);
    let inner = rect.shrink2(vec2(8.0, 7.0));
    let mut child = ui.new_child(egui::UiBuilder::new().max_rect(inner));
    let response = child.add(edit).accessible_name("What do you want to do?");
    // Enter would remove the focus.
    response.request_focus();
    if palette.text != before {
        (palette.chosen, palette.top) = (0, 0);
    }
    paint::underline(ui.painter(), rect, theme::palette(ui.style()).line);
}

fn list(ui: &mut Ui, rows: &[Entry], palette: &mut Palette, run: &mut Option<usize>) {
    let p = theme::palette(ui.style());
    let width = ui.available_width();
    if rows.is_empty() {
        let (rect, _) = ui.allocate_exact_size(vec2(width, ROW), Sense::hover());
        let text = "No command of this name is available now";
        let inner = paint::inset(rect, 8.0, 8.0);
        paint::left(ui.painter(), inner, text, theme::regular(size::LABEL), p.t3);
        return;
    }
    let seen = rows.len().min(ROWS);
    let (rect, response) = ui.allocate_exact_size(vec2(width, ROW * seen as f32), Sense::hover());
    let turned = ui.input(|i| i.smooth_scroll_delta().y);
    if response.contains_pointer() && turned != 0.0 {
        let by = (-turned / ROW).round() as isize;
        palette.top = palette.top.saturating_add_signed(by);
    } else {
        let lowest = (palette.chosen + 1).saturating_sub(seen);
        palette.top = palette.top.clamp(lowest, palette.chosen);
    }
    palette.top = palette.top.min(rows.len() - seen);
    for (place, entry) in rows.iter().skip(palette.top).take(seen).enumerate() {
        let index = palette.top + place;
        let row = Rect::from_min_size(
            pos2(rect.left(), rect.top() + ROW * place as f32),
            vec2(width, ROW),
        );
        let id = ui.make_persistent_id(("command", index));
        let response = ui.interact(row, id, Sense::click());
        let moved = ui.input(|i| i.pointer.delta() != egui::Vec2::ZERO);
        if response.hovered() && moved {
            palette.chosen = index;
        }
        if index == palette.chosen {
            ui.painter().rect_filled(row, theme::radius::CONTROL, p.b3);
        }
        let inner = paint::inset(row, 8.0, 10.0);
        let font = theme::regular(size::LABEL);
        let key_width = paint::width(ui, entry.key, font.clone());
        let name_at = paint::inset(inner, 0.0, key_width + 12.0);
        let painter = ui.painter().with_clip_rect(name_at);
        paint::left(&painter, name_at, &entry.name, font.clone(), p.t1);
        paint::right(ui.painter(), inner, entry.key, font, p.t3);
        let label = format!("{} {}", entry.name, entry.key);
        let chosen = index == palette.chosen;
        response.widget_info(|| WidgetInfo::selected(Role::Button, true, chosen, label.trim()));
        if response.clicked() {
            *run = Some(index);
        }
    }
}

fn carry_out(
    ui: &Ui,
    run: EntryAction,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    match run {
        EntryAction::Act(action) => actions.push(action),
        EntryAction::Press(key, modifiers) => {
            keys::press(ui, (key, modifiers), state, memory, actions)
        }
        EntryAction::Keys => memory.help.keys = true,
        EntryAction::Help(page) => memory.help.open(page),
        EntryAction::Segment(what) => {
            forms::level_set::ask_for_path(state, memory, what, DialogPosition::Middle)
        }
        EntryAction::Threshold => region_list::from_threshold(state, memory, actions),
        EntryAction::Region(id) => {
            if let Some(region) = state.document.region(id) {
                region_list::export(state, memory, region);
            }
        }
        EntryAction::Regions { as_labels } => region_list::export_all(state, memory, as_labels),
        EntryAction::Filter(what) => {
            forms::commit::ask_for_path(state, memory, what, DialogPosition::Middle)
        }
        EntryAction::Path => memory
            .files
            .type_path(PathPurpose::Open, DialogPosition::Middle, ""),
        EntryAction::Report => {
            let text = suggestion(state, "report", &PathPurpose::Report);
            memory
                .files
                .type_path(PathPurpose::Report, DialogPosition::Middle, &text);
        }
        EntryAction::Protocol => {
            let text = suggestion(state, "protocol", &PathPurpose::Protocol);
            memory
                .files
                .type_path(PathPurpose::Protocol, DialogPosition::Middle, &text);
        }
        EntryAction::TurnSlices => {
            forms::oblique::open(memory);
            actions.push(Action::View(ViewAction::SelectTask(Task::View)));
        }
        EntryAction::AddClip(clip) => {
            forms::clips::open(memory);
            actions.push(forms::clips::adding(clip));
        }
        EntryAction::Screenshot => {
            let purpose = PathPurpose::Screenshot {
                pane: Some(Pane::Scene),
                look: Look::default(),
            };
            let text = suggestion(state, "view", &purpose);
            memory
                .files
                .type_path(purpose, DialogPosition::Middle, &text);
        }
    }
}
