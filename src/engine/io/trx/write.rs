//! Writes TRX: float32, uncompressed; in a zip archive, with each member aligned for use in place, or as files in a
//! folder.

use super::super::pieces::{Contents, Outline, Spool};
use super::super::streamlines::free_name;
use super::super::{DISCLAIMER, Error, atomic, disk, extension, little_endian};
use super::store::parts;
use super::{CODES, HEADER, OFFSETS, POSITIONS, is_folder, may_replace};
use crate::compute::Control;
use crate::data::text::file_name;
use crate::data::tractogram::{Columns, columns};
use crate::data::{Shared, Tractogram};
use serde_json::json;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Alignment of each member's first byte: sufficient for any number type and for vector instructions.
const ALIGNMENT: u16 = 64;
/// Bytes between two checks for cancellation.
const PIECE: usize = 4 << 20;

/// Destination of the members.
enum Sink<'a> {
    Zip(Box<ZipWriter<FailureLatch<'a>>>),
    Folder(&'a Path, Option<disk::File>),
}

/// The members in their destination, and what each must contain when it is read back.
struct Members<'a> {
    sink: Sink<'a>,
    written: Vec<(String, atomic::Sum)>,
    control: &'a Control,
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
    Contents::whole(tractogram, |contents| save_pieces(path, contents, control))
}

/// Does the same as [`save`] for streamlines that need not be in memory.
pub(in crate::io) fn save_pieces(
    path: &Path,
    contents: &mut Contents,
    control: &Control,
) -> Result<(), Error> {
    if extension(path) != "trx" {
        return Err(Error::unsupported(
            path,
            "a name that is not a TRX file's",
            "end it in .trx",
        ));
    }
    let (outline, name) = (contents.outline, file_name(path));
    let total = 12 * outline.points + 8 * (outline.streamlines + 1);
    control.begin_file("Writing", &name, total as u64);
    let expected = RefCell::new(Vec::new());
    let verify = |written: &Path| verify(written, &expected.borrow(), control);
    if means_folder(path) {
        return atomic::write_folder_verified(
            path,
            |folder| {
                let mut members = Members::new(Sink::Folder(folder, None), control);
                write_members(path, &mut members, contents)?;
                expected.replace(members.written);
                finish(members.sink)
            },
            verify,
            may_replace,
        );
    }
    atomic::write_verified(
        path,
        |file| {
            let zip = ZipWriter::new(FailureLatch::new(file));
            let mut members = Members::new(Sink::Zip(Box::new(zip)), control);
            if let Err(stop) = write_members(path, &mut members, contents) {
                // Dropping it would finish the archive.
                std::mem::forget(members.sink);
                return Err(stop);
            }
            expected.replace(members.written);
            finish(members.sink)
        },
        verify,
    )
}

/// Completes the last member and the archive.
fn finish(sink: Sink) -> Result<(), atomic::WriteStop> {
    match sink {
        Sink::Zip(zip) => {
            let file = zip.finish().map_err(std::io::Error::from)?;
            Ok(file.failed.map_or(Ok(()), Err)?)
        }
        Sink::Folder(_, Some(file)) => Ok(file.sync_all()?),
        Sink::Folder(_, None) => Ok(()),
    }
}

/// Whether a name refers to a folder: it ends in a slash, or is that of a TRX folder.
pub fn means_folder(path: &Path) -> bool {
    let ends = path.as_os_str().as_encoded_bytes().last();
    ends.is_some_and(|&b| std::path::is_separator(b.into())) || is_folder(path)
}

/// Compares the bytes of each member.
fn verify(
    written: &Path,
    expected: &[(String, atomic::Sum)],
    control: &Control,
) -> Result<(), atomic::VerifyFailure> {
    let stored = parts(written, &control.silent())?;
    if stored.len() != expected.len() {
        return Err(atomic::ReadBackDifference::File.into());
    }
    for (name, sum) in expected {
        let Some(part) = stored.iter().find(|part| part.name == *name) else {
            return Err(atomic::ReadBackDifference::File.into());
        };
        part.verify(sum, control)?;
    }
    Ok(control.check()?)
}

/// The name of each value and group in the archive.
struct Names {
    per_point: Vec<(String, String)>,
    per_streamline: Vec<(String, String)>,
    groups: Vec<(String, String)>,
}

impl Names {
    /// Names of the values and groups that a tractogram has, with or without streamlines.
    fn new(tractogram: &Tractogram) -> Self {
        let values = |values: &BTreeMap<String, Shared<f32>>| {
            allowed(columns(values).iter().map(|c| c.name))
        };
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

/// The text of the header.
fn header(outline: &Outline) -> String {
    let tractogram = &outline.empty;
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
        "NB_VERTICES": outline.points,
        "NB_STREAMLINES": outline.streamlines,
    });
    header.to_string()
}

