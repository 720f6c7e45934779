//! Help of every command; members, columns and files of what every command writes.

use super::holds;
use arcuate::cli::Arguments;
use clap::CommandFactory as _;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Command lines in the order in which they run in one folder, each with its output as JSON.
const LINES: &[&str] = &[
    "phantom --scan-only --spacing 6 --shells 1000:12 --b0 2 --out head",
    "info head/dwi.nii.gz head/brain_mask.nii.gz head/fibres.tck",
    "fit head/dwi.nii.gz --mask head/brain_mask.nii.gz --maps fa,md,ad,rd,mode,cl,cp,cs,norm,dec,mode-colour,direction,tensor,s0,mask,repaired --out maps",
    "fod head/dwi.nii.gz --mask head/brain_mask.nii.gz --single-fibre-voxels 50 --response-algorithm tournier --out fod",
    "track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seeds random:300 --out whole.trx",
    "track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seed sphere:-24,-18,8,8 --target sphere:-30,-22,58,12 --seeds random:300 --out bundle.tck",
    "track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seed sphere:-24,-18,8,8 --target sphere:-30,-22,58,12 --seeds random:30 --bootstrap 3 --noise repeated --distance-to head/brain_mask.nii.gz --out repeated.tck",
    "geodesic head/dwi.nii.gz --mask head/brain_mask.nii.gz --seed sphere:-24,-18,8,8 --target sphere:-30,-22,58,12 --seeds random:10 --cut all --out rays.tck",
    "pathway head/dwi.nii.gz --mask head/brain_mask.nii.gz --from sphere:-24,-18,8,8 --to sphere:-30,-22,58,12 --out cost",
    "pathway head/dwi.nii.gz --mask head/brain_mask.nii.gz --from sphere:-24,-18,8,8 --to sphere:-30,-22,58,12 --costly sphere:-27,-20,33,6 --null 0 --sensitivity sensitivity.nii.gz --out costly",
    "uncertainty head/dwi.nii.gz --mask head/brain_mask.nii.gz --from sphere:-24,-18,8,8 --to sphere:-30,-22,58,12 --repetitions 3 --distance-to head/brain_mask.nii.gz --out noise",
    "fod head/dwi.nii.gz --mask head/brain_mask.nii.gz --single-fibre-voxels 50 --response-algorithm tournier --maps cone,peak_dispersion --bootstrap 20 --out cones",
    "gradients distributions fod/wm_fod.nii.gz",
    "track --fod fod/wm_fod.nii.gz --seeds random:50 --out arcs.tck",
    "track --peaks fod/peaks.nii.gz --seeds random:50 --out directions.tck",
    "geodesic --fod fod/wm_fod.nii.gz --seed sphere:-24,-18,8,8 --seeds random:10 --cut all --out lobes.tck",
    "pathway --fod fod/wm_fod.nii.gz --from sphere:-24,-18,8,8 --to sphere:-30,-22,58,12 --directions 42 --out through",
    "uncertainty head/dwi.nii.gz --fod fod/wm_fod.nii.gz --from sphere:-24,-18,8,8 --to sphere:-30,-22,58,12 --directions 42 --repetitions 3 --out through_noise",
    "region --image maps/fa.nii.gz --threshold 0.3..1 --out white.nii.gz",
    "region --as-labels --union sphere:-24,-18,8,8 --union sphere:-30,-22,58,12 --image maps/fa.nii.gz --out labels.nii.gz",
    "segment maps/fa.nii.gz --target 0.6 --tolerance 0.2 --add sphere:-24,-18,8,8 --steps 20 --out grown",
    "gradients check head/dwi.nii.gz --mask head/brain_mask.nii.gz --out checked",
    "gradients turn head/dwi.nii.gz --turn x,-y,z --out turned",
    "gradients tensors maps/tensor.nii.gz",
    "convert whole.trx whole.tck",
    "convert bundle.tck bundle.vtk",
    "convert maps/fa.nii.gz fa.nrrd",
    "convert head/brain_mask.nii.gz brain.ply",
    "select whole.trx left.trx --include box:-40,0,0,40,100,100 --length 20..",
    "density whole.trx --template maps/fa.nii.gz --out density.nii.gz",
    "density whole.trx --template maps/fa.nii.gz --by-direction --measure length --out by_direction.nii.gz",
    "commit whole.trx head/dwi.nii.gz --mask head/brain_mask.nii.gz --model stick --filtered kept.trx --out commit",
    "align maps/fa.nii.gz maps/fa.nii.gz --out same.txt",
    "table whole.trx table.csv --image maps/fa.nii.gz",
    "profile bundle.tck profile.csv --image maps/fa.nii.gz --nodes 10",
    "connectome whole.trx labels.nii.gz matrix.csv --radius 4",
    "phantom --crossing --scan-only --spacing 3 --shells 1000:6 --b0 1 --out crossing",
    "score crossing/fibres.tck --truth crossing --out scores.csv",
    "region --union mask:white.nii.gz --stats maps/fa.nii.gz --stats maps/md.nii.gz --csv values.csv --histogram bins.csv",
    "compare white.nii.gz head/brain_mask.nii.gz maps/mask.nii.gz --operators a,a,b --staple consensus.nii.gz --csv pairs.csv",
    "compare white.nii.gz whole.tck",
];

