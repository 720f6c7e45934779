//! Paths from the desktop's file dialogs, or typed.
//!
//! The window never accesses the disk: jobs do, and each answer holds for exactly the path that it names. Nothing is
//! saved or opened before the answer arrives; typing continues meanwhile.

mod dialog;
mod picture;
mod purpose;
mod suggested;
mod typed;

use super::panels;
use super::theme::{self, size, space};
use super::widgets::button::{Button, segmented};
use super::widgets::field::{self, Typed};
use super::widgets::note::Note;
use super::widgets::paint;
use crate::state::filter::FilterFile;
use crate::state::update::unsupported_contents;
use crate::state::{
    Action, FilesAction, Look, PathAnswer, PathCheck, PathQuestion, PictureAction, Severity, State,
};
use dialog::Dialogs;
pub use dialog::StartThread;
use egui::{Align2, Area, Context, Frame, Margin, Order, Pos2, Rect, Sense, Stroke, Ui, vec2};
pub use purpose::PathPurpose;
use std::path::{Path, PathBuf};
pub use suggested::suggestion;
use typed::{OverwriteWarning, check, completion, listed, typed_paths, values_of};

/// Where the sheet opens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DialogPosition {
    /// In the middle, under the top bar.
    Middle,
    /// Its lower right corner is here.
    Above(Pos2),
    /// Its upper right corner is here.
    Below(Pos2),
}

/// The step after the answer about a path.
#[derive(Clone, PartialEq, Debug)]
enum Next {
    /// Enter was pressed: these paths are used.
    Enter(Vec<PathBuf>),
    /// The sheet has just opened: the suggested path may have to change.
    Suggest,
    /// Tab was pressed.
    Complete,
}

/// The sheet with a path field.
#[derive(Clone, Debug)]
struct Sheet {
    purpose: PathPurpose,
    place: DialogPosition,
    text: String,
    focus: bool,
    /// Files with this name exist; Enter or the button replaces them.
    replaces: Option<OverwriteWarning>,
    /// Why the path cannot be used.
    error: Option<String>,
    /// The pending question about this text, until it is answered or the text changes.
    open: Option<(PathCheck, Next)>,
    is_new: bool,
    /// Completions that Tab found, if there are several.
    names: Vec<String>,
}

impl Sheet {
    fn new(purpose: PathPurpose, place: DialogPosition, text: String) -> Self {
        Self {
            purpose,
            place,
            text,
            focus: true,
            replaces: None,
            error: None,
            open: None,
            is_new: true,
            names: Vec::new(),
        }
    }

    /// Whether Enter was pressed and the answer about the path is still pending.
    fn is_checking(&self) -> bool {
        matches!(self.open, Some((_, Next::Enter(_))))
    }
}

/// The settings of a dialog.
pub struct Ask {
    purpose: PathPurpose,
    place: DialogPosition,
    suggested: String,
}

/// A dialog, before or after it is on screen, and the question to be answered first.
enum Dialog {
    /// It opens in a folder where files can be saved.
    ToOpen(PathCheck, Ask),
    /// Chosen path; files that would be replaced besides the one that the dialog itself asked about.
    Chosen(PathCheck, Ask, PathBuf),
}

impl Dialog {
    fn check(&self) -> &PathCheck {
        match self {
            Self::ToOpen(check, ..) | Self::Chosen(check, ..) => check,
        }
    }
}

/// File dialogs and the path field.
pub struct Files {
    dialogs: Dialogs,
    dialog: Option<Dialog>,
    sheet: Option<Sheet>,
    /// A dialog is open: a second one would only hide it.
    waiting: bool,
    /// Folder in which relative paths start.
    folder: PathBuf,
    /// Look of the last screenshot, so that a series of pictures matches.
    look: Option<Look>,
    /// The number of the last question.
    number: u64,
}

impl Files {
    pub fn new(native: bool, start_thread: StartThread) -> Self {
        Self {
            dialogs: Dialogs::new(native, start_thread),
            dialog: None,
            sheet: None,
            waiting: false,
            folder: std::env::current_dir().unwrap_or_default(),
            look: None,
            number: 0,
        }
    }

    /// A new question, distinct from all earlier ones.
    fn put(&mut self, question: PathQuestion) -> PathCheck {
        self.number += 1;
        let number = self.number;
        PathCheck { number, question }
    }

