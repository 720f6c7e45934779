//! MRtrix images (MRtrix3 manual, "MRtrix image formats"): a text header, and the voxels in the same file (`.mif`,
//! `.mif.gz`) or in another one (`.mih`).
//!
//! The header places its axes in the world, and gives the order and direction of each in the file. A scan's gradients
//! are the rows of its key `dw_scheme`, in world axes. Images made from a scan keep that key, so it counts only if it
//! has a row for each volume.

mod header;
mod layout;
mod write;

pub(super) use header::MAGIC;
pub(super) use write::{
    data_path, prepare_stored, separate_colours, stored_type_name, unsupported_contents,
};
pub(super) use write::{prepare_volume, save_labels, save_mask, save_volume};

use super::source::Source;
use super::stored::{Meaning, Pixel, Stored};
use super::voxels::{scalars, value_count, zeros};
use super::{Error, SpaceInfo, extension};
use crate::compute::Control;
use crate::data::text::{counted, singular_or_plural};
use crate::data::{Grid, Shared, Volume, VolumeKind};
use glam::DVec3;
use header::{Header, ValueType};
use layout::Layout;
use std::path::Path;
use std::sync::Arc;

/// Largest number of bytes read after the voxels of a compressed file, for its checksum.
const TAIL_LIMIT: u64 = 1 << 24;
/// NIfTI's code for seconds, in which MRtrix states the step between volumes.
const SECONDS: u8 = 8;
/// Keys about the header's axes, in lower case: wrong for axes in another order.
const AXIS_KEYS: [&str; 4] = [
    "pe_scheme",
    "phaseencodingdirection",
    "sliceencodingdirection",
    "slicetiming",
];

/// Whether a name is that of an MRtrix image.
pub(super) fn is_named(path: &Path) -> bool {
    matches!(extension(path).as_str(), "mif" | "mif.gz" | "mih")
}

/// Whether an image of this name has its voxels in a file of their own.
pub(super) fn has_two_files(path: &Path) -> bool {
    extension(path) == "mih"
}

/// A header that has been read, and the resulting layout of the voxels.
struct Described {
    header: Header,
    count: usize,
    info: SpaceInfo,
    layout: Layout,
}

fn describe(path: &Path, control: &Control) -> Result<Described, Error> {
    let header = Header::read(path, control)?;
    let number = header.value_type.number();
    let Some(count) = value_count(&header.sizes, number) else {
        return Err(Error::malformed(
            path,
            format!(
                "sizes {:?}, more voxels than any memory holds",
                header.sizes
            ),
            "the sizes of an image",
        ));
    };
    let mut info = SpaceInfo::with_one_affine(
        "MRtrix image",
        &header.sizes,
        header.type_name,
        header.big_endian,
    );
    info.scaling = header.scaling;
    if header.ignored_lines > 0 {
        info.warnings.push(format!(
            "{} without a key and {} not used",
            singular_or_plural(
                header.ignored_lines,
                "1 line of the header is",
                &format!("{} lines of the header are", header.ignored_lines)
            ),
            singular_or_plural(header.ignored_lines, "was", "were")
        ));
    }
    let layout = Layout::new(path, &header, &mut info)?;
    Ok(Described {
        header,
        count,
        info,
        layout,
    })
}

/// The grid of an image, without its voxels.
pub(super) fn read_grid(path: &Path, control: &Control) -> Result<Grid, Error> {
    describe(path, control).map(|image| image.layout.grid)
}

/// b-values (s/mm²) and vectors in world axes, one for each row of the header's scheme.
pub type Rows = (Vec<f64>, Vec<DVec3>);

/// The gradients in a header, whatever their number; `None` if there are none.
pub(super) fn gradients(path: &Path) -> Result<Option<Rows>, Error> {
    let header = Header::read(path, &Control::new())?;
    let rows = header.scheme.iter().map(|row| header::gradient(path, row));
    let rows: Vec<(f64, DVec3)> = rows.collect::<Result<_, _>>()?;
    Ok((!rows.is_empty()).then(|| rows.into_iter().unzip()))
}

