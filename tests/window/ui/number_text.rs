//! Numbers in text, and the numbers behind them.

use super::sample;
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::region::RegionId;
use arcuate::data::{Mask, Region, Role, Shape, Tensor};
use arcuate::solvers::curves::{self, SeedOutcome, Starts, StopReason};
use arcuate::solvers::tensor_fit::MaskReport;
use arcuate::state::core::notices::{Status, StatusSubject};
use arcuate::state::runtime::TourStep;
use arcuate::state::track::empty;
use arcuate::ui::streamline_summary::{self, Suggestion};
use arcuate::ui::widgets::slider::Scale;
use arcuate::ui::{format, probe};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::number_text::quotes are typographic", quotes),
        test(
            "ui::number_text::numbers have a true minus and narrow gaps",
            numbers,
        ),
        test("ui::number_text::what is shown reads back", read_back),
        test("ui::number_text::ages follow the calendar", ages),
        test(
            "ui::number_text::the principal direction is the tensor's",
            principal,
        ),
        test("ui::number_text::medians and bins of lengths", lengths),
        test("ui::number_text::an empty result has its reason", none_kept),
        test("ui::number_text::why seeds do not start", no_start),
        test("ui::number_text::a found mask has a sentence", found_mask),
        test(
            "ui::number_text::every outcome and stop has a sentence",
            reported,
        ),
        test("ui::number_text::odd regions are named", remarks),
        test("ui::number_text::why no ray is kept", no_rays),
        test(
            "ui::number_text::the status of undo remains visible",
            undone,
        ),
        test("ui::number_text::a slider states its limits", spans),
    ]
}

fn spans() {
    let scale = |range, decimals| Scale {
        range,
        logarithmic: false,
        decimals,
    };
    let step = scale(0.1..=2.0, 2).hint("Distance between points", "mm");
    assert_eq!(step, "Distance between points\n0.1–2\u{202F}mm");
    assert_eq!(scale(10.0..=90.0, 0).hint("", "°"), "10–90°");
    let count = scale(100.0..=1e6, 0).hint("", "");
    assert_eq!(count, "100–1\u{202F}000\u{202F}000");
}

fn undone() {
    let mut state = arcuate::state::State::new(sample::BACKEND.to_owned());
    let mut runtime = state.runtime.clone();
    let status = &mut runtime.notices.status;
    *status = Status::of_step("Undone: move region".to_owned());
    for what in ["Fitted 9 voxels", "Tracked 9 streamlines"] {
        status.add_result(StatusSubject::LiveResult, what.to_owned());
        assert_eq!(*status, format!("Undone: move region. Result: {what}"));
    }
    // In another task the step is not shown.
    status.forget_step();
    assert_eq!(*status, "Tracked 9 streamlines");
    assert_eq!(status.subject(), StatusSubject::LiveResult);
    // Nor is the result of another task; the step before it stays.
    status.forget_result();
    assert_eq!(*status, "");
    *status = Status::of_step("Undone: add keep-out sphere".to_owned());
    status.add_result(
        StatusSubject::LiveResult,
        "Tracked 9 streamlines".to_owned(),
    );
    status.forget_result();
    assert_eq!(*status, "Undone: add keep-out sphere");
    status.forget_step();
    assert_eq!(*status, "");
    // The tour returns to the missing step.
    runtime.tour = Some(TourStep::Save);
    for role in [Role::Target, Role::Seed] {
        state.document.regions.push(Arc::new(Region {
            id: RegionId(role as u64),
            name: role.name().to_owned(),
            role,
            shape: Arc::new(Shape::Sphere {
                centre: DVec3::ZERO,
                radius_mm: 1.0,
            }),
            colour: None,
            visible: true,
            label_number: None,
        }));
    }
    runtime.tour_step_undone(&state.document);
    assert_eq!(runtime.tour, Some(TourStep::Save));
    state.document.regions.remove(0);
    runtime.tour_step_undone(&state.document);
    assert_eq!(runtime.tour, Some(TourStep::PlaceTarget));
    state.document.regions.clear();
    runtime.tour_step_undone(&state.document);
    assert_eq!(runtime.tour, Some(TourStep::PlaceSeed));
    runtime.tour = Some(TourStep::ClickSlice);
    runtime.tour_step_undone(&state.document);
    assert_eq!(runtime.tour, Some(TourStep::ClickSlice));
    // A sentence that only begins like a step is not one.
    let status = &mut runtime.notices.status;
    *status = "Undone: 3 seeds".into();
    status.add_result(
        StatusSubject::LiveResult,
        "Tracked 9 streamlines".to_owned(),
    );
    assert_eq!(*status, "Tracked 9 streamlines");
}

