//! Paths from the desktop's file dialogs, or typed.
//!
//! The window never accesses the disk: jobs do, and each answer holds for exactly the path that it names. Nothing is
//! saved or opened before the answer arrives; typing continues meanwhile.

mod contents;
mod dialog;
mod distribution_files;
mod picture;
mod purpose;
mod suggested;
mod typed;

use super::theme::{self, space};
use super::widgets::field::{self, Typed};
use crate::state::files::types::PhantomName;
use crate::state::{
    Action, FilesAction, Look, PathAnswer, PathCheck, PathQuestion, PictureAction, SessionAction,
    State, UnsavedAction,
};
use dialog::Dialogs;
pub use dialog::StartThread;
use egui::{Align2, Area, Context, Frame, Margin, Order, Pos2, Rect, Stroke, Ui, vec2};
pub use purpose::PathPurpose;
use std::path::PathBuf;
pub use suggested::suggestion;
use typed::{OverwriteWarning, check, completion, typed_paths};

/// Where the sheet opens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DialogPosition {
    /// In the middle, under the top bar.
    Middle,
    /// The lower right corner of the dialog is here.
    Above(Pos2),
    /// The upper right corner of the dialog is here.
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
pub struct DialogSettings {
    purpose: PathPurpose,
    place: DialogPosition,
    suggested: String,
}

/// A dialog, before or after it is on screen, and the question to be answered first.
enum Dialog {
    /// It opens in a folder where files can be saved.
    ToOpen(PathCheck, DialogSettings),
    /// Chosen path; files that would be replaced besides the one that the dialog itself asked about.
    Chosen(PathCheck, DialogSettings, PathBuf),
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
    fn new_check(&mut self, question: PathQuestion) -> PathCheck {
        self.number += 1;
        let number = self.number;
        PathCheck { number, question }
    }

