//! The form of tables with values separated by commas.

use crate::compute::Control;
use crate::io::atomic::{WriteStop, write_rows};
use crate::io::text::in_line;
use crate::jobs::{JobError, Saved};
use crate::state::files::jobs::saved;
use std::io::Write;
use std::path::PathBuf;

/// A name that spreadsheets read correctly. One that looks like a formula is preceded by an apostrophe, which marks
/// text; control characters are removed.
pub fn field(text: &str) -> String {
    let text = in_line(text, ' ');
    let is_formula = match text.trim_start().chars().next() {
        Some('=' | '@') => true,
        Some('+' | '-') => text.trim().parse::<f64>().is_err(),
        _ => false,
    };
    let text = match is_formula {
        true => format!("'{text}"),
        false => text,
    };
    if text.contains([',', '"', ';']) {
        format!(r#""{}""#, text.replace('"', r#""""#))
    } else {
        text
    }
}

/// Saves the rows that `write` writes; `what` names the content in reports.
pub fn save(
    path: PathBuf,
    what: String,
    control: &Control,
    write: impl FnOnce(&mut dyn Write) -> Result<(), WriteStop>,
) -> Result<Saved, JobError> {
    write_rows(&path, control, write)?;
    Ok(saved(path, what, None))
}
