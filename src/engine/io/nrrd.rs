//! NRRD images ("Definition of NRRD File Format", Teem): a text header of `field: value` lines, a blank line, and the
//! samples, in the same file or in another one; raw, gzip or text.
//!
//! Axes with a direction in space are the image's axes; an axis without one (volumes of a scan, components of a
//! tensor, colours) becomes the frames, wherever it stands.

mod gradients;
mod header;
mod write;

pub use write::{prepare, unsupported_contents};

use super::numbers::Type;
use super::source::Source;
use super::stored::{Meaning, Pixel, Stored};
use super::voxels::{scalars, value_count, zeros};
use super::{Error, SpaceInfo};
use crate::compute::Control;
use crate::data::text::{counted, singular_or_plural};
use crate::data::{AffineSource, Grid, Shared, Volume, VolumeKind};
use glam::{DAffine3, DMat3, DVec3};
use header::{Encoding, Header};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest number of bytes read after the samples, for the checksum.
const TAIL_LIMIT: u64 = 1 << 24;

/// A header that has been read, and the resulting layout of the samples.
struct OpenedImage {
    header: Header,
    /// Bytes before the samples.
    behind: u64,
    count: usize,
    info: SpaceInfo,
    layout: Layout,
}

fn begin(path: &Path, control: &Control) -> Result<OpenedImage, Error> {
    let (header, behind) = Header::read(path, control)?;
    let Some(count) = value_count(&header.sizes, header.number_type) else {
        return Err(Error::malformed(
            path,
            format!(
                "sizes {:?}, more samples than any memory holds",
                header.sizes
            ),
            "the sizes of an image",
        ));
    };
    let mut info =
        SpaceInfo::with_one_affine("NRRD", &header.sizes, header.type_name, header.big_endian);
    let layout = Layout::new(path, &header, &mut info)?;
    Ok(OpenedImage {
        header,
        behind,
        count,
        info,
        layout,
    })
}

/// The grid of an image, without its voxels.
pub(super) fn read_grid(path: &Path, control: &Control) -> Result<Grid, Error> {
    begin(path, control).map(|started| started.layout.grid)
}

pub fn read(path: &Path, control: &Control) -> Result<(Volume, SpaceInfo), Error> {
    let OpenedImage {
        header,
        behind,
        count,
        mut info,
        layout,
    } = begin(path, control)?;
    let values = match samples(path, &header, behind, count, control)? {
        Samples::Text(file, source) => text(&file, source, count, header.number_type, &mut info)?,
        Samples::Bytes(mut source, skip) => {
            let values = scalars(
                &mut source,
                header.number_type,
                header.big_endian,
                count,
                skip,
            )?;
            finish(&header, &mut source, count, skip, &mut info)?;
            values
        }
    };
    info.warn_of_rounding(header.number_type, &values);
    let values = match layout.is_in_order(&header.sizes) {
        true => values,
        false => {
            let mut ordered = zeros(path, values.len())?;
            layout.order(&header.sizes, &values, ordered.places());
            ordered.finish(path)?
        }
    };
    let volume = if layout.is_colour(&header) {
        let n = layout.grid.voxel_count();
        let values: Vec<f32> = values[..3 * n].iter().map(|v| v / 255.0).collect();
        Volume::new(Arc::new(layout.grid), 3, VolumeKind::Rgb, values)
    } else {
        Volume::new(
            Arc::new(layout.grid),
            layout.frames,
            VolumeKind::Scalar,
            values,
        )
    };
    Ok((volume, info))
}