/// Writes the header and all arrays. The points are written while the streamlines are passed on, the other arrays
/// afterwards.
fn write_members(
    path: &Path,
    members: &mut Members,
    contents: &mut Contents,
) -> Result<(), atomic::WriteStop> {
    let outline = contents.outline;
    let empty = &outline.empty;
    members.write(HEADER, header(outline).as_bytes())?;
    let names = Names::new(empty);
    let (points, lines) = (columns(&empty.per_point), columns(&empty.per_streamline));
    let mut arrays = vec![Array::offsets(outline)];
    arrays.extend(
        points
            .iter()
            .zip(&names.per_point)
            .map(|(value, (_, name))| Array::values("dpv", name, value, outline.points)),
    );
    arrays.extend(
        lines
            .iter()
            .zip(&names.per_streamline)
            .map(|(value, (_, name))| Array::values("dps", name, value, outline.streamlines)),
    );
    let is_wide = arrays[0].name.ends_with("uint64");
    let mut spool = Spool::new(path, arrays.len());
    members.begin(
        &format!("{POSITIONS}.3.float32"),
        12 * outline.points as u64,
    )?;
    spool.put(0, &offset_bytes([0], is_wide))?;
    let mut before = 0;
    (contents.pass)(&mut |piece| {
        members.add(&little_endian(piece.points.as_flattened()))?;
        let ends = piece.offsets[1..].iter().map(|end| before + end);
        spool.put(0, &offset_bytes(ends, is_wide))?;
        before += piece.points.len() as u64;
        let (points, lines) = (columns(&piece.per_point), columns(&piece.per_streamline));
        for (array, value) in points.iter().chain(&lines).enumerate() {
            spool.put(1 + array, &little_endian(&rows(value)))?;
        }
        Ok(())
    })?;
    for (index, array) in arrays.iter().enumerate() {
        members.begin(&array.name, array.bytes)?;
        spool.array(index, |bytes| members.add(bytes))?;
    }
    for (old, name) in &names.groups {
        if let Some(group) = outline.groups.get(old) {
            let bytes: Vec<u8> = group.iter().flat_map(|i| i.to_le_bytes()).collect();
            members.write(&format!("groups/{name}.uint32"), &bytes)?;
        }
        let Some(values) = empty.per_group.get(old) else {
            continue;
        };
        for ((_, plain), value) in allowed(values.keys().map(String::as_str))
            .iter()
            .zip(values.values())
        {
            let name = format!("dpg/{name}/{plain}");
            if let Some(name) = array_name(&name, value.len()) {
                members.write(&name, &little_endian(value))?;
            }
        }
    }
    Ok(())
}

/// An array that is written after the points.
struct Array {
    name: String,
    bytes: u64,
}

impl Array {
    fn offsets(outline: &Outline) -> Self {
        let (ending, each) = match u32::try_from(outline.points) {
            Ok(_) => ("uint32", 4),
            Err(_) => ("uint64", 8),
        };
        Self {
            name: format!("{OFFSETS}.{ending}"),
            bytes: each * (outline.streamlines as u64 + 1),
        }
    }

    fn values(folder: &str, name: &str, value: &Columns, rows: usize) -> Self {
        let columns = value.columns.len();
        let name = array_name(&format!("{folder}/{name}"), columns);
        Self {
            name: name.unwrap_or_default(),
            bytes: (4 * columns * rows) as u64,
        }
    }
}

/// The name of an array of float32 with this many columns, if there are any.
fn array_name(name: &str, columns: usize) -> Option<String> {
    match columns {
        0 => None,
        1 => Some(format!("{name}.float32")),
        several => Some(format!("{name}.{several}.float32")),
    }
}

fn offset_bytes(offsets: impl IntoIterator<Item = u64>, is_wide: bool) -> Vec<u8> {
    let offsets = offsets.into_iter();
    match is_wide {
        true => offsets.flat_map(u64::to_le_bytes).collect(),
        false => offsets.flat_map(|o| (o as u32).to_le_bytes()).collect(),
    }
}

/// The numbers of a value with one or several columns, those of an item adjacent.
fn rows<'a>(value: &Columns<'a>) -> Cow<'a, [f32]> {
    match &*value.columns {
        [values] => Cow::Borrowed(values),
        several => {
            let rows = several.first().map_or(0, |c| c.len());
            let row = |i: usize| several.iter().map(move |c| c[i]);
            (0..rows).flat_map(row).collect()
        }
    }
}

impl<'a> Members<'a> {
    fn new(sink: Sink<'a>, control: &'a Control) -> Self {
        Self {
            sink,
            written: Vec::new(),
            control,
        }
    }

    /// Begins a member of this size.
    fn begin(&mut self, name: &str, bytes: u64) -> Result<(), atomic::WriteStop> {
        match &mut self.sink {
            Sink::Zip(zip) => {
                let options = SimpleFileOptions::default()
                    .compression_method(CompressionMethod::Stored)
                    .with_alignment(ALIGNMENT)
                    .large_file(u32::try_from(bytes).is_err());
                zip.start_file(name, options)
                    .map_err(std::io::Error::from)?;
            }
            Sink::Folder(folder, file) => {
                if let Some(file) = file.take() {
                    file.sync_all()?;
                }
                let path = folder.join(name);
                if let Some(parent) = path.parent() {
                    disk::make_folder(parent, 0o777, true)?;
                }
                *file = Some(disk::File::create(&path)?);
            }
        }
        self.written.push((name.to_owned(), atomic::Sum::default()));
        Ok(())
    }

    /// Appends bytes to the member that was begun last.
    fn add(&mut self, bytes: &[u8]) -> Result<(), atomic::WriteStop> {
        for piece in bytes.chunks(PIECE) {
            self.control.check()?;
            match &mut self.sink {
                Sink::Zip(zip) => zip.write_all(piece)?,
                Sink::Folder(_, Some(file)) => file.write_all(piece)?,
                Sink::Folder(_, None) => {}
            }
            if let Some((_, sum)) = self.written.last_mut() {
                sum.add(piece);
            }
            self.control.advance(piece.len() as u64);
        }
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), atomic::WriteStop> {
        self.begin(name, bytes.len() as u64)?;
        self.add(bytes)
    }
}
