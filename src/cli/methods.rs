//! `arcuate methods`: describes the methods of a session, for a paper.

use super::headless::Headless;
use super::options::SessionOptions;
use super::runner::{Failure, Runner};
use crate::state::methods::methods;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  arcuate methods tracts.arcuate
  arcuate methods tracts.arcuate --look-in /data/sub-01 >methods.txt

Prints a paragraph that describes how every result of a session was computed, with its numbers and the works to cite. In
the window, it is in the File menu.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    pub from: SessionOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let mut window = Headless::new(runner);
    window.open_session(&options.from.session, &options.from.look.look_in, false)?;
    let text = methods(&window.state);
    let report = json!({ "command": "methods", "session": options.from.session, "text": text });
    runner.report(&report, text.trim_end());
    Ok(())
}
