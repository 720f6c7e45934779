//! The graphics card against the CPU.

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    Vec::new()
}
