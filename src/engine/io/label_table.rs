//! Names and colours of a label map in a companion text file, as ITK-SNAP reads and writes it: number, red, green,
//! blue, opacity, visible, meshed, "name".

use super::{Error, atomic};
use crate::data::labels::Labels;
use crate::data::text::file_stem;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The path of a label map's table: `labels.nii.gz` has `labels.txt`.
pub fn table_path(image: &Path) -> PathBuf {
    image.with_file_name(format!("{}.txt", file_stem(image)))
}

/// Writes a table next to its image; returns its path.
pub fn save<'a>(
    image: &Path,
    labels: impl Iterator<Item = (u32, &'a str, [u8; 3])>,
) -> Result<PathBuf, Error> {
    let path = table_path(image);
    atomic::write_text(&path, &text(labels))?;
    Ok(path)
}

fn text<'a>(labels: impl Iterator<Item = (u32, &'a str, [u8; 3])>) -> String {
    let mut text = String::from("0 0 0 0 0 0 0 \"Background\"\n");
    for (number, name, [r, g, b]) in labels {
        // A quote within a name would end it.
        let name = name.replace('"', "'");
        // Writing to a string does not fail.
        let _ = writeln!(text, "{number} {r} {g} {b} 1 1 1 \"{name}\"");
    }
    text
}

fn rows(labels: &Labels) -> impl Iterator<Item = (u32, &str, [u8; 3])> {
    let rows = labels.table.iter().filter(|(number, _)| **number > 0);
    rows.map(|(&n, label)| (n, label.name.as_str(), labels.colour(n)))
}

/// Writes the names and colours of a label map next to it; does nothing if it has none.
pub fn save_of(image: &Path, labels: Option<&Labels>) -> Result<Option<PathBuf>, Error> {
    let Some(labels) = labels.filter(|l| !l.table.is_empty()) else {
        return Ok(None);
    };
    save(image, rows(labels)).map(Some)
}

/// Does everything except the last step.
pub(super) fn prepare_of(image: &Path, labels: &Labels) -> Result<atomic::PreparedFile, Error> {
    atomic::prepare_text(&table_path(image), &text(rows(labels)))
}