/// Whether the header has a row of gradients for each of its volumes.
pub(super) fn has_gradients(path: &Path) -> Result<bool, Error> {
    let header = Header::read(path, &Control::new())?;
    let volumes = header.sizes[3..]
        .iter()
        .try_fold(1usize, |p, &n| p.checked_mul(n));
    Ok(volumes == Some(header.scheme.len()))
}

/// A file whose header has been read and whose stream is at the first voxel.
struct OpenedImage {
    described: Described,
    source: Source,
}

/// `data` replaces the header's name of another file.
fn begin(path: &Path, data: Option<&Path>, control: &Control) -> Result<OpenedImage, Error> {
    let described = describe(path, control)?;
    let header = &described.header;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut source = match (&header.data.name, data) {
        (None, _) => Source::open(path, control)?,
        (Some(_), Some(data)) => Source::open_at(data, 0, false, control)?,
        (Some(name), None) => {
            let compressed = name.ends_with(".gz");
            Source::open_at(&folder.join(name), 0, compressed, control)?
        }
    };
    let bytes = header.value_type.bytes(described.count) as u64;
    let enough = source.verify_size(header.data.offset.saturating_add(bytes));
    enough.map_err(|error| match (&header.data.name, error) {
        // The header names it: it may be another file.
        (
            Some(_),
            Error::Short {
                path: data,
                found_bytes,
                expected_bytes,
            },
        ) => Error::malformed(
            path,
            format!(
                "{} with {}",
                data.display(),
                counted(found_bytes as usize, "byte")
            ),
            (
                format!("{expected_bytes} bytes of voxels in it"),
                "name the file of the voxels in the line “file”, or copy both files again",
            ),
        ),
        (_, error) => error,
    })?;
    source.skip(header.data.offset)?;
    Ok(OpenedImage { described, source })
}

impl OpenedImage {
    /// Values in the order of the file, after slope and intercept.
    fn values(&mut self) -> Result<Shared<f32>, Error> {
        let Described { header, count, .. } = &self.described;
        let (before, count) = (header.data.offset, *count);
        if let (ValueType::Number(number), None) = (header.value_type, header.scaling) {
            return scalars(&mut self.source, number, header.big_endian, count, before);
        }
        let number = header.value_type.number();
        let (slope, intercept) = header.scaling.unwrap_or((1.0, 0.0));
        let bytes = self.bytes()?;
        let mut values = zeros(self.source.path(), count)?;
        let mut places = values.places().iter_mut();
        // In double precision, because float32 does not represent every integer.
        number.for_each(&bytes, |raw, _| {
            if let Some(place) = places.next() {
                *place = (raw * slope + intercept) as f32;
            }
        });
        values.finish(self.source.path())
    }

    /// Stored values in the order of the file, least byte first; bits as bytes of 0 and 1.
    fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        let Described { header, count, .. } = &self.described;
        let (before, count) = (header.data.offset, *count);
        match header.value_type {
            ValueType::Number(number) => {
                let size = number.bytes();
                super::voxels::bytes(&mut self.source, size, header.big_endian, count, before)
            }
            ValueType::Bit => {
                let packed = header.value_type.bytes(count);
                let packed = super::voxels::bytes(&mut self.source, 1, false, packed, before)?;
                let mut bytes = Vec::new();
                super::voxels::reserve(self.source.path(), &mut bytes, count)?;
                bytes.extend((0..count).map(|i| packed[i / 8] >> (7 - i % 8) & 1));
                Ok(bytes)
            }
        }
    }

    /// The checksum of a compressed stream is compared only at its end. Warns about surplus bytes.
    fn end(&mut self) -> Result<(), Error> {
        let Described {
            header,
            count,
            info,
            ..
        } = &mut self.described;
        let used = header.data.offset + header.value_type.bytes(*count) as u64;
        let behind = match self.source.known_bytes() {
            Some(all) => all - used,
            None => self.source.finish(TAIL_LIMIT)?,
        };
        if behind > 0 {
            info.warnings.push(format!(
                "The file continues for {} after its voxels, which {} not used",
                counted(behind as usize, "byte"),
                singular_or_plural(behind as usize, "was", "were")
            ));
        }
        Ok(())
    }
}

