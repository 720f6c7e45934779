//! All tests, one binary: `cargo test --release [filter]`.

mod data;
mod support;

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let tests = [data::tests()];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit();
}
