//! Sizes of files and of memory in words.

/// `12.5 GB`, `480 MB`, `3.1 kB`, `12 bytes`: in the unit that shows what there is; 1 kB is 1000 bytes.
pub fn size_in_words(bytes: u64) -> String {
    let (value, unit) = match bytes as f64 {
        b if b >= 0.95e12 => (b / 1e12, "TB"),
        b if b >= 0.95e9 => (b / 1e9, "GB"),
        b if b >= 0.95e6 => (b / 1e6, "MB"),
        b if b >= 0.95e3 => (b / 1e3, "kB"),
        b => return format!("{b} bytes"),
    };
    match value < 99.5 {
        true => format!("{value:.1} {unit}"),
        false => format!("{value:.0} {unit}"),
    }
}
