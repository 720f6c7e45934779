//! Tables of parameters: every row of every table in the same test, then units, limits, errors and JSON one by one.

mod fields;
mod stored;
mod texts;

use crate::support::test;
use arcuate::cli::Arguments;
use arcuate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Switch, Text,
    Unit, Value, used,
};
use arcuate::phantom::ScanParams;
use arcuate::solvers::commit::WaterParts;
use arcuate::solvers::commit::cylinder::{GammaRadii, Timing};
use arcuate::solvers::level_set::TargetParts;
use arcuate::solvers::tractogram::ProfileParams;
use arcuate::solvers::{
    alignment, bundles, commit, connectivity, csd, curves, density, geodesic, gradient_check,
    level_set, lifted, metric, odf_tracking, pathway, peaks, region, response, tensor_fit,
};
use arcuate::state::WholeBrain;
use arcuate::state::alignment::Nudge;
use arcuate::state::core::glyph_look::{GlyphLook, OdfLook};
use arcuate::state::pathways::NoiseMargin;
use arcuate::state::segment::Margin;
use arcuate::state::track::types::RayCount;
use clap::{CommandFactory as _, Parser as _};
use libtest_mimic::Trial;
use std::collections::BTreeSet;

pub fn tests() -> Vec<Trial> {
    vec![
        test("parameters::tables::metric", table::<metric::Params>),
        test("parameters::tables::lifted", table::<lifted::Params>),
        test("parameters::tables::pathway", table::<pathway::Params>),
        test("parameters::tables::pathway width", table::<pathway::Width>),
        test("parameters::tables::level set", table::<level_set::Params>),
        test(
            "parameters::tables::tensor fit",
            table::<tensor_fit::Params>,
        ),
        test("parameters::tables::commit", table::<commit::Params>),
        test("parameters::tables::csd", table::<csd::Params>),
        test("parameters::tables::peaks", table::<peaks::Params>),
        test("parameters::tables::response", table::<response::Params>),
        test("parameters::tables::alignment", table::<alignment::Params>),
        test("parameters::tables::moved by hand", table::<Nudge>),
        test("parameters::tables::margin", table::<Margin>),
        test(
            "parameters::tables::margin of distances",
            table::<NoiseMargin>,
        ),
        test("parameters::tables::region change", table::<region::Change>),
        test("parameters::tables::region fill", table::<region::Fill>),
        test("parameters::tables::density", table::<density::Params>),
        test(
            "parameters::tables::density voxels",
            table::<density::Voxels>,
        ),
        test("parameters::tables::curves", table::<curves::Params>),
        test(
            "parameters::tables::odf tracking",
            table::<odf_tracking::Params>,
        ),
        test("parameters::defaults are carried over", carried),
        test("parameters::tables::seeding", table::<curves::SeedingParts>),
        test(
            "parameters::tables::deflection",
            table::<curves::DeflectionParts>,
        ),
        test(
            "parameters::tables::connectivity",
            table::<connectivity::Params>,
        ),
        test("parameters::tables::profile", table::<ProfileParams>),
        test("parameters::tables::bundles", table::<bundles::Params>),
        test(
            "parameters::tables::recognition",
            table::<bundles::RecognitionParams>,
        ),
        test(
            "parameters::tables::gradient check",
            table::<gradient_check::Params>,
        ),
        test("parameters::tables::scan of the head", table::<ScanParams>),
        test("parameters::tables::radii", table::<GammaRadii>),
        test("parameters::tables::water", table::<WaterParts>),
        test("parameters::tables::target", table::<TargetParts>),
        test("parameters::tables::timing", table::<Timing>),
        test("parameters::tables::rays", table::<geodesic::Rays>),
        test(
            "parameters::tables::speed of lobes",
            table::<geodesic::OdfSpeed>,
        ),
        test(
            "parameters::tables::directions",
            table::<geodesic::DirectionParts>,
        ),
        test(
            "parameters::tables::sharpening",
            table::<geodesic::SharpeningParts>,
        ),
        test("parameters::tables::glyphs", table::<GlyphLook>),
        test("parameters::tables::distributions", table::<OdfLook>),
        test("parameters::tables::whole brain", table::<WholeBrain>),
        test("parameters::tables::number of rays", table::<RayCount>),
        test(
            "parameters::tables::repetitions",
            table::<pathway::RepetitionParams>,
        ),
        test("parameters::tables::sample", table::<Sample>),
        test("parameters::every table is tested", fields::all_tested),
        test("parameters::every field has a row", fields::rows_of_fields),
        test("parameters::composite texts", texts::composites),
        test(
            "parameters::defaults in command texts",
            texts::defaults_written,
        ),
        test("parameters::defaults in help", texts::defaults_in_help),
        test("parameters::options of commands", options),
        test("parameters::stored under their keys", stored::names),
        test("parameters::units", units),
        test("parameters::limits", limits),
        test("parameters::errors are sentences", errors),
        test("parameters::command text", command_text),
        test("parameters::unused values are kept", kept),
        test("parameters::sanitized", sanitized),
    ]
}

