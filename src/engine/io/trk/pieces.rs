//! Reads a TRK file streamline by streamline, from its start to its end.

use super::header::Header;
use super::{BATCH, HEADER_BYTES, Layout, Record, cut, named, warn_of_rest, world_and_grid};
use crate::compute::{Control, memory};
use crate::data::{Grid, Tractogram};
use crate::io::pieces::{PieceReader, claim_points};
use crate::io::source::Source;
use crate::io::{Error, FibreInfo};
use glam::DAffine3;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// One pass over the streamlines of a file.
pub(in crate::io) struct Reader {
    path: PathBuf,
    source: Source,
    info: FibreInfo,
    header: Header,
    layout: Layout,
    world_from_file: DAffine3,
    grid: Option<Arc<Grid>>,
    /// Bytes after those of earlier pieces.
    buffer: Vec<u8>,
    read_bytes: u64,
    streamlines: usize,
    short: usize,
    points_at_once: usize,
    is_done: bool,
}

impl Reader {
    /// Reads the header. A piece has at least one streamline, and ends with the first one with which it has at least
    /// this many points.
    pub fn open(path: &Path, points_at_once: usize, control: &Control) -> Result<Self, Error> {
        let mut source = Source::open(path, control)?;
        let mut bytes = vec![0; HEADER_BYTES];
        let read = source.read(&mut bytes)?;
        bytes.truncate(read);
        let mut info = FibreInfo::default();
        let parsed = Header::parse(path, &bytes).and_then(|header| {
            let placed = world_and_grid(path, &header, &mut info)?;
            Ok((header, placed))
        });
        let (header, (world_from_file, grid)) = parsed.map_err(|e| source.cause(e))?;
        Ok(Self {
            path: path.to_owned(),
            source,
            info,
            layout: Layout::new(&header),
            header,
            world_from_file,
            grid: grid.map(Arc::new),
            buffer: Vec::new(),
            read_bytes: read as u64,
            streamlines: 0,
            short: 0,
            points_at_once,
            is_done: false,
        })
    }

    /// The streamlines without any of them.
    pub fn empty(&self) -> Tractogram {
        let columns = |count: usize| vec![Vec::new(); count];
        self.tractogram(
            Tractogram::empty(),
            columns(self.header.scalars),
            columns(self.header.properties),
        )
    }

    fn tractogram(
        &self,
        mut lines: Tractogram,
        scalars: Vec<Vec<f32>>,
        properties: Vec<Vec<f32>>,
    ) -> Tractogram {
        lines.per_point = named(scalars, &self.header.scalar_names, "scalars");
        lines.per_streamline = named(properties, &self.header.property_names, "properties");
        lines.grid = self.grid.clone();
        lines
    }

    /// Reads until the buffer holds this many bytes, or all to the end of the file.
    fn fill(&mut self, bytes: u64) -> Result<(), Error> {
        while (self.buffer.len() as u64) < bytes {
            let before = self.buffer.len();
            if self.buffer.capacity() - before < BLOCK {
                let more = before.max(BLOCK);
                memory::claim(super::super::source::READING, more as u64)
                    .map_err(|e| Error::memory(&self.path, e))?;
                self.buffer.reserve_exact(more);
            }
            self.buffer.resize(before + BLOCK, 0);
            let read = self.source.read(&mut self.buffer[before..])?;
            self.buffer.truncate(before + read);
            self.read_bytes += read as u64;
            if read < BLOCK {
                break;
            }
        }
        Ok(())
    }

    /// Examines the rest of the file, from the buffer's byte `at` on.
    fn end(&mut self, at: usize) -> Result<(), Error> {
        self.is_done = true;
        let rest = self.source.finish(u64::MAX)?;
        self.source.check_expansion(self.read_bytes + rest)?;
        warn_of_rest(&mut self.info, (self.buffer.len() - at) as u64 + rest);
        Ok(())
    }

    /// The streamlines of the next piece; the buffer holds them from its start on.
    fn records(&mut self, control: &Control) -> Result<Vec<Record>, Error> {
        let mut records: Vec<Record> = Vec::new();
        let (mut at, mut points) = (0, 0);
        while points < self.points_at_once {
            let number = self.streamlines + records.len();
            self.fill(at as u64 + 4)?;
            let is_last = self.header.count > 0 && number == self.header.count as usize;
            if is_last || at == self.buffer.len() {
                self.end(at)?;
                break;
            }
            if number.is_multiple_of(BATCH) {
                control.check()?;
            }
            let record = self.layout.record(&self.path, &self.buffer, at, number + 1);
            let (record, bytes) = record.map_err(|e| self.source.cause(e))?;
            // A false number of points takes no memory.
            let before = self.read_bytes - self.buffer.len() as u64 + at as u64;
            let known = self
                .source
                .known_bytes()
                .map(|all| all.saturating_sub(before));
            if let Some(rest) = known.filter(|rest| bytes > *rest) {
                return Err(cut(&self.path, rest as usize, bytes, number + 1));
            }
            self.fill(at as u64 + bytes)?;
            let rest = self.buffer.len() - at;
            if (rest as u64) < bytes {
                let error = cut(&self.path, rest, bytes, number + 1);
                return Err(self.source.cause(error));
            }
            points += (record.points as usize).max(1);
            records.push(record);
            at += bytes as usize;
        }
        Ok(records)
    }
}

impl PieceReader for Reader {
    fn next(&mut self, control: &Control) -> Result<Option<Tractogram>, Error> {
        if self.is_done {
            return Ok(None);
        }
        let records = self.records(control)?;
        let Some(last) = records.last() else {
            return Ok(None);
        };
        let end = self.layout.end(last);
        let mut offsets = vec![0u64];
        for record in &records {
            offsets.push(offsets[offsets.len() - 1] + u64::from(record.points));
        }
        let total = offsets[records.len()] as usize;
        claim_points(&self.path, total)?;
        let (layout, body) = (self.layout, &self.buffer[..end]);
        let mut points = vec![[0f32; 3]; total];
        let mut parts = Vec::new();
        let mut rest = points.as_mut_slice();
        for records in records.chunks(BATCH) {
            let count = records.iter().map(|r| r.points as usize).sum();
            let (own, others) = rest.split_at_mut(count);
            parts.push((records, own));
            rest = others;
        }
        parts
            .into_par_iter()
            .for_each(|(records, out)| layout.points(body, records, self.world_from_file, out));
        let column = |length: usize, fill: &dyn Fn(usize, &mut [f32]), index: usize| {
            let mut values = vec![0f32; length];
            fill(index, &mut values);
            values
        };
        let scalar = |i: usize, out: &mut [f32]| layout.scalar(body, &records, i, out);
        let property = |i: usize, out: &mut [f32]| layout.property(body, &records, i, out);
        let (scalars, properties) = (0..layout.scalars, 0..layout.properties);
        let scalars = scalars.map(|i| column(total, &scalar, i)).collect();
        let properties = properties
            .map(|i| column(records.len(), &property, i))
            .collect();
        self.short += records.iter().filter(|r| r.points < 2).count();
        self.streamlines += records.len();
        let lines = Tractogram::new(points, offsets);
        let tractogram = self.tractogram(lines, scalars, properties);
        self.buffer.drain(..end);
        Ok(Some(tractogram))
    }

    fn info(mut self: Box<Self>) -> FibreInfo {
        let announced = self.header.announced();
        self.info
            .check_counts(self.streamlines, self.short, announced);
        self.info
    }
}
