//! TrackVis streamlines, versions 1 to 3: a header of 1000 bytes, then for each streamline the number
//! of its points, each point with its values, and the streamline's own values.
//!
//! Memory: at most four times the file (a value of four bytes takes four; a point takes twelve; a streamline without
//! points, four bytes in the file, takes eight and its entry in a list), for a compressed file a hundred times its
//! size.

mod header;
mod pieces;
mod space;
mod write;

pub(super) use pieces::Reader;
pub use write::save;
pub(super) use write::{renamed, save_pieces};

use super::Error;
use super::file_bytes::FileBytes;
use super::streamlines::{FibreInfo, free_name};
use crate::compute::Control;
use crate::data::text::{counted, singular_or_plural};
use crate::data::tractogram::column_name;
use crate::data::{AffineSource, Grid, Shared, Tractogram};
use glam::{DAffine3, DMat3, DVec3};
use header::Header;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const HEADER_BYTES: usize = 1000;
/// Streamlines that one thread processes at a time.
const BATCH: usize = 2048;

/// Reads all streamlines in their order, including those without points.
pub fn read(path: &Path, control: &Control) -> Result<(Tractogram, FibreInfo), Error> {
    let mut file = FileBytes::open(path, control)?;
    let header = Header::parse(path, file.bytes())?;
    let mut info = FibreInfo::default();
    let (world_from_file, grid) = world_and_grid(path, &header, &mut info)?;
    let body = &file.bytes()[HEADER_BYTES..];
    let records = records(path, &header, body, &mut info)?;

    let lines = records.len();
    let mut offsets = Vec::with_capacity(lines + 1);
    offsets.push(0u64);
    for record in &records {
        offsets.push(offsets[offsets.len() - 1] + u64::from(record.points));
    }
    let total = offsets[lines] as usize;
    let mut scalars = vec![vec![0f32; total]; header.scalars];
    let mut properties = vec![vec![0f32; lines]; header.properties];
    let layout = Layout::new(&header);
    for (first, records) in batches(&records) {
        control.check()?;
        for (index, values) in scalars.iter_mut().enumerate() {
            layout.scalar(body, records, index, &mut values[offsets[first] as usize..]);
        }
        for (index, values) in properties.iter_mut().enumerate() {
            layout.property(body, records, index, &mut values[first..]);
        }
    }
    file.advance(HEADER_BYTES)?;
    // The points are compacted in the memory into which the file was read.
    let mut end = 0;
    for (_, records) in batches(&records) {
        let start = HEADER_BYTES + records.first().map_or(0, |r| r.position - 4);
        let mut rest = &mut file.bytes_mut()[start..];
        let mut jobs = Vec::new();
        let mut moves = Vec::new();
        let mut at = start;
        for records in records.chunks(BATCH) {
            let length = HEADER_BYTES + records.last().map_or(0, |r| layout.end(r)) - at;
            let (mine, others) = rest.split_at_mut(length);
            rest = others;
            jobs.push((records, mine));
            let points: usize = records.iter().map(|r| r.points as usize).sum();
            moves.push(at..at + size_of::<[f32; 3]>() * points);
            at += length;
        }
        jobs.into_par_iter()
            .for_each(|(records, bytes)| layout.gather(records, bytes, world_from_file));
        for range in moves {
            let length = range.len();
            file.bytes_mut().copy_within(range, end);
            end += length;
        }
        file.advance(at - start)?;
    }
    let points = file.first_values(total);

    let mut tractogram = Tractogram::new(points, offsets);
    tractogram.per_point = named(scalars, &header.scalar_names, "scalars");
    tractogram.per_streamline = named(properties, &header.property_names, "properties");
    tractogram.grid = grid.map(Arc::new);
    info.check(&tractogram, header.announced());
    Ok((tractogram, info))
}

/// Parts of the streamlines, each with the index of its first one: as many as are read between two checks for
/// cancellation.
fn batches(records: &[Record]) -> impl Iterator<Item = (usize, &[Record])> {
    const RECORDS_PER_PART: usize = BATCH * 16;
    let parts = records.chunks(RECORDS_PER_PART).enumerate();
    parts.map(|(part, records)| (part * RECORDS_PER_PART, records))
}

/// The offset of a streamline's points in the bytes after the header, and their number.
#[derive(Clone, Copy)]
struct Record {
    position: usize,
    points: u32,
}

#[derive(Clone, Copy)]
struct Layout {
    big_endian: bool,
    scalars: usize,
    properties: usize,
}

impl Layout {
    fn new(header: &Header) -> Self {
        Self {
            big_endian: header.big_endian,
            scalars: header.scalars,
            properties: header.properties,
        }
    }