/// Properties of every table.
fn table<P: Parameters>() {
    let defaults = P::defaults();
    let (mut known, mut labels) = (BTreeSet::new(), BTreeSet::new());
    for row in P::TABLE {
        let key = row.key;
        assert!(known.insert(key), "{key} twice");
        assert!(labels.insert(row.label), "{} twice", row.label);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(key.chars().all(plain) && !key.is_empty(), "{key:?}");
        assert!(!row.label.is_empty() && !row.help.is_empty(), "{key}");
        for sentence in [row.help, row.hint, row.reason] {
            assert!(!sentence.ends_with('.'), "{key}: {sentence}");
        }
        values(row, &defaults);
    }
    parameters::check(&defaults).unwrap();
    assert!(parameters::sanitized(&defaults) == defaults);
    assert!(through_texts(&defaults) == defaults);
}

/// Parameters read from the texts of their values.
fn through_texts<P: Parameters>(params: &P) -> P {
    let mut read = P::defaults();
    // Values are set in the order of the table: choosing a method may set values that belong to it.
    for row in P::TABLE {
        let value = row.parse(&row.text(&row.value(params))).unwrap();
        row.check_value(&value).unwrap();
        row.set(&mut read, &value);
    }
    parameters::check(&read).unwrap();
    read
}

/// Text, then value, then text is the identity for the default and for all other values that a row accepts.
fn values<P: Parameters>(row: &Param<P>, defaults: &P) {
    let key = row.key;
    let mut all = vec![row.value(defaults)];
    match &row.kind {
        Kind::Number(number) => {
            let (low, high) = number.soft;
            assert!(low < high, "{key}: {low}..{high}");
            assert!(low >= number.hard.low && high <= number.hard.high, "{key}");
            if let Some(stored) = (number.get)(defaults) {
                let shown = number.unit.displayed(stored);
                assert!((low..=high).contains(&shown), "{key}: {shown}");
                assert!(number.hard.contains(shown), "{key}: {shown}");
            } else {
                assert!(number.off.is_some(), "{key}");
            }
            // Rounded like a slider.
            let unit = 10f64.powi(i32::from(number.decimals));
            let rounded = |shown: f64| (shown * unit).round() / unit;
            let shown = [0.1, 0.5, 0.9].map(|share| rounded(low + share * (high - low)));
            all.extend(shown.map(|v| Value::Number(number.unit.stored(v))));
            all.extend(number.off.map(|_| Value::Off));
        }
        Kind::OneOf(choices) => {
            let keys: BTreeSet<&str> = choices.iter().map(|choice| choice.key).collect();
            assert_eq!(keys.len(), choices.len(), "{key}: two choices with one key");
            let chosen = choices.iter().filter(|c| (c.is)(defaults)).count();
            assert_eq!(chosen, 1, "{key}: choices that are the default");
            all.extend((0..choices.len()).map(Value::Choice));
        }
        Kind::Switch(_) => all.extend([true, false].map(Value::Switch)),
        Kind::Text(text) => all.extend(text.off.map(|_| Value::Off)),
    }
    for value in all {
        let text = row.text(&value);
        let shell = |c: char| c.is_whitespace() || "'\"$&|;<>()*?#~`\\!".contains(c);
        assert!(!text.contains(shell), "{key}: {text}");
        let mut params = defaults.clone();
        row.set(&mut params, &row.parse(&text).unwrap());
        // A value that a solver stores in single precision gives the same text.
        assert_eq!(row.text(&row.value(&params)), text, "{key}");
        row.check(&params).unwrap();
        if (row.unused)(&params).is_none() && parameters::check(&params).is_ok() {
            assert!(through_texts(&params) == params, "{key}: {text}");
        }
    }
}