pub fn arcuate(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("ARCUATE_BACKEND")
        .output()
        .expect("the binary starts")
}

pub fn help() {
    let mut text = String::new();
    let mut add = |command: &mut clap::Command| {
        let _ = writeln!(text, "{}", command.render_long_help());
    };
    // The options of all commands are included, and names as typed.
    let mut all = Arguments::command().term_width(100);
    all.build();
    add(&mut all);
    let mut open: Vec<&mut clap::Command> = all.get_subcommands_mut().collect();
    open.reverse();
    while let Some(command) = open.pop() {
        add(command);
        let inner: Vec<_> = command.get_subcommands_mut().collect();
        open.extend(inner.into_iter().rev().filter(|c| c.get_name() != "help"));
    }
    holds("help.txt", &text);
}

pub fn outputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let (mut text, mut known) = (String::new(), BTreeSet::new());
    for line in LINES {
        let mut arguments: Vec<&str> = line.split_whitespace().collect();
        arguments.extend(["--json", "--backend", "cpu", "--threads", "2"]);
        let output = arcuate(&arguments, here);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {error}");
        let printed: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}"));
        let _ = writeln!(text, "$ arcuate {line}");
        for (member, kind) in members(&printed) {
            let _ = writeln!(text, "  {member}: {kind}");
        }
        for path in files(here) {
            if known.insert(path.clone()) {
                let name = path.strip_prefix(here).expect("below");
                let _ = writeln!(text, "  > {}", name.display());
                for (what, how) in content(&path) {
                    let _ = writeln!(text, "      {what}: {how}");
                }
            }
        }
        text.push('\n');
    }
    holds("outputs.txt", &text);
}

/// The members of a JSON value with their types, arrays as one; for the command that repeats this one, its text.
pub fn members(value: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect("", value, &mut found);
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(text) if path == "repeat" => text,
        Value::String(_) => "text",
        Value::Array(items) => {
            let path = format!("{path}[]");
            for item in items {
                collect(&path, item, found);
            }
            if items.is_empty() {
                found.entry(path).or_insert_with(|| "nothing".to_owned());
            }
            return;
        }
        Value::Object(inner) => {
            for (key, value) in inner {
                let dot = if path.is_empty() { "" } else { "." };
                collect(&format!("{path}{dot}{key}"), value, found);
            }
            return;
        }
    };
    let kinds = found.entry(path.to_owned()).or_default();
    if kinds.is_empty() || kinds == "nothing" {
        kind.clone_into(kinds);
    } else if !kinds.split(" or ").any(|k| k == kind) {
        let mut all: Vec<&str> = kinds.split(" or ").chain([kind]).collect();
        all.sort_unstable();
        *kinds = all.join(" or ");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let list = if path.is_dir() { &mut open } else { &mut found };
            list.push(path);
        }
    }
    found.sort();
    found
}

/// The parts of a file that readers rely on, besides its values.
fn content(path: &Path) -> Vec<(String, String)> {
    let name = path.file_name().expect("a name").to_string_lossy();
    let bytes = std::fs::read(path).expect("read");
    let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let one = |what: &str, how: String| vec![(what.to_owned(), how)];
    if name.ends_with(".nii.gz") {
        let mut header = [0; 348];
        let mut unpacked = GzDecoder::new(&*bytes);
        unpacked.read_exact(&mut header).expect("a header");
        let short = |at: usize| i16::from_le_bytes([header[at], header[at + 1]]);
        let axes = short(40) as usize;
        let sizes: Vec<i16> = (1..=axes).map(|i| short(40 + 2 * i)).collect();
        let codes = (short(70), short(68), short(252), short(254));
        return one("type, intent, qform, sform", format!("{codes:?}"))
            .into_iter()
            .chain(one("sizes", format!("{sizes:?}")))
            .collect();
    }
    if name.ends_with(".trx") {
        let archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("an archive");
        let mut names: Vec<_> = archive
            .file_names()
            .map(|name| name.expect("a name"))
            .collect();
        names.sort_unstable();
        return one("members", names.join(" "));
    }
    let text = String::from_utf8_lossy(&bytes);
    if name.ends_with(".json") {
        let value = serde_json::from_str(&text).expect("JSON");
        return members(&value).into_iter().collect();
    }
    if name.ends_with(".csv") {
        return one("columns", line(&text));
    }
    if name.ends_with(".tck") || name.ends_with(".tsf") {
        let keys = text.lines().take_while(|&line| line != "END");
        let keys = keys.filter_map(|line| line.split(':').next());
        return one("header", keys.collect::<Vec<_>>().join(" | "));
    }
    if name.ends_with(".weights.txt") {
        let comments = text.lines().filter(|line| line.starts_with('#'));
        return one("comment lines", comments.count().to_string());
    }
    Vec::new()
}
