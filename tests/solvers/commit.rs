//! COMMIT: closed forms of the responses, conserved quantities, the operator against plain sums, the solver against its
//! own conditions, and its results on synthetic heads.

mod closed_forms;
mod dictionary;
mod operator;
mod parity;
mod phantom;
mod refusals;
mod slabs;
mod solver;

use arcuate::compute::Control;
use arcuate::data::Gradients;
use arcuate::phantom::Arcs;
use arcuate::phantom::directions::half_sphere;
use arcuate::solvers::commit::cylinder::{GammaRadii, Timing};
use arcuate::solvers::commit::dictionary::{Dictionary, Options};
use arcuate::solvers::commit::model::{Intra, Model, Zeppelin};
use arcuate::solvers::commit::samples::{Samples, Switches};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let all = [
        closed_forms::tests(),
        dictionary::tests(),
        operator::tests(),
        parity::tests(),
        slabs::tests(),
        solver::tests(),
        phantom::tests(),
        refusals::tests(),
    ];
    all.into_iter().flatten().collect()
}

const ALONG: f64 = 1.7e-3;
const RAW: Switches = Switches {
    merge_b0: false,
    normalise_signal: false,
    normalise_kernels: false,
};
/// δ and Δ of a clinical scan.
const TIMING: Timing = Timing {
    pulse_ms: 32.2,
    between_ms: 43.1,
};

fn gradients(b0: usize, shells: &[(f64, usize)]) -> Gradients {
    let mut b_s_per_mm2 = vec![0.0; b0];
    let mut directions = vec![DVec3::ZERO; b0];
    for &(b, count) in shells {
        b_s_per_mm2.extend(vec![b; count]);
        directions.extend(half_sphere(count));
    }
    Gradients {
        b_s_per_mm2,
        directions,
    }
}

fn samples(b0: usize, shells: &[(f64, usize)]) -> Samples {
    Samples::new(&gradients(b0, shells), &[TIMING], &RAW).unwrap()
}

fn stick() -> Intra {
    Intra::Stick { along: ALONG }
}

fn cylinders(count: usize) -> Intra {
    let radius = |i: usize| 0.5 + 4.5 * i as f64 / (count - 1) as f64;
    Intra::Cylinders {
        along: ALONG,
        radii_um: (0..count).map(radius).collect(),
    }
}

fn gammas() -> Intra {
    let gamma = |shape: f64, scale_um: f64| GammaRadii { shape, scale_um };
    Intra::GammaCylinders {
        along: ALONG,
        radii: vec![gamma(2.0, 0.5), gamma(5.0, 0.8)],
    }
}

fn model(intra: Intra) -> Model {
    Model {
        intra,
        extra: vec![Zeppelin {
            along: ALONG,
            across: 0.51e-3,
        }],
        free: vec![ALONG, 3.0e-3],
    }
}

fn only(intra: Intra) -> Model {
    Model {
        intra,
        extra: Vec::new(),
        free: Vec::new(),
    }
}

fn dictionary_of(arcs: &Arcs, peaks: bool) -> Dictionary {
    let options = Options {
        usable: &arcs.mask.inside,
        all: false,
        blur_mm: None,
        peaks: peaks.then_some(&arcs.peaks),
    };
    Dictionary::build(&arcs.tractogram, &arcs.grid, &options, &Control::new()).unwrap()
}

/// |a − b| / |b|.
fn relative_difference(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let (mut difference, mut size) = (0.0, 0.0);
    for (a, b) in a.into_iter().zip(b) {
        difference += (a - b) * (a - b);
        size += b * b;
    }
    (difference / size).sqrt()
}
