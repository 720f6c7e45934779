//! Writing NIfTI-1, reading it back and comparing.

use super::read;
use crate::compute::Control;
use crate::data::{Grid, Mask, Volume, VolumeKind};
use crate::io::{Error, atomic};
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::{DMat3, DQuat, DVec3};
use std::io::Write;
use std::path::Path;

/// Writes a volume as float32 (colour as three volumes), `.nii` or `.nii.gz` by the name;
/// `command` goes into the description (its first 79 bytes).
pub fn save_volume(
    path: &Path,
    volume: &Volume,
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    save(
        path,
        &volume.grid,
        volume.frames,
        16,
        bytemuck::cast_slice(&volume.values),
        command,
        control,
    )?;
    let (back, _) = read(path, &Control::new())?;
    let same = back
        .values
        .iter()
        .zip(volume.values.iter())
        .all(|(a, b)| a.to_bits() == b.to_bits());
    verify(
        path,
        &volume.grid,
        &back.grid,
        same && back.values.len() == volume.values.len(),
    )
}

/// Writes a mask as uint8.
pub fn save_mask(path: &Path, mask: &Mask, command: &str, control: &Control) -> Result<(), Error> {
    save(path, &mask.grid, 1, 2, &mask.inside, command, control)?;
    let (back, _) = read(path, &Control::new())?;
    let same = back.kind == VolumeKind::Scalar
        && back.values.len() == mask.inside.len()
        && back
            .values
            .iter()
            .zip(mask.inside.iter())
            .all(|(a, b)| *a == f32::from(*b));
    verify(path, &mask.grid, &back.grid, same)
}

fn verify(path: &Path, written: &Grid, found: &Grid, same_values: bool) -> Result<(), Error> {
    // The affine is stored in 32-bit floats.
    if same_values && found.same_space(written, 1e-2) {
        return Ok(());
    }
    Err(Error::content(
        path,
        "The file read back differs from what was written: the disk may be failing",
    ))
}

fn save(
    path: &Path,
    grid: &Grid,
    frames: usize,
    datatype: i16,
    data: &[u8],
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    let name = path.to_string_lossy().to_lowercase();
    let packed = name.ends_with(".nii.gz");
    if !packed && !name.ends_with(".nii") {
        return Err(Error::content(
            path,
            "Images are written as NIfTI, expected a name ending in .nii or .nii.gz",
        ));
    }
    let header = header(grid, frames, datatype, command).map_err(|s| Error::content(path, s))?;
    control.begin("Writing", data.len() as u64);
    let mut cancelled = false;
    let written = atomic::write(path, |out| {
        let mut fill = |out: &mut dyn Write| -> std::io::Result<()> {
            out.write_all(&header)?;
            for chunk in data.chunks(1 << 20) {
                if control.is_cancelled() {
                    cancelled = true;
                    return Err(std::io::ErrorKind::Interrupted.into());
                }
                out.write_all(chunk)?;
                control.advance(chunk.len() as u64);
            }
            Ok(())
        };
        if packed {
            let mut gzip = GzEncoder::new(out, Compression::fast());
            fill(&mut gzip)?;
            gzip.finish().map(drop)
        } else {
            fill(out)
        }
    });
    if cancelled {
        Err(Error::Cancelled)
    } else {
        written
    }
}

/// A 352-byte header (348 and an empty extension), in this machine's byte order.
fn header(grid: &Grid, frames: usize, datatype: i16, command: &str) -> Result<Vec<u8>, String> {
    let mut h = vec![0u8; 352];
    let mut put = |at: usize, bytes: &[u8]| h[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &348i32.to_ne_bytes());
    let mut dim = [1i16; 8];
    dim[0] = if frames > 1 { 4 } else { 3 };
    for (slot, side) in dim[1..5]
        .iter_mut()
        .zip(grid.shape.into_iter().chain([frames]))
    {
        *slot = i16::try_from(side).map_err(|_| {
            format!(
                "A side of {side} voxels does not fit NIfTI-1, which ends at 32767: crop the image"
            )
        })?;
    }
    dim.iter()
        .enumerate()
        .for_each(|(i, d)| put(40 + 2 * i, &d.to_ne_bytes()));
    put(70, &datatype.to_ne_bytes());
    put(72, &(if datatype == 2 { 8i16 } else { 32 }).to_ne_bytes());
    let m = grid.world_from_voxel.matrix3;
    let spacing = grid.spacing();
    let sign = if m.determinant() < 0.0 { -1.0 } else { 1.0 };
    let pixdim = [sign, spacing.x, spacing.y, spacing.z, 1.0, 1.0, 1.0, 1.0];
    pixdim
        .iter()
        .enumerate()
        .for_each(|(i, &p)| put(76 + 4 * i, &(p as f32).to_ne_bytes()));
    put(108, &352f32.to_ne_bytes());
    put(112, &1f32.to_ne_bytes());
    // Millimetres and seconds.
    put(123, &[10]);
    let text: Vec<u8> = command.bytes().filter(u8::is_ascii).take(79).collect();
    put(148, &text);
    put(254, &2i16.to_ne_bytes());
    let orthogonal = DMat3::from_cols(
        m.x_axis / spacing.x,
        m.y_axis / spacing.y,
        m.z_axis * sign / spacing.z,
    );
    let residue = orthogonal * orthogonal.transpose() - DMat3::IDENTITY;
    let t = grid.world_from_voxel.translation;
    // A sheared grid has no quaternion: sform only.
    if (0..3).all(|c| residue.col(c).abs().max_element() < 1e-4) {
        let q = DQuat::from_mat3(&orthogonal).normalize();
        let q = if q.w < 0.0 { -q } else { q };
        put(252, &2i16.to_ne_bytes());
        let six = [q.x, q.y, q.z, t.x, t.y, t.z];
        six.iter()
            .enumerate()
            .for_each(|(i, &v)| put(256 + 4 * i, &(v as f32).to_ne_bytes()));
    }
    for row in 0..3 {
        let values = [
            m.x_axis[row],
            m.y_axis[row],
            m.z_axis[row],
            DVec3::from(t)[row],
        ];
        values
            .iter()
            .enumerate()
            .for_each(|(i, &v)| put(280 + 16 * row + 4 * i, &(v as f32).to_ne_bytes()));
    }
    put(344, b"n+1\0");
    Ok(h)
}
