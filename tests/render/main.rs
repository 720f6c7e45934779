//! Pictures of draw lists.

// A failed unwrap is a failed test.
#![allow(clippy::unwrap_used)]

use arcuate_tests as support;

mod pictures;
mod shaders;

fn main() {
    support::run([pictures::tests(), shaders::tests()])
}
