//! The window, drawn and used without a screen.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use arcuate_tests as support;

mod app;
mod offscreen;
mod shapes;
mod ui;
mod views;

fn main() {
    support::run([
        app::tests(),
        offscreen::tests(),
        ui::tests(),
        views::tests(),
    ])
}
