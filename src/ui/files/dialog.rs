//! The desktop's file dialogs, if there are any. They block, so each waits on a thread of its own: the only threads
//! that the window starts itself.

use super::DialogSettings;
use super::purpose::{PathPurpose, SESSION};
use crate::io::Format;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Runs work on a thread that the caller starts; `ui` itself starts none.
pub type StartThread = fn(&'static str, Box<dyn FnOnce() + Send>);

/// How a dialog ended.
pub struct DialogResult {
    pub ask: DialogSettings,
    /// `None`: cancelled, or there was no dialog. The two cannot be distinguished.
    pub paths: Option<Vec<PathBuf>>,
    desktop: Desktop,
}

pub struct Dialogs {
    start_thread: StartThread,
    desktop: Desktop,
    sender: Sender<DialogResult>,
    receiver: Receiver<DialogResult>,
}

impl Dialogs {
    pub fn new(native: bool, start_thread: StartThread) -> Self {
        let (sender, receiver) = channel();
        let desktop = match native {
            true => Desktop::Unknown,
            false => Desktop::NoDialogs,
        };
        Self {
            start_thread,
            desktop,
            sender,
            receiver,
        }
    }

    /// Whether a dialog may appear.
    pub fn may_appear(&self) -> bool {
        self.desktop != Desktop::NoDialogs
    }

    /// Whether dialogs are known to appear.
    pub fn is_any_available(&self) -> bool {
        self.desktop == Desktop::Dialogs
    }

    /// Opens a dialog.
    pub fn start(&self, ctx: &egui::Context, ask: DialogSettings) {
        let (ctx, sender, known) = (ctx.clone(), self.sender.clone(), self.desktop);
        (self.start_thread)(
            "files",
            Box::new(move || {
                let desktop = match known {
                    Desktop::Unknown => find_desktop(),
                    known => known,
                };
                let comes = desktop != Desktop::NoDialogs;
                let paths = comes
                    .then(|| dialog(&ask.purpose, &ask.suggested))
                    .flatten();
                // The window may be gone by now.
                let _ = sender.send(DialogResult {
                    ask,
                    paths,
                    desktop,
                });
                ctx.request_repaint();
            }),
        );
    }

    /// The dialogs that ended since the last frame.
    pub fn poll(&mut self) -> Vec<DialogResult> {
        let answers: Vec<DialogResult> = self.receiver.try_iter().collect();
        for answer in &answers {
            match (&answer.paths, self.desktop) {
                (Some(_), _) => self.desktop = Desktop::Dialogs,
                (None, Desktop::Dialogs) => {}
                (None, _) => self.desktop = answer.desktop,
            }
        }
        answers
    }
}

/// Whether the desktop shows file dialogs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Desktop {
    /// Whether it does is not known yet.
    Unknown,
    NoDialogs,
    /// There is a session bus; whether a portal answers on it is known only after a request.
    MaybePortal,
    Dialogs,
}

/// Looks for a program that can show a dialog: zenity, or a portal on the session bus. Reads the disk.
fn find_desktop() -> Desktop {
    if !cfg!(all(unix, not(target_os = "macos"))) {
        return Desktop::Dialogs;
    }
    let set = |name| std::env::var_os(name).filter(|text| !text.is_empty());
    let path = set("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join("zenity").is_file()) {
        return Desktop::Dialogs;
    }
    let socket = set("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("bus"));
    if set("DBUS_SESSION_BUS_ADDRESS").is_some() || socket.is_some_and(|s| s.exists()) {
        Desktop::MaybePortal
    } else {
        Desktop::NoDialogs
    }
}

/// Shows the desktop's dialog; `None` when cancelled or when there is none. Blocks.
fn dialog(purpose: &PathPurpose, suggested: &str) -> Option<Vec<PathBuf>> {
    let mut dialog = rfd::AsyncFileDialog::new().set_title(purpose.title());
    let path = Path::new(suggested);
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        dialog = dialog.set_directory(folder);
    }
    if purpose.saves() {
        if let Some(name) = path.file_name() {
            dialog = dialog.set_file_name(name.to_string_lossy());
        }
        for (ending, name) in purpose.endings().iter().zip(purpose.format_names()) {
            if purpose.endings().len() > 1 {
                dialog = dialog.add_filter(name, &[last_part(ending)]);
            }
        }
        let file = pollster::block_on(dialog.save_file())?;
        return Some(vec![file.path().to_owned()]);
    }
    if let PathPurpose::Responses(_) = purpose {
        let dialog = dialog.add_filter("Text", &["txt"]);
        let dialog = dialog.add_filter("All files", &["*"]);
        let files = pollster::block_on(dialog.pick_files())?;
        return Some(files.iter().map(|f| f.path().to_owned()).collect());
    }
    if let PathPurpose::Warp(_) = purpose {
        let dialog = dialog.add_filter("Fields and affines", &["nii", "gz", "mat", "txt", "tfm"]);
        let dialog = dialog.add_filter("All files", &["*"]);
        let files = pollster::block_on(dialog.pick_files())?;
        return Some(files.iter().map(|f| f.path().to_owned()).collect());
    }
    let endings = Format::all().filter(|f| f.content() != crate::io::Content::Picture);
    let mut known: Vec<&str> = endings
        .flat_map(|f| f.extensions().iter().copied().map(last_part))
        .collect();
    known.push(SESSION);
    known.sort_unstable();
    known.dedup();
    let dialog = dialog
        .add_filter("Scans, masks, tractograms, sessions", &known)
        .add_filter("All files", &["*"]);
    let files = pollster::block_on(dialog.pick_files())?;
    Some(files.iter().map(|f| f.path().to_owned()).collect())
}

/// `gz` of `nii.gz`: dialogs compare only the part after the last dot.
fn last_part(ending: &str) -> &str {
    ending.rsplit('.').next().unwrap_or(ending)
}
