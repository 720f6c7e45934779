//! Writes TRK version 2, little-endian, in the voxel order of the grid's own affine.

use super::super::format::columns_within;
use super::super::pieces::{Contents, Outline};
use super::super::{Error, atomic, extension, streamlines};
use super::header::{Header, NAME_BYTES, NAMES};
use super::{BATCH, space};
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::tractogram::{Columns, columns};
use crate::data::{Grid, Sentence, Shared, Tractogram};
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Writes all points, the first ten values per point and per streamline, and the grid, which the format requires;
/// reads it back and compares.
pub fn save(path: &Path, tractogram: &Tractogram, control: &Control) -> Result<(), Error> {
    Contents::whole(tractogram, |contents| save_pieces(path, contents, control))
}

/// Does the same as [`save`] for streamlines that need not be in memory.
pub(in crate::io) fn save_pieces(
    path: &Path,
    contents: &mut Contents,
    control: &Control,
) -> Result<(), Error> {
    let compressed = match extension(path).as_str() {
        "trk" => false,
        "trk.gz" => true,
        _ => {
            return Err(Error::unsupported(
                path,
                "a name that is not a TRK file's",
                "end it in .trk or .trk.gz",
            ));
        }
    };
    let outline = contents.outline;
    let Some(grid) = &outline.empty.grid else {
        return Err(Error::unsupported(
            path,
            "a TRK file, which needs the grid of the image that the streamlines are from",
            Sentence::worded(
                "name that image (arcuate convert --reference), or choose another format",
                "choose another format",
            ),
        ));
    };
    let scalars = columns(&outline.empty.per_point);
    let properties = columns(&outline.empty.per_streamline);
    let kept = [&scalars, &properties].map(|values| columns_within(values, NAMES));
    let header = header(path, outline.streamlines, grid, [&kept[0], &kept[1]])?;
    let (affine, voxel_mm) = space::rounded(grid);
    let axes = space::axes_of_affine(affine.matrix3);
    let dim = header.dim.map(f64::from);
    let world_from_file = space::world_from_file(affine, voxel_mm, dim, axes);
    let encoder = Encoder {
        path,
        world_from_file,
        file_from_world: world_from_file.inverse(),
        tolerance_mm: tolerance_mm(outline, grid),
    };
    let name = file_name(path);
    control.begin_file("Writing", &name, outline.streamlines as u64);
    let mut write = |file: &mut (dyn Write + Send)| -> Result<(), atomic::WriteStop> {
        file.write_all(&header.bytes())?;
        let mut first = 0;
        (contents.pass)(&mut |piece| {
            encoder.write(piece, first, file, control)?;
            first += piece.len();
            Ok(())
        })
    };
    let prepared = atomic::prepare_checked(path, control, |file| {
        if !compressed {
            return write(file);
        }
        let mut packer = GzEncoder::new(file, Compression::fast());
        write(&mut packer)?;
        packer.finish()?;
        Ok(())
    });
    prepared?.rename_into_place()
}

/// The largest distance of a point from its intended position after writing and reading, mm: coordinates in single
/// precision, from the grid's corner and from the world's origin.
fn tolerance_mm(outline: &Outline, grid: &Grid) -> f32 {
    let reach = |v: Vec3| {
        if v.is_finite() {
            v.abs().max_element()
        } else {
            0.0
        }
    };
    let corners = grid.corners().map(|c| reach(c.as_vec3()));
    let farthest = corners.into_iter().fold(outline.reach(), f32::max);
    1e-3 + 16.0 * f32::EPSILON * farthest
}

/// The header of `streamlines` streamlines with these values per point and per streamline.
fn header(
    path: &Path,
    streamlines: usize,
    grid: &Grid,
    [scalars, properties]: [&[&Columns]; 2],
) -> Result<Header, Error> {
    let size = |n: usize| i16::try_from(n).ok();
    let [Some(x), Some(y), Some(z)] = grid.shape.map(size) else {
        return Err(Error::malformed(
            path,
            format!("a grid of {:?} voxels", grid.shape),
            (
                "at most 32767 along each axis, the limit of TRK",
                "choose another format",
            ),
        ));
    };
    let Ok(count) = i32::try_from(streamlines) else {
        return Err(Error::malformed(
            path,
            format!("{streamlines} streamlines"),
            ("at most 2147483647, the limit of TRK", "choose TRX"),
        ));
    };
    let columns = |kept: &[&Columns]| kept.iter().map(|c| c.columns.len()).sum::<usize>();
    let (affine, voxel_mm) = space::rounded(grid);
    let row = |r: usize| {
        let m = affine.matrix3;
        let columns = [m.x_axis, m.y_axis, m.z_axis, affine.translation];
        columns.map(|c| c[r] as f32)
    };
    let header = Header {
        big_endian: false,
        dim: [x, y, z],
        voxel_size: voxel_mm.as_vec3().to_array(),
        scalars: columns(scalars),
        scalar_names: names(scalars),
        properties: columns(properties),
        property_names: names(properties),
        vox_to_ras: [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]],
        voxel_order: space::order_of_axes(space::axes_of_affine(affine.matrix3)).to_vec(),
        count,
        version: 2,
    };
    if header.scalars > i16::MAX as usize || header.properties > i16::MAX as usize {
        return Err(Error::malformed(
            path,
            "more than 32767 numbers for each point or streamline",
            ("fewer", "choose TRX"),
        ));
    }
    Ok(header)
}

