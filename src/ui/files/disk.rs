//! Paths as typed, and what the disk says about them before anything is written there: not for the
//! window's thread.

use super::Purpose;
use crate::state::filter::FilterFile;
use crate::state::{Completed, SavePlace};
use std::path::{Path, PathBuf};

/// What would be overwritten.
#[derive(Clone, Debug)]
pub struct Existing {
    /// As it was chosen.
    pub path: PathBuf,
    /// It, or what is written beside it; at least one.
    files: Vec<PathBuf>,
}

impl Existing {
    /// Looks at the disk: not for the window. `asked`: the desktop has asked about the chosen name
    /// itself.
    pub fn look(purpose: &Purpose, path: &Path, asked: bool) -> Option<Self> {
        let files = purpose.files(path).into_iter();
        let files: Vec<_> = files
            .filter(|file| file.exists() && !(asked && file == path))
            .collect();
        let path = path.to_owned();
        (!files.is_empty()).then_some(Self { path, files })
    }

    /// `a.tck and a.tsf exist. Saving replaces them`.
    pub fn sentence(&self) -> String {
        let name = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let names: Vec<String> = self.files.iter().map(name).collect();
        match names.split_last() {
            Some((last, [])) => format!("{last} exists. Saving replaces it"),
            Some((last, others)) => {
                let others = others.join(", ");
                format!("{others} and {last} exist. Saving replaces them")
            }
            None => String::new(),
        }
    }
}

/// What a dialog's choice would overwrite beside the file that the dialog has asked about.
pub fn existing_beside(purpose: &Purpose, paths: &[PathBuf]) -> Option<Existing> {
    let path = paths.first().filter(|_| purpose.saves())?;
    Existing::look(purpose, path, true)
}

/// Why nothing can be saved under a name, as far as the disk says before it is tried.
pub fn wrong(purpose: &Purpose, path: &Path) -> Option<String> {
    if !purpose.saves() {
        return not_there(purpose, path);
    }
    let endings = purpose.endings();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        return Some(format!(
            "This is a folder, add the name of a file: {}",
            path.display()
        ));
    }
    let ends = |e: &str| name.to_lowercase().ends_with(&format!(".{e}"));
    if !purpose.accepted().iter().any(|e| ends(e)) {
        let listed = match endings.as_slice() {
            [one] => (*one).to_owned(),
            [one, other] => format!("{one} or .{other}"),
            several => several.join(", ."),
        };
        return Some(format!("Expected a name that ends in .{listed}"));
    }
    let folder = path.parent()?;
    if !folder.is_dir() {
        return Some(format!("There is no folder {}", folder.display()));
    }
    let refused = !SavePlace::takes_files(folder);
    refused.then(|| {
        format!(
            "No file can be made in {}, choose another folder",
            folder.display()
        )
    })
}

/// Why nothing can be read under a name.
fn not_there(purpose: &Purpose, path: &Path) -> Option<String> {
    if path.is_dir() {
        let folder = !matches!(purpose, Purpose::Open);
        return folder.then(|| format!("This is a folder, expected a file: {}", path.display()));
    }
    if path.exists() {
        return None;
    }
    let above = path.parent().filter(|above| !above.is_dir());
    Some(match above {
        Some(above) => format!("There is no folder {}", above.display()),
        None => format!("There is no file of this name: {}", path.display()),
    })
}

/// What Tab makes of what was typed: of several paths, of the last.
pub fn completed(text: &str, folder: &Path) -> Completed {
    let last = text.rfind(';').map_or(0, |at| at + 1);
    let start = last + (text.len() - last - text[last..].trim_start().len());
    let (before, typed) = text.split_at(start);
    let whole = typed_paths(typed, folder);
    // Of a folder's name with a slash behind it what is in it is wanted.
    let within = typed.is_empty() || typed.ends_with('/') || typed == "~";
    let path = whole
        .into_iter()
        .next()
        .unwrap_or_else(|| folder.to_owned());
    let found = Completed::of(&path, within);
    let written = typed.len() - typed.rsplit('/').next().map_or(0, str::len);
    let kept = if within { typed.len() } else { written };
    Completed {
        text: format!("{before}{}{}", &typed[..kept], found.text),
        names: found.names,
    }
}

/// The same name in the home folder, where nothing can be saved in its own.
pub fn elsewhere(suggested: &str, folder: &Path) -> Option<String> {
    let path = folder.join(suggested);
    let (above, name) = (path.parent()?, path.file_name()?);
    let home = std::env::var_os("HOME").map(PathBuf::from)?;
    let better = above != home && !SavePlace::takes_files(above) && SavePlace::takes_files(&home);
    better.then(|| home.join(name).display().to_string())
}

/// Absolute paths as typed: `;` separates, `~/` is the home folder, quotes are dropped.
pub fn typed_paths(text: &str, folder: &Path) -> Vec<PathBuf> {
    let words = text.split(';').map(|w| w.trim().trim_matches(['"', '\'']));
    words
        .filter(|w| !w.is_empty())
        .map(|w| match (w.strip_prefix("~/"), std::env::var_os("HOME")) {
            (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
            _ => folder.join(w),
        })
        .collect()
}

/// Where values go that are written with streamlines of this name, a line each.
pub fn values_of(purpose: &Purpose, path: &Path) -> Vec<String> {
    const MOST: usize = 4;
    let measured = match purpose {
        Purpose::Tracks { measured, .. } => *measured,
        Purpose::Filter(FilterFile::Kept | FilterFile::All, _) => false,
        _ => return Vec::new(),
    };
    let beside = purpose.beside(path);
    let mut lines: Vec<String> = beside
        .iter()
        .map(|(words, path)| {
            let name = path.file_name().unwrap_or_default();
            format!("{words}: {}", name.to_string_lossy())
        })
        .collect();
    if lines.len() > MOST {
        let more = lines.split_off(MOST - 1);
        lines.push(format!("{} more files of values", more.len()));
    }
    if lines.is_empty() && measured {
        lines.push("With their CM in the same file".to_owned());
    }
    lines
}
