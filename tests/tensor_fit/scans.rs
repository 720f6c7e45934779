//! Real scans against other fits.

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    Vec::new()
}