/// Reads an image in its stored type.
pub(super) fn stored(path: &Path, control: &Control) -> Result<(Stored, SpaceInfo), Error> {
    let OpenedImage {
        header,
        behind,
        count,
        mut info,
        layout,
    } = begin(path, control)?;
    let size = header.number_type.bytes();
    let bytes = match samples(path, &header, behind, count, control)? {
        Samples::Text(file, source) => {
            text_bytes(&file, source, count, header.number_type, &mut info)?
        }
        Samples::Bytes(mut source, skip) => {
            let big = header.big_endian;
            let bytes = super::voxels::bytes(&mut source, size, big, count, skip)?;
            finish(&header, &mut source, count, skip, &mut info)?;
            bytes
        }
    };
    let bytes = match layout.is_in_order(&header.sizes) {
        true => bytes,
        false => {
            let mut ordered = vec![0; bytes.len()];
            macro_rules! order {
                ($n:literal) => {
                    layout.order(
                        &header.sizes,
                        bytes.as_chunks::<$n>().0,
                        ordered.as_chunks_mut::<$n>().0,
                    )
                };
            }
            match size {
                1 => order!(1),
                2 => order!(2),
                4 => order!(4),
                _ => order!(8),
            }
            ordered
        }
    };
    let (frames, pixel, bytes) = match (layout.is_colour(&header), layout.frames) {
        (true, 3) => (1, Pixel::Rgb, together(&bytes, 3)),
        (true, _) => (1, Pixel::Rgba, together(&bytes, 4)),
        (false, frames) => (frames, Pixel::Number(header.number_type), bytes),
    };
    let keys = header.pairs.into_iter().map(|(key, _)| key);
    let stored = Stored {
        grid: layout.grid.into(),
        frames,
        pixel,
        bytes: bytes.into(),
        scaling: None,
        meaning: Meaning {
            keys: keys.filter(|key| !gradients::is_key(key)).collect(),
            ..Meaning::default()
        },
    };
    Ok((stored, info))
}

/// Interleaves the bytes of planes, so that those of each voxel are adjacent.
fn together(planes: &[u8], count: usize) -> Vec<u8> {
    let n = planes.len() / count;
    let voxel = |i| (0..count).map(move |plane| planes[plane * n + i]);
    (0..n).flat_map(voxel).collect()
}

/// Gradients in the header, if there are any.
pub fn gradients(path: &Path) -> Result<Option<gradients::Rows>, Error> {
    let (header, _) = Header::read(path, &Control::new())?;
    gradients::from_header(path, &header)
}

/// The source of the samples.
enum Samples {
    /// Numbers as text in this file.
    Text(PathBuf, Source),
    /// A stream at the first sample, this many bytes after its start.
    Bytes(Source, u64),
}

/// The source and compression of the samples.
fn samples(
    path: &Path,
    header: &Header,
    behind: u64,
    count: usize,
    control: &Control,
) -> Result<Samples, Error> {
    let bytes = (count * header.number_type.bytes()) as u64;
    let (file, begin) = match &header.data_file {
        None => (path.to_owned(), behind),
        Some(name) => (path.parent().unwrap_or(Path::new("")).join(name), 0),
    };
    let start = header::skip_lines(&file, begin, header.line_skip, control)?;
    let compressed = header.encoding == Encoding::Gzip;
    let mut source = Source::open_at(&file, start, compressed, control)?;
    if header.encoding == Encoding::Text {
        // A negative skip counts from the end, where text begins anyway.
        source.skip(u64::try_from(header.byte_skip).unwrap_or(0))?;
        return Ok(Samples::Text(file, source));
    }
    let skip = match header.byte_skip {
        // Counted from the end, which only uncompressed bytes have.
        -1 => match source.known_bytes() {
            Some(all) if all >= bytes => all - bytes,
            Some(all) => {
                return Err(Error::Short {
                    path: file,
                    found_bytes: all,
                    expected_bytes: bytes,
                });
            }
            None => {
                return Err(Error::malformed(
                    path,
                    "a byte skip of -1 for compressed samples",
                    "a number from 0",
                ));
            }
        },
        n => u64::try_from(n).map_err(|_| {
            Error::malformed(path, format!("a byte skip of {n}"), "a number from 0")
        })?,
    };
    source.verify_size(skip.saturating_add(bytes))?;
    source.skip(skip)?;
    Ok(Samples::Bytes(source, skip))
}

