//! Numbers in the sentences of files.

/// Whether a character does something to the line that shows it: a control character, the end of a line among them,
/// or one that changes the direction of the text around it, so that a name reads as another one.
pub(crate) fn is_control(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    turns || c.is_control()
}

/// Text on one line: control characters, ends of lines among them, are replaced.
pub(crate) fn in_line(text: &str, by: char) -> String {
    let plain = |c: char| if is_control(c) { by } else { c };
    text.chars().map(plain).collect()
}

/// `1 streamline`, `81 920 streamlines`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(n as u64))
}

/// Digits in groups of three, as everywhere: `683 319`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(2 * digits.len());
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            // Narrow no-break space.
            text.push('\u{202F}');
        }
        text.push(digit);
    }
    text
}
