//! Numbers and dates as people read them: true minus, U+202F between thousands and before units.

pub use crate::state::core::text::{
    THIN, area, count, decimals_of, distance_text, duration_text, fixed, interval_text, measure,
    ml, per_mm, range_decimals, range_text, range_texts, significant, volume, with_unit,
};

/// `81 × 105 × 60`, with the number of volumes if there are several.
pub fn shape(shape: [usize; 3], frames: usize) -> String {
    let [x, y, z] = shape;
    if frames > 1 {
        format!("{x} × {y} × {z} × {frames}")
    } else {
        format!("{x} × {y} × {z}")
    }
}

/// `1.75 × 1.75 × 2.5 mm`.
pub fn spacing(mm: glam::DVec3) -> String {
    let side = |v: f64| {
        let text = fixed(v, 2);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    with_unit(
        &format!("{} × {} × {}", side(mm.x), side(mm.y), side(mm.z)),
        "mm",
    )
}

/// Parses a typed number: true minus, decimal comma, spaces and a unit are understood.
pub fn parse(text: &str) -> Option<f64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let text = text.replace('−', "-").replace(',', ".");
    let number: String = text
        .chars()
        .take_while(|c| c.is_ascii_digit() || "+-.eE".contains(*c))
        .collect();
    number.parse().ok().filter(|v: &f64| v.is_finite())
}

/// Both ends of a typed range: `30–300`, `30 300`, `30 to 300`.
pub fn parse_range(text: &str) -> Option<(f64, f64)> {
    let text = text.replace('−', "-").replace("to", "–").replace("..", "–");
    let mut parts = text.split(['–', ';']).map(str::trim);
    let (low, high) = match (parts.next(), parts.next()) {
        (Some(low), Some(high)) => (low.to_owned(), high.to_owned()),
        _ => {
            // A hyphen after a digit separates; before one it is a sign.
            let (low, high) = text.trim().split_once(['-', ' '])?;
            (low.to_owned(), high.to_owned())
        }
    };
    let (low, high) = (parse(&low)?, parse(&high)?);
    Some((low.min(high), low.max(high)))
}

/// Age of a moment as text: `today`, `yesterday`, `12 Nov`, `12 Nov 2024` (UTC).
pub fn age(then_s: u64, now_s: u64) -> String {
    const DAY: u64 = 86_400;
    let (then, now) = (then_s / DAY, now_s / DAY);
    match now.saturating_sub(then) {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        _ => {
            let (year, month, day) = civil(then as i64);
            let month = MONTHS[month - 1];
            if civil(now as i64).0 == year {
                format!("{day} {month}")
            } else {
                format!("{day} {month} {year}")
            }
        }
    }
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Year, month (1..=12) and day of a day number since 1970-01-01 in the proleptic Gregorian
/// calendar, by counting from 0000-03-01 so that leap days end a year.
fn civil(day: i64) -> (i64, usize, i64) {
    let days = day + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as usize, day_of_month)
}
