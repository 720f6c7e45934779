//! Selecting curves, and values along them.

mod profile;
mod repetitions;
mod selection;

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let all = [profile::tests(), repetitions::tests(), selection::tests()];
    all.into_iter().flatten().collect()
}
