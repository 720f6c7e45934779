//! Paths: from the desktop's file dialogs, which run on a thread of their own, or typed.
//!
//! The window waits for neither: answers come through a channel and leave as actions.

mod dialog;
mod disk;
mod picture;
mod purpose;
mod suggested;

pub use purpose::Purpose;
pub use suggested::suggestion;

use super::panels;
use super::theme::{self, size, space};
use super::widgets::button::{Button, segmented};
use super::widgets::field::{self, Typed};
use super::widgets::note::Note;
use super::widgets::paint;
use crate::state::filter::FilterFile;
use crate::state::update::losses;
use crate::state::{Action, Completed, Look, Severity, State};
use dialog::{Desktop, desktop, dialog};
use disk::{Existing, completed, elsewhere, existing_beside, typed_paths, values_of, wrong};
use egui::{Align2, Area, Frame, Margin, Order, Pos2, Rect, Sense, Stroke, Ui, vec2};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Where a sheet opens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Place {
    /// In the middle, under the top bar.
    Middle,
    /// Its lower right corner here.
    Above(Pos2),
    /// Its upper right corner here.
    Below(Pos2),
}

/// The sheet with a path field.
#[derive(Clone, Debug)]
struct Sheet {
    purpose: Purpose,
    place: Place,
    text: String,
    focus: bool,
    /// Files of this name exist; Enter or the button replaces them.
    replaces: Option<Existing>,
    /// Why what was typed cannot be.
    error: Option<String>,
    /// The disk is being asked whether it can be.
    checking: bool,
    /// Nobody has asked the disk yet whether files can be made where it says.
    is_new: bool,
    /// What Tab found, where that is more than one.
    names: Vec<String>,
}

impl Sheet {
    fn new(purpose: Purpose, place: Place, text: String) -> Self {
        Self {
            purpose,
            place,
            text,
            focus: true,
            replaces: None,
            error: None,
            checking: false,
            is_new: true,
            names: Vec::new(),
        }
    }
}

enum Answer {
    Chosen(Purpose, Vec<PathBuf>),
    Typed(Purpose, Vec<PathBuf>),
    /// Cancelled, or there was no dialog: from outside they look the same.
    Nothing(Purpose, Place, String),
    Exists(Purpose, Place, Existing),
    /// The same of what a dialog gave.
    ChosenExists(Purpose, Place, Existing),
    Wrong(Sheet, String),
    /// Nothing can be saved where the first path was suggested.
    Elsewhere(String, String),
    /// What was typed, as far as there is only one way to go on, and the names where there are several.
    Completed(String, Completed),
}

