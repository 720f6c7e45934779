//! Pictures of draw lists.

// A test that cannot read what it made itself has failed.
#![allow(clippy::unwrap_used)]

use arcuate_tests as support;

mod pictures;
mod shaders;

fn main() {
    support::run([pictures::tests(), shaders::tests()])
}