fn numbers() {
    assert_eq!(format::count(1_234_567), "1\u{202F}234\u{202F}567");
    assert_eq!(format::count(999), "999");
    assert_eq!(format::ml(0.02, 1), "20.0\u{202F}mm³");
    assert_eq!(format::ml(0.3, 0), "0.3\u{202F}ml");
    assert_eq!(format::volume(0.000_523_6), "0.524\u{202F}mm³");
    assert_eq!(format::volume(0.0999), "99.9\u{202F}mm³");
    assert_eq!(format::volume(12.34), "12.3\u{202F}ml");
    assert_eq!(format::ml(0.0, 1), "0.0\u{202F}ml");
    assert_eq!(format::ml(2.84, 1), "2.8\u{202F}ml");
    assert_eq!(format::fixed(-21.04, 1), "−21.0");
    assert_eq!(format::fixed(-0.01, 1), "0.0");
    assert_eq!(format::fixed(12_345.678, 2), "12\u{202F}345.68");
    assert_eq!(format::significant(0.5778), "0.578");
    let measures = [0.8, 9.994, 9.996, 99.96, 379.77, 1184.2].map(format::measure);
    assert_eq!(
        measures,
        ["0.80", "9.99", "10.0", "100", "380", "1\u{202F}184"]
    );
    assert_eq!(format::significant(1184.2), "1\u{202F}184");
    assert_eq!(format::with_unit("0.71", "mm"), "0.71\u{202F}mm");
    let took = [0.2, 42.4, 999.4, 999.6, 13_362.0, 396_300.0, 1_715_400.0];
    let took = took.map(format::duration_text);
    let reported = [
        "1 ms", "42 ms", "999 ms", "1.0 s", "13.4 s", "6.6 min", "29 min",
    ];
    assert_eq!(took, reported.map(|t| t.replace(' ', "\u{202F}")));
    assert_eq!(
        format::spacing(DVec3::new(1.75, 1.75, 2.5)),
        "1.75 × 1.75 × 2.5\u{202F}mm"
    );
    assert_eq!(format::parse_range("30-300 mm"), Some((30.0, 300.0)));
    assert_eq!(format::parse_range("−5 to 7"), Some((-5.0, 7.0)));
    assert_eq!(format::parse_range("40 – 12"), Some((12.0, 40.0)));
    assert_eq!(format::parse("nonsense"), None);
}

/// Rays that reached their target and were dropped did not miss it.
fn no_rays() {
    let mut output = sample::output(0);
    output.stops = [0; StopReason::COUNT];
    output.stops[StopReason::LeftMask as usize] = 90;
    output.stops[StopReason::ReachedTarget as usize] = 10;
    for (outcomes, targets, reported) in [
        (
            [0, 100, 0, 0, 0, 0, 0, 0],
            &["Target"][..],
            "0 of 100 rays reach “Target”; 90\u{202F}% left the mask",
        ),
        (
            [0, 71, 0, 29, 0, 0, 0, 0],
            &["Target"],
            "29 of 100 rays reach “Target”, but touch an exclude region",
        ),
        (
            [0, 70, 10, 0, 20, 0, 0, 0],
            &["A", "B"],
            "30 of 100 rays reach a target: 10 miss an include region, 20 are shorter than the \
             minimum length",
        ),
        (
            [0, 0, 100, 0, 0, 0, 0, 0],
            &[],
            "0 of 100 rays are kept: 100 miss an include region",
        ),
    ] {
        output.seed_outcomes = outcomes;
        assert_eq!(
            empty::none_passed(&output, targets, "the automatic mask", None),
            reported
        );
    }
}

