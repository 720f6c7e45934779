//! Protocols: what is read, what is written, what is refused; patterns and folders of cohorts.

use super::sentence;
use crate::support::test;
use arcuate::data::protocol::{
    InputRole, LabelName, OptionValue, Part, ProtocolRegion, ProtocolSpace, names, parts,
};
use arcuate::io::{cohort, protocol};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::protocol::reads_and_writes", round_trip),
        test("io::protocol::example_of_the_cohort_files", example),
        test("io::protocol::refuses", refuses),
        test("io::protocol::says_how_to_correct_it", advises),
        test("io::protocol::braces", braces),
        test("io::cohort::patterns", patterns),
        test("io::cohort::folders_are_replaced_as_a_whole", replaced),
        test("io::cohort::one_process_at_a_time", locked),
    ]
}

const PROTOCOL: &str = r#"
arcuate_protocol = 1
title = "A \"title\""
[input.dwi]
role = "diffusion_scan"
[input.brain]
role = "mask"
[input.labels]
role = "label_map"
file = ["a.nii.gz", "*_dseg.nii.gz"]
[input.xfm]
role = "transform"
bids = "anat/*_xfm.txt"
[space.mni]
transform = "{xfm}"
[space.template]
warp = ["{xfm}", "inverse:fsl-relative:{protocol}/field.nii.gz"]
fixed = "{dwi}"
moving = "{brain}"
[region.motor]
mask = "{brain}"
space = "template"
[region.seed]
map = "{labels}"
labels = [10, "Left-Thalamus"]
[region.ball]
sphere = [-24, 1.5, 8, 6]
space = "mni"
[region.brick]
box = [0, 0, 0, 1, 2, 3]
[region.old]
drawn = true
[[step]]
name = "fit"
command = "fit"
arguments = ["{dwi}"]
[step.options]
maps = "fa,md"
out = "."
[[step]]
name = "cst"
command = "track"
arguments = ["{dwi}"]
[step.options]
seed = ["{seed}", "{ball}"]
step = 0.5
angle = 45
one-way = true
image = "{fit/fa.nii.gz}"
out = "cst.trx"
"#;

fn here() -> &'static Path {
    Path::new("protocol.toml")
}

/// A protocol that is written and read again is the same.
fn round_trip() {
    let first = protocol::parse(PROTOCOL, here()).expect("a protocol");
    assert_eq!(first.title, "A \"title\"");
    assert_eq!(first.inputs["dwi"].role, InputRole::Scan);
    assert_eq!(first.inputs["labels"].files.len(), 2);
    let labels = vec![
        LabelName::Number(10),
        LabelName::Name("Left-Thalamus".to_owned()),
    ];
    let map = "{labels}".to_owned();
    assert_eq!(
        first.regions["seed"],
        ProtocolRegion::Labels { map, labels }
    );
    assert_eq!(first.regions["old"], ProtocolRegion::Drawn);
    let warp = ProtocolSpace::Warp {
        transforms: vec![
            "{xfm}".to_owned(),
            "inverse:fsl-relative:{protocol}/field.nii.gz".to_owned(),
        ],
        fixed: Some("{dwi}".to_owned()),
        moving: Some("{brain}".to_owned()),
    };
    assert_eq!(first.spaces["template"], warp);
    let mut used = first.names_of_region(&first.regions["motor"]);
    used.sort();
    used.dedup();
    assert_eq!(used, ["brain", "dwi", "protocol", "xfm"]);
    let step = &first.steps[1];
    assert_eq!(step.options["one-way"], OptionValue::Switch(true));
    assert_eq!(step.options["step"], OptionValue::Text("0.5".to_owned()));
    assert_eq!(step.options["angle"], OptionValue::Text("45".to_owned()));
    let text = protocol::text(&first, &["A note".to_owned()]);
    assert!(text.contains("\n# A note\n"), "{text}");
    let mut second = protocol::parse(&text, here()).expect("what was written");
    // The patterns of the role are written out.
    for input in second.inputs.values_mut() {
        for (own, default) in [
            (&mut input.files, input.role.default_files()),
            (&mut input.bids, input.role.default_bids()),
        ] {
            if own == default {
                own.clear();
            }
        }
    }
    assert_eq!(first, second, "{text}");
}

