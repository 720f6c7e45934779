//! The rules of the architecture, and the setup script.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use arcuate_tests as support;

mod caps;
mod kernel_structs;
mod keys;
mod openings;
mod planted;
mod ranks;
mod rules;
#[cfg(unix)]
mod setup;
mod source;
mod tables;
mod vocabulary;

fn main() {
    support::run([
        rules::tests(),
        caps::tests(),
        kernel_structs::tests(),
        keys::tests(),
        openings::tests(),
        ranks::tests(),
        #[cfg(unix)]
        setup::tests(),
    ])
}