fn read_back() {
    let mut random = Random::fresh("ui::number_text::read_back");
    for _ in 0..500 {
        let value = random.uniform(-1e6, 1e6) * 10f64.powf(random.uniform(-6.0, 0.0));
        let shown = format::with_unit(&format::fixed(value, 3), "mm");
        let read = format::parse(&shown).unwrap();
        // Half of the last digit shown, and rounding of the addition.
        assert!(
            (read - value).abs() <= 0.5e-3 + 1e-9,
            "{value} as {shown} reads {read}"
        );
    }
}

fn ages() {
    const DAY: u64 = 86_400;
    // 2024-02-29 12:00 UTC, from the count of days: 54 years with 13 leap days, 59 days.
    let leap = (54 * 365 + 13 + 59) * DAY + DAY / 2;
    assert_eq!(format::age(leap, leap + 3600), "today");
    assert_eq!(format::age(leap, leap + DAY), "yesterday");
    assert_eq!(format::age(leap, leap + 40 * DAY), "29 Feb");
    assert_eq!(format::age(leap, leap + 400 * DAY), "29 Feb 2024");
    assert_eq!(format::age(leap + DAY, leap + 400 * DAY), "1 Mar 2024");
    assert_eq!(format::age(0, leap), "1 Jan 1970");
    // A clock that was set back.
    assert_eq!(format::age(leap + DAY, leap), "today");
}

fn principal() {
    let mut random = Random::fresh("ui::number_text::principal");
    for _ in 0..200 {
        let frame = DMat3::from_quat(random.rotation());
        let second = random.uniform(0.1e-3, 1.2e-3);
        let first = second + random.uniform(0.05e-3, 1e-3);
        let values = DVec3::new(first, second, second * 0.9);
        let m = frame * DMat3::from_diagonal(values) * frame.transpose();
        let tensor = Tensor::new(
            [
                m.x_axis.x, m.x_axis.y, m.x_axis.z, m.y_axis.y, m.y_axis.z, m.z_axis.z,
            ]
            .map(|v| v as f32),
        );
        let direction = probe::principal_direction(&tensor).unwrap();
        let sine = direction.cross(frame.x_axis).length();
        // Rounding the tensor to f32 rotates its axes by about 6e-8 times the size over the gap.
        let tolerance = 2e-7 * first / (first - second) * 4.0;
        assert!(sine < tolerance, "{sine} above {tolerance}");
        assert!((direction.length() - 1.0).abs() < 1e-12);
    }
    assert_eq!(probe::principal_direction(&Tensor::default()), None);
}

fn lengths() {
    let output = sample::output(451);
    let all = &output.kept.per_streamline["length"];
    let mut cache = streamline_summary::Cache::default();
    let lengths = cache.lengths(&output.kept, 1).unwrap().clone();
    let mut sorted = all.to_vec();
    sorted.sort_by(f32::total_cmp);
    assert_eq!(lengths.median, sorted[225]);
    assert_eq!(lengths.bins.iter().sum::<u32>(), 451);
    assert!(lengths.low <= sorted[0] && lengths.high >= sorted[450]);
    assert_eq!(lengths.per_target, [sorted[225]]);
    // Recounted independently.
    let width = (lengths.high - lengths.low) / 64.0;
    let tenth = sorted
        .iter()
        .filter(|l| (((*l - lengths.low) / width) as usize).min(63) == 10)
        .count();
    assert_eq!(lengths.bins[10] as usize, tenth);
    assert_eq!(cache.lengths(&sample::output(0).kept, 1), None);
}

