//! All tests, one binary: `cargo test --release [filter]`.

// A test that cannot read what it made itself has failed.
#![allow(clippy::unwrap_used)]

mod architecture;
mod data;
#[cfg(unix)]
mod setup;
mod support;

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let tests = [
        architecture::tests(),
        data::tests(),
        #[cfg(unix)]
        setup::tests(),
    ];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit();
}
