//! stand-in
use super::runner::{Failure, Runner};
/// x
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:")]
pub struct Options {}
pub fn run(_: &Options, _: &mut Runner) -> Result<(), Failure> {
    Ok(())
}
