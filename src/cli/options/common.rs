//! Chance, and sessions.

use std::path::PathBuf;

#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct ChanceOptions {
    /// Starts the random numbers; the same seed gives the same result
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub random_seed: Option<u64>,
}

fn whole(text: &str) -> Result<u64, String> {
    let parsed = text.parse().ok();
    parsed.ok_or_else(|| format!("expected a whole number from 0, found \"{text}\""))
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct LookOptions {
    /// Look for missing files of a session here, too; may be given several times
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
