//! Refusals: one sentence each, before any work.

use super::{gradients, model, only, stick};
use crate::support::fields::backend;
use crate::support::{lines, test};
use arcuate::compute::Control;
use arcuate::data::{Gradients, Grid, Mask, Tractogram, Volume, VolumeKind};
use arcuate::io;
use arcuate::solvers::commit;
use arcuate::solvers::commit::cylinder::Timing;
use arcuate::solvers::commit::model::{Intra, Model};
use arcuate::solvers::commit::operator::{OperatorKind, Precision};
use arcuate::solvers::commit::{Inputs, Params, Prepared};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "commit::inputs that do not fit together are reported first",
            refusals,
        ),
        test(
            "commit::a scheme and numbers have the same limits of timing",
            timings,
        ),
        test(
            "commit::gradient strengths agree with the b-values",
            strengths,
        ),
        test(
            "commit::penalties and the end of iterations change no preparation",
            preparation,
        ),
    ]
}

/// Each of the other parameters needs a new preparation.
fn preparation() {
    let params = Params::defaults_for(2);
    let same = |change: fn(&mut Params)| {
        let mut other = params.clone();
        change(&mut other);
        assert_ne!(params, other);
        params.same_preparation(&other)
    };
    let kept: [fn(&mut Params); 3] = [
        |p| p.lasso = 0.1,
        |p| p.group = 0.1,
        |p| p.stop.iterations += 1,
    ];
    assert!(kept.into_iter().all(same));
    let changed: [fn(&mut Params); 6] = [
        |p| p.model.free.clear(),
        |p| p.switches.merge_b0 = !p.switches.merge_b0,
        |p| p.blur_mm = Some(1.0),
        |p| p.way = Some(OperatorKind::Factorised),
        |p| p.precision = Precision::Fast,
        |p| p.force_model = !p.force_model,
    ];
    assert!(!changed.into_iter().any(same));
}

struct Setup {
    tractogram: Tractogram,
    scan: Volume,
    gradients: Gradients,
    peaks: Volume,
    mask: Option<Mask>,
    timing: Vec<Timing>,
    memory: Option<u64>,
    params: Params,
}

fn grid(n: usize) -> Arc<Grid> {
    Arc::new(Grid::axis_aligned([n; 3], DVec3::ONE, DVec3::ZERO).unwrap())
}

fn scan(frames: usize) -> Volume {
    Volume::new(grid(8), frames, VolumeKind::Scalar, vec![1.0; frames * 512])
}

impl Setup {
    fn new() -> Self {
        let gradients = gradients(1, &[(1000.0, 6), (2000.0, 6)]);
        Self {
            tractogram: lines(&[vec![DVec3::splat(1.0), DVec3::splat(5.0)]]),
            scan: scan(gradients.len()),
            gradients,
            peaks: scan(3),
            mask: None,
            timing: Vec::new(),
            memory: None,
            params: Params {
                model: model(stick()),
                ..commit::Params::defaults_for(2)
            },
        }
    }

    fn error_text(&self) -> String {
        let inputs = Inputs {
            tractogram: &self.tractogram,
            scan: &self.scan,
            gradients: (!self.gradients.is_empty()).then_some(&self.gradients),
            timing: &self.timing,
            mask: self.mask.as_ref(),
            peaks: (self.peaks.frames > 1).then_some(&self.peaks),
        };
        match Prepared::new(
            &inputs,
            &self.params,
            self.memory,
            &backend(1),
            &Control::new(),
        ) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }
}