/// Runs work beside the window: on a thread, where the window has somebody who starts one. `ui` starts none.
pub type Beside = fn(&'static str, Box<dyn FnOnce() + Send>);

/// File dialogs and the path field.
pub struct Files {
    beside: Beside,
    desktop: Desktop,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
    sheet: Option<Sheet>,
    /// A dialog is open: another one would only hide it.
    waiting: bool,
    /// Relative paths start here.
    folder: PathBuf,
    /// Of the last screenshot: a series of pictures is alike.
    look: Option<Look>,
}

impl Files {
    pub fn new(native: bool, beside: Beside) -> Self {
        let (sender, receiver) = channel();
        Self {
            beside,
            desktop: if native {
                Desktop::Unknown
            } else {
                Desktop::Without
            },
            sender,
            receiver,
            sheet: None,
            waiting: false,
            folder: std::env::current_dir().unwrap_or_default(),
            look: None,
        }
    }

    /// Asks for a path: by dialog where the desktop has one, else by the path field.
    pub fn ask(&mut self, ctx: &egui::Context, purpose: Purpose, place: Place, suggested: &str) {
        if self.desktop == Desktop::Unknown {
            self.desktop = desktop();
        }
        // Asked twice: the first dialog is lost behind a window, or never came.
        let again = std::mem::replace(&mut self.waiting, true);
        if self.desktop == Desktop::Without || again {
            return self.type_path(purpose, place, suggested);
        }
        let (ctx, sender) = (ctx.clone(), self.sender.clone());
        let (suggested, folder) = (suggested.to_owned(), self.folder.clone());
        (self.beside)(
            "files",
            Box::new(move || {
                let room = purpose.saves().then(|| elsewhere(&suggested, &folder));
                let suggested = room.flatten().unwrap_or(suggested);
                let answer = match dialog(&purpose, &suggested) {
                    Some(paths) => match existing_beside(&purpose, &paths) {
                        Some(existing) => Answer::ChosenExists(purpose, place, existing),
                        None => Answer::Chosen(purpose, paths),
                    },
                    None => Answer::Nothing(purpose, place, suggested),
                };
                // The window may be gone by now.
                let _ = sender.send(answer);
                ctx.request_repaint();
            }),
        );
    }

    /// Whether files can be saved where that was suggested; if not, another place is.
    fn look_for_room(&self, ctx: &egui::Context, suggested: &str) {
        let (ctx, sender) = (ctx.clone(), self.sender.clone());
        let (suggested, folder) = (suggested.to_owned(), self.folder.clone());
        (self.beside)(
            "files",
            Box::new(move || {
                if let Some(better) = elsewhere(&suggested, &folder) {
                    let _ = sender.send(Answer::Elsewhere(suggested, better));
                    ctx.request_repaint();
                }
            }),
        );
    }

    /// Opens the path field.
    pub fn type_path(&mut self, mut purpose: Purpose, place: Place, suggested: &str) {
        if let (Purpose::Screenshot { look, .. }, Some(last)) = (&mut purpose, self.look) {
            *look = last;
        }
        let text = match purpose.saves() && !suggested.is_empty() {
            // Nobody sees where a bare name would go.
            true => self.folder.join(suggested).display().to_string(),
            false => suggested.to_owned(),
        };
        self.sheet = Some(Sheet::new(purpose, place, text));
    }

    pub fn is_open(&self) -> bool {
        self.sheet.is_some()
    }

    /// Whether the path field is open, or may be about to: nobody knows yet whether a dialog comes.
    pub fn takes_typing(&self) -> bool {
        self.sheet.is_some() || self.waiting && self.desktop == Desktop::Perhaps
    }

    pub fn close(&mut self) {
        self.sheet = None;
    }

    /// What the dialogs and checks answered since the last frame.
    pub fn poll(&mut self, actions: &mut Vec<Action>) {
        let answers: Vec<Answer> = self.receiver.try_iter().collect();
        for answer in answers {
            match answer {
                Answer::Chosen(purpose, paths) => {
                    self.waiting = false;
                    self.desktop = Desktop::With;
                    actions.extend(purpose.action(paths));
                }
                // Taken back meanwhile.
                Answer::Typed(..) | Answer::Exists(..) | Answer::Wrong(..)
                    if self.sheet.as_ref().is_none_or(|s| !s.checking) => {}
                Answer::Typed(purpose, paths) => {
                    self.sheet = None;
                    if let Purpose::Screenshot { look, .. } = &purpose {
                        self.look = Some(*look);
                    }
                    actions.extend(purpose.action(paths));
                }
                Answer::Nothing(purpose, place, suggested) => {
                    self.waiting = false;
                    if self.desktop != Desktop::With && self.sheet.is_none() {
                        self.type_path(purpose, place, &suggested);
                    }
                }
                Answer::Wrong(sheet, why) => {
                    self.sheet = Some(Sheet {
                        focus: true,
                        error: Some(why),
                        ..sheet
                    });
                }
                Answer::Completed(typed, found) => {
                    if let Some(sheet) = self.sheet.as_mut().filter(|s| s.text == typed) {
                        sheet.text = found.text;
                        sheet.names = found.names;
                    }
                }
                Answer::Elsewhere(suggested, better) => {
                    let untouched = self.sheet.as_mut().filter(|s| s.text == suggested);
                    if let Some(sheet) = untouched {
                        sheet.text = better;
                    }
                }
                Answer::Exists(purpose, place, existing) => {
                    self.ask_to_replace(purpose, place, existing);
                }
                Answer::ChosenExists(purpose, place, existing) => {
                    self.waiting = false;
                    self.desktop = Desktop::With;
                    self.ask_to_replace(purpose, place, existing);
                }
            }
        }
    }

    fn ask_to_replace(&mut self, purpose: Purpose, place: Place, existing: Existing) {
        let text = existing.path.display().to_string();
        self.sheet = Some(Sheet {
            replaces: Some(existing),
            ..Sheet::new(purpose, place, text)
        });
    }

    /// Hands a typed path on, once the disk was asked about it: until then the sheet stays, and one that
    /// cannot be, or would be overwritten, is left in it for a second look.
    fn submit(&mut self, ctx: &egui::Context, sheet: Sheet, actions: &mut Vec<Action>) {
        let paths = typed_paths(&sheet.text, &self.folder);
        if paths.is_empty() || sheet.checking {
            self.sheet = Some(sheet);
            return;
        }
        let agreed = sheet.replaces.as_ref().map(|e| &e.path) == paths.first();
        if sheet.purpose.saves() && agreed {
            actions.extend(sheet.purpose.action(paths));
            return;
        }
        self.sheet = Some(Sheet {
            checking: true,
            ..sheet.clone()
        });
        let (ctx, sender) = (ctx.clone(), self.sender.clone());
        (self.beside)(
            "files",
            Box::new(move || {
                let why = paths.iter().find_map(|path| wrong(&sheet.purpose, path));
                let saves = sheet.purpose.saves();
                let look = |path: &PathBuf| Existing::look(&sheet.purpose, path, false);
                let existing = paths.first().filter(|_| saves).and_then(look);
                let answer = match (why, existing) {
                    (Some(why), _) => Answer::Wrong(sheet, why),
                    (None, Some(existing)) => Answer::Exists(sheet.purpose, sheet.place, existing),
                    (None, None) => Answer::Typed(sheet.purpose, paths),
                };
                let _ = sender.send(answer);
                ctx.request_repaint();
            }),
        );
    }

    /// Tab: goes on with what was typed as far as the disk leaves only one way.
    fn complete(&self, ctx: &egui::Context, typed: &str) {
        let (ctx, sender) = (ctx.clone(), self.sender.clone());
        let (typed, folder) = (typed.to_owned(), self.folder.clone());
        (self.beside)(
            "files",
            Box::new(move || {
                let found = completed(&typed, &folder);
                let _ = sender.send(Answer::Completed(typed, found));
                ctx.request_repaint();
            }),
        );
    }

    /// Shows the sheet, if it is open.
    pub fn show(&mut self, ui: &Ui, state: &State, window: Rect, actions: &mut Vec<Action>) {
        let Some(mut sheet) = self.sheet.take() else {
            return;
        };
        if std::mem::take(&mut sheet.is_new) && sheet.purpose.saves() && !sheet.text.is_empty() {
            self.look_for_room(ui.ctx(), &sheet.text);
        }
        let p = theme::palette(ui.style());
        let width = match sheet.place {
            Place::Middle => 620f32,
            Place::Above(_) | Place::Below(_) => 420.0,
        };
        let width = width.min(window.width() - 48.0);
        let (pivot, at) = match sheet.place {
            Place::Middle => {
                let top = window.center_top() + vec2(0.0, space::TOP_BAR + 16.0);
                (Align2::CENTER_TOP, top)
            }
            Place::Above(at) => (Align2::RIGHT_BOTTOM, at),
            Place::Below(at) => (Align2::RIGHT_TOP, at),
        };
        let mut outcome = Typed::Going;
        let (mut browse, mut completes, mut copies) = (false, false, false);
        let native = self.desktop != Desktop::Without;
        let area = Area::new(egui::Id::unique("path sheet"))
            .order(Order::Foreground)
            .pivot(pivot)
            .fixed_pos(at)
            .constrain_to(window)
            .accessible_name(sheet.purpose.title_of(state));
        area.show(ui.ctx(), |ui| {
            let frame = Frame::new()
                .fill(p.b2)
                .stroke(Stroke::new(1.0, p.line))
                .corner_radius(theme::radius::CARD)
                .inner_margin(Margin::same(12));
            frame.show(ui, |ui| {
                ui.set_width(width - 24.0);
                ui.spacing_mut().item_spacing.y = 8.0;
                completes = field::takes_tab(ui, "Path");
                (outcome, browse, copies) = contents(ui, state, &mut sheet, native);
            });
        });
        if let (true, Purpose::Screenshot { pane, look }) = (copies, &sheet.purpose) {
            actions.push(Action::CopyPicture(*pane, *look));
        }
        if completes {
            self.complete(ui.ctx(), &sheet.text);
        }
        if browse {
            let name = sheet.text.clone();
            return self.ask(ui.ctx(), sheet.purpose, sheet.place, &name);
        }
        match outcome {
            Typed::Going => {
                // A click on nothing must not take Enter away from the path.
                sheet.focus = ui.memory(|m| m.focused().is_none());
                self.sheet = Some(sheet);
            }
            Typed::Entered => self.submit(ui.ctx(), sheet, actions),
            Typed::Cancelled => {}
        }
    }
}

/// The inside of the sheet: what happened to it, whether a dialog is wanted instead, and whether the command.
fn contents(ui: &mut Ui, state: &State, sheet: &mut Sheet, native: bool) -> (Typed, bool, bool) {
    let p = theme::palette(ui.style());
    let width = ui.available_width();
    let row = |ui: &mut Ui, height: f32| {
        ui.allocate_exact_size(vec2(width, height), Sense::hover())
            .0
    };
    let head = row(ui, 18.0);
    let title = sheet.purpose.title_of(state);
    let verb = match sheet.purpose {
        Purpose::Open => "Enter opens",
        Purpose::Locate { .. } | Purpose::Absent(..) | Purpose::Affine { .. } | Purpose::Scheme => {
            "Enter takes it"
        }
        _ => "Enter saves",
    };
    let font = theme::semibold(size::LABEL);
    let small = theme::regular(size::CAPTION);
    let room = width - paint::width(ui, &title, font.clone()) - 12.0;
    // The longest list of keys that fits beside the whole title.
    let keys = [
        format!("{verb} · Tab completes · Esc closes"),
        format!("{verb} · Esc closes"),
        verb.to_owned(),
    ];
    let fits = |keys: &&String| paint::width(ui, keys, small.clone()) <= room;
    let keys = keys.iter().find(fits).map_or("", |keys| keys);
    let keys = paint::right(ui.painter(), head, keys, small.clone(), p.t3);
    let place = head.with_max_x(keys.left() - 12.0);
    paint::name(ui.painter(), place, &title, font, p.t1);
    options(ui, sheet);

    let place = row(ui, space::ROW);
    let hint = match sheet.purpose {
        Purpose::Open => "/folder/dwi.nii.gz; several with ; between",
        _ => "/folder/name",
    };
    let before = sheet.text.clone();
    let mut outcome = field::path(ui, place, "Path", &mut sheet.text, hint, sheet.focus);
    if sheet.text != before {
        sheet.replaces = None;
        sheet.error = None;
        sheet.names.clear();
    }
    if !sheet.names.is_empty() {
        let place = row(ui, 18.0);
        let text = listed(&sheet.names);
        let response = ui.interact(place, ui.make_persistent_id("names"), Sense::hover());
        let font = theme::regular(size::CAPTION);
        paint::left(ui.painter(), place, &text, font, p.t2);
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &text));
    }
    let lines = values_of(&sheet.purpose, Path::new(sheet.text.trim()));
    if !lines.is_empty() {
        let place = row(ui, 18.0 * lines.len() as f32);
        let response = ui.interact(place, ui.make_persistent_id("beside"), Sense::hover());
        for (i, line) in lines.iter().enumerate() {
            let top = place.min + vec2(0.0, 18.0 * i as f32);
            let place = Rect::from_min_size(top, vec2(width, 18.0));
            let font = theme::regular(size::CAPTION);
            paint::left(ui.painter(), place, line, font, p.t2);
        }
        let text = lines.join(", ");
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &text));
    }
    if let Some(why) = &sheet.error {
        ui.scope(|ui| {
            ui.set_width(width);
            Note::new(p, Severity::Error, why).show(ui)
        });
    }
    if let Some(existing) = &sheet.replaces {
        let text = existing.sentence();
        ui.scope(|ui| {
            // A note keeps its own inset; the sheet has one already.
            ui.set_width(width);
            Note::new(p, Severity::Warning, &text).show(ui)
        });
    }
    let path = Path::new(sheet.text.trim());
    let said = sheet.purpose.partly(state);
    if let Some(text) = said.or_else(|| sheet.purpose.each(path)) {
        ui.scope(|ui| {
            ui.set_width(width);
            Note::new(p, Severity::Information, &text).show(ui)
        });
    }
    let of = match &sheet.purpose {
        Purpose::Tracks { layer, .. } => Some(*layer),
        Purpose::Filter(FilterFile::Kept | FilterFile::All, _) => {
            state.document.filtered().map(|(layer, _)| Some(layer.id))
        }
        _ => None,
    };
    if let Some(layer) = of {
        let path = Path::new(sheet.text.trim());
        let losses = losses(state, layer, path);
        if !losses.is_empty() {
            let text = losses.join("\n");
            ui.scope(|ui| {
                ui.set_width(width);
                Note::new(p, Severity::Information, &text).show(ui)
            });
        }
    }
    let buttons = row(ui, space::BUTTON);
    let word = match (&sheet.purpose, &sheet.replaces) {
        (_, Some(_)) => "Replace",
        (Purpose::Open, None) => "Open",
        (
            Purpose::Locate { .. } | Purpose::Absent(..) | Purpose::Affine { .. } | Purpose::Scheme,
            None,
        ) => "Take it",
        _ => "Save",
    };
    let empty = sheet.text.trim().is_empty();
    let go = Button::primary(word).disabled(empty.then_some("Type a path first"));
    let place = Rect::from_min_size(buttons.min, vec2(go.width(ui), space::BUTTON));
    if go.show_at(ui, place).clicked() {
        outcome = Typed::Entered;
    }
    let mut x = place.right() + 6.0;
    let mut browse = false;
    if native {
        let choose = Button::plain("Choose…");
        let place = Rect::from_min_size(
            egui::pos2(x, buttons.top()),
            vec2(choose.width(ui), space::BUTTON),
        );
        x = place.right() + 6.0;
        browse = choose.show_at(ui, place).clicked();
    }
    let cancel = Button::quiet("Cancel");
    let place = Rect::from_min_size(
        egui::pos2(x, buttons.top()),
        vec2(cancel.width(ui), space::BUTTON),
    );
    if cancel.show_at(ui, place).clicked() {
        outcome = Typed::Cancelled;
    }
    let picture = matches!(sheet.purpose, Purpose::Screenshot { .. });
    let copies = picture && panels::copy_command(ui, buttons, place.right() + 4.0, true);
    (outcome, browse, copies)
}