/// Every row is an option of the commands that use its table, with its help and its default; the command text of the
/// defaults is accepted by the command.
fn options() {
    fn check_options<P: Parameters>(line: &str) {
        let name = line.split(' ').next().unwrap();
        let all = Arguments::command();
        let command = all.find_subcommand(name).unwrap();
        let nested = line.split(' ').nth(1);
        let nested = nested.and_then(|name| command.find_subcommand(name));
        let command = nested.unwrap_or(command);
        for row in P::TABLE {
            let long = |a: &&clap::Arg| a.get_long() == Some(row.key);
            let arg = command.get_arguments().find(long);
            let help = arg.and_then(|a| a.get_help()).unwrap().to_string();
            assert!(help.starts_with(row.help), "{name} --{}: {help}", row.key);
        }
        let line = format!("arcuate {line}{}", parameters::arguments(&P::defaults()));
        let parsed = Arguments::try_parse_from(line.split(' '));
        assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
    }
    let ends = "--from sphere:0,0,0,3 --to sphere:9,0,0,3";
    check_options::<metric::Params>(&format!("pathway phantom:1 {ends} --out o"));
    check_options::<pathway::Params>(&format!("pathway phantom:1 {ends} --out o"));
    check_options::<pathway::Width>(&format!("pathway phantom:1 {ends} --out o"));
    check_options::<lifted::Params>(&format!("pathway --fod f.nii.gz {ends} --out o"));
    check_options::<pathway::Width>(&format!("pathway --fod f.nii.gz {ends} --out o"));
    let line = format!("uncertainty phantom:1 {ends} --out o");
    check_options::<pathway::RepetitionParams>(&line);
    for check in [
        check_options::<csd::Params>,
        check_options::<peaks::Params>,
        check_options::<response::Params>,
    ] {
        check("fod phantom:1 --out o");
    }
    check_options::<level_set::Params>("segment t1.nii --out o");
    for line in ["fit phantom:1 --out o", "track phantom:1 --out o.tck"] {
        check_options::<tensor_fit::Params>(line);
    }
    check_options::<commit::Params>("commit a.trx dwi.nii --out o");
    check_options::<alignment::Params>("align a.nii b.nii --out o.txt");
    check_options::<region::Change>("region --union mask:a.nii --out o.nii");
    check_options::<region::Fill>("region --image a.nii --fill 1,2,3 --out o.nii");
    check_options::<density::Params>("density a.trx --out o.nii");
    check_options::<ScanParams>("phantom --out o");
    check_options::<gradient_check::Params>("gradients check phantom:1");
    check_options::<density::Voxels>("density a.trx --out o.nii");
    check_options::<connectivity::Params>("connectome a.trx b.nii o.csv");
    check_options::<bundles::Params>("bundles a.trx");
    check_options::<bundles::RecognitionParams>("bundles a.trx --labels b.nii");
    check_options::<ProfileParams>("profile a.trx o.csv --value cm");
    check_options::<curves::Params>("track phantom:1 --out o.tck");
    check_options::<geodesic::Rays>("geodesic phantom:1 --out o.tck");
    check_options::<geodesic::OdfSpeed>("geodesic --fod f.nii --out o.tck");
}