    /// Asks for a path: by dialog where the desktop has one, else by the path field.
    pub fn ask(
        &mut self,
        ctx: &Context,
        purpose: PathPurpose,
        place: DialogPosition,
        suggested: &str,
    ) {
        // The second request: the first dialog is hidden behind a window, or never came.
        let again = std::mem::replace(&mut self.waiting, true);
        if !self.dialogs.may_be() || again {
            let not_yet_open = |d: &mut Dialog| matches!(d, Dialog::ToOpen(..));
            if self.dialog.take_if(not_yet_open).is_some() {
                self.waiting = false;
            }
            return self.type_path(purpose, place, suggested);
        }
        let ask = Ask {
            purpose,
            place,
            suggested: suggested.to_owned(),
        };
        let paths = typed_paths(suggested, &self.folder);
        match check(&ask.purpose, &paths).filter(|_| ask.purpose.saves()) {
            Some(question) => {
                self.dialog = Some(Dialog::ToOpen(self.put(question), ask));
                ctx.request_repaint();
            }
            None => self.dialogs.start(ctx, ask),
        }
    }

    /// Opens the path field.
    pub fn type_path(&mut self, mut purpose: PathPurpose, place: DialogPosition, suggested: &str) {
        if let (PathPurpose::Screenshot { look, .. }, Some(last)) = (&mut purpose, self.look) {
            *look = last;
        }
        let text = match purpose.saves() && !suggested.is_empty() {
            // A bare name would not show the folder that it goes to.
            true => self.folder.join(suggested).display().to_string(),
            false => suggested.to_owned(),
        };
        self.sheet = Some(Sheet::new(purpose, place, text));
    }

    pub fn is_open(&self) -> bool {
        self.sheet.is_some()
    }

    /// Whether the path field is open or may be about to open: it is not yet known whether a dialog appears.
    pub fn takes_typing(&self) -> bool {
        self.sheet.is_some() || self.waiting && self.dialogs.may_be() && !self.dialogs.are_there()
    }

    pub fn close(&mut self) {
        self.sheet = None;
    }

    /// Handles dialogs that ended, and answers about paths that arrived, since the last frame.
    pub fn poll(&mut self, ctx: &Context, state: &State, actions: &mut Vec<Action>) {
        for answer in self.dialogs.poll() {
            self.waiting = false;
            let ask = answer.ask;
            match answer.paths {
                Some(paths) if ask.purpose.saves() => {
                    let (question, path) = (check(&ask.purpose, &paths), paths.into_iter().next());
                    if let (Some(question), Some(path)) = (question, path) {
                        self.dialog = Some(Dialog::Chosen(self.put(question), ask, path));
                    }
                }
                Some(paths) => actions.extend(ask.purpose.action(paths)),
                None if self.dialogs.are_there() || self.sheet.is_some() => {}
                None => self.type_path(ask.purpose, ask.place, &ask.suggested),
            }
        }
        if let Some(dialog) = self.dialog.take() {
            self.go_on(ctx, dialog, state, actions);
        }
        if let Some(sheet) = self.sheet.take() {
            self.answered(sheet, state, actions);
        }
        // One question at a time, the dialog's first: the user has already chosen.
        let sheet = self.sheet.as_ref().and_then(|s| s.open.as_ref());
        let open = self.dialog.as_ref().map(Dialog::check);
        let open = open.or(sheet.map(|(check, _)| check));
        if let Some(check) = open.filter(|check| !state.session.paths.is_open(check)) {
            actions.push(Action::Files(FilesAction::CheckPath(check.clone())));
            // Its answer may arrive before any other event.
            ctx.request_repaint();
        }
    }

    /// Opens a dialog, or passes its result on, once its question is answered.
    fn go_on(&mut self, ctx: &Context, dialog: Dialog, state: &State, actions: &mut Vec<Action>) {
        let paths = &state.session.paths;
        let (answer, has_failed) = (
            paths.answer(dialog.check()),
            paths.has_failed(dialog.check()),
        );
        let found = match answer {
            Some(PathAnswer::Destination(found)) => Some(found.clone()),
            _ => None,
        };
        match (dialog, found) {
            (dialog, None) if !has_failed => self.dialog = Some(dialog),
            (Dialog::ToOpen(_, mut ask), found) => {
                if let Some(better) = found.and_then(|found| found.better) {
                    ask.suggested = better.display().to_string();
                }
                self.dialogs.start(ctx, ask);
            }
            // The chosen path waits in the path field, where it can be tried again.
            (Dialog::Chosen(_, ask, path), None) => {
                self.type_path(ask.purpose, ask.place, &path.display().to_string());
            }
            (Dialog::Chosen(_, ask, path), Some(found)) => {
                let others = found.existing.into_iter().filter(|file| *file != path);
                let files: Vec<PathBuf> = others.collect();
                match files.is_empty() {
                    true => actions.extend(ask.purpose.action(vec![path])),
                    false => {
                        let existing = OverwriteWarning { path, files };
                        self.ask_to_replace(ask.purpose, ask.place, existing);
                    }
                }
            }
        }
    }

