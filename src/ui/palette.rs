//! The command palette (Ctrl+K): everything there is to do, found by typing a part of its name.

mod layers;
mod pathways;
mod regions;
mod synonyms;

use super::files::{PathPurpose, Place, suggestion};
use super::theme::{self, size};
use super::widgets::paint;
use super::{Memory, forms, keys, regions as list_of_regions};
use crate::data::region::RegionId;
use crate::guide::PAGES;
use crate::state::filter::{FilterAction, FilterFile, Shown};
use crate::state::segment::SegmentFile;
use crate::state::streamlines::Drawer;
use crate::state::update::asked_recipe;
use crate::state::{
    Action, BundleAction, Layout, Look, Method, Pane, SessionAction, Slab, State, Task, Tool,
    UnsavedAction,
};
use egui::{
    Align2, Area, Event, Frame, Key, Margin, Modifiers, Order, Rect, Role, Sense, Stroke, TextEdit,
    Ui, WidgetInfo, pos2, vec2,
};
use synonyms::known_as;

const WIDTH: f32 = 520.0;
const ROW: f32 = 28.0;
const FIELD: f32 = 32.0;
/// More are scrolled.
const ROWS: usize = 12;

/// What is typed and chosen.
#[derive(Clone, Default, Debug)]
pub struct Palette {
    text: String,
    chosen: usize,
    /// The first row that is seen.
    top: usize,
    /// It has just been opened.
    settled: bool,
}

