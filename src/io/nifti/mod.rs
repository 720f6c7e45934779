//! NIfTI images: versions 1 and 2, `.nii` and `.hdr`/`.img`, plain and gzip, both byte orders.
//!
//! The crate `nifti` parses the NIfTI-1 header and names the voxel types. The rest is ours, since
//! the crate stops at version 1, allocates what a header asks for before it looks at the file, and
//! has no colours: the NIfTI-2 header, every check, the voxels (decoded straight to float32, in
//! one pass) and writing. The tests read what is written here with the crate's own reader.
//!
//! Nothing is allocated for voxels before the file is known to hold them (`Source::prove`).

mod decode;
mod header;
mod space;
mod write;

pub use header::{Header, Version, VoxelType};
pub use space::SpaceInfo;
pub use write::{save_labels, save_mask, save_volume};

use super::source::{CHUNK_BYTES, Source};
use super::voxels::zeros;
use super::{Error, extension, with_extension};
use crate::compute::Control;
use crate::data::{Grid, Volume, VolumeKind};
use decode::Decoder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes behind the voxels of a compressed file that are still read, for its checksum.
const TAIL_LIMIT: u64 = 1 << 24;

/// The grid of an image, without its voxels.
pub fn read_grid(path: &Path, control: &Control) -> Result<Grid, Error> {
    let (source, header) = open_header(path, control)?;
    space::grid(source.path(), &header).map(|(grid, _)| grid)
}

/// Reads an image; of a pair, either file may be named.
pub fn read(path: &Path, control: &Control) -> Result<(Volume, SpaceInfo), Error> {
    let (mut source, header) = open_header(path, control)?;
    let (grid, mut info) = space::grid(source.path(), &header)?;
    let end = header.vox_offset + header.data_bytes();
    if header.single_file {
        source.prove(end)?;
    } else {
        source = Source::open(&twin(source.path(), "img")?, control)?;
        source.prove(end)?;
        source.skip(header.vox_offset)?;
    }
    let kind = if header.voxel_type.is_colour() {
        VolumeKind::Rgb
    } else {
        VolumeKind::Scalar
    };
    let values = voxels(&mut source, &header, kind)?;
    let behind = match source.known_bytes() {
        Some(bytes) => bytes - end,
        None => source.finish(TAIL_LIMIT)?,
    };
    if behind > 0 {
        info.warnings.push(format!(
            "The file goes on for {behind} bytes behind its voxels; they were not used"
        ));
    }
    if header.voxel_type.is_wide_integer() && header.scaling.is_none() {
        info.warn_of_large(&values);
    }
    let frames = match kind {
        VolumeKind::Scalar => header.frames,
        VolumeKind::Rgb => 3,
    };
    Ok((Volume::new(Arc::new(grid), frames, kind, values), info))
}

fn open_header(path: &Path, control: &Control) -> Result<(Source, Header), Error> {
    let header_path = match extension(path).as_str() {
        "img" | "img.gz" => twin(path, "hdr")?,
        _ => path.to_owned(),
    };
    let mut source = Source::open(&header_path, control)?;
    let header = Header::read(&mut source)?;
    Ok((source, header))
}

/// `a.hdr` → `a.img` or `a.img.gz`, whichever exists.
fn twin(path: &Path, other: &str) -> Result<PathBuf, Error> {
    let plain = with_extension(path, other);
    let packed = with_extension(path, &format!("{other}.gz"));
    [plain.clone(), packed]
        .into_iter()
        .find(|p| p.exists())
        .ok_or_else(|| {
            Error::malformed(
                path,
                "one file of a pair",
                format!(
                    "{} beside it",
                    plain.file_name().unwrap_or_default().to_string_lossy()
                ),
            )
        })
}

/// The stream stands at the first voxel and is known to hold them all.
fn voxels(source: &mut Source, header: &Header, kind: VolumeKind) -> Result<Arc<[f32]>, Error> {
    let stored: usize = header.dims.iter().product();
    let planes = match kind {
        VolumeKind::Scalar => 1,
        VolumeKind::Rgb => 3,
    };
    let mut values = zeros(source.path(), stored * planes)?;
    let Some(places) = Arc::get_mut(&mut values) else {
        unreachable!("nobody else has seen the values");
    };
    let decoder = Decoder::of(header);
    let size = header.voxel_type.bytes();
    let mut bytes = vec![0; (CHUNK_BYTES / size).min(stored) * size];
    let mut done = 0;
    while done < stored {
        let count = (bytes.len() / size).min(stored - done);
        let chunk = &mut bytes[..count * size];
        let found = source.read(chunk)?;
        if found < chunk.len() {
            return Err(Error::Short {
                path: source.path().to_owned(),
                found_bytes: header.vox_offset + (done * size + found) as u64,
                expected_bytes: header.vox_offset + header.data_bytes(),
            });
        }
        let range = done..done + count;
        match kind {
            VolumeKind::Scalar => decoder.scalars(chunk, &mut places[range]),
            VolumeKind::Rgb => {
                let (red, others) = places.split_at_mut(stored);
                let (green, blue) = others.split_at_mut(stored);
                decoder.colours(
                    chunk,
                    [
                        &mut red[range.clone()],
                        &mut green[range.clone()],
                        &mut blue[range],
                    ],
                );
            }
        }
        done += count;
    }
    Ok(values)
}
