//! Writes TRX: float32, uncompressed; in a zip archive, with each member aligned for use in place, or as files in a
//! folder.

use super::super::streamlines::{difference, free_name, same_values};
use super::super::{DISCLAIMER, Error, atomic, disk, extension, little_endian};
use super::{CODES, HEADER, is_folder, may_replace, read};
use crate::compute::Control;
use crate::data::Tractogram;
use crate::data::text::file_name;
use crate::data::tractogram::columns;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Alignment of each member's first byte: sufficient for any number type and for vector instructions.
const ALIGNMENT: u16 = 64;
/// Bytes between two checks for cancellation.
const PIECE: usize = 4 << 20;

/// Destination of the members.
enum Sink<'a> {
    Zip(Box<ZipWriter<FailureLatch<'a>>>),
    Folder(&'a Path),
}

/// A file that remembers its first failure and accepts further data without writing it: `ZipWriter` panics when it is
/// dropped after a failed write.
struct FailureLatch<'a> {
    file: &'a mut BufWriter<disk::File>,
    /// Position of the next byte, or where it would be.
    place: u64,
    /// Length of the file, or what it would be.
    length: u64,
    failed: Option<std::io::Error>,
}

impl<'a> FailureLatch<'a> {
    /// A writer at the start of a file.
    fn new(file: &'a mut BufWriter<disk::File>) -> Self {
        Self {
            file,
            place: 0,
            length: 0,
            failed: None,
        }
    }

    fn unless_failed(
        &mut self,
        work: impl FnOnce(&mut BufWriter<disk::File>) -> std::io::Result<()>,
    ) {
        if self.failed.is_none() {
            self.failed = work(self.file).err();
        }
    }
}

impl Write for FailureLatch<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.unless_failed(|file| file.write_all(bytes));
        self.place += bytes.len() as u64;
        self.length = self.length.max(self.place);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.unless_failed(Write::flush);
        Ok(())
    }
}

impl Seek for FailureLatch<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.place.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let before_start = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
        self.place = place.ok_or_else(before_start)?;
        let place = self.place;
        self.unless_failed(|file| file.seek(SeekFrom::Start(place)).map(drop));
        Ok(self.place)
    }
}

/// Writes everything a tractogram contains, reads it back and compares.
pub fn save(path: &Path, tractogram: &Tractogram, control: &Control) -> Result<(), Error> {
    if extension(path) != "trx" {
        return Err(Error::unsupported(
            path,
            "a name that is not a TRX file's",
            "end it in .trx",
        ));
    }
    let name = file_name(path);
    let total = 12 * tractogram.points.len() + 8 * tractogram.offsets.len();
    control.begin_file("Writing", &name, total as u64);
    if means_folder(path) {
        return atomic::write_folder_verified(
            path,
            |folder| members(&mut Sink::Folder(folder), tractogram, control),
            |written| verify(written, tractogram, control),
            may_replace,
        );
    }
    atomic::write_verified(
        path,
        |file| {
            let mut sink = Sink::Zip(Box::new(ZipWriter::new(FailureLatch::new(file))));
            let filled = members(&mut sink, tractogram, control);
            match (filled, sink) {
                (Ok(()), Sink::Zip(zip)) => {
                    let file = zip.finish().map_err(std::io::Error::from)?;
                    Ok(file.failed.map_or(Ok(()), Err)?)
                }
                (Err(stop), sink) => {
                    // Dropping it would finish the archive.
                    std::mem::forget(sink);
                    Err(stop)
                }
                (filled, _) => filled,
            }
        },
        |written| verify(written, tractogram, control),
    )
}

/// Whether a name refers to a folder: it ends in a slash, or is that of a TRX folder.
pub fn means_folder(path: &Path) -> bool {
    let ends = path.as_os_str().as_encoded_bytes().last();
    ends.is_some_and(|&b| std::path::is_separator(b.into())) || is_folder(path)
}

fn verify(
    written: &Path,
    tractogram: &Tractogram,
    control: &Control,
) -> Result<(), atomic::VerifyFailure> {
    let (stored, _) = read(written, &control.silent())?;
    difference(&stored, tractogram, 0.0)?;
    let names = Names::new(tractogram);
    let pairs = [
        (&stored.per_point, &tractogram.per_point, &names.per_point),
        (
            &stored.per_streamline,
            &tractogram.per_streamline,
            &names.per_streamline,
        ),
    ];
    for (stored, expected, names) in pairs {
        // The reader cannot know a name that had to change.
        if names.iter().all(|(old, new)| old == new) {
            same_values(stored, expected)?;
        } else if stored.len() != expected.len() {
            return Err(atomic::ReadBackDifference::MissingValues.into());
        }
    }
    let groups = names.groups.iter().all(|(old, new)| {
        stored.groups.get(new).map(|m| &**m) == tractogram.groups.get(old).map(|m| &**m)
    });
    if groups {
        Ok(control.check()?)
    } else {
        Err(atomic::ReadBackDifference::Groups.into())
    }
}

/// The name of each value and group in the archive.
struct Names {
    per_point: Vec<(String, String)>,
    per_streamline: Vec<(String, String)>,
    groups: Vec<(String, String)>,
}

impl Names {
    fn new(tractogram: &Tractogram) -> Self {
        let values =
            |values: &BTreeMap<String, Arc<[f32]>>| allowed(columns(values).iter().map(|c| c.name));
        let groups = tractogram.groups.keys().chain(tractogram.per_group.keys());
        let mut groups: Vec<&str> = groups.map(String::as_str).collect();
        groups.sort_unstable();
        groups.dedup();
        Self {
            per_point: values(&tractogram.per_point),
            per_streamline: values(&tractogram.per_streamline),
            groups: allowed(groups.into_iter()),
        }
    }
}