    /// The record of streamline `number`, counted from 1, at byte `at`, and its number of bytes, which may be more than
    /// there are.
    fn record(
        &self,
        path: &Path,
        body: &[u8],
        at: usize,
        number: usize,
    ) -> Result<(Record, u64), Error> {
        let Some(count) = body[at..].first_chunk::<4>() else {
            return Err(cut(path, body.len() - at, 4, number));
        };
        let count = match self.big_endian {
            true => i32::from_be_bytes(*count),
            false => i32::from_le_bytes(*count),
        };
        let Ok(points) = u32::try_from(count) else {
            return Err(Error::malformed(
                path,
                format!("{count} as the number of points of streamline {number}"),
                "a number from 0",
            ));
        };
        let values = u64::from(points) * self.point_bytes() as u64 + 4 * self.properties as u64;
        let position = at + 4;
        Ok((Record { position, points }, 4 + values))
    }

    fn point_bytes(&self) -> usize {
        4 * (3 + self.scalars)
    }

    fn end(&self, record: &Record) -> usize {
        record.position + record.points as usize * self.point_bytes() + 4 * self.properties
    }

    fn number(&self, bytes: &[u8]) -> f32 {
        let four = [bytes[0], bytes[1], bytes[2], bytes[3]];
        match self.big_endian {
            true => f32::from_be_bytes(four),
            false => f32::from_le_bytes(four),
        }
    }

    /// Compacts the points of records, which fill these bytes, at the start of the bytes, in world mm.
    fn gather(&self, records: &[Record], bytes: &mut [u8], world_from_file: DAffine3) {
        let first = records.first().map_or(0, |r| r.position - 4);
        let (size, mut end) = (self.point_bytes(), 0);
        for record in records {
            for i in 0..record.points as usize {
                // The end of the points so far lies before this one: each record begins with its count.
                let place = &bytes[record.position - first + i * size..];
                let world = self.world_point(place, world_from_file);
                bytes[end..end + 12].copy_from_slice(bytemuck::bytes_of(&world));
                end += 12;
            }
        }
    }

    /// The first point in some bytes, in world mm.
    fn world_point(&self, bytes: &[u8], world_from_file: DAffine3) -> [f32; 3] {
        let file = [0, 4, 8].map(|at| f64::from(self.number(&bytes[at..])));
        let world = world_from_file.transform_point3(DVec3::from_array(file));
        world.as_vec3().to_array()
    }

    /// Fills `out` with the points of records, in world mm.
    fn points(
        &self,
        body: &[u8],
        records: &[Record],
        world_from_file: DAffine3,
        out: &mut [[f32; 3]],
    ) {
        let size = self.point_bytes();
        let mut out = out.iter_mut();
        for record in records {
            let bytes = &body[record.position..record.position + record.points as usize * size];
            for (bytes, point) in bytes.chunks_exact(size).zip(&mut out) {
                *point = self.world_point(bytes, world_from_file);
            }
        }
    }

    fn scalar(&self, body: &[u8], records: &[Record], index: usize, out: &mut [f32]) {
        let size = self.point_bytes();
        let mut out = out.iter_mut();
        for record in records {
            let bytes = &body[record.position..record.position + record.points as usize * size];
            for (bytes, value) in bytes.chunks_exact(size).zip(&mut out) {
                *value = self.number(&bytes[12 + 4 * index..]);
            }
        }
    }

    fn property(&self, body: &[u8], records: &[Record], index: usize, out: &mut [f32]) {
        for (record, value) in records.iter().zip(out) {
            let at = record.position + record.points as usize * self.point_bytes();
            *value = self.number(&body[at + 4 * index..]);
        }
    }
}

/// Indexes the streamlines without reading them: as many as announced, otherwise to the end.
fn records(
    path: &Path,
    header: &Header,
    body: &[u8],
    info: &mut FibreInfo,
) -> Result<Vec<Record>, Error> {
    let layout = Layout::new(header);
    let mut records = Vec::new();
    let mut at = 0;
    while at < body.len() {
        if header.count > 0 && records.len() == header.count as usize {
            warn_of_rest(info, (body.len() - at) as u64);
            break;
        }
        let number = records.len() + 1;
        let (record, bytes) = layout.record(path, body, at, number)?;
        if bytes > (body.len() - at) as u64 {
            return Err(cut(path, body.len() - at, bytes, number));
        }
        records.push(record);
        at += bytes as usize;
    }
    Ok(records)
}

/// The error for a file that ends within a streamline: `rest` of its bytes are there.
fn cut(path: &Path, rest: usize, bytes: u64, number: usize) -> Error {
    Error::malformed(
        path,
        format!("{rest} of the {bytes} bytes of streamline {number}"),
        ("a whole TRK file", "it was cut off: copy it again"),
    )
}

/// Warns of bytes after the streamlines.
fn warn_of_rest(info: &mut FibreInfo, behind: u64) {
    if behind > 0 {
        let behind = usize::try_from(behind).unwrap_or(usize::MAX);
        info.warn_unread(format!(
            "The file continues for {} after its streamlines, which {} not used",
            counted(behind, "byte"),
            singular_or_plural(behind, "was", "were")
        ));
    }
}

/// Voxel sizes in a header are rounded by less, relative to their value.
const SIZES_DIFFER: f64 = 0.01;

