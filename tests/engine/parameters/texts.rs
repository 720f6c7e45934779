//! Texts of parameters: of composite values, and of defaults in help and commands.

use arcuate::data::PhantomKind;
use arcuate::parameters::{self, DefaultText, Parameters, Value};
use arcuate::phantom::ScanParams;
use arcuate::solvers::tractogram::ProfileParams;
use arcuate::solvers::{connectivity, curves, density, geodesic, region};

/// Texts of composite values are read back unchanged; other texts are refused, and a part beyond its limits by its own
/// name.
pub fn composites() {
    fn same<P: Parameters>(key: &str, texts: &[&str], refused: &[&str]) {
        let row = parameters::row::<P>(key).unwrap();
        for text in texts {
            let mut params = P::defaults();
            row.set(&mut params, &row.parse(text).unwrap());
            assert_eq!(row.text(&row.value(&params)), *text, "{key}");
        }
        for text in refused {
            assert!(row.parse(text).is_err(), "{key}: {text}");
        }
    }
    same::<curves::Params>(
        "seeds",
        &["random:2000", "grid:0.75", "per-voxel:4"],
        &["random", "random:-1", "random:1.5", "sometimes:3", ""],
    );
    same::<curves::Params>(
        "random-seed",
        &["0", "18446744073709551615"],
        &["-1", "1.5", "x"],
    );
    same::<curves::Params>("deflect", &["0.3,0.7", "0,1", "off"], &["0.3", "a,b"]);
    same::<geodesic::Rays>(
        "directions",
        &[
            "principal",
            "sphere:64",
            "cone:20,45",
            "cone:7,17.188733854",
            "icosphere:2",
            "towards:1,-2,0.5",
        ],
        &["principal:1", "cone:20", "cone:2.5,30", "sphere:-1"],
    );
    same::<geodesic::Rays>(
        "sharpen",
        &["power:6", "power:2.5", "paper:2,0.5"],
        &["power", "power:a", "paper:2", "paper:1.5,0.5"],
    );
    same::<geodesic::Rays>(
        "cut",
        &["all", "1.2", "top:100", "top:10%", "top:12.5%"],
        &["top:0", "top:16777217", "top:101%", "-1", "0"],
    );
    same::<ScanParams>(
        "shells",
        &["1000:30", "700:12,2500.5:64"],
        &["1000", "-5:3", "1000:0", "30000:6", "1000:30,", ""],
    );
    let checked = |key: &str, text: &str| {
        let mut rays = geodesic::Rays::defaults();
        let walk = parameters::row::<curves::Params>(key);
        match walk {
            Some(row) => row.set(&mut rays.params.curves, &row.parse(text).unwrap()),
            None => {
                let row = parameters::row::<geodesic::Rays>(key).unwrap();
                row.set(&mut rays, &row.parse(text).unwrap());
            }
        }
        parameters::check(&rays).unwrap_err().to_string()
    };
    for (key, text, expected) in [
        (
            "directions",
            "cone:20,200",
            "Found 200 in --directions (Opening angle), expected a number above 0 and at most 180; choose for \
             example 45",
        ),
        (
            "directions",
            "sphere:0",
            "Found 0 in --directions (Rays per seed point)",
        ),
        ("directions", "towards:0,0,0", "not all 0"),
        (
            "sharpen",
            "power:17",
            "Found 17 in --sharpen (Sharpening α)",
        ),
        (
            "sharpen",
            "paper:2,1.5",
            "Found 1.5 in --sharpen (Sharpen below FA)",
        ),
        ("seeds", "random:0", "Found 0 in --seeds (Streamlines)"),
        ("seeds", "grid:-1", "Found -1 in --seeds (Seed spacing)"),
    ] {
        let error = checked(key, text);
        assert!(error.contains(expected), "{error}");
    }
}

/// The help of a fill includes its default.
pub fn defaults_in_help() {
    let row = parameters::row::<region::Fill>("at-most").unwrap();
    let default = row.text(&row.value(&region::Fill::defaults()));
    assert!(row.help.ends_with(&format!("(default: {default})")));
    // Other kinds of phantoms have other shells.
    let row = parameters::row::<ScanParams>("shells").unwrap();
    let others = ScanParams::defaults_for(PhantomKind::Crossing).shells_text();
    let DefaultText::Noted(note) = row.default_text else {
        panic!("no note")
    };
    assert_eq!(note, format!("{{}}; of the other kinds {others}"));
}

/// Rows whose default a command text leaves out, and those whose default it includes.
pub fn defaults_written() {
    let mut map = density::Params::defaults();
    assert_eq!(parameters::arguments(&map), "");
    map.measure = density::Measure::Length;
    map.sent = Some(5000);
    map.by_direction = true;
    assert_eq!(
        parameters::arguments(&map),
        " --measure length --sent 5000 --by-direction"
    );
    let edge_mm = Some(0.5);
    assert_eq!(
        parameters::arguments(&density::Voxels { edge_mm }),
        " --voxel 0.5"
    );
    let radius = connectivity::Params::defaults();
    assert_eq!(parameters::arguments(&radius), " --radius 2");
    let mut profile = ProfileParams::defaults();
    assert_eq!(parameters::arguments(&profile), " --nodes 100");
    parameters::row("reverse")
        .unwrap()
        .set(&mut profile, &Value::Switch(true));
    assert_eq!(parameters::arguments(&profile), " --nodes 100 --reverse");
    let mut scan = ScanParams::defaults();
    assert_eq!(parameters::arguments(&scan), " --shells 1000:30");
    scan.snr = None;
    scan.spacing_mm = 1.5;
    assert_eq!(
        parameters::arguments(&scan),
        " --snr off --shells 1000:30 --spacing 1.5"
    );
    let mut lines = curves::Params::defaults();
    assert_eq!(
        parameters::arguments(&lines),
        " --seeds random:2000 --random-seed 1 --step 0.5 --angle 45 --fa 0.15 --min-length 30 --max-length 300 \
         --max-steps 10000 --integrator rk4 --interpolation trilinear"
    );
    lines.targets = curves::Match::All;
    lines.includes = curves::Match::Any;
    lines.both_ways = false;
    lines.deflection = Some(curves::Deflection { f: 0.2, g: 0.6 });
    lines.repetitions = Some(73);
    let text = parameters::arguments(&lines);
    let end = " --targets all --includes any --deflect 0.2,0.6 --bootstrap 73 --one-way";
    assert!(text.ends_with(end), "{text}");
    let mut rays = geodesic::Rays::defaults();
    assert_eq!(
        parameters::arguments(&rays),
        " --directions cone:20,45 --sharpen power:6 --precision f32 --keep-every 1 --cut top:10%"
    );
    rays.params.curves.both_ways = true;
    rays.params.loop_guard = false;
    rays.params.form = geodesic::Form::Christoffel;
    rays.cut = geodesic::Cut::All;
    let text = parameters::arguments(&rays);
    let end = " --both-ways --no-loop-guard --form christoffel --cut all";
    assert!(text.ends_with(end), "{text}");
}