/// As many names as fit a line.
fn listed(names: &[String]) -> String {
    const LETTERS: usize = 80;
    let mut text = String::new();
    for (i, name) in names.iter().enumerate() {
        if text.chars().count() + name.chars().count() > LETTERS {
            return format!("{text} and {} more", names.len() - i);
        }
        if i > 0 {
            text += ", ";
        }
        text += name;
    }
    text
}

/// Format of a file; pane and size of a screenshot.
fn options(ui: &mut Ui, sheet: &mut Sheet) {
    let width = ui.available_width();
    let row = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, 26.0), Sense::hover()).0;
    if let Purpose::Screenshot { pane, look } = &mut sheet.purpose {
        picture::options(ui, pane, look);
        return;
    }
    let endings = sheet.purpose.endings();
    if endings.len() > 1 {
        let names = sheet.purpose.format_names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let chosen = endings.iter().position(|e| sheet.text.ends_with(e));
        let place = row(ui);
        if let Some(i) = segmented(ui, place, "Format", &names, chosen.unwrap_or(usize::MAX)) {
            let accepted = sheet.purpose.accepted();
            let bare = accepted
                .iter()
                .find_map(|e| sheet.text.strip_suffix(&format!(".{e}")))
                .unwrap_or(&sheet.text);
            sheet.text = format!("{bare}.{}", endings[i]);
        }
    }
}