/// What a row does.
// Some dozens exist while the palette is open.
#[allow(clippy::large_enum_variant)]
enum Run {
    Act(Action),
    /// As if pressed: what keys do is said in one place.
    Press(Key, Modifiers),
    /// Makes a region.
    Threshold,
    /// Asks where to write a region, or all of them as one label map or as masks.
    Region(RegionId),
    Regions {
        as_labels: bool,
    },
    /// The same of the surface and of a fit.
    Segment(SegmentFile),
    Filter(FilterFile),
    /// Asks for a path to open.
    Path,
    Screenshot,
    Keys,
    /// A page of the guide.
    Help(&'static str),
}

struct Entry {
    name: String,
    /// By what else it is found.
    also: &'static str,
    key: &'static str,
    run: Run,
}

/// The sheet of keys and the pages of the guide.
fn help(add: &mut impl FnMut(&str, &'static str, Run)) {
    add("Keys and mouse", "?", Run::Keys);
    for (i, page) in PAGES.iter().enumerate() {
        let key = if i == 0 { "F1" } else { "" };
        add(
            &format!("Help: {}", page.title()),
            key,
            Run::Help(page.name),
        );
    }
}

/// All that can be done now, in the order of its likely use.
fn entries(state: &State) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut add = |name: &str, key: &'static str, run: Run| {
        all.push(Entry {
            name: name.to_owned(),
            also: known_as(name),
            key,
            run,
        });
    };
    let ctrl = |key| Run::Press(key, Modifiers::COMMAND);
    let plain = |key| Run::Press(key, Modifiers::NONE);
    let alt = |key| Run::Press(key, Modifiers::ALT);
    add("Open a file…", "Ctrl+O", ctrl(Key::O));
    add("Enter a path", "", Run::Path);
    for recent in &state.session.recent {
        let name = format!("Open {}", recent.path.display());
        add(&name, "", Run::Act(Action::Open(vec![recent.path.clone()])));
    }
    if state.document.is_empty() {
        for (name, guide) in [
            ("Open the demo head", false),
            ("Open the demo head, with the guide", true),
        ] {
            add(name, "", Run::Act(Action::OpenDemo { guide }));
        }
        add("Light or dark theme", "", Run::Act(Action::ToggleTheme));
        help(&mut add);
        add("Settings…", "Ctrl+,", ctrl(Key::Comma));
        add("Quit", "", quit());
        return all;
    }
    let save_as = Run::Press(Key::S, Modifiers::COMMAND | Modifiers::SHIFT);
    let copy = Run::Press(Key::C, Modifiers::COMMAND | Modifiers::SHIFT);
    add("Save the session", "Ctrl+S", ctrl(Key::S));
    add("Save the session as…", "Ctrl+Shift+S", save_as);
    add("New", "Ctrl+N", ctrl(Key::N));
    add("Export what is shown…", "Ctrl+E", ctrl(Key::E));
    add("Save a screenshot, turntable or film…", "", Run::Screenshot);
    add("Copy as command", "Ctrl+Shift+C", copy);
    add("Take a snapshot", "Ctrl+B", ctrl(Key::B));
    for (i, snapshot) in state.session.snapshots.iter().enumerate() {
        let name = format!("Compare with {}", snapshot.words());
        add(&name, "", Run::Act(Action::Compare(Some(i))));
    }
    if state.session.comparing.is_some() {
        add(
            "Stop comparing",
            "Ctrl+Shift+B",
            Run::Act(Action::Compare(None)),
        );
    }
    add("Copy methods paragraph", "", Run::Act(Action::CopyMethods));
    if let Some(step) = state.history.undo_label() {
        add(
            &format!("Undo: {}", step.to_lowercase()),
            "Ctrl+Z",
            ctrl(Key::Z),
        );
    }
    if let Some(step) = state.history.redo_label() {
        add(
            &format!("Redo: {}", step.to_lowercase()),
            "Ctrl+Y",
            ctrl(Key::Y),
        );
    }
    for (i, task) in Task::ALL.into_iter().enumerate() {
        let key = ["Ctrl+1", "Ctrl+2", "Ctrl+3", "Ctrl+4", "Ctrl+5"]
            .get(i)
            .copied()
            .unwrap_or_default();
        let name = format!("Task: {}", task.name());
        add(&name, key, Run::Act(Action::SelectTask(task)));
    }
    for (role, key) in list_of_regions::KEYS {
        let name = format!("Place: {}", role.name().to_lowercase());
        let tool = Tool::Place { role, cube: false };
        add(&name, key, Run::Act(Action::SetTool(tool)));
    }
    for (tool, name, key) in super::forms::region::TOOLS {
        let name = format!("Draw: {}", name.to_lowercase());
        add(&name, key, Run::Act(Action::SetTool(tool)));
    }
    if state.view.task == Task::Segment {
        add("Segment: add a sphere", "A", plain(Key::A));
        add("Segment: add a keep-out sphere", "D", plain(Key::D));
        add("Segment: run or pause", "Space", plain(Key::Space));
        for what in state.segment_files() {
            let name = format!("Segment: export {}", what.name().to_lowercase());
            add(&name, "", Run::Segment(what));
        }
    }
    if state.view.task == Task::Filter {
        let act = |action| Run::Act(Action::Filter(action));
        match state.is_filtering() {
            true => add(
                "Filter: stop, keep weights",
                "Space",
                act(FilterAction::Stop),
            ),
            false => add("Filter: run", "Space", act(FilterAction::Run)),
        }
        if forms::commit::weighs(state) {
            add(
                "Filter: run from no weights",
                "",
                act(FilterAction::RunAnew),
            );
            add(
                "Filter: keep the remaining streamlines as layer",
                "",
                act(FilterAction::Keep),
            );
            for shown in Shown::ALL {
                let name = format!("Filter: show {}", shown.name().to_lowercase());
                add(&name, "", act(FilterAction::Show(shown)));
            }
            for what in forms::commit::files(state) {
                let name = format!("Filter: export {}", what.name().to_lowercase());
                add(&name, "", Run::Filter(what));
            }
        }
    }
    add("Measure: distance", "M", plain(Key::M));
    add("Measure: angle", "N", plain(Key::N));
    if state.bundle().is_some() {
        add("Choose streamlines", "K", plain(Key::K));
    }
    if let Some(map) = list_of_regions::label_map(state) {
        add("Region from a threshold", "", Run::Threshold);
        let labels = Run::Act(Action::CountLabels(map));
        add("Regions from a label map", "", labels);
    }
    add(
        "Track the whole brain",
        "",
        Run::Act(Action::TrackWholeBrain),
    );
    if state.final_live().is_some() {
        add(
            "Keep the live result as layer",
            "",
            Run::Act(Action::KeepTracks),
        );
        let map = Run::Act(layers::density(None));
        add("Map the density of the live result", "", map);
    }
    let (other, name) = match state.document.method {
        Method::Streamlines => (Method::Rays, "Track: geodesic rays"),
        Method::Rays => (Method::Streamlines, "Track: streamlines"),
    };
    if state.view.task == Task::Track {
        add(name, "", Run::Act(Action::SetMethod(other)));
    }
    add(
        "Compare the axes of the gradients",
        "",
        Run::Act(Action::CheckGradients),
    );
    add("Radiological or neurological", "R", plain(Key::R));
    add("Crosshair", "F", plain(Key::F));
    add("Letters", "O", plain(Key::O));
    add("Side panels", "Ctrl+\\", ctrl(Key::Backslash));
    add("Slices in 3-D", "", Run::Act(Action::ToggleSlicesInScene));
    add("Head outline", "", Run::Act(Action::ToggleOutline));
    add("Light or dark theme", "", Run::Act(Action::ToggleTheme));
    add("Settings…", "Ctrl+,", ctrl(Key::Comma));
    let layouts = [
        (Layout::Grid, "Layout: four views"),
        (Layout::SceneFirst, "Layout: 3-D large"),
        (Layout::Single, "Layout: one view"),
        (Layout::Mosaic, "Layout: mosaic of slices"),
        (Layout::Beside, "Layout: image beside speed"),
    ];
    for (layout, name) in layouts {
        add(name, "", Run::Act(Action::SetLayout(layout)));
    }
    for (pane, key) in Pane::ALL.into_iter().zip(["1", "2", "3", "4"]) {
        let name = format!("Enlarge: {}", pane.name().to_lowercase());
        add(&name, key, Run::Act(Action::ToggleMaximised(pane)));
    }
    add("Frame everything", "Home", plain(Key::Home));
    add("3-D from the front", "Alt+1", alt(Key::Num1));
    add("3-D from the side", "Alt+3", alt(Key::Num3));
    add("3-D from above", "Alt+7", alt(Key::Num7));
    for pane in std::iter::once(None).chain(Pane::ALL.map(Some)) {
        let what = pane.map_or("Window", Pane::name).to_lowercase();
        let copy = Action::CopyPicture(pane, Look::default());
        add(
            &format!("Copy as command: picture, {what}"),
            "",
            Run::Act(copy),
        );
    }
    for pane in [
        None,
        Some(Pane::Axial),
        Some(Pane::Sagittal),
        Some(Pane::Coronal),
    ] {
        let name = match pane {
            None => "Streamlines: whole".to_owned(),
            Some(pane) => format!("Streamlines: near the {} slice", pane.name().to_lowercase()),
        };
        let thickness_mm = state.view.slab.map_or(Slab::DEFAULT_MM, |s| s.thickness_mm);
        let slab = pane.map(|pane| Slab { pane, thickness_mm });
        add(&name, "", Run::Act(Action::CutToSlab(slab)));
    }
    if state.bundle().is_some() {
        for (drawer, name) in [
            (Drawer::Table, "Table of streamlines"),
            (Drawer::Profile, "Profile along streamlines"),
            (Drawer::Matrix, "Matrix of connections"),
        ] {
            let open = state.view.drawer != Some(drawer);
            let action = BundleAction::Open(open.then_some(drawer));
            add(name, "", Run::Act(Action::Bundle(action)));
            if let Some(recipe) = asked_recipe(state, drawer) {
                let name = format!("Copy as command: {}", drawer.name().to_lowercase());
                add(&name, "", Run::Act(Action::CopyCommand(recipe)));
            }
        }
    }
    add("Start the guide", "", Run::Act(Action::StartGuide));
    help(&mut add);
    add("Quit", "", quit());
    all.extend(layers::entries(state));
    all.extend(regions::entries(state));
    all.extend(pathways::entries(state));
    all
}

