//! Response functions as MRtrix's text files: one row for each shell by ascending b, with the columns R_0, R_2, …
//!
//! Lines that begin with `#` are comments; MRtrix's `# Shells: 0,700,1200` gives the b-values.

use super::source::read_text;
use super::{Error, atomic};
use crate::data::Response;
use crate::data::text::counted;
use std::fmt::Write as _;
use std::path::Path;

/// A mean signal may exceed that of the shell before by this factor: in fluid, shells of high b hold hardly more than
/// noise, whose mean in 10 voxels and 30 volumes scatters by 3 % (0.52 / √300).
const MAX_RISE: f64 = 1.05;

const TEXT_LIMIT_BYTES: u64 = 1 << 20;
const EXPECTED: &str = "one row of numbers for each shell: R_0, R_2, …";

/// Reads and checks the table; rows without a list of shells have no b-values.
pub fn read(path: &Path) -> Result<Response, Error> {
    parse(&read_text(path, TEXT_LIMIT_BYTES)?, path)
}

/// [`read`] for the contents of a file, which `path` names in errors.
pub fn parse(text: &str, path: &Path) -> Result<Response, Error> {
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
    let last = rows
        .iter()
        .flat_map(|row| row.iter().rposition(|r| *r != 0.0));
    // Columns of zeros determine nothing, so they must not raise the order.
    let columns = last.max().map_or(1, |last| last + 1);
    for row in &mut rows {
        row.truncate(columns);
    }
    // A list of another length belongs to another table.
    let b_s_per_mm2 = b_s_per_mm2.filter(|b: &Vec<f64>| b.len() == rows.len());
    let response = Response::new(b_s_per_mm2, rows);
    check_signal(path, &response)?;
    Ok(response)
}

/// Refuses a signal that no tissue has: one that rises with b, or that is not smaller along fibres than across them.
fn check_signal(path: &Path, response: &Response) -> Result<(), Error> {
    let malformed = |found: String, expected: &str, then: &str| {
        Err(Error::malformed(path, found, (expected, then)))
    };
    let means = (0..response.shell_count()).map(|row| response.mean_signal(row));
    let means: Vec<f64> = means.collect();
    if let Some(row) = means
        .windows(2)
        .position(|pair| pair[1] > MAX_RISE * pair[0])
    {
        return malformed(
            format!(
                "a mean signal that rises from {:.4} in row {} to {:.4} in row {}",
                means[row],
                row + 1,
                means[row + 1],
                row + 2
            ),
            "rows by ascending b, whose signal falls",
            "sort the rows, or estimate the response function again",
        );
    }
    let last = response.shell_count() - 1;
    let (along, across) = (response.signal(last, 1.0), response.signal(last, 0.0));
    if response.is_isotropic() || along < across {
        return Ok(());
    }
    malformed(
        format!(
            "a signal of {along:.4} along the fibres and {across:.4} across them in the last row"
        ),
        "less along them than across, as R_2 below 0 gives it",
        "change the signs to those of MRtrix, or estimate the response function again",
    )
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
