//! The window, drawn and used without a screen.

// A failed unwrap is a failed test.
#![allow(clippy::unwrap_used)]

use arcuate_tests as support;

mod app;
mod shapes;
mod ui;
mod views;

fn main() {
    support::run([app::tests(), ui::tests(), views::tests()])
}