/// The checksum of a compressed stream is compared only at its end. Warns about surplus samples.
fn finish(
    header: &Header,
    source: &mut Source,
    count: usize,
    skip: u64,
    info: &mut SpaceInfo,
) -> Result<(), Error> {
    let behind = match source.known_bytes() {
        Some(all) => all - skip - (count * header.number_type.bytes()) as u64,
        None => source.finish(TAIL_LIMIT)?,
    };
    if behind > 0 {
        info.warnings.push(format!(
            "The file continues for {} after its samples, which {} not used",
            counted(behind as usize, "byte"),
            singular_or_plural(behind as usize, "was", "were")
        ));
    }
    Ok(())
}

/// Warns about text after the samples.
fn text_ends(rest: usize, info: &mut SpaceInfo) {
    if rest > 0 {
        info.warnings.push(format!(
            "The file continues for {rest} words after its samples; they were not used"
        ));
    }
}

fn not_a_sample(path: &Path, found: Option<()>, samples: usize, count: usize) -> Error {
    let found = match found {
        Some(()) => "a sample that is not a number of the type in the header".to_owned(),
        None => format!("{samples} samples"),
    };
    Error::malformed(
        path,
        found,
        (format!("{count} numbers"), "copy the file again"),
    )
}

/// Numbers as text, in the type that the header names.
fn text_bytes(
    path: &Path,
    source: Source,
    count: usize,
    number: Type,
    info: &mut SpaceInfo,
) -> Result<Vec<u8>, Error> {
    let text = source.whole()?;
    let mut numbers = super::polydata::parsed_numbers::<String>(&text);
    let mut bytes = Vec::with_capacity(count.min(text.len() / 2 + 1) * number.bytes());
    for done in 0..count {
        let sample_error = |found| not_a_sample(path, found, done, count);
        let word = numbers.next().ok_or_else(|| sample_error(None))?;
        let put = word.and_then(|word| number.bytes_of(&word, &mut bytes));
        put.ok_or_else(|| sample_error(Some(())))?;
    }
    text_ends(numbers.count(), info);
    Ok(bytes)
}

fn text(
    path: &Path,
    source: Source,
    count: usize,
    number: Type,
    info: &mut SpaceInfo,
) -> Result<Shared<f32>, Error> {
    let bytes = source.whole()?;
    let mut sample_bytes = Vec::new();
    let mut numbers = super::polydata::parsed_numbers::<String>(&bytes).map(|word| {
        let word = word?;
        sample_bytes.clear();
        number.bytes_of(&word, &mut sample_bytes)?;
        word.parse::<f32>().ok()
    });
    // A number takes at least a digit and a blank.
    let mut values = Vec::with_capacity(count.min(bytes.len() / 2 + 1));
    while values.len() < count {
        match numbers.next() {
            Some(Some(value)) => values.push(value),
            invalid => {
                let invalid = invalid.map(|_| ());
                return Err(not_a_sample(path, invalid, values.len(), count));
            }
        }
    }
    text_ends(numbers.count(), info);
    Ok(values.into())
}

/// The image's axes, and the axis of the frames.
struct Layout {
    grid: Grid,
    /// Indices among the file's axes, fastest first.
    spatial: Vec<usize>,
    other: Option<usize>,
    frames: usize,
    /// The kind of the other axis.
    kind: Option<String>,
}

impl Layout {
    fn new(path: &Path, header: &Header, info: &mut SpaceInfo) -> Result<Self, Error> {
        let axes = header.sizes.len();
        let placed = |a: &usize| header.directions.get(*a).is_some_and(Option::is_some);
        let mut spatial: Vec<usize> = (0..axes).filter(placed).collect();
        if spatial.is_empty() {
            // By the spacings, which other axes do not have, otherwise by the names of the axes.
            let spaced = |a: &usize| header.spacings.get(*a).is_some_and(|s| s.is_finite());
            let called = |a: &usize| {
                let kind = header.kinds.get(*a).map(String::as_str);
                matches!(kind, None | Some("domain" | "space" | "???" | "none"))
            };
            spatial = match header.spacings.is_empty() {
                false => (0..axes).filter(spaced).collect(),
                true => (0..axes).filter(called).collect(),
            };
            if spatial.len() > 3 && axes == 4 {
                spatial.truncate(3);
            }
        }
        let others: Vec<usize> = (0..axes).filter(|a| !spatial.contains(a)).collect();
        if !matches!(spatial.len(), 2 | 3) || others.len() > 1 {
            return Err(Error::unsupported(
                path,
                format!("an NRRD of {axes} axes, {} of them in space", spatial.len()),
                "save two or three axes in space and at most one besides",
            ));
        }
        let other = others.first().copied();
        let size = |i: usize| spatial.get(i).map_or(1, |&a| header.sizes[a]);
        let shape = [size(0), size(1), size(2)];
        let grid = Self::grid(path, header, &spatial, shape, info)?;
        Ok(Self {
            grid,
            frames: other.map_or(1, |a| header.sizes[a]),
            kind: other.and_then(|a| header.kinds.get(a).cloned()),
            spatial,
            other,
        })
    }

