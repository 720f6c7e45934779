//! Text for sentences about files.

pub use crate::data::text::{count, counted};

/// Whether a character affects the display of its line: a control character, including line ends, or one that changes
/// the direction of the surrounding text, so that a name reads like another.
pub fn is_control(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    turns || c.is_control()
}

/// Text on one line: control characters, including line ends, are replaced.
pub fn in_line(text: &str, by: char) -> String {
    let plain = |c: char| if is_control(c) { by } else { c };
    text.chars().map(plain).collect()
}