fn values(kept: &[&Columns]) -> Vec<Shared<f32>> {
    let all = kept
        .iter()
        .flat_map(|c| c.columns.iter().map(|&c| c.clone()));
    all.collect()
}

/// Turns streamlines into the bytes after the header.
struct Encoder<'a> {
    path: &'a Path,
    world_from_file: DAffine3,
    file_from_world: DAffine3,
    tolerance_mm: f32,
}

impl Encoder<'_> {
    /// Writes streamlines, of which the first has the number `first`, from 0.
    fn write(
        &self,
        piece: &Tractogram,
        first: usize,
        file: &mut dyn Write,
        control: &Control,
    ) -> Result<(), atomic::WriteStop> {
        let kept =
            |named: &BTreeMap<String, Shared<f32>>| values(&columns_within(&columns(named), NAMES));
        let (scalars, properties) = (kept(&piece.per_point), kept(&piece.per_streamline));
        let all: Vec<usize> = (0..piece.len()).collect();
        for several in all.chunks(BATCH * 8) {
            control.check()?;
            let parts: Vec<Vec<u8>> = several
                .par_chunks(BATCH)
                .map(|indices| {
                    let mut bytes = Vec::new();
                    for &i in indices {
                        let number = first + i + 1;
                        self.points(piece, (i, number), &scalars, &mut bytes)?;
                        for values in &properties {
                            bytes.extend_from_slice(&values[i].to_le_bytes());
                        }
                    }
                    Ok(bytes)
                })
                .collect::<Result<_, Error>>()?;
            for part in parts {
                file.write_all(&part)?;
            }
            control.advance(several.len() as u64);
        }
        Ok(())
    }

    /// Appends the number of points of streamline `i`, and the points with their values; `number` is its number in the
    /// file, from 1.
    fn points(
        &self,
        piece: &Tractogram,
        (i, number): (usize, usize),
        scalars: &[Shared<f32>],
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (from, to) = (piece.offsets[i] as usize, piece.offsets[i + 1] as usize);
        bytes.extend_from_slice(&((to - from) as i32).to_le_bytes());
        for p in from..to {
            let world = DVec3::from_array(piece.points[p].map(f64::from));
            let file = self.file_from_world.transform_point3(world).as_vec3();
            if !self.holds(piece.points[p], file) {
                return Err(Error::malformed(
                    self.path,
                    format!(
                        "a coordinate in streamline {number} that is not finite or too large for its grid"
                    ),
                    ("one that TRK can hold", "choose TRX"),
                ));
            }
            for v in file.to_array() {
                bytes.extend_from_slice(&v.to_le_bytes());
            }
            for values in scalars {
                bytes.extend_from_slice(&values[p].to_le_bytes());
            }
        }
        Ok(())
    }

    /// Whether a point in the file's coordinates reads back as in the world: a coordinate that is not finite may
    /// affect the others of its point.
    fn holds(&self, world: [f32; 3], file: Vec3) -> bool {
        let restored = self.world_from_file.transform_point3(file.as_dvec3());
        let restored = restored.as_vec3().to_array();
        let mut both = world.iter().zip(&restored);
        both.all(|(a, b)| streamlines::nearly_equal(*a, *b, self.tolerance_mm))
    }
}

/// Twenty bytes each: the name in Latin-1, a zero, and the number of columns if there are several.
fn names(kept: &[&Columns]) -> Vec<Vec<u8>> {
    let mut given: Vec<Vec<u8>> = Vec::new();
    for value in kept {
        let count = match value.columns.len() {
            1 => Vec::new(),
            n => format!("\0{n}").into_bytes(),
        };
        let room = NAME_BYTES - count.len();
        let latin = |c: char| u8::try_from(c).ok().filter(|&b| b != 0).unwrap_or(b'_');
        let mut name: Vec<u8> = value.name.chars().map(latin).take(room).collect();
        // Two long names may begin alike.
        for n in 2.. {
            let taken = given
                .iter()
                .any(|g| g.split(|&b| b == 0).next() == Some(&name));
            if !taken {
                break;
            }
            let tail = format!("~{n}").into_bytes();
            name.truncate(room.saturating_sub(tail.len()));
            name.extend(tail);
        }
        name.extend(count);
        given.push(name);
    }
    given
}

/// Old and new names of values that cannot keep theirs in a TRK file.
pub(in crate::io) fn renamed(tractogram: &Tractogram) -> Vec<(String, String)> {
    let mut changed = Vec::new();
    for values in [&tractogram.per_point, &tractogram.per_streamline] {
        let columns = columns(values);
        let kept = columns_within(&columns, NAMES);
        for (value, name) in kept.iter().zip(names(&kept)) {
            let plain = name.split(|&b| b == 0).next().unwrap_or_default();
            let plain: String = plain.iter().map(|&b| b as char).collect();
            if plain != value.name {
                changed.push((value.name.to_owned(), plain));
            }
        }
    }
    changed
}