/// The protocol of assets/cohort can be read, and names what exists.
fn example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/cohort/example.toml");
    let protocol = protocol::read(&path).expect("the example");
    assert_eq!(protocol.steps.len(), 6);
    assert_eq!(protocol.regions.len(), 3);
}

/// The error of the protocol with another text in place of one.
fn changed(from: &str, to: &str) -> String {
    assert!(PROTOCOL.contains(from), "{from}");
    let text = PROTOCOL.replacen(from, to, 1);
    let error = protocol::parse(&text, here()).expect_err(to);
    sentence(&error);
    error.to_string()
}

fn refuses() {
    for (from, to, part) in [
        ("arcuate_protocol = 1", "arcuate_protocol = 2", "version 2"),
        ("arcuate_protocol = 1", "", "no member \"arcuate_protocol\""),
        ("\"diffusion_scan\"", "\"scan\"", "the role “scan”"),
        ("role = \"transform\"", "rolle = \"transform\"", "rolle"),
        ("space = \"mni\"", "space = \"mnj\"", "the space “mnj”"),
        (
            "transform = \"{xfm}\"",
            "transform = \"{xfm}\"\nwarp = \"{xfm}\"",
            "both a transform and a warp of the space “mni”",
        ),
        (
            "transform = \"{xfm}\"",
            "",
            "the space “mni” without a transform or a warp",
        ),
        (
            "transform = \"{xfm}\"",
            "transform = \"{xfm}\"\nmoving = \"{brain}\"",
            "a moving image of the space “mni”",
        ),
        (
            "transform = \"{xfm}\"",
            "warp = []",
            "an empty warp of the space “mni”",
        ),
        (
            "transform = \"{xfm}\"",
            "warp = \"[{xfm},1]\"",
            "“[{xfm},1]” in the warp of the space “mni”",
        ),
        (
            "warp = [\"{xfm}\"",
            "warp = [\"{xfn}\"",
            "“{xfn}” in the region “motor”",
        ),
        (
            "warp = [\"{xfm}\", \"inverse:fsl-relative:{protocol}/field.nii.gz\"]\nfixed = \"{dwi}\"",
            "warp = \"inverse:{xfm}\"",
            "the mask “motor” in the space “template”",
        ),
        ("map = \"{labels}\"", "map = \"{label}\"", "“{label}”"),
        (
            "labels = [10, \"Left-Thalamus\"]",
            "labels = []",
            "a list of labels",
        ),
        ("drawn = true", "", "exactly one of"),
        (
            "sphere = [-24, 1.5, 8, 6]",
            "sphere = [-24, 1.5, 8, 0]",
            "radius above 0",
        ),
        ("name = \"cst\"", "name = \"fit\"", "the name “fit” twice"),
        ("name = \"cst\"", "name = \"dwi\"", "the name “dwi” twice"),
        ("name = \"cst\"", "name = \"../cst\"", "the name “../cst”"),
        (
            "\"{fit/fa.nii.gz}\"",
            "\"{fib/fa.nii.gz}\"",
            "“{fib/fa.nii.gz}” in the step “cst”",
        ),
        (
            "\"{fit/fa.nii.gz}\"",
            "\"{fit/fa.nii.gz\"",
            "without its partner",
        ),
        ("\"{fit/fa.nii.gz}\"", "\"{cst/a.nii.gz}\"", "earlier step"),
        (
            "one-way = true",
            "one-way = {a = 1}",
            "no text, number, switch",
        ),
        (
            "[[step]]\nname = \"fit\"",
            "step = 1\n[[stop]]\nname = \"fit\"",
            "in line",
        ),
    ] {
        let found = changed(from, to);
        assert!(found.contains(part), "{found} lacks {part}");
        // A protocol is written by hand, not by another program.
        assert!(!found.contains("the program that made it"), "{found}");
    }
}

