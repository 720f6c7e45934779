//! Gradient timing of Camino's and AMICO's scheme files.
//!
//! After `VERSION: STEJSKALTANNER` (or `1`) a row a volume: g_x g_y g_z |G| (T/m) Δ δ TE (s). Only Δ and δ are
//! taken; directions and b-values are those of the scan.

use super::Error;
use super::source::read_text;
use std::path::Path;

const TEXT_LIMIT_BYTES: u64 = 16 << 20;

/// δ and Δ of each volume, ms.
pub fn timing(path: &Path) -> Result<Vec<[f64; 2]>, Error> {
    let text = read_text(path, TEXT_LIMIT_BYTES)?;
    let wrong = |found: String| {
        Error::malformed(
            path,
            found,
            "a scheme file: VERSION: STEJSKALTANNER, then seven numbers a volume",
        )
    };
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|l| !l.is_empty() && !l.starts_with('#'));
    let version = lines
        .next()
        .and_then(|l| l.strip_prefix("VERSION:"))
        .map(str::trim);
    match version {
        Some("STEJSKALTANNER" | "1") => {}
        Some(other) => return Err(wrong(format!("version {other}, which has no timing"))),
        None => return Err(wrong("no version".to_owned())),
    }
    let row = |line: &str| -> Option<[f64; 2]> {
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|n| n.parse().ok()).collect();
        match numbers?.as_slice() {
            // At b = 0 some programs write zeros.
            [_, _, _, _, between, pulse, _] => Some([pulse * 1e3, between * 1e3]),
            _ => None,
        }
    };
    let rows: Option<Vec<[f64; 2]>> = lines.map(row).collect();
    let mut rows = rows.ok_or_else(|| wrong("a row that is not seven numbers".to_owned()))?;
    let known = rows.iter().copied().find(|[pulse, _]| *pulse > 0.0);
    for row in rows.iter_mut().filter(|[pulse, _]| *pulse == 0.0) {
        *row = known.unwrap_or(*row);
    }
    if rows.is_empty() {
        return Err(wrong("no volume".to_owned()));
    }
    Ok(rows)
}
