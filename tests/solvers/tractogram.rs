//! Selecting curves, and values along them.

mod profile;
mod selection;

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let all = [profile::tests(), selection::tests()];
    all.into_iter().flatten().collect()
}
