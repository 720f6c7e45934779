//! Masks from images.

use super::format::{Content, Format};
use super::{Error, Remark, extension, image, names_in};
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::text::singular_or_plural;
use crate::data::{Grid, Mask, Volume, VolumeKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Voxels above this are inside: whole numbers from 1, and the upper half of an interpolated mask.
const THRESHOLD: f32 = 0.5;

/// Reads a mask for the voxels of `grid`, in whatever order of axes it is stored. Returns an error if it has several
/// volumes, another grid, or no voxel inside. Remarks are one sentence each, without the path.
pub fn mask(path: &Path, grid: &Arc<Grid>) -> Result<(Mask, Vec<Remark>), Error> {
    let (own, remarks) = mask_on_own_grid(path)?;
    let mask = own.in_the_order_of(grid).ok_or_else(|| Error::MaskGrid {
        path: path.to_owned(),
        found: own.grid.shape,
        expected: grid.shape,
        off_mm: grid.separation_mm(&own.grid),
    })?;
    Ok((mask, remarks))
}

/// Reads a mask on any grid (a region), with remarks as [`mask`].
pub fn mask_on_own_grid(path: &Path) -> Result<(Mask, Vec<Remark>), Error> {
    let (volume, info) = image::read(path, &Control::new())?;
    if volume.kind == VolumeKind::Rgb {
        return Err(Error::malformed(path, "a colour image", "a mask"));
    }
    if volume.frames != 1 {
        return Err(Error::MaskFrames {
            path: path.to_owned(),
            frames: volume.frames,
        });
    }
    let inside: Vec<u8> = volume
        .values
        .iter()
        .map(|&v| u8::from(v > THRESHOLD))
        .collect();
    if !inside.contains(&1) {
        return Err(Error::MaskEmpty {
            path: path.to_owned(),
        });
    }
    let mut remarks = info.remarks();
    let neither = volume.values.iter().filter(|v| **v != 0.0 && **v != 1.0);
    let neither = neither.count();
    // Probabilities, as of a consensus, may have no such value.
    let is_probability = volume.values.iter().all(|v| (0.0..=1.0).contains(v));
    if neither == volume.values.len() && !is_probability {
        return Err(Error::malformed(
            path,
            "an image without the values 0 and 1",
            (
                "a mask",
                "name a mask, or make one of this image with “arcuate region”",
            ),
        ));
    }
    if neither > 0 {
        let sentence = format!(
            "{neither} of the mask's {} values {} neither 0 nor 1; those above {THRESHOLD} count \
             as inside",
            volume.values.len(),
            singular_or_plural(neither, "is", "are")
        );
        remarks.push(sentence.into());
    }
    Ok((Mask::new(volume.grid, inside), remarks))
}

/// A file next to a scan that seems to be its brain mask: `mask` is a word of its name, none of its BIDS entities
/// contradicts the scan's, and it has the scan's voxels. Of several, brain masks come first, then files whose name
/// begins like the scan's.
pub fn companion_mask(scan: &Path, grid: &Grid) -> Option<PathBuf> {
    /// Number of headers read.
    const MAX_HEADERS: usize = 16;
    let folder = scan.parent().filter(|p| !p.as_os_str().is_empty());
    let own = name_parts(scan);
    let mut masks: Vec<(bool, bool, PathBuf)> = names_in(folder.unwrap_or(Path::new(".")))
        .ok()?
        .into_iter()
        .filter(|path| Format::named(path).is_some_and(|f| f.content() == Content::Image))
        .filter_map(|path| {
            let parts = name_parts(&path);
            let is_mask = parts.iter().any(|w| w.ends_with("mask"));
            let other = entities(&parts).any(|(key, value)| {
                let mut own = entities(&own);
                own.any(|(k, v)| k == key && v != value)
            });
            let brain = parts.iter().any(|w| w.contains("brain"));
            let same = parts.first() == own.first();
            (is_mask && !other && path != scan).then_some((!brain, !same, path))
        })
        .collect();
    masks.sort();
    masks.truncate(MAX_HEADERS);
    let fits = |path: &PathBuf| {
        let mask_grid = image::read_grid(path, &Control::new());
        mask_grid.is_ok_and(|g| grid.matches(&g) || g.reordered(grid).is_some())
    };
    masks.into_iter().map(|(.., path)| path).find(fits)
}

/// The parts of a file's name, in lower case: `sub-01`, `desc-brain`, `mask`.
fn name_parts(path: &Path) -> Vec<String> {
    let name = file_name(path).to_lowercase();
    let stem = name
        .strip_suffix(&format!(".{}", extension(path)))
        .unwrap_or(&name);
    stem.split(['_', '.', ' ']).map(str::to_owned).collect()
}

/// The subject and the session of a BIDS name: `("sub", "01")`.
fn entities(parts: &[String]) -> impl Iterator<Item = (&str, &str)> {
    const ENTITIES: [&str; 5] = ["sub", "ses", "acq", "run", "dir"];
    let pairs = parts.iter().filter_map(|w| w.split_once('-'));
    pairs.filter(|(key, _)| ENTITIES.contains(key))
}

/// An image that is a mask by its values: one volume that contains zeros and ones only, and both.
pub fn as_mask(volume: &Volume) -> Option<Mask> {
    let is_single_volume = volume.frames == 1 && volume.kind == VolumeKind::Scalar;
    let (mut zeros, mut ones) = (false, false);
    let binary = is_single_volume
        && volume.values.iter().all(|&v| {
            zeros |= v == 0.0;
            ones |= v == 1.0;
            v == 0.0 || v == 1.0
        });
    (binary && zeros && ones).then(|| {
        let inside: Vec<u8> = volume.values.iter().map(|&v| v as u8).collect();
        Mask::new(volume.grid.clone(), inside)
    })
}
