//! The bytes of results whose solvers give the same bytes at any number of threads.
//!
//! They hold for one set of vector instructions; on a machine with another, the test reports it and does not run.

use super::{commands, holds};
use crate::support::test;
use arcuate::compute::simd;
use flate2::read::GzDecoder;
use libtest_mimic::{Failed, Trial};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

const NAME: &str = "contract::bytes of results";
/// The set of instructions whose results are in the fixture.
const LEVEL: &str = "AVX2";

const LINES: &[&str] = &[
    "phantom --scan-only --spacing 4 --shells 1000:12 --b0 2 --out head",
    "fit head/dwi.nii.gz --mask head/brain_mask.nii.gz --maps fa,tensor,s0,mode,cp,norm,mode-colour --out maps",
    "track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seeds random:2000 --out whole.trx",
    "geodesic head/dwi.nii.gz --mask head/brain_mask.nii.gz --seed sphere:-24,-18,8,8 --target sphere:-30,-22,58,12 --seeds random:50 --cut all --out rays.trx",
    "segment maps/fa.nii.gz --target 0.6 --tolerance 0.2 --add sphere:-24,-18,8,8 --steps 60 --out grown",
    "track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seed sphere:-24,-18,8,8 --target sphere:-30,-22,58,12 --seeds random:300 --out bundle.tck",
    "region --as-labels --union sphere:-24,-18,8,8 --union sphere:-30,-22,58,12 --image maps/fa.nii.gz --out labels.nii.gz",
    "density whole.trx --template maps/fa.nii.gz --out density.nii.gz",
    "density whole.trx --template maps/fa.nii.gz --by-direction --measure length --out by_direction.nii.gz",
    "table whole.trx table.csv --image maps/fa.nii.gz",
    "profile bundle.tck profile.csv --image maps/fa.nii.gz --nodes 10",
    "connectome bundle.tck labels.nii.gz matrix.csv --radius 4",
    "select whole.trx long.trx --include box:-40,0,0,40,100,100 --length 20..",
];
const RESULTS: &[&str] = &[
    "head/dwi.nii.gz",
    "maps/tensor.nii.gz",
    "maps/fa.nii.gz",
    "maps/mode.nii.gz",
    "maps/cp.nii.gz",
    "maps/norm.nii.gz",
    "maps/mode-colour.nii.gz",
    "whole.trx",
    "rays.trx",
    "grown/labels.nii.gz",
    "labels.nii.gz",
    "density.nii.gz",
    "by_direction.nii.gz",
    "table.csv",
    "profile.csv",
    "matrix.csv",
    "long.trx",
];

pub fn trial() -> Trial {
    let found = simd::level().name();
    if found == LEVEL || std::env::var_os("ARCUATE_WRITE_CONTRACT").is_some() {
        return test(NAME, same_bytes);
    }
    Trial::test(
        format!("{NAME} (not run: found {found}, the fixture is of {LEVEL})"),
        || Err(Failed::from("other vector instructions")),
    )
    .with_ignored_flag(true)
}

fn same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    for line in LINES {
        let mut arguments: Vec<&str> = line.split_whitespace().collect();
        arguments.extend(["--quiet", "--backend", "cpu"]);
        let output = commands::arcuate(&arguments, folder.path());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {error}");
    }
    let mut text = String::new();
    for name in RESULTS {
        for (part, bytes) in values(&folder.path().join(name)) {
            let hash = Sha256::digest(&bytes);
            let digits: String = hash.iter().map(|b| format!("{b:02x}")).collect();
            let _ = writeln!(text, "{name} {part} {digits}");
        }
    }
    holds(&format!("bytes_{LEVEL}.txt"), &text);
}

/// Values of an image or of streamlines without headers, which contain dates and names; the whole text of a table.
fn values(path: &Path) -> Vec<(String, Vec<u8>)> {
    let bytes = std::fs::read(path).expect("read");
    if path.extension().is_some_and(|e| e == "trx") {
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("an archive");
        let names: Vec<String> = archive
            .file_names()
            .map(|name| name.expect("a name").into_owned())
            .collect();
        let kept = |name: &&String| {
            let stem = PathBuf::from(name);
            let stem = stem.file_stem().unwrap_or_default().to_string_lossy();
            stem.starts_with("positions") || stem.starts_with("offsets")
        };
        let names: Vec<&String> = names.iter().filter(kept).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let mut read = |name: &&String| {
            let mut values = Vec::new();
            let mut member = archive.by_name(name).expect("a member");
            member.read_to_end(&mut values).expect("read");
            ((*name).clone(), values)
        };
        return names.iter().map(&mut read).collect();
    }
    if path.extension().is_some_and(|e| e == "csv") {
        return vec![("table".to_owned(), bytes)];
    }
    let mut unpacked = Vec::new();
    let mut reader = GzDecoder::new(&*bytes);
    reader.read_to_end(&mut unpacked).expect("unpacked");
    vec![("values".to_owned(), unpacked[352..].to_vec())]
}
