//! Streamlines with very many points, and with none.

use arcuate::compute::{Backend, BackendChoice, BackendKind, Control};
use arcuate::data::Tractogram;
use arcuate::data::tractogram::LENGTH;
use arcuate::solvers::tractogram::selection::{Selection, SelectionRules, ValueCondition, select};

/// Back and forth between two points: in single precision the sum is off by a tenth.
pub fn very_many() {
    const N: usize = 1 << 21;
    let points: Vec<[f32; 3]> = (0..N).map(|i| [0.1 * (i % 2) as f32, 0.0, 0.0]).collect();
    let one = Tractogram::new(points, vec![0, N as u64]);
    let requested = f64::from(0.1f32) * (N - 1) as f64;
    let off = |mm: f32| (f64::from(mm) / requested - 1.0).abs();
    assert!(
        off(one.length_mm(0)) < 1e-7,
        "{} {requested}",
        one.length_mm(0)
    );
    let within = |low, high| SelectionRules {
        values: vec![ValueCondition {
            name: LENGTH.to_owned(),
            low,
            high,
        }],
        ..SelectionRules::default()
    };
    let middle = requested as f32;
    let found = picked(&one, &within(0.999 * middle, 1.001 * middle));
    assert_eq!(found.marks, [true]);
}

/// A file without streamlines has every value.
pub fn nothing() {
    let none = Tractogram::new(Vec::new(), vec![0]);
    for name in [LENGTH, "fa"] {
        let rules = SelectionRules {
            values: vec![ValueCondition {
                name: name.to_owned(),
                low: 0.0,
                high: 1.0,
            }],
            ..SelectionRules::default()
        };
        assert_eq!(picked(&none, &rules).marks, [false; 0], "{name}");
    }
}

fn picked(lines: &Tractogram, rules: &SelectionRules) -> Selection {
    let choice = BackendChoice {
        kind: BackendKind::Cpu,
        threads: Some(2),
    };
    let cpu = Backend::choose(&choice).expect("a CPU");
    select(lines, rules, &cpu, &Control::new()).expect("selected")
}
