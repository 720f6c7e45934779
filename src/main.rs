//! Arguments → window or command.

use arcuate::cli;
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    match arguments.command {
        Some(command) => cli::run(command, &arguments.global),
        None => ExitCode::SUCCESS,
    }
}
