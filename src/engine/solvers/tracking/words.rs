//! Numbers in sentences.

use crate::data::words::grouped;

/// `16\u{202F}777\u{202F}216`; from a billion on in words: `3.9 billion`.
pub fn count(n: f64) -> String {
    const LARGE: [(f64, &str); 3] = [
        (1e15, "million billion"),
        (1e12, "thousand billion"),
        (1e9, "billion"),
    ];
    if !(n < 1e18) {
        return "more than a billion billion".to_owned();
    }
    if let Some((unit, word)) = LARGE.iter().find(|(unit, _)| n >= *unit) {
        return format!("{:.1} {word}", n / unit);
    }
    grouped(&format!("{n:.0}"))
}