    /// Acts on an answer about the typed path; the sheet stays open if there is nothing to do.
    fn answered(&mut self, mut sheet: Sheet, state: &State, actions: &mut Vec<Action>) {
        let known = &state.session.paths;
        let Some((check, next)) = sheet.open.take() else {
            self.sheet = Some(sheet);
            return;
        };
        match (known.answer(&check), next) {
            // A message gives the reason.
            (None, _) if known.has_failed(&check) => {}
            (None, next) => sheet.open = Some((check, next)),
            (Some(PathAnswer::Complete(found)), Next::Complete) => {
                sheet.text.clone_from(&found.text);
                sheet.names.clone_from(&found.names);
            }
            (Some(PathAnswer::Destination(found)), Next::Suggest) => {
                if let Some(better) = &found.better {
                    sheet.text = better.display().to_string();
                }
            }
            (Some(PathAnswer::Readable(Err(error))), Next::Enter(_)) => {
                (sheet.focus, sheet.error) = (true, Some(error.to_string()));
            }
            (Some(PathAnswer::Readable(Ok(()))), Next::Enter(paths)) => {
                return actions.extend(sheet.purpose.action(paths));
            }
            (Some(PathAnswer::Destination(found)), Next::Enter(paths)) => {
                if let Some(error) = &found.error {
                    (sheet.focus, sheet.error) = (true, Some(error.to_string()));
                } else if let (Some(path), false) = (paths.first(), found.existing.is_empty()) {
                    let (path, files) = (path.clone(), found.existing.clone());
                    return self.ask_to_replace(
                        sheet.purpose,
                        sheet.place,
                        OverwriteWarning { path, files },
                    );
                } else {
                    if let PathPurpose::Screenshot { look, .. } = &sheet.purpose {
                        self.look = Some(*look);
                    }
                    return actions.extend(sheet.purpose.action(paths));
                }
            }
            // This answer belongs to another question.
            (Some(_), _) => {}
        }
        self.sheet = Some(sheet);
    }

    fn ask_to_replace(
        &mut self,
        purpose: PathPurpose,
        place: DialogPosition,
        existing: OverwriteWarning,
    ) {
        let text = existing.path.display().to_string();
        self.sheet = Some(Sheet {
            replaces: Some(existing),
            is_new: false,
            ..Sheet::new(purpose, place, text)
        });
    }

    /// Submits a typed path once the answer about it has arrived: until then the sheet stays open, and so it does if
    /// the path cannot be used or would be overwritten.
    fn submit(&mut self, mut sheet: Sheet, actions: &mut Vec<Action>) {
        let paths = typed_paths(&sheet.text, &self.folder);
        let agreed = sheet.replaces.as_ref().map(|e| &e.path) == paths.first();
        if sheet.purpose.saves() && agreed && !paths.is_empty() {
            actions.extend(sheet.purpose.action(paths));
            return;
        }
        if !sheet.is_checking()
            && let Some(question) = check(&sheet.purpose, &paths)
        {
            sheet.open = Some((self.put(question), Next::Enter(paths)));
        }
        self.sheet = Some(sheet);
    }

