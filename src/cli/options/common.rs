//! Options for random numbers and sessions.

use super::{ValueError, not_reversed, whole};
use std::ffi::OsStr;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct ChanceOptions {
    /// Seed of the random numbers; the same seed gives the same result
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub random_seed: Option<u64>,
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct LookOptions {
    /// Also look for missing files of a session here; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub look_in: Vec<PathBuf>,
}

#[derive(clap::Args, Clone, Debug)]
pub struct SessionOptions {
    /// Session file (.arcuate)
    pub session: PathBuf,
    #[command(flatten)]
    pub look: LookOptions,
}

/// Names of files that were separated at commas. Neighbours whose joined name is that of a file are one name, as many as
/// possible.
pub fn whole_names(parts: &[PathBuf]) -> Vec<PathBuf> {
    let joined = |parts: &[PathBuf]| -> PathBuf {
        let parts: Vec<&OsStr> = parts.iter().map(|part| part.as_os_str()).collect();
        parts.join(OsStr::new(",")).into()
    };
    let (mut names, mut rest) = (Vec::new(), parts);
    while !rest.is_empty() {
        let mut counts = (2..=rest.len()).rev();
        let count = counts.find(|count| joined(&rest[..*count]).is_file());
        let (name, others) = rest.split_at(count.unwrap_or(1));
        names.push(joined(name));
        rest = others;
    }
    names
}

/// `20..200`, `20..` or `..200`.
pub fn limits(text: &str) -> Result<(f32, f32), ValueError> {
    let number = |text: &str, open: f32| match text {
        "" => Some(open),
        text => text.parse().ok().filter(|v: &f32| v.is_finite()),
    };
    let parsed = text.split_once("..").and_then(|(low, high)| {
        let low = number(low, f32::NEG_INFINITY)?;
        Some((low, number(high, f32::INFINITY)?))
    });
    not_reversed(text, parsed)?;
    let valid = parsed.filter(|(low, high)| low.is_finite() || high.is_finite());
    valid.ok_or_else(|| ValueError::new("LOW..HIGH, LOW.. or ..HIGH", text))
}