/// A row of every kind.
#[derive(Clone, PartialEq, Debug)]
struct Sample {
    way: InputForm,
    angle_rad: Option<f64>,
    share: f32,
    count: usize,
    both: bool,
    seeds: String,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum InputForm {
    Near,
    Far,
}

const fn named(key: &'static str, kind: Kind<Sample>) -> Param<Sample> {
    Param {
        key,
        value_name: "X",
        label: key,
        help: "A sample",
        reason: "",
        hint: "",
        default_text: DefaultText::Stated,
        kind,
        unused: used,
    }
}

impl Parameters for Sample {
    const TABLE: &'static [Param<Self>] = &[
        named(
            "way",
            Kind::OneOf(&[
                Choice {
                    key: "near",
                    label: "Near",
                    help: "",
                    is: |p| p.way == InputForm::Near,
                    choose: |p| p.way = InputForm::Near,
                },
                Choice {
                    key: "far",
                    label: "Far",
                    help: "",
                    is: |p| p.way == InputForm::Far,
                    choose: |p| p.way = InputForm::Far,
                },
            ]),
        ),
        Param {
            unused: |p| (p.way == InputForm::Far).then_some("only the near way turns"),
            ..named(
                "largest-angle",
                Kind::Number(Number {
                    unit: Unit::Degrees,
                    decimals: 0,
                    soft: (10.0, 90.0),
                    hard: Limits::above(0.0, 180.0),
                    off: Some("any turn is allowed"),
                    ..Number::new(|p| p.angle_rad, |p, v| p.angle_rad = v)
                }),
            )
        },
        named(
            "share",
            Kind::Number(Number {
                unit: Unit::Percent,
                soft: (0.0, 50.0),
                hard: Limits::between(0.0, 100.0),
                ..Number::new(
                    |p| Some(parameters::shortest_f64(p.share)),
                    |p, v| p.share = v.map_or(p.share, |v| v as f32),
                )
            }),
        ),
        named(
            "count",
            Kind::Number(Number {
                decimals: 0,
                soft: (1.0, 50.0),
                hard: Limits::whole(1.0, 1000.0),
                ..Number::new(
                    |p| Some(p.count as f64),
                    |p, v| p.count = v.map_or(p.count, |v| v as usize),
                )
            }),
        ),
        named(
            "one-way",
            Kind::Switch(Switch {
                flag: false,
                labels: None,
                get: |p| p.both,
                set: |p, v| p.both = v,
            }),
        ),
        named(
            "seeds",
            Kind::Text(Text {
                expected: "random:COUNT",
                short: false,
                get: |p| Some(format!("random:{}", p.seeds)),
                set: |p, text| {
                    let count = text?.strip_prefix("random:")?;
                    count.parse::<u32>().ok()?;
                    p.seeds = count.to_owned();
                    Some(())
                },
                off: None,
            }),
        ),
    ];

    fn defaults() -> Self {
        Self {
            way: InputForm::Near,
            angle_rad: Some(45f64.to_radians()),
            share: 0.1,
            count: 20,
            both: true,
            seeds: "400".to_owned(),
        }
    }

    fn check_together(&self) -> Result<(), ParamError> {
        match self.share > 0.9 && self.count > 900 {
            false => Ok(()),
            true => Err(ParamError::Combination {
                found: "a large share of many".to_owned(),
                expected: "one of the two".to_owned(),
                action: "lower one".to_owned(),
            }),
        }
    }
}

fn find(key: &str) -> &'static Param<Sample> {
    parameters::row(key).unwrap()
}

fn with(key: &str, text: &str) -> Sample {
    let mut params = Sample::defaults();
    let row = find(key);
    row.set(&mut params, &row.parse(text).unwrap());
    params
}

fn units() {
    // The numbers that options have always had.
    assert_eq!(
        with("largest-angle", "45").angle_rad,
        Some(45f64.to_radians())
    );
    assert_eq!(
        find("largest-angle").text(&Value::Number(45f64.to_radians())),
        "45"
    );
    for degrees in 1..=180 {
        let angle = with("largest-angle", &degrees.to_string());
        let row = find("largest-angle");
        assert_eq!(row.text(&row.value(&angle)), degrees.to_string());
    }
    // Displayed in percent, stored as a fraction.
    assert_eq!(Unit::Percent.displayed(0.07), 7.0);
    assert_eq!(Unit::Percent.stored(7.0), 0.07);
    assert_eq!(
        find("share").text(&find("share").value(&Sample::defaults())),
        "0.1"
    );
    assert_eq!(Unit::Diffusivity.displayed(1.7e-3), 1.7);
    assert_eq!(Unit::Diffusivity.stored(1.7), 1.7e-3);
    assert_eq!(parameters::number_text(1e-7), "1e-7");
    assert_eq!(parameters::number_text(0.00001), "0.00001");
}

