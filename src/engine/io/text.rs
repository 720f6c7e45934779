//! Words in the sentences of files.

pub use crate::data::text::{count, counted};

/// Whether a character does something to the line that shows it: a control character, the end of a line among them,
/// or one that changes the direction of the text around it, so that a name reads as another one.
pub fn is_control(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    turns || c.is_control()
}

/// Text on one line: control characters, ends of lines among them, are replaced.
pub fn in_line(text: &str, by: char) -> String {
    let plain = |c: char| if is_control(c) { by } else { c };
    text.chars().map(plain).collect()
}
