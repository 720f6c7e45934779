//! Writes TRK version 2, little-endian, in the voxel order of the grid's own affine.

use super::super::format::columns_within;
use super::super::{Error, atomic, extension, streamlines};
use super::header::{Header, NAME_BYTES, NAMES};
use super::{BATCH, space, tolerance_mm, verify};
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::tractogram::{Columns, columns};
use crate::data::{Grid, Sentence, Tractogram};
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Writes all points, the first ten values per point and per streamline, and the grid, which the format requires;
/// reads it back and compares.
pub fn save(path: &Path, tractogram: &Tractogram, control: &Control) -> Result<(), Error> {
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
    let Some(grid) = &tractogram.grid else {
        return Err(Error::unsupported(
            path,
            "a TRK file, which needs the grid of the image that the streamlines are from",
            Sentence::worded(
                "name that image (arcuate convert --reference), or choose another format",
                "choose another format",
            ),
        ));
    };
    let scalars = columns(&tractogram.per_point);
    let scalars = columns_within(&scalars, NAMES);
    let properties = columns(&tractogram.per_streamline);
    let properties = columns_within(&properties, NAMES);
    let header = header(path, tractogram.len(), grid, [&scalars, &properties])?;
    let (affine, voxel_mm) = space::rounded(grid);
    let axes = space::axes_of_affine(affine.matrix3);
    let dim = header.dim.map(f64::from);
    let world_from_file = space::world_from_file(affine, voxel_mm, dim, axes);
    let writer = Writer {
        path,
        tractogram,
        scalars: values(&scalars),
        properties: values(&properties),
        world_from_file,
        file_from_world: world_from_file.inverse(),
        tolerance_mm: tolerance_mm(tractogram, grid),
    };
    let name = file_name(path);
    control.begin_file("Writing", &name, tractogram.len() as u64);
    let write = |file: &mut dyn Write| -> Result<(), atomic::WriteStop> {
        file.write_all(&header.bytes())?;
        writer.write(file, control)
    };
    atomic::write_verified(
        path,
        |file| {
            if !compressed {
                return write(file);
            }
            let mut encoder = GzEncoder::new(file, Compression::fast());
            write(&mut encoder)?;
            encoder.finish()?;
            Ok(())
        },
        |written| verify(written, tractogram, grid, control),
    )
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

fn values(kept: &[&Columns]) -> Vec<Arc<[f32]>> {
    let all = kept
        .iter()
        .flat_map(|c| c.columns.iter().map(|&c| c.clone()));
    all.collect()
}

/// Writes the streamlines after the header.
struct Writer<'a> {
    path: &'a Path,
    tractogram: &'a Tractogram,
    scalars: Vec<Arc<[f32]>>,
    properties: Vec<Arc<[f32]>>,
    world_from_file: DAffine3,
    file_from_world: DAffine3,
    tolerance_mm: f32,
}

impl Writer<'_> {
    fn write(&self, file: &mut dyn Write, control: &Control) -> Result<(), atomic::WriteStop> {
        let all: Vec<usize> = (0..self.tractogram.len()).collect();
        for several in all.chunks(BATCH * 8) {
            control.check()?;
            let parts: Vec<Vec<u8>> = several
                .par_chunks(BATCH)
                .map(|indices| {
                    let mut bytes = Vec::new();
                    indices
                        .iter()
                        .try_for_each(|&i| self.streamline(i, &mut bytes))?;
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

    /// Appends the number of points, the points with their values, and the streamline's own values.
    fn streamline(&self, i: usize, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let tractogram = self.tractogram;
        let (from, to) = (
            tractogram.offsets[i] as usize,
            tractogram.offsets[i + 1] as usize,
        );
        bytes.extend_from_slice(&((to - from) as i32).to_le_bytes());
        for p in from..to {
            let world = DVec3::from_array(tractogram.points[p].map(f64::from));
            let file = self.file_from_world.transform_point3(world).as_vec3();
            if !self.holds(tractogram.points[p], file) {
                return Err(Error::malformed(
                    self.path,
                    format!(
                        "a coordinate in streamline {} that is not finite or too large for its grid",
                        i + 1
                    ),
                    ("one that TRK can hold", "choose TRX"),
                ));
            }
            for v in file.to_array() {
                bytes.extend_from_slice(&v.to_le_bytes());
            }
            for values in &self.scalars {
                bytes.extend_from_slice(&values[p].to_le_bytes());
            }
        }
        for values in &self.properties {
            bytes.extend_from_slice(&values[i].to_le_bytes());
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