fn refusals() {
    assert_eq!(Setup::new().error_text(), "", "valid inputs are accepted");
    let refuses = |parts: &[&str], change: &dyn Fn(&mut Setup)| {
        let mut setup = Setup::new();
        change(&mut setup);
        let message = setup.error_text();
        assert!(
            parts.iter().all(|w| message.contains(w)),
            "{parts:?}: {message}"
        );
        assert!(
            !message.contains('\n') && !message.ends_with('.'),
            "one sentence: {message}"
        );
    };
    let with = |model: Model| move |s: &mut Setup| s.params.model = model.clone();
    refuses(&["no streamlines"], &|s| s.tractogram = Tractogram::empty());
    refuses(&["0 %", "different spaces"], &|s| {
        s.tractogram = lines(&[vec![DVec3::splat(100.0), DVec3::splat(120.0)]]);
    });
    refuses(&["no volume with b = 0"], &|s| {
        s.gradients.b_s_per_mm2[0] = 700.0
    });
    refuses(&["Ball needs at least two shells", "6 × b 1000"], &|s| {
        s.gradients = gradients(1, &[(1000.0, 6)]);
        s.scan = scan(7);
    });
    refuses(&["no volume with a diffusion weighting"], &|s| {
        s.gradients = gradients(2, &[]);
        s.scan = scan(2);
    });
    refuses(&["12 volumes", "for 13"], &|s| s.scan = scan(12));
    refuses(&["no gradients"], &|s| s.gradients = gradients(0, &[]));
    refuses(&["of memory", "every"], &|s| s.memory = Some(1000));
    refuses(&["mask", "different grids"], &|s| {
        s.mask = Some(Mask::new(grid(7), vec![1; 343]));
    });
    refuses(&["mask is empty"], &|s| {
        s.mask = Some(Mask::new(grid(8), vec![0; 512]))
    });
    refuses(&["No streamline runs through"], &|s| {
        let mut inside = vec![0; 512];
        inside[511] = 1;
        s.mask = Some(Mask::new(grid(8), inside));
    });
    refuses(&["Zeppelin needs", "peaks"], &|s| s.peaks = scan(1));
    refuses(&["4 volumes", "three per peak"], &|s| s.peaks = scan(4));
    let cylinder = |radius: f64| Intra::Cylinders {
        along: 1.7e-3,
        radii_um: vec![radius],
    };
    refuses(&["Cylinders need", "timing"], &with(model(cylinder(2.0))));
    refuses(&["radius is 70 µm"], &with(model(cylinder(70.0))));
    // The series of the signal underflow for a cylinder this thin.
    refuses(
        &["radius is 1e-300 µm", "0.001 to 50"],
        &with(model(cylinder(1e-300))),
    );
    refuses(&["radius is 1e300 µm"], &with(model(cylinder(1e300))));
    refuses(&["δ = 5 ms and Δ = 3 ms"], &|s| {
        s.timing = vec![Timing {
            pulse_ms: 5.0,
            between_ms: 3.0,
        }];
    });
    refuses(&["Δ = inf ms", "0.01 ≤ δ ≤ Δ ≤ 100000"], &|s| {
        s.timing = vec![Timing {
            pulse_ms: 5.0,
            between_ms: f64::INFINITY,
        }];
    });
    refuses(&["timing of 2 volumes", "13"], &|s| {
        let one = Timing {
            pulse_ms: 3.0,
            between_ms: 5.0,
        };
        s.timing = vec![one; 2];
    });
    refuses(
        &["diffusivity is 1.7 mm²/s"],
        &with(model(Intra::Stick { along: 1.7 })),
    );
    refuses(&["expected less across"], &|s| {
        s.params.model.extra[0].across = 2.0e-3
    });
    refuses(
        &["density model", "leave Zeppelin and Ball out"],
        &with(model(Intra::Density)),
    );
    refuses(&["image of densities has 13 volumes"], &|s| {
        s.params.model = only(Intra::Density);
        s.gradients = gradients(0, &[]);
    });
    refuses(&["Found 2 for Sparsity λ (--lasso)"], &|s| {
        s.params.lasso = 2.0
    });
    refuses(&["Found -1 for Blur (--blur)"], &|s| {
        s.params.blur_mm = Some(-1.0)
    });
}

/// Times in either unit, in a file and on the command line; the two differ in the unit that needs no note.
fn timings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.scheme");
    for (between, ms) in [
        (5e-4, None),
        (1e-3, Some(1.0)),
        (0.04, Some(40.0)),
        (0.99, Some(990.0)),
        (1.01, Some(1.01)),
        (40.0, Some(40.0)),
        (2000.0, Some(2000.0)),
        (2001.0, None),
    ] {
        let pulse = 0.5 * between;
        let row = format!("VERSION: STEJSKALTANNER\n1 0 0 0.04 {between} {pulse} 0.1\n");
        std::fs::write(&path, row).unwrap();
        let of_file = io::scheme::timing(&path).ok();
        let of_numbers = io::scheme::in_ms(pulse, between).ok();
        let close = |[p, b]: [f64; 2]| {
            (p - 0.5 * b).abs() < 1e-9 && ms.is_some_and(|ms| (b - ms).abs() < 1e-9)
        };
        assert_eq!(of_file.is_some(), ms.is_some(), "{between}");
        assert_eq!(of_numbers.is_some(), ms.is_some(), "{between}");
        if let Some((file, (numbers, note))) = of_file.zip(of_numbers) {
            assert!(
                close(file.rows[0]) && close(numbers),
                "{file:?} {numbers:?}"
            );
            assert_eq!(
                (file.notes.len(), note.is_some()),
                (usize::from(between > 1.0), between < 1.0)
            );
        }
    }
}

/// b = γ²G²δ²(Δ − δ/3): 1527 s/mm² for 40 mT/m, δ = 20 ms and Δ = 40 ms, whichever unit G is in.
fn strengths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.scheme");
    let read = |strength: &str| {
        let row = |g: &str| format!("1 0 0 {g} 0.04 0.02 0.1\n");
        let rows = ["0", strength, strength].map(row).concat();
        std::fs::write(&path, format!("VERSION: STEJSKALTANNER\n{rows}")).unwrap();
        io::scheme::timing(&path).unwrap()
    };
    for strength in ["0.04", "-0.04", "40"] {
        let timing = read(strength);
        for b in [1527.0, 1400.0, 1650.0] {
            assert_eq!(timing.against(&[0.0, b, b]), None, "{strength} {b}");
            assert_eq!(timing.against(&[5.0, b, b]), None, "{strength} {b}");
        }
        let message = timing.against(&[0.0, 1000.0, 1527.0]).unwrap();
        for text in ["1527 s/mm²", "volume 1", "has 1000", "in 1 of 3"] {
            assert!(message.contains(text), "{text}: {message}");
        }
        let one = io::scheme::Timing {
            rows: timing.rows[1..2].to_vec(),
            strengths_t_per_m: timing.strengths_t_per_m[1..2].to_vec(),
            notes: Vec::new(),
        };
        let message = one.against(&[1000.0]).unwrap();
        assert!(message.contains("in 1 of 1 volume;"), "{message}");
        // The volumes are in another order.
        let message = timing.against(&[1527.0, 0.0, 1527.0]).unwrap();
        assert!(message.contains("in 2 of 3"), "{message}");
    }
    // G is unknown, or the tables do not describe the same volumes; another check reports the latter.
    assert_eq!(read("0").against(&[0.0, 1000.0, 1000.0]), None);
    assert_eq!(read("0.04").against(&[0.0, 1000.0]), None);
}
