//! Gradient timing of Camino's and AMICO's scheme files.
//!
//! After `VERSION: STEJSKALTANNER` (or `1`) a row a volume: g_x g_y g_z |G| (T/m) Δ δ TE (s). Only Δ and δ are
//! taken; directions and b-values are those of the scan.

use super::Error;
use super::source::read_text;
use std::path::Path;

const TEXT_LIMIT_BYTES: u64 = 16 << 20;

/// The shortest and the longest Δ of a protocol as a number of s and of ms: beyond 1 it is in ms.
const BETWEEN_S: [f64; 2] = [1e-3, 1.0];
const BETWEEN_MS: [f64; 2] = [1.0, 2000.0];
/// The strongest gradient, T/m; a larger number is in mT/m.
const STRONGEST: f64 = 20.0;

/// When the gradients of a scan are on.
#[derive(Clone, PartialEq, Debug)]
pub struct Timing {
    /// δ and Δ of each volume, ms.
    pub rows: Vec<[f64; 2]>,
    /// Units that are not the format's, one sentence each.
    pub notes: Vec<String>,
}

fn within([least, most]: [f64; 2], value: f64) -> bool {
    (least..=most).contains(&value)
}

/// δ and Δ in ms from numbers that a user gives as ms. A Δ below that of any protocol is in seconds, with a sentence
/// about it.
pub fn in_ms(pulse: f64, between: f64) -> Result<([f64; 2], Option<String>), String> {
    if within(BETWEEN_MS, between) {
        return Ok(([pulse, between], None));
    }
    if within(BETWEEN_S, between) {
        let note = format!("Δ = {between} and δ = {pulse} cannot be ms; they are read as seconds");
        return Ok(([pulse, between].map(|t| 1e3 * t), Some(note)));
    }
    let [least, most] = BETWEEN_MS;
    Err(format!(
        "Found Δ = {between:?} ms, expected {least} to {most} ms; take δ and Δ from the scan's protocol"
    ))
}

pub fn timing(path: &Path) -> Result<Timing, Error> {
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
    let mut strongest = 0.0f64;
    let row = |line: &str| -> Option<[f64; 2]> {
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|n| n.parse().ok()).collect();
        match numbers?.as_slice() {
            [_, _, _, strength, between, pulse, _] => {
                strongest = strongest.max(*strength);
                Some([*pulse, *between])
            }
            _ => None,
        }
    };
    let rows: Option<Vec<[f64; 2]>> = lines.map(row).collect();
    let mut rows = rows.ok_or_else(|| wrong("a row that is not seven numbers".to_owned()))?;
    // At b = 0 some programs write zeros.
    let known = rows.iter().copied().find(|[pulse, _]| *pulse > 0.0);
    for row in rows.iter_mut().filter(|[pulse, _]| *pulse == 0.0) {
        *row = known.unwrap_or(*row);
    }
    if rows.is_empty() {
        return Err(wrong("no volume".to_owned()));
    }
    let mut notes = Vec::new();
    let longest = rows.iter().map(|[_, between]| *between).fold(0.0, f64::max);
    let ms = match longest {
        0.0 => 1e3,
        s if within(BETWEEN_S, s) => 1e3,
        ms if within(BETWEEN_MS, ms) => {
            notes.push(format!(
                "Δ is up to {ms}, which cannot be seconds; Δ and δ are read as ms"
            ));
            1.0
        }
        other => {
            return Err(Error::malformed(
                path,
                format!("Δ up to {other}"),
                format!(
                    "seconds, {} to {}; write Δ and δ of the scan's protocol in seconds",
                    BETWEEN_S[0], BETWEEN_S[1]
                ),
            ));
        }
    };
    rows.as_flattened_mut().iter_mut().for_each(|t| *t *= ms);
    if strongest > 1e3 * STRONGEST {
        return Err(Error::malformed(
            path,
            format!("gradients of {strongest}"),
            format!("T/m, {STRONGEST} at most; write the strength of the scan's protocol in T/m"),
        ));
    }
    if strongest > STRONGEST {
        notes.push(format!(
            "The gradients' strength is up to {strongest}, which cannot be T/m; it is read as mT/m"
        ));
    }
    Ok(Timing { rows, notes })
}