/// Old and new names: a dot ends a name, a slash opens a folder, and some other characters are not permitted in file
/// names everywhere.
fn allowed<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let mut taken = BTreeMap::new();
    let plain = |c: char| {
        if c.is_control() || "./\\:*?\"<>|".contains(c) {
            '_'
        } else {
            c
        }
    };
    names
        .map(|name| {
            let new: String = name.trim().chars().map(plain).collect();
            let new = free_name(&new, &taken);
            taken.insert(new.clone(), ());
            (name.to_owned(), new)
        })
        .collect()
}

/// Names that change when written to a TRX.
pub(in crate::io) fn renamed(tractogram: &Tractogram) -> Vec<(String, String)> {
    let names = Names::new(tractogram);
    let all = names.per_point.into_iter().chain(names.per_streamline);
    all.chain(names.groups)
        .filter(|(old, new)| old != new)
        .collect()
}

fn members(
    sink: &mut Sink,
    tractogram: &Tractogram,
    control: &Control,
) -> Result<(), atomic::WriteStop> {
    let (shape, m) = match &tractogram.grid {
        Some(grid) => (grid.shape, grid.world_from_voxel),
        None => ([1; 3], glam::DAffine3::IDENTITY),
    };
    let row = |r: usize| {
        let (axes, shift) = (m.matrix3, m.translation);
        json!([axes.x_axis[r], axes.y_axis[r], axes.z_axis[r], shift[r]])
    };
    // The format does not define further keys: readers ignore them.
    let codes = tractogram.codes.iter();
    let codes = codes.filter(|(name, _)| tractogram.per_streamline.contains_key(*name));
    let codes: BTreeMap<_, &[String]> = codes.map(|(name, meanings)| (name, &**meanings)).collect();
    let header = json!({
        "COMMENT": DISCLAIMER,
        CODES: codes,
        "DIMENSIONS": shape,
        "VOXEL_TO_RASMM": [row(0), row(1), row(2), json!([0.0, 0.0, 0.0, 1.0])],
        "NB_VERTICES": tractogram.points.len(),
        "NB_STREAMLINES": tractogram.len(),
    });
    member(sink, HEADER, header.to_string().as_bytes(), control)?;
    let points = little_endian(tractogram.points.as_flattened());
    member(sink, "positions.3.float32", &points, control)?;
    if u32::try_from(tractogram.points.len()).is_ok() {
        let offsets = tractogram
            .offsets
            .iter()
            .flat_map(|&o| (o as u32).to_le_bytes());
        let offsets: Vec<u8> = offsets.collect();
        member(sink, "offsets.uint32", &offsets, control)?;
    } else {
        let offsets = tractogram.offsets.iter().flat_map(|o| o.to_le_bytes());
        let offsets: Vec<u8> = offsets.collect();
        member(sink, "offsets.uint64", &offsets, control)?;
    }
    let names = Names::new(tractogram);
    for (folder, values, names) in [
        ("dpv", &tractogram.per_point, &names.per_point),
        ("dps", &tractogram.per_streamline, &names.per_streamline),
    ] {
        for (value, (_, name)) in columns(values).iter().zip(names) {
            let parts: Vec<&[f32]> = value.columns.iter().map(|c| &***c).collect();
            array(sink, &format!("{folder}/{name}"), &parts, control)?;
        }
    }
    for (old, name) in &names.groups {
        if let Some(members) = tractogram.groups.get(old) {
            let members: Vec<u8> = members.iter().flat_map(|i| i.to_le_bytes()).collect();
            member(sink, &format!("groups/{name}.uint32"), &members, control)?;
        }
        let Some(values) = tractogram.per_group.get(old) else {
            continue;
        };
        for ((_, plain), value) in allowed(values.keys().map(String::as_str))
            .iter()
            .zip(values.values())
        {
            let numbers: Vec<&[f32]> = value.chunks(1).collect();
            if !numbers.is_empty() {
                array(sink, &format!("dpg/{name}/{plain}"), &numbers, control)?;
            }
        }
    }
    Ok(())
}

/// Values with one or several columns, those of an item adjacent.
fn array(
    sink: &mut Sink,
    name: &str,
    columns: &[&[f32]],
    control: &Control,
) -> Result<(), atomic::WriteStop> {
    let (name, values): (String, Cow<[f32]>) = match columns {
        [values] => (format!("{name}.float32"), Cow::Borrowed(values)),
        several => {
            let rows = several.first().map_or(0, |c| c.len());
            let row = |i: usize| several.iter().map(move |c| c[i]);
            let values: Vec<f32> = (0..rows).flat_map(row).collect();
            (format!("{name}.{}.float32", several.len()), values.into())
        }
    };
    member(sink, &name, &little_endian(&values), control)
}

fn member(
    sink: &mut Sink,
    name: &str,
    bytes: &[u8],
    control: &Control,
) -> Result<(), atomic::WriteStop> {
    match sink {
        Sink::Zip(zip) => {
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .with_alignment(ALIGNMENT)
                .large_file(u32::try_from(bytes.len()).is_err());
            zip.start_file(name, options)
                .map_err(std::io::Error::from)?;
            write_pieces(zip, bytes, control)
        }
        Sink::Folder(folder) => {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                disk::make_folder(parent, 0o777, true)?;
            }
            let mut file = disk::File::create(&path)?;
            write_pieces(&mut file, bytes, control)?;
            Ok(file.sync_all()?)
        }
    }
}

fn write_pieces(
    out: &mut impl Write,
    bytes: &[u8],
    control: &Control,
) -> Result<(), atomic::WriteStop> {
    for piece in bytes.chunks(PIECE) {
        control.check()?;
        out.write_all(piece)?;
        control.advance(piece.len() as u64);
    }
    Ok(())
}
