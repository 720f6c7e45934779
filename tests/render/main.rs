//! Pictures of draw lists.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use arcuate_tests as support;

mod pictures;
mod shaders;

fn main() {
    support::run([pictures::tests(), shaders::tests()])
}
