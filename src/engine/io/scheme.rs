//! Gradient timing of Camino's and AMICO's scheme files.
//!
//! After `VERSION: STEJSKALTANNER` (or `1`) there is one row per volume: g_x g_y g_z |G| (T/m) Δ δ TE (s). Only Δ and
//! δ are used; directions and b-values are those of the scan, and |G| shows whether the two files belong together.

use super::Error;
use super::source::read_text;
use crate::data::gradients::B0_LIMIT_S_PER_MM2;
use crate::data::text::{counted, number};
use std::fmt;
use std::path::Path;

const TEXT_LIMIT_BYTES: u64 = 16 << 20;

/// Range of Δ in any protocol, in s: a number beyond 1 is in ms.
const BETWEEN_S: [f64; 2] = [1e-3, 1.0];
const BETWEEN_MS: [f64; 2] = [1.0, 2000.0];
/// The strongest gradient, T/m; a larger number is in mT/m.
const STRONGEST: f64 = 20.0;
/// The gyromagnetic ratio of the proton, rad/(s T) (CODATA 2018).
const GAMMA_RAD_PER_S_T: f64 = 2.675_221_874_4e8;
/// Pulse ramps and rounding in a file change b by less.
const B_TOLERANCE: f64 = 0.1;

/// Gradient timing of a scan.
#[derive(Clone, PartialEq, Debug)]
pub struct Timing {
    /// δ and Δ of each volume, ms.
    pub rows: Vec<[f64; 2]>,
    /// |G| of each volume, T/m.
    pub strengths_t_per_m: Vec<f64>,
    /// Units other than the format's, one sentence each.
    pub notes: Vec<String>,
}

impl Timing {
    /// A sentence if b-values of the scan, s/mm², do not match |G|, δ and Δ (Stejskal and Tanner 1965).
    pub fn against(&self, b_s_per_mm2: &[f64]) -> Option<String> {
        let n = self.rows.len();
        let known = self.strengths_t_per_m.iter().any(|g| *g != 0.0);
        if !known || n != b_s_per_mm2.len() {
            return None;
        }
        let of_pulses = |i: usize| {
            let [pulse_s, between_s] = self.rows[i].map(|ms| 1e-3 * ms);
            let q = GAMMA_RAD_PER_S_T * self.strengths_t_per_m[i] * pulse_s;
            1e-6 * q * q * (between_s - pulse_s / 3.0)
        };
        let by = |i: usize| {
            let (own_b, table_b) = (of_pulses(i), b_s_per_mm2[i]);
            match own_b.max(table_b) > B0_LIMIT_S_PER_MM2 {
                true => (own_b - table_b).abs() / own_b.max(table_b),
                false => 0.0,
            }
        };
        let deviating: Vec<usize> = (0..n).filter(|&i| by(i) > B_TOLERANCE).collect();
        let worst = deviating
            .iter()
            .copied()
            .max_by(|&i, &j| by(i).total_cmp(&by(j)))?;
        Some(format!(
            "G, δ and Δ give b = {:.0} s/mm² for volume {worst}, the scan's table has {:.0}, and they differ by \
             more than {:.0} % in {} of {}; check that both files are of this scan",
            of_pulses(worst),
            b_s_per_mm2[worst],
            100.0 * B_TOLERANCE,
            deviating.len(),
            counted(n, "volume")
        ))
    }
}

fn within([min, max]: [f64; 2], value: f64) -> bool {
    (min..=max).contains(&value)
}

/// δ and Δ in ms from numbers that a user states in ms. A Δ below that of any protocol is taken as seconds, with a
/// sentence about it.
pub fn in_ms(pulse: f64, between: f64) -> Result<([f64; 2], Option<String>), TimingError> {
    if within(BETWEEN_MS, between) {
        return Ok(([pulse, between], None));
    }
    if within(BETWEEN_S, between) {
        let note = format!("Δ = {between} and δ = {pulse} cannot be ms; they are read as seconds");
        return Ok(([pulse, between].map(|t| 1e3 * t), Some(note)));
    }
    Err(TimingError { between })
}

/// A Δ beyond that of any protocol, in ms or s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimingError {
    between: f64,
}

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [min, max] = BETWEEN_MS;
        write!(
            f,
            "Found Δ = {} ms, expected {min} to {max} ms; take δ and Δ from the scan's protocol",
            number(self.between)
        )
    }
}

impl std::error::Error for TimingError {}

/// Reads the timing of all rows; implausible times and strengths are read in other units, with a note, or are an
/// error.
pub fn timing(path: &Path) -> Result<Timing, Error> {
    let text = read_text(path, TEXT_LIMIT_BYTES)?;
    let malformed = |found: String| {
        Error::malformed(
            path,
            found,
            "a scheme file: VERSION: STEJSKALTANNER, then seven numbers per volume",
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
        Some(other) => return Err(malformed(format!("version {other}, which has no timing"))),
        None => return Err(malformed("no version".to_owned())),
    }
    let mut strengths = Vec::new();
    let row = |line: &str| -> Option<[f64; 2]> {
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|n| n.parse().ok()).collect();
        match numbers?.as_slice() {
            [_, _, _, strength, between, pulse, _] => {
                strengths.push(strength.abs());
                Some([*pulse, *between])
            }
            _ => None,
        }
    };
    let rows: Option<Vec<[f64; 2]>> = lines.map(row).collect();
    let mut rows = rows.ok_or_else(|| malformed("a row that is not seven numbers".to_owned()))?;
    // At b = 0 some programs write zeros.
    let known = rows.iter().copied().find(|[pulse, _]| *pulse > 0.0);
    for row in rows.iter_mut().filter(|[pulse, _]| *pulse == 0.0) {
        *row = known.unwrap_or(*row);
    }
    if rows.is_empty() {
        return Err(malformed("no volume".to_owned()));
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
                (
                    format!("seconds, {} to {}", BETWEEN_S[0], BETWEEN_S[1]),
                    "write Δ and δ of the scan's protocol in seconds",
                ),
            ));
        }
    };
    rows.as_flattened_mut().iter_mut().for_each(|t| *t *= ms);
    let strongest = strengths.iter().copied().fold(0.0, f64::max);
    if strongest > 1e3 * STRONGEST {
        return Err(Error::malformed(
            path,
            format!("gradients of {strongest}"),
            (
                format!("T/m, {STRONGEST} at most"),
                "write the strength of the scan's protocol in T/m",
            ),
        ));
    }
    if strongest > STRONGEST {
        notes.push(format!(
            "The gradients' strength is up to {strongest}, which cannot be T/m; it is read as mT/m"
        ));
        strengths.iter_mut().for_each(|g| *g *= 1e-3);
    }
    Ok(Timing {
        rows,
        strengths_t_per_m: strengths,
        notes,
    })
}
