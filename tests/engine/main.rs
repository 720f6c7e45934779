//! Data, files, kernels, synthetic heads.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use arcuate_tests as support;

mod data;
mod fuzz;
mod io;
mod joining;
mod kernels;
mod keys;
mod lanes;
mod parameters;
mod phantom;
mod seeds;
mod spherical_harmonics;
mod statistics;
mod vector;

fn main() {
    fuzz::child();
    support::run([
        data::tests(),
        fuzz::tests(),
        io::tests(),
        joining::tests(),
        kernels::tests(),
        keys::tests(),
        lanes::tests(),
        parameters::tests(),
        phantom::tests(),
        seeds::tests(),
        spherical_harmonics::tests(),
        statistics::tests(),
        vector::tests(),
    ])
}