fn none_kept() {
    let reported = |missed: u64, short: u64, no_start: u64| {
        let mut output = sample::output(0);
        output.seed_outcomes = [0; SeedOutcome::COUNT];
        output.seed_outcomes[SeedOutcome::MissedTargets as usize] = missed;
        output.seed_outcomes[SeedOutcome::TooShort as usize] = short;
        output.seed_outcomes[SeedOutcome::NoStart as usize] = no_start;
        output.starts = Some(Starts {
            low_fa: 5,
            min_fa: Some(0.15),
            ..Starts::default()
        });
        empty::none_kept(&output, &curves::Params::defaults(), "the automatic mask")
            .map(|(text, _)| text)
    };
    let reported = |missed, short, no_start| reported(missed, short, no_start).unwrap_or_default();
    assert_eq!(reported(9, 0, 0), "No streamline reaches a target");
    assert_eq!(reported(9, 3, 8), "9 of 12 streamlines reach no target");
    assert_eq!(
        reported(0, 3, 1),
        "Every streamline is shorter than 30\u{202F}mm"
    );
    assert_eq!(
        reported(0, 0, 5),
        "No streamline starts: FA is below 0.15 there"
    );
    // Some did: the panel counts them above.
    let most = "5 of 7 seeds do not start: FA is below 0.15 there";
    assert_eq!(reported(2, 0, 5), most);
    assert_eq!(reported(0, 0, 0), "");
}

fn remarks() {
    let state = sample::tracked(sample::state([16, 20, 15], 6));
    let mask = &state.document.tensors.as_ref().unwrap().mask;
    let (low, high) = mask.bounds_inside().unwrap();
    let (middle, far) = ((low + high) * 0.5, high + 50.0);
    let region = |n: u64, name: &str, role, centre| {
        let shape = Shape::Sphere {
            centre,
            radius_mm: 3.0,
        };
        Arc::new(Region {
            id: RegionId(n),
            name: name.to_owned(),
            role,
            shape: Arc::new(shape),
            colour: None,
            visible: true,
            label_number: None,
        })
    };
    let one = region(1, "Seed", Role::Seed, middle);
    assert!(
        streamline_summary::remarks(std::slice::from_ref(&one), mask, "the automatic mask")
            .is_empty()
    );
    let two = region(2, "Seed 2", Role::Seed, far);
    let near = region(3, "Target", Role::Target, middle + DVec3::X * 5.9);
    let distant = region(4, "Target 2", Role::Target, middle + DVec3::X * 6.1);
    let out_of_reach = region(5, "Target 3", Role::Target, far + DVec3::X * 40.0);
    let message = streamline_summary::remarks(
        &[one, two, near, distant, out_of_reach],
        mask,
        "the automatic mask",
    );
    let [outside, unreachable, overlap] = &message[..] else {
        panic!("{message:?}");
    };
    assert!(
        unreachable
            .text
            .starts_with("Target 3 lies outside the scan: nothing can reach it"),
        "{unreachable:?}"
    );
    assert!(
        outside.text.starts_with("Seed 2 lies outside the scan"),
        "{outside:?}"
    );
    assert!(
        overlap.text.starts_with("Target overlaps Seed"),
        "{overlap:?}"
    );
    assert!(outside.outside_at.is_some() && overlap.outside_at.is_none());
    // Inside the scan's box the mask is the obstacle.
    let empty = Mask::new(mask.grid.clone(), vec![0; mask.inside.len()]);
    let inside = region(6, "Seed 3", Role::Seed, middle);
    let message = streamline_summary::remarks(&[inside], &empty, "the automatic mask");
    let message: Vec<&str> = message.iter().map(|r| &*r.text).collect();
    assert_eq!(
        message,
        ["Seed 3 lies outside the automatic mask: nothing starts there"]
    );
}

