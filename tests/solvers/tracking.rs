//! Streamlines: closed forms, invariants, orders of convergence, brute force.

mod bootstrap;
mod deflection;
mod directions;
mod orders;
pub mod parity;
mod phantom;
mod regions;
mod seeds;
mod stops;

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let all = [
        bootstrap::tests(),
        deflection::tests(),
        directions::tests(),
        orders::tests(),
        parity::tests(),
        phantom::tests(),
        stops::tests(),
        seeds::tests(),
        regions::tests(),
    ];
    all.into_iter().flatten().collect()
}