    fn grid(
        path: &Path,
        header: &Header,
        spatial: &[usize],
        shape: [usize; 3],
        info: &mut SpaceInfo,
    ) -> Result<Grid, Error> {
        let flat = || {
            Error::malformed(
                path,
                "space directions that are flat or not finite",
                ("three independent axes", "save it again"),
            )
        };
        let direction = |i: usize| {
            let axis = *spatial.get(i)?;
            header.directions.get(axis).copied().flatten()
        };
        if let (Some(world), Some(x), Some(y)) =
            (header.world_from_space, direction(0), direction(1))
        {
            // A single slice is as thick as its pixels are wide.
            let z = direction(2).unwrap_or_else(|| x.cross(y).normalize_or_zero() * x.length());
            let origin = header.origin.unwrap_or_else(|| {
                info.warnings.push(
                    "The header has no space origin; the first voxel was put at 0".to_owned(),
                );
                DVec3::ZERO
            });
            let affine =
                DAffine3::from_mat3_translation(world * DMat3::from_cols(x, y, z), world * origin);
            return Grid::new(shape, affine, AffineSource::Header).ok_or_else(flat);
        }
        info.warnings.push(
            "The header does not say which way its axes run in the patient; the image centre was \
             put at 0 and left and right are unknown"
                .to_owned(),
        );
        let edge = |i: usize| {
            let spacing = spatial
                .get(i)
                .and_then(|&a| header.spacings.get(a).copied());
            let length = direction(i).map(|d| d.length()).or(spacing);
            length.map(f64::abs).filter(|e| *e > 0.0).unwrap_or(1.0)
        };
        let edges = DVec3::new(edge(0), edge(1), edge(2));
        let last = DVec3::from_array(shape.map(|n| n as f64 - 1.0));
        let affine =
            DAffine3::from_mat3_translation(DMat3::from_diagonal(edges), -0.5 * last * edges);
        Grid::new(shape, affine, AffineSource::Pixdim).ok_or_else(flat)
    }

    fn is_colour(&self, header: &Header) -> bool {
        matches!(self.frames, 3 | 4)
            && header.number_type == Type::U8
            && self.kind.as_deref().is_some_and(|k| k.contains("color"))
    }

    /// Whether the other axis is already the slowest.
    fn is_in_order(&self, sizes: &[usize]) -> bool {
        self.other.is_none_or(|axis| axis + 1 == sizes.len())
    }

    /// Reorders samples so that the other axis is slowest.
    fn order<T: Copy>(&self, sizes: &[usize], values: &[T], places: &mut [T]) {
        let stride = |axis: usize| sizes[..axis].iter().product::<usize>();
        let strides: Vec<usize> = self.spatial.iter().map(|&a| stride(a)).collect();
        let step = |i: usize| strides.get(i).copied().unwrap_or(0);
        let other = self.other.map_or(0, stride);
        let [nx, ny, nz] = self.grid.shape;
        let mut places = places.iter_mut();
        for frame in 0..self.frames {
            for k in 0..nz {
                for j in 0..ny {
                    let row = frame * other + j * step(1) + k * step(2);
                    for (i, place) in (0..nx).zip(&mut places) {
                        *place = values[row + i * step(0)];
                    }
                }
            }
        }
    }
}
