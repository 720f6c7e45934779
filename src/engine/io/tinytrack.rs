//! DSI Studio's TinyTrack (`.tt.gz`): a compressed MATLAB 4 file. Its matrix `track` (in parts also `track1` and so
//! on) holds, for each streamline, the number of coordinates, the first point in 32nds of a voxel, and the steps to
//! the next points, one byte per axis.
//!
//! `trans_to_mni` maps voxels to RAS+ mm of the template's space. Each cluster is a number per streamline.
//!
//! Memory: at most sixteen times the unpacked size, which is limited to a hundred times that of the file.

use super::Error;
use super::file_bytes::FileBytes;
use super::matlab::{Matrix, matrices, truncated};
use super::streamlines::FibreInfo;
use crate::compute::Control;
use crate::data::text::counted;
use crate::data::{AffineSource, Grid, Tractogram};
use glam::{DAffine3, DMat3, DVec3};
use std::path::Path;

/// A coordinate's unit, voxels.
const UNIT: f64 = 1.0 / 32.0;
/// Bytes of a streamline without its steps: the count and the first point.
const START_BYTES: usize = 16;

/// Reads all streamlines in their order.
pub fn read(path: &Path, control: &Control) -> Result<(Tractogram, FibreInfo), Error> {
    let whole = FileBytes::open(path, control)?;
    let matrices = matrices(path, whole.bytes())?;
    let find = |name: &str| matrices.iter().find(|m| m.name == name);
    let mut info = FibreInfo::default();
    let wrong = |found: &str, expected: &str| Error::malformed(path, found, expected);
    let place = find("trans_to_mni").map(Matrix::floats);
    let place = place.filter(|m| m.len() == 16).ok_or_else(|| {
        wrong(
            "no trans_to_mni of 16 numbers",
            "a DSI Studio file that says where its voxels are",
        )
    })?;
    let row = |r: usize| [0, 1, 2, 3].map(|c| f64::from(place[4 * r + c]));
    let rows = [row(0), row(1), row(2)];
    let column = |c: usize| DVec3::new(rows[0][c], rows[1][c], rows[2][c]);
    let axes = DMat3::from_cols(column(0), column(1), column(2));
    let world_from_voxel = DAffine3::from_mat3_translation(axes, column(3));
    let shape = find("dimension").map(Matrix::floats).unwrap_or_default();
    let shape: Vec<usize> = shape
        .iter()
        .filter(|&&n| n >= 1.0)
        .map(|&n| n as usize)
        .collect();
    let shape = <[usize; 3]>::try_from(shape).ok();
    let grid = Grid::new(
        shape.unwrap_or([1; 3]),
        world_from_voxel,
        AffineSource::Sform,
    );
    let grid = grid.ok_or_else(|| {
        wrong(
            "a trans_to_mni that is flat or not finite",
            "a map of the voxels to the world",
        )
    })?;

    let (mut points, mut offsets) = (Vec::new(), vec![0u64]);
    let is_track = |m: &&Matrix| {
        let number = m.name.strip_prefix("track");
        number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    for matrix in matrices.iter().filter(is_track) {
        control.check()?;
        tracks(path, matrix, world_from_voxel, &mut points, &mut offsets)?;
    }
    let mut tractogram = Tractogram::new(points, offsets);
    if let Some(cluster) = find("cluster") {
        let values = cluster.floats();
        if values.len() == tractogram.len() {
            tractogram = tractogram.with_per_streamline("cluster", values);
        } else {
            info.warn_unread(format!(
                "The file has cluster numbers for {}, expected one for each of {}; they were not used",
                counted(values.len(), "streamline"),
                counted(tractogram.len(), "streamline")
            ));
        }
    }
    if shape.is_some() {
        tractogram = tractogram.with_grid(grid);
    }
    for text in ["report", "parameter_id"] {
        if let Some(matrix) = find(text) {
            let plain = String::from_utf8_lossy(matrix.bytes);
            info.add(text, plain.trim_end_matches('\0'));
        }
    }
    info.check(&tractogram, None);
    Ok((tractogram, info))
}

fn tracks(
    path: &Path,
    matrix: &Matrix,
    world_from_voxel: DAffine3,
    points: &mut Vec<[f32; 3]>,
    offsets: &mut Vec<u64>,
) -> Result<(), Error> {
    if matrix.number_type.bytes() != 1 {
        return Err(Error::malformed(
            path,
            format!("streamlines as {:?}", matrix.number_type),
            "bytes",
        ));
    }
    let number = |bytes: [u8; 4]| match matrix.big_endian {
        true => i32::from_be_bytes(bytes),
        false => i32::from_le_bytes(bytes),
    };
    let mut rest = matrix.bytes;
    while !rest.is_empty() {
        let line = offsets.len();
        let Some((start, behind)) = rest.split_first_chunk::<START_BYTES>() else {
            return Err(truncated(path, &format!("streamline {line}")));
        };
        let (four, _) = start.as_chunks::<4>();
        let count = number(four[0]) as u32 as usize;
        if count < 3 || !count.is_multiple_of(3) {
            return Err(Error::malformed(
                path,
                format!("{count} coordinates in streamline {line}"),
                ("three for each of its points", "copy the file again"),
            ));
        }
        let steps = behind.split_at_checked(count - 3);
        let (steps, behind) =
            steps.ok_or_else(|| truncated(path, &format!("streamline {line}")))?;
        let mut at = [1, 2, 3].map(|i| i64::from(number(four[i])));
        let mut put = |at: [i64; 3]| {
            let voxel = DVec3::from_array(at.map(|c| c as f64 * UNIT));
            let world = world_from_voxel.transform_point3(voxel);
            points.push(world.as_vec3().to_array());
        };
        put(at);
        for step in steps.as_chunks::<3>().0 {
            for (c, &d) in at.iter_mut().zip(step) {
                *c += i64::from(d as i8);
            }
            put(at);
        }
        offsets.push(points.len() as u64);
        rest = behind;
    }
    Ok(())
}
