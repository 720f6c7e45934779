//! Typed paths: the questions about them, and the paths that they denote.

use super::PathPurpose;
use crate::data::text::{enumerated, file_name};
use crate::state::filter::FilterFile;
use crate::state::{CheckDestination, CheckReadable, CompletePath, PathQuestion};
use std::path::{Path, PathBuf};

/// Warns of files that would be replaced.
#[derive(Clone, Debug)]
pub struct OverwriteWarning {
    /// The chosen path.
    pub path: PathBuf,
    /// The files that exist: that path, or files with other parts of the saved data. There is at least one.
    pub files: Vec<PathBuf>,
}

impl OverwriteWarning {
    /// `a.tck and a.tsf exist. Saving replaces them`.
    pub fn sentence(&self) -> String {
        let name = |file: &PathBuf| file_name(file);
        let names: Vec<String> = self.files.iter().map(name).collect();
        match names.as_slice() {
            [] => String::new(),
            [name] => format!("{name} exists. Saving replaces it"),
            _ => format!("{} exist. Saving replaces them", enumerated(&names)),
        }
    }
}

/// Asks whether these paths can be read, or whether the first of them can be written.
pub fn check(purpose: &PathPurpose, paths: &[PathBuf]) -> Option<PathQuestion> {
    let path = paths.first()?;
    if !purpose.saves() {
        return Some(PathQuestion::Readable(CheckReadable {
            paths: paths.to_vec(),
            folders: matches!(purpose, PathPurpose::Open),
        }));
    }
    Some(PathQuestion::Destination(CheckDestination {
        path: path.clone(),
        endings: purpose.endings(),
        accepted: purpose.accepted(),
        files: purpose.files(path),
        home: home(),
    }))
}

/// The question that Tab asks: possible completions of the last typed path.
pub fn completion(text: &str, folder: &Path) -> PathQuestion {
    let last = text.rfind(';').map_or(0, |at| at + 1);
    let start = last + (text.len() - last - text[last..].trim_start().len());
    let (before, typed) = text.split_at(start);
    let whole = typed_paths(typed, folder);
    // A slash at the end asks for the content of the folder.
    let list_folder = typed.is_empty() || typed.ends_with('/') || typed == "~";
    let path = whole
        .into_iter()
        .next()
        .unwrap_or_else(|| folder.to_owned());
    let written = typed.len() - typed.rsplit('/').next().map_or(0, str::len);
    let kept = if list_folder { typed.len() } else { written };
    PathQuestion::Complete(CompletePath {
        text: text.to_owned(),
        prefix: format!("{before}{}", &typed[..kept]),
        path,
        list_folder,
    })
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

/// Absolute paths as typed: `;` separates, `~/` is the home folder, quotes are dropped.
pub fn typed_paths(text: &str, folder: &Path) -> Vec<PathBuf> {
    let paths = text.split(';').map(|w| w.trim().trim_matches(['"', '\'']));
    paths
        .filter(|w| !w.is_empty())
        .map(|w| match (w.strip_prefix("~/"), home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.join(w),
        })
        .collect()
}

/// Where the values of streamlines of this name are written: files next to it, one line each, or the values in the
/// same file.
pub fn values_of(purpose: &PathPurpose, path: &Path) -> Vec<String> {
    const MAXIMUM_LINES: usize = 4;
    let (PathPurpose::Streamlines { values, .. }
    | PathPurpose::Filter(FilterFile::Kept | FilterFile::All, values)) = purpose
    else {
        return Vec::new();
    };
    let adjacent = purpose.companion_files(path);
    let mut lines: Vec<String> = adjacent
        .iter()
        .map(|(description, path)| {
            let name = file_name(path);
            format!("{description}: {name}")
        })
        .collect();
    if lines.len() > MAXIMUM_LINES {
        let more = lines.split_off(MAXIMUM_LINES - 1);
        lines.push(format!("{} more files of values", more.len()));
    }
    let names: Vec<String> = values
        .in_file(path)
        .into_iter()
        .map(str::to_owned)
        .collect();
    if lines.is_empty() && !names.is_empty() {
        lines.push(format!("In the same file: {}", listed(&names)));
    }
    lines
}

/// The names that fit on a line.
pub fn listed(names: &[String]) -> String {
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
