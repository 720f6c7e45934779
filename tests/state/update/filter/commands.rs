//! The command of a fit of weights.

use super::*;

pub fn described() {
    let mut window = opened();
    let command = |window: &Window| {
        let line = arcuate::state::update::filter_command(&window.state);
        line.expect("a command line").text()
    };
    let plain = command(&window);
    let begins = "arcuate commit /data/lines.trx /data/scan.nii.gz --model stick --along 0.0017 ";
    assert!(plain.starts_with(begins), "{plain}");
    set(&mut window, |p| {
        p.lasso = 0.05;
        p.model.extra.truncate(1);
        p.switches.merge_b0 = false;
        p.stop.iterations = 60;
    });
    act(&mut window, FilterAction::Run);
    let any = command(&window);
    assert!(
        any.contains("--filtered kept.trx") && !any.contains("--threshold"),
        "{any}"
    );
    let min_weight = 0.001;
    act(
        &mut window,
        FilterAction::Cut {
            min_weight,
            phase: Phase::Done,
        },
    );
    let text = command(&window);
    for part in [
        "--across 0.00051",
        "--lasso 0.05",
        "--keep-b0",
        "--iterations 60",
        "--threshold 0.001",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let methods = arcuate::state::methods::methods(&window.state);
    assert!(methods.contains("Daducci"), "{methods}");
    assert!(
        methods.contains("“lines”") && methods.contains("sticks"),
        "{methods}"
    );
}