fn reported() {
    let mut output = sample::output(3);
    output.seed_outcomes = [3, 10, 20, 30, 40, 50, 0, 0];
    assert_eq!(empty::started_count(&output), 103);
    assert_eq!(
        streamline_summary::headline(&output, false, true),
        "3 of 103 started reach a target"
    );
    let rays = streamline_summary::headline(&output, true, true);
    assert_eq!(rays, "3 of 103 started rays reach a target");
    assert!(
        !streamline_summary::dropped(&output, &[SeedOutcome::MissedTargets]).contains("10 missed")
    );
    let dropped = streamline_summary::dropped(&output, &[]);
    for n in ["10 ", "20 ", "30 ", "40 ", "50 seeds not started"] {
        assert!(dropped.contains(n), "{dropped}");
    }
    let several = std::mem::replace(&mut output.seed_outcomes, [1, 1, 0, 0, 0, 1, 0, 0]);
    assert_eq!(
        streamline_summary::headline(&output, false, true),
        "1 of 2 started reaches a target"
    );
    let without = streamline_summary::headline(&output, false, false);
    assert_eq!(without, "1 of 2 started is kept");
    let dropped = streamline_summary::dropped(&output, &[]);
    assert!(dropped.ends_with("1 seed not started"), "{dropped}");
    assert_eq!(empty::not_started_sentence(&output, "the mask"), None);
    output.seed_outcomes = several;
    // Each seed has its reason; of examined ones alone, the shares are given.
    let starts = Starts {
        in_csf: 30,
        low_amplitude: 20,
        min_amplitude: Some(0.05),
        ..Starts::default()
    };
    output.starts = Some(starts);
    let why = empty::not_started_sentence(&output, "the mask");
    let expected = "50 seeds did not start: 30 in CSF, 20 with no amplitude of 0.05 or more";
    assert_eq!(why.as_deref(), Some(expected));
    output.starts = Some(Starts {
        in_csf: 3,
        low_amplitude: 2,
        ..starts
    });
    let why = empty::not_started_sentence(&output, "the mask").expect("reasons");
    assert!(
        why.contains("60\u{202F}% in CSF, 40\u{202F}% with"),
        "{why}"
    );
    output.starts = Some(Starts {
        outside_mask: 50,
        ..Starts::default()
    });
    let why = empty::not_started_sentence(&output, "the mask");
    assert_eq!(
        why.as_deref(),
        Some("50 seeds outside the mask did not start")
    );
    output.starts = None;
    output.stops = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
    let parts = streamline_summary::stops(&output, &curves::Params::defaults(), None);
    let counted: u64 = parts.iter().map(|p| p.count).sum();
    // All ends except those that are seeds by intent.
    let all: u64 = output.stops.iter().sum();
    assert_eq!(counted, all - output.stops[StopReason::Seed as usize]);
    let mut colours: Vec<_> = parts.iter().map(|p| p.colour.to_array()).collect();
    assert_eq!(ColourMap::STOP_COLOURS.len(), StopReason::COUNT);
    for (number, reason) in StopReason::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, number, "{}", reason.label());
    }
    colours.sort();
    colours.dedup();
    assert_eq!(colours.len(), parts.len(), "each reason has its own colour");
    for outcome in [
        SeedOutcome::MissedTargets,
        SeedOutcome::MissedInclude,
        SeedOutcome::TouchedExclude,
        SeedOutcome::TooShort,
        SeedOutcome::NoStart,
    ] {
        output.seed_outcomes = [0; SeedOutcome::COUNT];
        output.seed_outcomes[outcome as usize] = 5;
        let (text, _) =
            streamline_summary::nothing_kept(&output, &curves::Params::defaults(), "the mask")
                .unwrap();
        assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
    }
    output.seed_outcomes = [1, 5, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        streamline_summary::nothing_kept(&output, &curves::Params::defaults(), "the mask"),
        None
    );
}

