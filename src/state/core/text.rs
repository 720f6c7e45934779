//! Numbers in sentences.

pub use crate::data::text::{THIN, count, counted, file_name, file_stem, grouped, plural};

use crate::io::quoted;
use crate::solvers::pathway::Range90;
use std::path::Path;

/// `1 streamline`, `81 920 streamlines`.
pub fn streamlines(n: u64) -> String {
    counted(n as usize, "streamline")
}

/// `a, b, c and 5 more`: lists at most `max_names` names.
pub fn shortened_list(names: &[&str], max_names: usize) -> String {
    let named = names[..names.len().min(max_names)].join(", ");
    match names.len().saturating_sub(max_names) {
        0 => named,
        more => format!("{named} and {} more", count(more as u64)),
    }
}

/// The value with this many decimals: `−21.0`, `1 184`.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "not a number"
        } else {
            "∞"
        }
        .to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    // −0.0 is displayed as 0.0.
    let negative = value < 0.0 && text.chars().any(|c| ('1'..='9').contains(&c));
    let (whole, rest) = text.split_once('.').map_or((&*text, ""), |(w, r)| (w, r));
    let sign = if negative { "−" } else { "" };
    let dot = if rest.is_empty() { "" } else { "." };
    format!("{sign}{}{dot}{rest}", grouped(whole))
}

/// Three significant digits: `0.578`, `12.3`, `1 184`.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return fixed(value, 0);
    }
    let digits_before = value.abs().log10().floor() as i32 + 1;
    if value.abs() < 1e-4 {
        return format!("{value:.2e}").replace('-', "−");
    }
    fixed(value, (3 - digits_before).clamp(0, 6) as usize)
}

/// `1.23 per mm`: a cost per mm, with the same digits in the window and on the command line.
pub fn per_mm(cost: f64) -> String {
    format!("{} per mm", significant(cost))
}

/// `50–73 %`, `95–99.6 %`: a range of shares. 0 and 100 stand only for none and all: a share beside them has as many
/// decimals as it needs to differ.
pub fn interval_text(shares: [f64; 2]) -> String {
    const MAX_DECIMALS: usize = 6;
    let [low, high] = shares.map(|share| {
        let is_end = share <= 0.0 || share >= 1.0;
        let mut texts = (0..=MAX_DECIMALS).map(|decimals| fixed(100.0 * share, decimals));
        let differs = |text: &String| {
            let value: Result<f64, _> = text.parse();
            is_end || value.is_ok_and(|value| value > 0.0 && value < 100.0)
        };
        let text = texts.find(differs);
        text.unwrap_or_else(|| fixed(100.0 * share, MAX_DECIMALS))
    });
    with_unit(&format!("{low}–{high}"), "%")
}

/// `3.8 (2.1 to 6.5)`: the median of repetitions, and 5 to 95 % if they are enough for percentiles.
pub fn range_text(range: Range90, repetitions: usize, number: impl Fn(f64) -> String) -> String {
    let [median, low, high] = [range.median, range.low, range.high].map(number);
    match Range90::has_percentiles(repetitions) {
        true => format!("{median} ({low} to {high})"),
        false => median,
    }
}

/// ` (5 to 95 %: 2.1 to 6.5)`, after the median in a sentence; empty if repetitions are too few for percentiles.
pub fn percentiles_text(
    range: Range90,
    repetitions: usize,
    number: impl Fn(f64) -> String,
) -> String {
    let [low, high] = [range.low, range.high].map(number);
    match Range90::has_percentiles(repetitions) {
        true => format!(" (5 to 95 %: {low} to {high})"),
        false => String::new(),
    }
}

/// Decimals that give the larger of two ends three significant digits, or more if the ends would look alike.
pub fn range_decimals([low, high]: [f64; 2]) -> usize {
    let largest = low.abs().max(high.abs());
    if !(largest.is_finite() && largest > 0.0) {
        return 0;
    }
    let before = largest.log10().floor() as i32 + 1;
    let decimals = (3 - before).clamp(0, 6) as usize;
    match low != high && fixed(low, decimals) == fixed(high, decimals) {
        true => decimals_of(high - low).clamp(0, 8) as usize,
        false => decimals,
    }
}

/// The ends of a range, with the same decimals; only 0 has none.
pub fn range_texts(ends: [f64; 2]) -> [String; 2] {
    if ends.iter().all(|end| end.abs() < 1e-4) {
        return ends.map(significant);
    }
    let decimals = range_decimals(ends);
    ends.map(|end| fixed(end, if end == 0.0 { 0 } else { decimals }))
}

/// A duration: `42 ms`, `13.4 s`, `29 min`.
pub fn duration_text(ms: f64) -> String {
    // A value that rounds to 1 000 ms is shown as a second.
    match ms.round() {
        whole if whole < 1e3 => with_unit(&fixed(whole.max(1.0), 0), "ms"),
        whole if whole < 1e5 => with_unit(&fixed(ms / 1e3, 1), "s"),
        whole if whole < 6e5 => with_unit(&fixed(ms / 6e4, 1), "min"),
        _ => with_unit(&fixed(ms / 6e4, 0), "min"),
    }
}

/// A distance, rounded down so that it is never too large: `3.4 mm`, `<0.1 mm`.
pub fn distance_text(mm: f64) -> String {
    match (mm * 10.0).floor() * 0.1 {
        down if down < 0.05 => with_unit("<0.1", "mm"),
        down => with_unit(&fixed(down, 1), "mm"),
    }
}

/// `121 mm`.
pub fn with_unit(value: &str, unit: &str) -> String {
    if unit.is_empty() {
        value.to_owned()
    } else {
        format!("{value}{THIN}{unit}")
    }
}

/// A connectivity measure, as in scales and tables: `0.80`, `12.3`, `380`.
pub fn measure(value: f64) -> String {
    let decimals = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    fixed(value, decimals)
}

/// `2.8 ml`; a volume below 0.1 ml with three digits, `45.2 mm³`.
pub fn ml(value: f64, decimals: usize) -> String {
    small_volume(value).unwrap_or_else(|| {
        // Less than one is not zero.
        let decimals = decimals.max(usize::from(value > 0.0 && value < 0.95));
        with_unit(&fixed(value, decimals), "ml")
    })
}

/// Like [`ml`], with a plain space before the unit: for text that leaves the window.
pub fn plain_ml(value: f64, decimals: usize) -> String {
    let text = ml(value, decimals);
    match text.rsplit_once(THIN) {
        Some((number, unit)) => format!("{number} {unit}"),
        None => text,
    }
}

/// Three significant digits, `12.3 ml`; below 0.1 ml `45.2 mm³`.
pub fn volume(ml: f64) -> String {
    small_volume(ml).unwrap_or_else(|| with_unit(&significant(ml), "ml"))
}

/// Three significant digits, `12.3 cm²`; below 0.1 cm² `4.52 mm²`.
pub fn area(mm2: f64) -> String {
    match mm2 > 0.0 && mm2 < 10.0 {
        true => with_unit(&significant(mm2), "mm²"),
        false => with_unit(&significant(mm2 * 1e-2), "cm²"),
    }
}

/// A volume below 0.1 ml, in mm³.
fn small_volume(ml: f64) -> Option<String> {
    let is_small = ml > 0.0 && ml < 0.1;
    is_small.then(|| with_unit(&significant(ml * 1e3), "mm³"))
}

/// Decimals that give about three significant digits of a range.
pub fn decimals_of(range: f64) -> i32 {
    (2.0 - range.max(1e-30).log10().round()).clamp(-3.0, 8.0) as i32
}

/// A path as an argument of a command line.
pub(in crate::state) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}