fn quit() -> Run {
    Run::Act(Action::Session(SessionAction::Leave(UnsavedAction::Quit)))
}

/// How well a name fits what was typed: all its letters in their order; the more of them begin a word
/// or follow the one before, the better. `None`: it does not.
pub fn fit(name: &str, typed: &str) -> Option<i32> {
    let lower = |text: &str| -> Vec<char> { text.chars().flat_map(char::to_lowercase).collect() };
    let (name, typed) = (lower(name), lower(typed));
    let requested: Vec<char> = typed.into_iter().filter(|c| !c.is_whitespace()).collect();
    if requested.len() > name.len() {
        return None;
    }
    let starts = |i: usize| i == 0 || !name[i - 1].is_alphanumeric();
    // The best score of the first letters of `wanted` that ends at each letter of `name`.
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
    // Of two that fit alike the shorter is meant.
    let score = best.into_iter().flatten().max()?;
    Some(16 * score - (name.len() as i32).min(64))
}

/// By its name, or else by one of the words it is found by, after all that are called so.
fn fits(entry: &Entry, typed: &str) -> Option<i32> {
    const ALSO: i32 = 64;
    let also = || {
        let scores = entry.also.split(", ").filter_map(|word| fit(word, typed));
        scores.max().map(|score| score - ALSO)
    };
    fit(&entry.name, typed).or_else(|| also().filter(|_| !entry.also.is_empty()))
}