/// Each condition has its own text, and only a limit that caused the failure can be lowered.
fn no_start() {
    let none = Starts {
        min_fa: Some(0.15),
        ..Starts::default()
    };
    let outside_mask = Starts {
        outside_mask: 9,
        ..none
    };
    let low_fa = Starts { low_fa: 9, ..none };
    let beyond = Starts {
        outside_volume: 9,
        ..none
    };
    let walled = Starts {
        outside_regions: 9,
        ..none
    };
    let both = Starts {
        outside_mask: 3,
        low_fa: 1,
        ..none
    };
    let no_metric = Starts { valid: 9, ..none };
    let mask = "the automatic mask";
    for (starts, reported, remedy) in [
        (
            outside_mask,
            "the seeds lie outside the automatic mask",
            Suggestion::Nothing,
        ),
        (low_fa, "FA is below 0.15 there", Suggestion::LowerFa),
        (
            beyond,
            "the seeds lie outside the volume",
            Suggestion::Nothing,
        ),
        (
            walled,
            "the seeds lie outside the mask regions",
            Suggestion::Nothing,
        ),
        (
            both,
            "the seeds lie 75\u{202F}% outside the automatic mask, 25\u{202F}% where FA is below 0.15",
            Suggestion::Nothing,
        ),
        (
            no_metric,
            "no tensor there has a metric",
            Suggestion::Nothing,
        ),
    ] {
        let mut output = sample::output(0);
        output.seed_outcomes = [0, 0, 0, 0, 0, 9, 0, 0];
        output.starts = Some(starts);
        let (text, way_out) =
            streamline_summary::nothing_kept(&output, &curves::Params::defaults(), mask).unwrap();
        assert_eq!(text, format!("No streamline starts: {reported}"));
        if starts != no_metric {
            assert_eq!(way_out, remedy, "{reported}");
        }
        let rays = empty::none_passed(&output, &[], mask, None);
        assert!(
            rays.starts_with(&format!("No ray starts: {reported}")),
            "{rays}"
        );
    }
}

fn found_mask() {
    let firm = MaskReport {
        volume_ml: 1392.2,
        holes: 2,
        holes_ml: 13.77,
        largest_hole_ml: 8.64,
        agreement: 0.968,
    };
    assert_eq!(
        arcuate::state::tensors::mask_text::facts(&firm),
        "1\u{202F}392\u{202F}ml, 2 holes filled (13.8\u{202F}ml, the largest 8.6\u{202F}ml), agreement of two \
         thresholds 0.97"
    );
    assert_eq!(arcuate::state::tensors::mask_text::doubtful(&firm), None);
    let vague = MaskReport {
        agreement: 0.81,
        ..firm
    };
    let reported = arcuate::state::tensors::mask_text::doubtful(&vague).unwrap();
    assert!(
        reported.starts_with("The automatic brain mask is doubtful: it changes with the threshold")
    );
    assert!(
        reported.contains("0.81, expected at least 0.93") && reported.contains("1\u{202F}392"),
        "{reported}"
    );
    let hollow = MaskReport {
        holes: 1,
        holes_ml: 130.0,
        largest_hole_ml: 130.0,
        ..firm
    };
    let reported = arcuate::state::tensors::mask_text::doubt(&hollow).unwrap();
    assert!(
        reported.contains("a hole of 130\u{202F}ml was filled (9\u{202F}%"),
        "{reported}"
    );
}

/// Typographic quotes enclose a name or a typed text in all sentences that the window shows.
fn quotes() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    let mut folders = ["app", "scene", "state", "ui"]
        .map(|name| sources.join(name))
        .to_vec();
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            read += 1;
            for (i, line) in source.lines().enumerate() {
                let straight = line.replace("\\\\", "").contains("\\\"");
                assert!(!straight, "{}:{}: {line}", path.display(), i + 1);
            }
        }
    }
    assert!(read > 300, "{read} files");
}