/// Errors state what is expected, and where to correct it.
fn advises() {
    let brace = "\"{fit/fa.nii.gz}\"";
    let line = PROTOCOL.lines().position(|line| line == "angle = 45");
    let slip = format!("correct line {}", line.expect("a line") + 1);
    for (from, to, expected, advice) in [
        (
            brace,
            "\"{fib/fa.nii.gz}\"",
            "{brain}, {dwi}, {labels}, {xfm}, {ball}, {brick}, {motor}, {old}, {seed}, {fit}, {protocol};",
            "correct the name in the step “cst”",
        ),
        (
            "arguments = [\"{dwi}\"]",
            "arguments = [\"{cst}\"]",
            "a result of an earlier step",
            "move the step “cst” before the step “fit”",
        ),
        (
            "\"diffusion_scan\"",
            "\"scan\"",
            "one of diffusion_scan, t1, mask",
            "correct role in [input.dwi]",
        ),
        (
            "name = \"cst\"",
            "name = \"fit\"",
            "a name of its own",
            "rename the step",
        ),
        (
            "space = \"mni\"",
            "space = \"mnj\"",
            "a table [space.NAME]: mni, template",
            "correct the name in [region.ball], or add [space.mnj]",
        ),
        (
            "map = \"{labels}\"",
            "map = \"{label_map}\"",
            "the name of an input: {brain}, {dwi}, {labels}, {xfm}, {protocol}",
            "correct the name in [region.seed]",
        ),
        (
            "warp = [\"{xfm}\"",
            "warp = [\"{xfn}\"",
            "“{xfn}” in the region “motor”, in its space “template”",
            "correct the name in [space.template]",
        ),
        ("angle = 45", "angle = 45 deg", "a protocol in TOML", &slip),
    ] {
        let found = changed(from, to);
        for part in [expected, advice] {
            assert!(found.contains(part), "{found} lacks {part}");
        }
    }
}

fn braces() {
    let text = |text: &str| Part::Text(text.to_owned());
    let name = |text: &str| Part::Name(text.to_owned());
    assert_eq!(
        parts("a{b}c{d/e}").expect("parts"),
        [text("a"), name("b"), text("c"), name("d/e")]
    );
    assert_eq!(parts("").expect("parts"), []);
    for broken in ["{", "}", "{a", "a}", "{a{b}", "}{"] {
        assert!(parts(broken).is_err(), "{broken}");
    }
    assert_eq!(names("mask:{a}:0..{b}"), ["a", "b"]);
}

fn patterns() {
    for (name, pattern, expected) in [
        ("dwi.nii.gz", "dwi.nii.gz", true),
        ("sub-01_dwi.nii.gz", "*_dwi.nii.gz", true),
        ("sub-01_dwi.nii", "*_dwi.nii.gz", false),
        ("sub-01_from-a_to-b_xfm.txt", "*_from-*_to-b_xfm.txt", true),
        ("sub-01_from-a_to-c_xfm.txt", "*_from-*_to-b_xfm.txt", false),
        ("aab", "*a*b", true),
        ("ab", "a*a*b", false),
        ("", "*", true),
    ] {
        assert_eq!(cohort::follows(name, pattern), expected, "{name} {pattern}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir_all(folder.path().join("dwi")).expect("created");
    std::fs::write(folder.path().join("dwi/x_dwi.nii.gz"), "").expect("written");
    let matching = |pattern| cohort::matching(folder.path(), pattern).len();
    assert_eq!(matching("dwi/*_dwi.nii.gz"), 1);
    assert_eq!(matching("*/*_dwi.nii.gz"), 1);
    assert_eq!(matching("*_dwi.nii.gz"), 0);
    assert_eq!(matching("anat/*"), 0);
}

fn replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (part, whole) = (folder.path().join(".a.part"), folder.path().join("a"));
    for content in ["old", "new"] {
        cohort::empty_folder(&part).expect("an empty folder");
        std::fs::write(part.join(content), content).expect("written");
        cohort::replace_folder(&part, &whole).expect("replaced");
        assert!(!part.exists());
        let files = cohort::files_below(&whole).expect("files");
        assert_eq!(files, [Path::new(content)]);
    }
}

fn locked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lock = cohort::lock(folder.path()).expect("a folder");
    assert!(lock.is_some());
    assert!(cohort::lock(folder.path()).expect("a folder").is_none());
    drop(lock);
    assert!(cohort::lock(folder.path()).expect("a folder").is_some());
}
