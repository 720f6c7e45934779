//! The progress of a job over its stages.

use crate::support::test;
use arcuate::compute::Control;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("progress::planned stages never fall", planned),
        test(
            "progress::stages of unknown number never fall",
            planned_in_parts,
        ),
        test(
            "progress::the last stage has a share of its own",
            planned_last,
        ),
    ]
}

/// The demo head is made in stages, but is a single entry to wait for.
fn planned() {
    let control = Control::new();
    control.plan(&[0.25, 0.5, 0.25]);
    let mut last = 0.0;
    for (total, ends) in [(4, 0.25), (10, 0.75), (2, 1.0)] {
        control.begin("A stage", total);
        for _ in 0..total {
            control.advance(1);
            let now = control.progress().fraction().expect("known");
            assert!(now > last, "{now} after {last}");
            last = now;
        }
        assert!((last - ends).abs() < 1e-6, "{last} {ends}");
    }
    // Each stage of a job without a plan counts alone.
    control.begin("Another", 2);
    control.advance(1);
    assert_eq!(control.progress().fraction(), Some(0.5));
    // Iterations until convergence have a limit, which is not an expectation.
    assert!(!control.progress().total_is_limit);
    control.begin_up_to("Iterating", 500);
    assert!(control.progress().total_is_limit);
    control.begin("Writing", 3);
    assert!(!control.progress().total_is_limit);
}

/// Stages of unknown number between planned ones do not begin the progress again.
fn planned_in_parts() {
    let control = Control::new();
    let share = || control.progress().fraction().expect("known");
    let mut last = 0.0;
    let mut run = |stages: usize| {
        for _ in 0..stages {
            control.begin("A stage", 2);
            control.advance(2);
            assert!(share() >= last, "{} after {last}", share());
            last = share();
        }
    };
    control.plan_from(0.0, &[0.1]);
    run(1);
    control.plan_from(0.1, &[0.1, 0.1]);
    run(5);
    assert!((share() - 0.3).abs() < 1e-6);
    control.plan_from(0.3, &[0.5, 0.2]);
    run(2);
    assert!((share() - 1.0).abs() < 1e-6);
}

/// The stage after reading a file has its own share, however many files were read.
fn planned_last() {
    let control = Control::new();
    let share = || control.progress().fraction().expect("known");
    control.plan_last(0.6);
    for total in [10, 3] {
        control.begin("Reading", total);
        assert_eq!(share(), 0.0);
        control.advance(total);
        assert!((share() - 0.4).abs() < 1e-6, "{}", share());
    }
    control.begin_last("Preparing", 5);
    let mut last = 0.4 - 1e-6;
    for _ in 0..5 {
        let now = share();
        assert!(now > last && now < 1.0, "{now} after {last}");
        control.advance(1);
        last = now;
    }
    assert!((share() - 1.0).abs() < 1e-6);
    control.begin("Another", 2);
    assert_eq!(share(), 0.0);
}
