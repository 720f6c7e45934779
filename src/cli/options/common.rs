//! Options for random numbers and sessions.

use super::whole;
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
