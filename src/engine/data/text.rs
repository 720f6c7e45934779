//! Numbers with their nouns, and names of files, for all sentences of the program.

use std::path::Path;

/// Narrow no-break space: between thousands, and before units.
pub const THIN: char = '\u{202F}';

/// The noun for this number: `streamline` for 1, otherwise `streamlines`.
pub fn plural(n: usize, singular: &str) -> String {
    match n {
        1 => singular.to_owned(),
        _ => format!("{singular}s"),
    }
}

/// `1 streamline`, `81 920 streamlines`.
pub fn counted(n: usize, singular: &str) -> String {
    format!("{} {}", count(n as u64), plural(n, singular))
}

/// A label inside a sentence: its first letter in lower case, unless it begins with an abbreviation (`CSF`, `T1`).
pub fn within_sentence(label: &str) -> String {
    let mut letters = label.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let second = letters.clone().next();
    match second.is_some_and(|c| c.is_uppercase() || c.is_ascii_digit()) {
        true => label.to_owned(),
        false => first.to_lowercase().chain(letters).collect(),
    }
}

/// With its first letter in upper case.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// `1 492`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// `16\u{202F}777\u{202F}216`; from a billion on with a word: `3.9 billion`.
pub fn large_count(n: f64) -> String {
    const LARGE: [(f64, &str); 3] = [
        (1e15, "million billion"),
        (1e12, "thousand billion"),
        (1e9, "billion"),
    ];
    if !(n < 1e18) {
        return "more than a billion billion".to_owned();
    }
    if let Some((unit, scale_name)) = LARGE.iter().find(|(unit, _)| n >= *unit) {
        return format!("{:.1} {scale_name}", n / unit);
    }
    grouped(&format!("{n:.0}"))
}

/// `A, B and C`.
pub fn enumerated(items: &[impl AsRef<str>]) -> String {
    let Some((last, others)) = items.split_last() else {
        return String::new();
    };
    let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
    match others.is_empty() {
        true => last.as_ref().to_owned(),
        false => format!("{} and {}", others.join(", "), last.as_ref()),
    }
}

/// A number with all its digits; below 1e-6 and from 1e9 on as a power of ten.
pub fn number(value: f64) -> String {
    match value != 0.0 && value.is_finite() && !(1e-6..1e9).contains(&value.abs()) {
        true => format!("{value:e}"),
        false => value.to_string(),
    }
}

/// Three significant digits and a power of ten: `9.99 × 10¹⁰`.
pub fn scientific(value: f64) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = format!("{value:.2e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let raised = exponent.chars().map(|c| match c.to_digit(10) {
        Some(digit) => RAISED[digit as usize],
        None => '⁻',
    });
    format!("{digits} × 10{}", raised.collect::<String>())
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

/// The verb or pronoun for this number: `singular_or_plural(n, "it was", "they were")`.
pub fn singular_or_plural<'a>(n: usize, singular: &'a str, plural: &'a str) -> &'a str {
    match n {
        1 => singular,
        _ => plural,
    }
}

/// The name of a file without its folder; empty if the path ends in none.
pub fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The name of a file without its folder and without `.nii.gz` and the like.
pub fn file_stem(path: &Path) -> String {
    let name = file_name(path);
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.to_owned()
}
