//! Numbers in sentences.

/// Narrow no-break space: between thousands, and before units.
pub const THIN: char = '\u{202F}';

/// `1 492`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// Digits in groups of three.
pub fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * THIN.len_utf8());
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(c);
    }
    text
}
