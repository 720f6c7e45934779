//! Selecting curves, and values along them.

mod line_values;
mod profile;
mod repetitions;
mod selection;

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let all = [
        line_values::tests(),
        profile::tests(),
        repetitions::tests(),
        selection::tests(),
    ];
    all.into_iter().flatten().collect()
}
