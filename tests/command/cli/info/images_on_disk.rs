//! Images that do not fit in memory and lie in a file without a name.

use super::super::{json, refuses};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const SHAPE: [usize; 3] = [64, 64, 40];
const VOLUMES: usize = 420;
/// Less than the 275 MB of the values as float32.
const LIMIT: [&str; 2] = ["--memory", "0.25"];

/// Header of a NIfTI image with this type and size of a number.
fn header(volumes: usize, (datatype, bits): (i16, i16)) -> Vec<u8> {
    let mut header = vec![0u8; 352];
    let mut put = |at: usize, value: &[u8]| header[at..at + value.len()].copy_from_slice(value);
    put(0, &348i32.to_le_bytes());
    let [x, y, z] = SHAPE.map(|n| n as i16);
    for (i, n) in [4, x, y, z, volumes as i16, 1, 1, 1]
        .into_iter()
        .enumerate()
    {
        put(40 + 2 * i, &n.to_le_bytes());
    }
    put(70, &datatype.to_le_bytes());
    put(72, &bits.to_le_bytes());
    for i in 0..4 {
        put(76 + 4 * i, &2f32.to_le_bytes());
    }
    put(108, &352f32.to_le_bytes());
    put(254, &1i16.to_le_bytes());
    for (row, axis) in [(280, 0), (296, 1), (312, 2)] {
        put(row + 4 * axis, &2f32.to_le_bytes());
    }
    put(344, b"n+1\0");
    header
}

/// A scan of 137 MB as int16, its gradients, and a mask of 2,000 of its voxels.
fn scan(here: &Path) {
    let voxels = SHAPE.iter().product::<usize>();
    let mut file = header(VOLUMES, (4, 16));
    let (mut b_values, mut axes) = (String::new(), [const { String::new() }; 3]);
    for volume in 0..VOLUMES {
        let is_weighted = !volume.is_multiple_of(21);
        b_values += if is_weighted { "1000 " } else { "0 " };
        // Points of a spiral on the sphere.
        let z = 1.0 - (2 * volume + 1) as f64 / VOLUMES as f64;
        let (radius, angle) = ((1.0 - z * z).sqrt(), 2.4 * volume as f64);
        let direction = [radius * angle.cos(), radius * angle.sin(), z];
        for (text, component) in axes.iter_mut().zip(direction) {
            *text += &format!("{component:.6} ");
        }
        let values = (0..voxels).map(|voxel| match is_weighted {
            true => 300 + ((7 * voxel + 13 * volume) % 200) as i16,
            false => 1000 + (voxel % 50) as i16,
        });
        file.extend(values.flat_map(i16::to_le_bytes));
    }
    std::fs::write(here.join("dwi.nii"), file).expect("written");
    std::fs::write(here.join("dwi.bval"), b_values).expect("written");
    std::fs::write(here.join("dwi.bvec"), axes.join("\n")).expect("written");
    let mut mask = header(1, (2, 8));
    mask.extend((0..voxels).map(|voxel| u8::from(voxel % (voxels / 2000) == 0)));
    std::fs::write(here.join("mask.nii"), mask).expect("written");
}

fn run(here: &Path, scratch: &Path, arguments: &[&str]) -> Output {
    crate::program()
        .args(arguments)
        .current_dir(here)
        .env("ARCUATE_SCRATCH", scratch)
        .output()
        .expect("the binary starts")
}

/// A fit of a scan that does not fit in memory writes the bytes that it writes with more memory.
pub fn fit() {
    if !cfg!(target_os = "linux") {
        println!("did not run: only Linux has files without a name");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let system = std::process::Command::new("stat")
        .args(["-f", "-c", "%T"])
        .arg(here)
        .output();
    if system.is_ok_and(|output| output.stdout == b"tmpfs\n") {
        println!("did not run: the folder for temporary files lies in memory");
        return;
    }
    scan(here);
    let command = [
        "fit",
        "dwi.nii",
        "--mask",
        "mask.nii",
        "--maps",
        "fa,tensor",
    ];
    let in_memory = json(&[&command[..], &["--out", "in_memory"]].concat(), here);
    assert!(!in_memory["notes"].to_string().contains("do not fit"));
    let limited = [&command[..], &["--out", "on_disk", "--json"], &LIMIT].concat();
    let output = run(here, here, &limited);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let notes = result["notes"].to_string();
    assert!(notes.contains("temporary file of 275 MB"), "{notes}");
    for name in ["fa.nii.gz", "tensor.nii.gz"] {
        let bytes = |folder: &str| std::fs::read(here.join(folder).join(name)).expect("a map");
        assert!(bytes("in_memory") == bytes("on_disk"), "{name}");
    }
    // Nothing stays behind.
    let mut names: Vec<_> = std::fs::read_dir(here)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    let expected = [
        "dwi.bval",
        "dwi.bvec",
        "dwi.nii",
        "in_memory",
        "mask.nii",
        "on_disk",
    ];
    assert_eq!(names, expected);
    // The user wants none.
    let limited = [&command[..], &["--out", "refused"], &LIMIT].concat();
    let output = run(here, Path::new("none"), &limited);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("needs 275 MB of memory"), "{error}");
    // A folder that does not exist, and cannot be made.
    let output = run(here, &here.join("dwi.nii/scratch"), &limited);
    assert_eq!(output.status.code(), Some(1));
    refuses(
        &["info", "mask.nii", "--memory", "0.00001"],
        &["limit for the program"],
        here,
    );
}