/// All voxels of a file, as `take` returns them, and the file's description with remarks about its end.
fn voxels<T>(
    path: &Path,
    data: Option<&Path>,
    control: &Control,
    take: impl FnOnce(&mut OpenedImage) -> Result<T, Error>,
) -> Result<(T, Described), Error> {
    let mut image = begin(path, data, control)?;
    let taken = take(&mut image)?;
    image.end()?;
    Ok((taken, image.described))
}

pub(super) fn read(path: &Path, control: &Control) -> Result<(Volume, SpaceInfo), Error> {
    read_parts(path, None, control)
}

fn read_parts(
    path: &Path,
    data: Option<&Path>,
    control: &Control,
) -> Result<(Volume, SpaceInfo), Error> {
    let (values, described) = voxels(path, data, control, OpenedImage::values)?;
    let Described {
        header,
        layout,
        mut info,
        ..
    } = described;
    if header.scaling.is_none() {
        info.warn_of_rounding(header.value_type.number(), &values);
    }
    let values = match layout.is_in_order() {
        true => values,
        false => {
            let mut ordered = zeros(path, values.len())?;
            layout.order(&values, ordered.places());
            ordered.finish(path)?
        }
    };
    let frames = layout.frames();
    let volume = Volume::new(Arc::new(layout.grid), frames, VolumeKind::Scalar, values);
    Ok((volume, info))
}

/// Reads an image in its stored type.
pub(super) fn stored(path: &Path, control: &Control) -> Result<(Stored, SpaceInfo), Error> {
    stored_parts(path, None, control)
}

fn stored_parts(
    path: &Path,
    data: Option<&Path>,
    control: &Control,
) -> Result<(Stored, SpaceInfo), Error> {
    let (bytes, described) = voxels(path, data, control, OpenedImage::bytes)?;
    let Described {
        header,
        layout,
        mut info,
        ..
    } = described;
    let number = header.value_type.number();
    let bytes = match layout.is_in_order() {
        true => bytes,
        false => ordered_bytes(path, &layout, &bytes, number.bytes())?,
    };
    let frames = layout.frames();
    let mut keys = header.pairs;
    if !layout.is_plain() {
        let is_lost =
            |(key, _): &(String, String)| AXIS_KEYS.contains(&key.to_ascii_lowercase().as_str());
        let mut lost: Vec<String> = keys
            .extract_if(.., |pair| is_lost(pair))
            .map(|(key, _)| key)
            .collect();
        lost.dedup();
        if !lost.is_empty() {
            info.warnings.push(format!(
                "Keys of the header that describe axes in another order than that of the voxels are left out: {}",
                lost.join(", ")
            ));
        }
    }
    // The scheme of the scan from which this image was made.
    if header.scheme.len() != frames {
        let rows = header.scheme.into_iter();
        keys.extend(rows.map(|row| (header::SCHEME.to_owned(), row)));
    }
    let step = |i: usize| {
        header
            .spacings
            .get(3 + i)
            .copied()
            .filter(|s| s.is_finite())
    };
    let stored = Stored {
        grid: layout.grid.into(),
        frames,
        pixel: Pixel::Number(number),
        bytes: bytes.into(),
        scaling: header.scaling,
        meaning: Meaning {
            // No format here holds more than seven axes.
            sizes: match layout.further.len() {
                0..=4 => layout.further,
                _ => vec![frames],
            },
            steps: std::array::from_fn(|i| step(i).unwrap_or(1.0)),
            step_unit: step(0).map_or(0, |_| SECONDS),
            is_bits: header.value_type == ValueType::Bit,
            mrtrix_keys: keys,
            ..Meaning::default()
        },
    };
    Ok((stored, info))
}

fn ordered_bytes(
    path: &Path,
    layout: &Layout,
    bytes: &[u8],
    size: usize,
) -> Result<Vec<u8>, Error> {
    let mut ordered = Vec::new();
    super::voxels::reserve(path, &mut ordered, bytes.len())?;
    ordered.resize(bytes.len(), 0);
    macro_rules! order {
        ($n:literal) => {
            layout.order(bytes.as_chunks::<$n>().0, ordered.as_chunks_mut::<$n>().0)
        };
    }
    match size {
        1 => order!(1),
        2 => order!(2),
        4 => order!(4),
        _ => order!(8),
    }
    Ok(ordered)
}
