//! The desktop's file dialogs, where there are any.

use super::purpose::{Purpose, SESSION};
use crate::io::Format;
use std::path::{Path, PathBuf};

/// Whether the desktop shows file dialogs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Desktop {
    /// Not looked at yet.
    Unknown,
    Without,
    /// There is a session bus; whether a portal answers on it shows when one is asked.
    Perhaps,
    With,
}

/// What can show a dialog here: zenity, or a portal on the session bus.
pub fn desktop() -> Desktop {
    if !cfg!(all(unix, not(target_os = "macos"))) {
        return Desktop::With;
    }
    let set = |name| std::env::var_os(name).filter(|text| !text.is_empty());
    let path = set("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join("zenity").is_file()) {
        return Desktop::With;
    }
    let socket = set("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("bus"));
    if set("DBUS_SESSION_BUS_ADDRESS").is_some() || socket.is_some_and(|s| s.exists()) {
        Desktop::Perhaps
    } else {
        Desktop::Without
    }
}

/// The desktop's dialog; `None` when cancelled or when there is none. Blocks: not for the window.
pub fn dialog(purpose: &Purpose, suggested: &str) -> Option<Vec<PathBuf>> {
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

/// `gz` of `nii.gz`: dialogs look at what is behind the last dot.
fn last_part(ending: &str) -> &str {
    ending.rsplit('.').next().unwrap_or(ending)
}