    /// Shows the sheet, if it is open.
    pub fn show(&mut self, ui: &Ui, state: &State, window: Rect, actions: &mut Vec<Action>) {
        let Some(mut sheet) = self.sheet.take() else {
            return;
        };
        if std::mem::take(&mut sheet.is_new) && sheet.purpose.saves() {
            let paths = typed_paths(&sheet.text, &self.folder);
            let question = check(&sheet.purpose, &paths).map(|q| self.put(q));
            sheet.open = question.map(|check| (check, Next::Suggest));
            ui.ctx().request_repaint();
        }
        let p = theme::palette(ui.style());
        let width = match sheet.place {
            DialogPosition::Middle => 620f32,
            DialogPosition::Above(_) | DialogPosition::Below(_) => 420.0,
        };
        let width = width.min(window.width() - 48.0);
        let (pivot, at) = match sheet.place {
            DialogPosition::Middle => {
                let top = window.center_top() + vec2(0.0, space::TOP_BAR + 16.0);
                (Align2::CENTER_TOP, top)
            }
            DialogPosition::Above(at) => (Align2::RIGHT_BOTTOM, at),
            DialogPosition::Below(at) => (Align2::RIGHT_TOP, at),
        };
        let before = (sheet.text.clone(), sheet.purpose.clone());
        let mut outcome = Typed::Going;
        let (mut browse, mut completes, mut copies) = (false, false, false);
        let native = self.dialogs.may_be();
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
        if (&sheet.text, &sheet.purpose) != (&before.0, &before.1) {
            // The answer and the consent concern another path.
            (sheet.replaces, sheet.error, sheet.open) = (None, None, None);
            sheet.names.clear();
        }
        if let (true, PathPurpose::Screenshot { pane, look }) = (copies, &sheet.purpose) {
            actions.push(Action::Picture(PictureAction::Copy(*pane, *look)));
        }
        if completes {
            let question = completion(&sheet.text, &self.folder);
            sheet.open = Some((self.put(question), Next::Complete));
            ui.ctx().request_repaint();
        }
        if browse {
            let name = sheet.text.clone();
            return self.ask(ui.ctx(), sheet.purpose, sheet.place, &name);
        }
        match outcome {
            Typed::Going => {
                // A click on empty space must not take Enter away from the path.
                sheet.focus = ui.memory(|m| m.focused().is_none());
                self.sheet = Some(sheet);
            }
            Typed::Entered => {
                self.submit(sheet, actions);
                ui.ctx().request_repaint();
            }
            Typed::Cancelled => {}
        }
    }
}

/// The content of the sheet; returns the outcome, whether a dialog is requested instead, and whether the command is.
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
        PathPurpose::Open => "Enter opens",
        PathPurpose::Locate { .. }
        | PathPurpose::Missing(..)
        | PathPurpose::Affine { .. }
        | PathPurpose::Scheme => "Enter chooses it",
        _ => "Enter saves",
    };
    let font = theme::semibold(size::LABEL);
    let small = theme::regular(size::CAPTION);
    let room = width - paint::width(ui, &title, font.clone()) - 12.0;
    // The longest list of keys that fits next to the whole title.
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
        PathPurpose::Open => "/folder/dwi.nii.gz; separate several with ;",
        _ => "/folder/name",
    };
    let mut outcome = field::path(ui, place, "Path", &mut sheet.text, hint, sheet.focus);
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
    let message = sheet.purpose.partly(state);
    if let Some(text) = message.or_else(|| sheet.purpose.each(path)) {
        ui.scope(|ui| {
            ui.set_width(width);
            Note::new(p, Severity::Information, &text).show(ui)
        });
    }
    let of = match &sheet.purpose {
        PathPurpose::Tracks { layer, .. } => Some(*layer),
        PathPurpose::Filter(FilterFile::Kept | FilterFile::All, _) => {
            state.document.filtered().map(|(layer, _)| Some(layer.id))
        }
        _ => None,
    };
    if let Some(layer) = of {
        let path = Path::new(sheet.text.trim());
        let unsupported = unsupported_contents(state, layer, path);
        if !unsupported.is_empty() {
            let text = unsupported.join("\n");
            ui.scope(|ui| {
                ui.set_width(width);
                Note::new(p, Severity::Information, &text).show(ui)
            });
        }
    }
    let buttons = row(ui, space::BUTTON);
    let word = match (&sheet.purpose, &sheet.replaces) {
        (_, Some(_)) => "Replace",
        (PathPurpose::Open, None) => "Open",
        (
            PathPurpose::Locate { .. }
            | PathPurpose::Missing(..)
            | PathPurpose::Affine { .. }
            | PathPurpose::Scheme,
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
    let picture = matches!(sheet.purpose, PathPurpose::Screenshot { .. });
    let copies = picture && panels::copy_command(ui, buttons, place.right() + 4.0, true);
    (outcome, browse, copies)
}

/// Format of a file; pane and size of a screenshot.
fn options(ui: &mut Ui, sheet: &mut Sheet) {
    let width = ui.available_width();
    let row = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, 26.0), Sense::hover()).0;
    if let PathPurpose::Screenshot { pane, look } = &mut sheet.purpose {
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
