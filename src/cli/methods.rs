//! `arcuate methods`: what was done in a session, for a paper.

use super::headless::Headless;
use super::runner::{Failure, Runner};
use crate::state::methods::methods;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate methods tracts.arcuate
  arcuate methods tracts.arcuate --look-in /data/sub-01 >methods.txt

A paragraph about the scan, the tensor fit, regions, streamlines and rays of a session with their numbers, and
the works to cite. The window has it in the File menu.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Session file (.arcuate)
    pub session: PathBuf,
    /// Look for missing files here, too; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub look_in: Vec<PathBuf>,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let mut window = Headless::new(runner);
    window.open_session(&options.session, &options.look_in)?;
    let text = methods(&window.state);
    let report = json!({ "command": "methods", "session": options.session, "text": text });
    runner.report(&report, text.trim_end());
    Ok(())
}
