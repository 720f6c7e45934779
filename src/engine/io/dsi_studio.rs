//! Peaks of a model of DSI Studio (`.fib.gz`; its manual, "Load/Save FIB files"): a compressed MATLAB 4 file. It has, for
//! each peak, an amplitude per voxel (`fa0`, `fa1`, …) and a direction: vectors (`dir0`, …), or numbers (`index0`, …) of
//! the columns of `odf_vertices`.
//!
//! Voxels and vectors have the same axes, to the patient's left, back and top unless `trans` says otherwise.

use super::Error;
use super::file_bytes::FileBytes;
use super::matlab::{Matrix, matrices};
use super::text::counted;
use crate::compute::Control;
use crate::data::rotation::rotation;
use crate::data::{AffineSource, Grid, PeakField};
use glam::{DAffine3, DMat3, DVec3};
use std::path::Path;

/// Largest number of peaks per voxel.
const MAX_PEAKS: usize = 10;

/// Reads peaks in world axes; also returns warnings, one sentence each.
pub fn read_peaks(path: &Path, control: &Control) -> Result<(PeakField, Vec<String>), Error> {
    let whole = FileBytes::open(path, control)?;
    let matrices = matrices(path, whole.bytes())?;
    let find = |name: &str| matrices.iter().find(|m| m.name == name);
    let mut warnings = Vec::new();
    let grid = grid(path, find, &mut warnings)?;
    let n = grid.voxel_count();
    let turn = rotation(grid.world_from_voxel.matrix3);
    let vertices = find("odf_vertices").map(Matrix::floats).unwrap_or_default();
    let mut values: Vec<f32> = Vec::new();
    let mut count = 0;
    while count < MAX_PEAKS
        && let Some(amplitudes) = find(&format!("fa{count}"))
    {
        control.check()?;
        let amplitudes = amplitudes.floats();
        let each = |name: &str, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(Error::malformed(
                path,
                format!("{} in {name}", counted(found, "number")),
                (
                    format!("{expected} for {}", counted(n, "voxel")),
                    "save the model as .fib.gz, which holds every voxel",
                ),
            )),
        };
        each(&format!("fa{count}"), amplitudes.len(), n)?;
        let directions = match find(&format!("dir{count}")) {
            Some(vectors) => {
                let vectors = vectors.floats();
                each(&format!("dir{count}"), vectors.len(), 3 * n)?;
                vectors
            }
            None => {
                let name = format!("index{count}");
                let numbers = find(&name).map(Matrix::floats).unwrap_or_default();
                each(&name, numbers.len(), n)?;
                listed(path, &name, &numbers, &amplitudes, &vertices)?
            }
        };
        let peak = |voxel: usize| {
            let v = &directions[3 * voxel..];
            let direction = DVec3::new(v[0].into(), v[1].into(), v[2].into());
            let amplitude = f64::from(amplitudes[voxel]);
            (turn * direction.normalize_or_zero() * amplitude).as_vec3()
        };
        for axis in 0..3 {
            values.extend((0..n).map(|voxel| peak(voxel)[axis]));
        }
        count += 1;
    }
    if count == 0 {
        return Err(Error::malformed(
            path,
            "no matrix fa0",
            (
                "a model with peaks",
                "reconstruct the scan in DSI Studio first",
            ),
        ));
    }
    Ok((PeakField::new(grid.into(), count, values), warnings))
}

/// The vector of each voxel; 0 where the voxel has no peak.
fn listed(
    path: &Path,
    name: &str,
    numbers: &[f32],
    amplitudes: &[f32],
    vertices: &[f32],
) -> Result<Vec<f32>, Error> {
    let mut directions = Vec::with_capacity(3 * numbers.len());
    for (number, amplitude) in numbers.iter().zip(amplitudes) {
        if *amplitude == 0.0 {
            directions.extend([0.0; 3]);
            continue;
        }
        let vertex = (*number >= 0.0)
            .then(|| vertices.get(3 * *number as usize..))
            .flatten();
        let Some([x, y, z, ..]) = vertex else {
            return Err(Error::malformed(
                path,
                format!("direction {number} in {name}"),
                format!("one of {} in odf_vertices", vertices.len() / 3),
            ));
        };
        directions.extend([x, y, z]);
    }
    Ok(directions)
}

fn grid<'a>(
    path: &Path,
    find: impl Fn(&str) -> Option<&'a Matrix<'a>>,
    warnings: &mut Vec<String>,
) -> Result<Grid, Error> {
    let numbers = |name: &str| find(name).map(Matrix::floats).unwrap_or_default();
    let malformed = |found: &str| {
        Error::malformed(
            path,
            found,
            "a model of DSI Studio with dimension, voxel_size and fa0",
        )
    };
    let sizes = numbers("dimension");
    let whole = |n: &f32| (1.0..=65_535.0).contains(n) && n.fract() == 0.0;
    if sizes.len() != 3 || !sizes.iter().all(whole) {
        return Err(malformed("no dimension of three whole numbers"));
    }
    let shape = [0, 1, 2].map(|axis| sizes[axis] as usize);
    let trans = numbers("trans");
    let affine = match <[f32; 16]>::try_from(trans) {
        Ok(t) => {
            let column = |c: usize| DVec3::new(t[c].into(), t[4 + c].into(), t[8 + c].into());
            DAffine3::from_cols(column(0), column(1), column(2), column(3))
        }
        Err(_) => {
            let edges = numbers("voxel_size");
            let Ok([x, y, z]) = <[f32; 3]>::try_from(edges) else {
                return Err(malformed("no voxel_size of three numbers"));
            };
            warnings.push(
                "The file does not say where its voxels are; its axes were taken as left, back and top, and its \
                 centre was put at 0"
                    .to_owned(),
            );
            let edges = DVec3::new(-f64::from(x), -f64::from(y), f64::from(z));
            let last = DVec3::from_array(shape.map(|n| n as f64 - 1.0));
            DAffine3::from_mat3_translation(DMat3::from_diagonal(edges), -0.5 * last * edges)
        }
    };
    Grid::new(shape, affine, AffineSource::Header)
        .ok_or_else(|| malformed("a trans or voxel_size that is flat or not finite"))
}