/// What fits, best first.
fn found(state: &State, typed: &str) -> Vec<Entry> {
    let scored = entries(state).into_iter();
    let mut scored: Vec<(i32, Entry)> = scored
        .filter_map(|entry| Some((fits(&entry, typed)?, entry)))
        .collect();
    let requested = typed.trim().to_lowercase();
    if !requested.is_empty() {
        // Scattered letters are for those who remember them, not beside what is called so.
        let called = |entry: &Entry| {
            let name = entry.name.to_lowercase();
            name.contains(&requested) || entry.also.contains(&requested)
        };
        if scored.iter().any(|(_, entry)| called(entry)) {
            scored.retain(|(_, entry)| called(entry));
        }
        scored.sort_by_key(|(score, _)| -score);
    }
    scored.into_iter().map(|(_, entry)| entry).collect()
}

/// Names and keys of all that can be found, as they are shown.
pub fn names(state: &State, typed: &str) -> Vec<String> {
    found(state, typed).into_iter().map(|e| e.name).collect()
}

pub fn show(ui: &Ui, window: Rect, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some(mut palette) = memory.palette.clone() else {
        return;
    };
    let p = theme::palette(ui.style());
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
            // A slow frame may hold a whole word and its Enter: what was typed comes first.
            let before = palette.text.clone();
            field(ui, &mut palette);
            if !palette.settled && palette.text == before {
                palette.text += &first_letters(ui);
            }
            rows = found(state, &palette.text);
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

/// Gives the keyboard focus to the palette before it is first shown; until then the widget with the focus would take
/// the keys.
pub fn focus_field(ui: &Ui) {
    ui.memory_mut(|m| m.request_focus(field_id()));
}

/// What was typed in the frame that opens the palette: egui shows a new area without letting anything
/// in it listen.
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
    // It has the keys as long as it is there, and those of its first frame.
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
    // Enter would take the focus away.
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

fn carry_out(ui: &Ui, run: Run, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    match run {
        Run::Act(action) => actions.push(action),
        Run::Press(key, modifiers) => keys::press(ui, (key, modifiers), state, memory, actions),
        Run::Keys => memory.help.keys = true,
        Run::Help(page) => memory.help.open(page),
        Run::Segment(what) => forms::level_set::ask(state, memory, what, Place::Middle),
        Run::Threshold => list_of_regions::from_threshold(state, memory, actions),
        Run::Region(id) => {
            if let Some(region) = state.document.region(id) {
                list_of_regions::export(state, memory, region);
            }
        }
        Run::Regions { as_labels } => list_of_regions::export_all(state, memory, as_labels),
        Run::Filter(what) => forms::commit::ask(state, memory, what, Place::Middle),
        Run::Path => memory.files.type_path(PathPurpose::Open, Place::Middle, ""),
        Run::Screenshot => {
            let purpose = PathPurpose::Screenshot {
                pane: Some(Pane::Scene),
                look: Look::default(),
            };
            let text = suggestion(state, "view", &purpose);
            memory.files.type_path(purpose, Place::Middle, &text);
        }
    }
}
