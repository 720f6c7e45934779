//! Tests that run the program itself.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use arcuate_tests as support;

mod backend;
mod cli;
mod cohort;
mod compare;
mod contract;
mod faults;
mod fibres;
mod fod;
#[cfg(unix)]
mod folders;
mod mrtrix;
mod score;
mod sessions;
mod streamlines;
mod warps;

use std::process::Command;

/// The program, on the CPU unless its arguments name another backend: on a card it would take memory and time from the
/// tests of the card itself.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arcuate"));
    command.env("ARCUATE_BACKEND", "cpu");
    command
}

fn main() {
    sessions::kill::child();
    faults::child();
    support::run([
        backend::tests(),
        streamlines::tests(),
        cli::tests(),
        cohort::tests(),
        compare::tests(),
        contract::tests(),
        faults::tests(),
        fibres::tests(),
        fod::tests(),
        #[cfg(unix)]
        folders::tests(),
        mrtrix::tests(),
        score::tests(),
        sessions::tests(),
        warps::tests(),
    ])
}
