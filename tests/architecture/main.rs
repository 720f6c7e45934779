//! Who may import whom, and what the setup script does.

// A test that cannot read what it made itself has failed.
#![allow(clippy::unwrap_used)]

use arcuate_tests as support;

mod caps;
mod planted;
mod ranks;
mod rules;
#[cfg(unix)]
mod setup;
mod source;
mod tables;

fn main() {
    support::run([
        rules::tests(),
        caps::tests(),
        ranks::tests(),
        #[cfg(unix)]
        setup::tests(),
    ])
}
