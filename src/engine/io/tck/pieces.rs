//! Reads a TCK file streamline by streamline, from its start to its end.

use super::{
    Delimiter, HEADER_LIMIT_BYTES, Head, Numbers, announced, delimiter, invalid_point, timestamp,
    warn_of_end,
};
use crate::compute::Control;
use crate::data::Tractogram;
use crate::io::pieces::{PieceReader, all_finite, claim_points};
use crate::io::source::Source;
use crate::io::{Error, FibreInfo};
use std::path::{Path, PathBuf};

/// Triplets read at a time: they stay in the processor's cache until they are streamlines.
const BLOCK: usize = 1 << 17;
/// Points examined at a time.
const AT_ONCE: usize = 16;

/// One pass over the streamlines of a file.
pub(in crate::io) struct Reader {
    path: PathBuf,
    source: Source,
    info: FibreInfo,
    numbers: Numbers,
    /// Bytes of the body that were read together with the header.
    after_header: Vec<u8>,
    /// Triplets of which the first `used` are streamlines of earlier pieces.
    block: Vec<[f32; 3]>,
    used: usize,
    /// Triplets before the block.
    used_before: u64,
    /// Bytes of the triplets, if the numbers are not float32 in native byte order.
    raw: Vec<u8>,
    /// Bytes of the body that were read.
    body_bytes: u64,
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
        let mut start = vec![0; HEADER_LIMIT_BYTES];
        let read = source.read(&mut start)?;
        start.truncate(read);
        let head = Head::parse(path, &start).map_err(|e| source.cause(e))?;
        let body = usize::try_from(head.start).unwrap_or(usize::MAX);
        let after_header = start.split_off(body.min(read));
        source.skip(head.start.saturating_sub(read as u64))?;
        Ok(Self {
            path: path.to_owned(),
            source,
            info: head.info,
            numbers: head.numbers,
            after_header,
            block: Vec::new(),
            used: 0,
            used_before: 0,
            raw: Vec::new(),
            body_bytes: 0,
            streamlines: 0,
            short: 0,
            points_at_once,
            is_done: false,
        })
    }

    /// The streamlines without any of them.
    pub fn empty(&self) -> Tractogram {
        let mut empty = Tractogram::empty();
        empty.timestamp = timestamp(&self.info);
        empty
    }

    /// Reads the next triplets; at the end of the file there are none.
    fn fill(&mut self) -> Result<(), Error> {
        let size = 3 * self.numbers.bytes();
        self.block.resize(BLOCK, [0.0; 3]);
        let is_native = self.numbers.is_native();
        let bytes: &mut [u8] = match is_native {
            true => bytemuck::cast_slice_mut(&mut self.block),
            false => {
                self.raw.resize(BLOCK * size, 0);
                &mut self.raw
            }
        };
        let known = self.after_header.len().min(bytes.len());
        bytes[..known].copy_from_slice(&self.after_header[..known]);
        self.after_header.drain(..known);
        let read = known + self.source.read(&mut bytes[known..])?;
        self.body_bytes += read as u64;
        self.block.truncate(read / size);
        if !is_native {
            let numbers = self.numbers;
            let triplets = self.raw.chunks_exact(size);
            for (point, triplet) in self.block.iter_mut().zip(triplets) {
                for (value, bytes) in point.iter_mut().zip(triplet.chunks_exact(size / 3)) {
                    *value = numbers.first(bytes).unwrap_or(f32::NAN);
                }
            }
        }
        self.used_before += self.used as u64;
        self.used = 0;
        Ok(())
    }

    /// Reads the rest after the end mark, or after the last triplet, and completes the remarks.
    fn end(&mut self, is_marked: bool) -> Result<(), Error> {
        self.is_done = true;
        let size = 3 * self.numbers.bytes() as u64;
        let rest = self.after_header.len() as u64 + self.source.finish(u64::MAX)?;
        let all = self.body_bytes + rest;
        self.source.check_expansion(all)?;
        let behind = all - (self.used_before + self.used as u64) * size;
        warn_of_end(
            &mut self.info,
            is_marked.then_some(behind),
            !all.is_multiple_of(size),
        );
        Ok(())
    }

    /// Memory for the points of the next piece, at most for those of the whole file.
    fn points(&self) -> Result<Vec<[f32; 3]>, Error> {
        let size = 3 * self.numbers.bytes() as u64;
        let whole = self.source.known_bytes().map(|bytes| bytes / size);
        let whole = whole.and_then(|points| usize::try_from(points).ok());
        let count = self.points_at_once.min(whole.unwrap_or(BLOCK)) + AT_ONCE;
        claim_points(&self.path, count)?;
        Ok(Vec::with_capacity(count))
    }
}

impl PieceReader for Reader {
    fn next(&mut self, control: &Control) -> Result<Option<Tractogram>, Error> {
        if self.is_done {
            return Ok(None);
        }
        let mut points = self.points()?;
        let mut offsets = vec![0u64];
        while !self.is_done {
            if self.used == self.block.len() {
                control.check()?;
                self.fill()?;
            }
            let Some(point) = self.block.get(self.used).copied() else {
                self.end(false)?;
                break;
            };
            if points.capacity() - points.len() < AT_ONCE {
                let more = points.len().max(AT_ONCE);
                claim_points(&self.path, more)?;
                points.reserve_exact(more);
            }
            if let Some(several) = self.block[self.used..].first_chunk::<AT_ONCE>()
                && all_finite(several)
            {
                points.extend_from_slice(several);
                self.used += AT_ONCE;
                continue;
            }
            self.used += 1;
            match delimiter(&point) {
                Delimiter::Point => points.push(point),
                Delimiter::Streamline => {
                    offsets.push(points.len() as u64);
                    if points.len() + offsets.len() > self.points_at_once {
                        break;
                    }
                }
                Delimiter::All => self.end(true)?,
                Delimiter::Invalid => {
                    let streamline = self.streamlines + offsets.len();
                    let error = invalid_point(&self.path, point, streamline);
                    return Err(self.source.cause(error));
                }
            }
        }
        // The last streamline may lack its mark.
        if offsets.last() != Some(&(points.len() as u64)) {
            offsets.push(points.len() as u64);
        }
        self.streamlines += offsets.len() - 1;
        self.short += offsets.windows(2).filter(|w| w[1] - w[0] < 2).count();
        Ok((offsets.len() > 1).then(|| Tractogram::new(points, offsets)))
    }

    fn info(mut self: Box<Self>) -> FibreInfo {
        let announced = announced(&mut self.info);
        self.info
            .check_counts(self.streamlines, self.short, announced);
        self.info
    }
}