/// The map to the world, and the grid that the header describes, if any.
fn world_and_grid(
    path: &Path,
    header: &Header,
    info: &mut FibreInfo,
) -> Result<(DAffine3, Option<Grid>), Error> {
    let voxel_mm = header.voxel_size.map(f64::from);
    if !voxel_mm.iter().all(|&v| v.is_finite() && v > 0.0) {
        return Err(Error::malformed(
            path,
            format!("voxel sizes of {voxel_mm:?} mm"),
            "three numbers above 0",
        ));
    }
    if header.version == 3 {
        info.warn("The file is of TRK version 3; it was read as version 2");
    }
    let m = header.vox_to_ras;
    // Version 1 has no such field, and in version 2 a last element of 0 means that it is unset.
    let known = header.version > 1 && m[3][3] != 0.0;
    let affine = if known {
        let column = |c: usize| DVec3::new(m[0][c].into(), m[1][c].into(), m[2][c].into());
        let axes = DMat3::from_cols(column(0), column(1), column(2));
        DAffine3::from_mat3_translation(axes, column(3))
    } else {
        info.warn(
            "The file does not say where its voxels are (no vox_to_ras); the points are in voxels \
             from its corner, and left and right are unknown",
        );
        DAffine3::IDENTITY
    };
    let shape = header.dim.map(|n| usize::try_from(n).unwrap_or(0).max(1));
    let Some(grid) = Grid::new(shape, affine, AffineSource::Sform) else {
        return Err(Error::malformed(
            path,
            "a vox_to_ras that is flat or not finite",
            (
                "a map of the voxels to the world",
                "write the file again with its image as reference",
            ),
        ));
    };
    let order = if header.voxel_order.is_empty() {
        if known {
            info.warn("The file does not say its voxel order; LPS was assumed, as in TrackVis");
        }
        b"LPS"
    } else {
        header.voxel_order.as_slice()
    };
    let Some(axes) = space::axes_of_order(order) else {
        return Err(Error::malformed(
            path,
            format!("the voxel order “{}”", order.escape_ascii()),
            "three letters such as LPS or RAS",
        ));
    };
    info.add("version", header.version);
    info.add("voxel_order", String::from_utf8_lossy(order));
    let of_affine = [0, 1, 2].map(|a| affine.matrix3.col(a).length());
    let alike = |(a, b): (&f64, &f64)| (a - b).abs() <= SIZES_DIFFER * b;
    if known && !of_affine.iter().zip(&voxel_mm).all(alike) {
        let mm = |sizes: [f64; 3]| {
            sizes
                .map(|v| format!("{}", (v * 1e3).round() * 1e-3))
                .join(" × ")
        };
        let own = space::order_of_axes(space::axes_of_affine(affine.matrix3));
        info.warn(format!(
            "The header contradicts itself: voxels of {} mm in the order {}, but a vox_to_ras with voxels of {} mm \
             in the order {}; the points were placed by vox_to_ras and may be in the wrong place. Write the file \
             again with its image as reference",
            mm(voxel_mm),
            String::from_utf8_lossy(order),
            mm(of_affine),
            String::from_utf8_lossy(&own)
        ));
    }
    let dim = header.dim.map(f64::from);
    if space::axes_of_affine(affine.matrix3) != axes && header.dim.contains(&0) {
        info.warn(format!(
            "The voxel order {} differs from the affine's and the grid has no size; where the \
             points are is uncertain",
            String::from_utf8_lossy(order)
        ));
    }
    let world_from_file = space::world_from_file(affine, DVec3::from(voxel_mm), dim, axes);
    let sized = known && header.dim.iter().all(|&n| n > 0);
    Ok((world_from_file, sized.then_some(grid)))
}

/// Assigns names to the values. A name may be followed by a zero and the number of values that share it; values after
/// the last name are called `rest`.
fn named(values: Vec<Vec<f32>>, names: &[Vec<u8>], rest: &str) -> BTreeMap<String, Shared<f32>> {
    let mut named = BTreeMap::new();
    let mut values = values.into_iter();
    let mut put = |name: &str, columns: Vec<Vec<f32>>| {
        let count = columns.len();
        let plain = free_name(name, &named);
        for (i, column) in columns.into_iter().enumerate() {
            let name = free_name(&column_name(&plain, i, count), &named);
            named.insert(name, column.into());
        }
    };
    for name in names {
        let mut parts = name.split(|&b| b == 0);
        // Latin-1 letters.
        let latin: String = parts
            .next()
            .unwrap_or_default()
            .iter()
            .map(|&b| b as char)
            .collect();
        let latin = latin.trim();
        if latin.is_empty() {
            continue;
        }
        let count = parts
            .next()
            .and_then(|p| std::str::from_utf8(p).ok()?.trim().parse().ok());
        put(
            latin,
            values.by_ref().take(count.unwrap_or(1).max(1)).collect(),
        );
    }
    let unnamed: Vec<_> = values.collect();
    if !unnamed.is_empty() {
        put(rest, unnamed);
    }
    named
}
