//! Response functions as MRtrix's text files: one row for each shell by ascending b, with the columns R_0, R_2, …
//!
//! Lines that begin with `#` are comments; MRtrix's `# Shells: 0,700,1200` gives the b-values.

use super::source::read_text;
use super::{Error, atomic};
use crate::data::Response;
use crate::data::text::counted;
use std::fmt::Write as _;
use std::path::Path;

const TEXT_LIMIT_BYTES: u64 = 1 << 20;
const EXPECTED: &str = "one row of numbers for each shell: R_0, R_2, …";

/// Reads and checks the table; rows without a list of shells have no b-values.
pub fn read(path: &Path) -> Result<Response, Error> {
    let text = read_text(path, TEXT_LIMIT_BYTES)?;
    let malformed = |found: String| Error::malformed(path, found, EXPECTED);
    let (mut rows, mut b_s_per_mm2) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        let (content, comment) = line.split_once('#').unwrap_or((line, ""));
        if let Some(list) = comment.trim().strip_prefix("Shells:") {
            let values: Option<Vec<f64>> = list.split(',').map(|v| v.trim().parse().ok()).collect();
            b_s_per_mm2 = values;
        }
        let separators = |c: char| c.is_whitespace() || c == ',';
        let entries = content.split(separators).filter(|entry| !entry.is_empty());
        let mut row = Vec::new();
        for entry in entries {
            match entry.parse::<f64>() {
                Ok(value) if value.is_finite() => row.push(value),
                _ => return Err(malformed(format!("“{entry}” in line {}", number + 1))),
            }
        }
        if !row.is_empty() {
            rows.push(row);
        }
    }
    let Some(first) = rows.first() else {
        return Err(malformed("no number".to_owned()));
    };
    if let Some(row) = rows.iter().position(|row| row.len() != first.len()) {
        return Err(malformed(format!(
            "{} in the first row but {} in row {}",
            counted(first.len(), "number"),
            rows[row].len(),
            row + 1
        )));
    }
    if let Some(row) = rows.iter().position(|row| row[0] <= 0.0) {
        return Err(malformed(format!(
            "a mean signal of {} in row {}",
            rows[row][0],
            row + 1
        )));
    }
    // A list of another length belongs to another table.
    let b_s_per_mm2 = b_s_per_mm2.filter(|b: &Vec<f64>| b.len() == rows.len());
    Ok(Response::new(b_s_per_mm2, rows))
}

/// Writes every digit; the b-values, if known, in MRtrix's comment.
pub fn save(path: &Path, response: &Response) -> Result<(), Error> {
    atomic::write_text(path, &text(response))
}

/// The contents of a file: MRtrix's comment, then the rows.
pub fn text(response: &Response) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    if let Some(b) = &response.b_s_per_mm2 {
        let list: Vec<String> = b.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "# Shells: {}", list.join(","));
    }
    for row in &response.rows {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "{}", row.join(" "));
    }
    text
}