    /// Asks for a path: by dialog where the desktop has one, else by the path field.
    pub fn ask_for_path(
        &mut self,
        ctx: &Context,
        purpose: PathPurpose,
        place: DialogPosition,
        suggested: &str,
    ) {
        // The second request: the first dialog is hidden behind a window, or never came.
        let is_repeat = std::mem::replace(&mut self.waiting, true);
        if !self.dialogs.may_appear() || is_repeat {
            let not_yet_open = |d: &mut Dialog| matches!(d, Dialog::ToOpen(..));
            if self.dialog.take_if(not_yet_open).is_some() {
                self.waiting = false;
            }
            return self.type_path(purpose, place, suggested);
        }
        let ask = DialogSettings {
            purpose,
            place,
            suggested: suggested.to_owned(),
        };
        let paths = typed_paths(suggested, &self.folder);
        match check(&ask.purpose, &paths).filter(|_| ask.purpose.saves()) {
            Some(question) => {
                self.dialog = Some(Dialog::ToOpen(self.new_check(question), ask));
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
        self.sheet.is_some()
            || self.waiting && self.dialogs.may_appear() && !self.dialogs.is_any_available()
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
                        self.dialog = Some(Dialog::Chosen(self.new_check(question), ask, path));
                    }
                }
                Some(paths) => actions.extend(ask.purpose.action(paths)),
                None if self.dialogs.is_any_available() || self.sheet.is_some() => {}
                None => self.type_path(ask.purpose, ask.place, &ask.suggested),
            }
        }
        if let Some(dialog) = self.dialog.take() {
            self.continue_dialog(ctx, dialog, state, actions);
        }
        if let Some(sheet) = self.sheet.take() {
            self.handle_answer(sheet, state, actions);
        }
        // One question at a time, the dialog's first: the user has already chosen.
        let sheet = self.sheet.as_ref().and_then(|s| s.open.as_ref());
        let open = self.dialog.as_ref().map(Dialog::check);
        let open = open.or(sheet.map(|(check, _)| check));
        if let Some(check) = open.filter(|check| !state.runtime.files.paths.is_open(check)) {
            actions.push(Action::Files(FilesAction::CheckPath(check.clone())));
            // Its answer may arrive before any other event.
            ctx.request_repaint();
        }
    }

    /// Opens a dialog, or passes its result on, once its question is answered.
    fn continue_dialog(
        &mut self,
        ctx: &Context,
        dialog: Dialog,
        state: &State,
        actions: &mut Vec<Action>,
    ) {
        let paths = &state.runtime.files.paths;
        let (answer, has_failed) = (
            paths.result(dialog.check()),
            paths.has_failed(dialog.check()),
        );
        let destination = match answer {
            Some(PathAnswer::Destination(destination)) => Some(destination.clone()),
            _ => None,
        };
        match (dialog, destination) {
            (dialog, None) if !has_failed => self.dialog = Some(dialog),
            (Dialog::ToOpen(_, mut ask), destination) => {
                if let Some(better) = destination.and_then(|destination| destination.suggestion) {
                    ask.suggested = better.display().to_string();
                }
                self.dialogs.start(ctx, ask);
            }
            // The chosen path waits in the path field, where it can be tried again.
            (Dialog::Chosen(_, ask, path), None) => {
                self.type_path(ask.purpose, ask.place, &path.display().to_string());
            }
            (Dialog::Chosen(_, ask, path), Some(destination)) => {
                let others = destination
                    .existing
                    .into_iter()
                    .filter(|file| *file != path);
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
    fn handle_answer(&mut self, mut sheet: Sheet, state: &State, actions: &mut Vec<Action>) {
        let known = &state.runtime.files.paths;
        let Some((check, next)) = sheet.open.take() else {
            self.sheet = Some(sheet);
            return;
        };
        match (known.result(&check), next) {
            // A message gives the reason.
            (None, _) if known.has_failed(&check) => {}
            (None, next) => sheet.open = Some((check, next)),
            (Some(PathAnswer::Complete(completion)), Next::Complete) => {
                sheet.text.clone_from(&completion.text);
                sheet.names.clone_from(&completion.names);
            }
            (Some(PathAnswer::Destination(destination)), Next::Suggest) => {
                if let Some(better) = &destination.suggestion {
                    sheet.text = better.display().to_string();
                }
            }
            (Some(PathAnswer::Readable(Err(error))), Next::Enter(_)) => {
                (sheet.focus, sheet.error) = (true, Some(error.to_string()));
            }
            (Some(PathAnswer::Readable(Ok(()))), Next::Enter(paths)) => {
                return actions.extend(sheet.purpose.action(paths));
            }
            (Some(PathAnswer::Destination(destination)), Next::Enter(paths)) => {
                if let Some(error) = &destination.error {
                    (sheet.focus, sheet.error) = (true, Some(error.to_string()));
                } else if let (Some(path), false) = (paths.first(), destination.existing.is_empty())
                {
                    let (path, files) = (path.clone(), destination.existing.clone());
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
        let head =
            PhantomName::read(sheet.text.trim()).filter(|_| sheet.purpose == PathPurpose::Open);
        if let Some(Ok(name)) = head {
            let head = UnsavedAction::Head(name.head);
            actions.push(Action::Session(SessionAction::CloseDocument(head)));
            return;
        }
        let paths = typed_paths(&sheet.text, &self.folder);
        let agreed = sheet.replaces.as_ref().map(|e| &e.path) == paths.first();
        if sheet.purpose.saves() && agreed && !paths.is_empty() {
            actions.extend(sheet.purpose.action(paths));
            return;
        }
        if !sheet.is_checking()
            && let Some(question) = check(&sheet.purpose, &paths)
        {
            sheet.open = Some((self.new_check(question), Next::Enter(paths)));
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
            let question = check(&sheet.purpose, &paths).map(|q| self.new_check(q));
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
        let mut outcome = Typed::Editing;
        let (mut browse, mut completes, mut copies) = (false, false, false);
        let native = self.dialogs.may_appear();
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
                (outcome, browse, copies) = contents::show(ui, state, &mut sheet, native);
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
            sheet.open = Some((self.new_check(question), Next::Complete));
            ui.ctx().request_repaint();
        }
        if browse {
            let name = sheet.text.clone();
            return self.ask_for_path(ui.ctx(), sheet.purpose, sheet.place, &name);
        }
        match outcome {
            Typed::Editing => {
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