fn limits() {
    let above = Limits::above(0.0, 16.0);
    for (value, permitted) in [
        (0.0, false),
        (1e-9, true),
        (16.0, true),
        (16.1, false),
        (f64::NAN, false),
        (f64::INFINITY, false),
    ] {
        assert_eq!(above.contains(value), permitted, "{value}");
    }
    assert!(!Limits::between(0.0, f64::INFINITY).contains(f64::INFINITY));
    assert!(!Limits::whole(1.0, 9.0).contains(2.5));
    assert!(Limits::whole(1.0, 9.0).contains(2.0));
    // The smallest value that a field with this many decimals accepts.
    assert_eq!(above.smallest(2), 0.1f64.powi(2));
    assert_eq!(Limits::whole(1.0, 9.0).smallest(0), 1.0);
}

fn errors() {
    let refused = |key: &str, text: &str| {
        let row = find(key);
        let value = row.parse(text);
        let error = value.and_then(|value| row.check_value(&value));
        error.unwrap_err().to_string()
    };
    assert_eq!(
        refused("largest-angle", "200"),
        "Found 200 for largest-angle (--largest-angle), expected a number above 0 and at most 180, or off; \
         choose for example 45"
    );
    // Limits are displayed in percent, stored as fractions.
    assert_eq!(
        refused("share", "3"),
        "Found 3 for share (--share), expected a number from 0 to 1; choose for example 0.1"
    );
    for (key, text, expected) in [
        ("largest-angle", "steep", "expected a number above 0"),
        ("share", "off", "expected a number from 0 to 1;"),
        ("share", "NaN", "Found NaN"),
        ("count", "2.5", "expected a whole number from 1 to 1000"),
        ("way", "Near", "expected near or far"),
        (
            "seeds",
            "random:many",
            "expected random:COUNT; choose for example random:400",
        ),
    ] {
        let error = refused(key, text);
        assert!(error.contains(expected), "{error}");
    }
    let unused = ParamError::Unused {
        key: "largest-angle",
        reason: "only the near way turns",
    };
    assert_eq!(
        unused.to_string(),
        "Found --largest-angle, which has no effect: only the near way turns; leave it out"
    );
}

fn command_text() {
    let defaults = Sample::defaults();
    assert_eq!(
        parameters::arguments(&defaults),
        " --way near --largest-angle 45 --share 0.1 --count 20 --seeds random:400"
    );
    let other = Sample {
        way: InputForm::Far,
        both: false,
        ..defaults.clone()
    };
    assert_eq!(
        parameters::arguments(&other),
        " --way far --share 0.1 --count 20 --one-way --seeds random:400",
        "without what has no effect"
    );
    let off = Sample {
        angle_rad: None,
        ..defaults
    };
    assert!(parameters::arguments(&off).contains(" --largest-angle off "));
}

/// A choice that leaves a value without effect keeps it, and its limits are not checked meanwhile.
fn kept() {
    let steep = with("largest-angle", "70");
    let mut params = steep.clone();
    let way = find("way");
    way.set(&mut params, &way.parse("far").unwrap());
    assert_eq!(params.angle_rad, steep.angle_rad);
    way.set(&mut params, &way.parse("near").unwrap());
    assert_eq!(params, steep);
    let beyond = Sample {
        way: InputForm::Far,
        angle_rad: Some(9.0),
        ..steep
    };
    parameters::check(&beyond).unwrap();
}

fn sanitized() {
    let faulty = Sample {
        angle_rad: Some(f64::NAN),
        share: -1.0,
        count: 7,
        ..Sample::defaults()
    };
    let sanitized = parameters::sanitized(&faulty);
    let expected = Sample {
        count: 7,
        ..Sample::defaults()
    };
    assert_eq!(sanitized, expected, "only what is wrong is replaced");
    let together = Sample {
        share: 0.95,
        count: 950,
        ..Sample::defaults()
    };
    assert_eq!(parameters::sanitized(&together), Sample::defaults());
}

/// Under other defaults, only the values that the user chose stay.
fn carried() {
    let defaults =
        |method, with_tissues| odf_tracking::Params::defaults_for(method, 2.0, with_tissues);
    let before = defaults(odf_tracking::Method::Probabilistic, false);
    let after = defaults(odf_tracking::Method::Deterministic, true);
    assert_ne!(before.min_amplitude, after.min_amplitude);
    let mut chosen = before.clone();
    chosen.step_mm = 0.7;
    let expected = odf_tracking::Params {
        step_mm: 0.7,
        ..after.clone()
    };
    assert_eq!(parameters::carried(&chosen, &before, &after), expected);
    assert_eq!(parameters::carried(&before, &before, &after), after);
}
