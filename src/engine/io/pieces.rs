//! Streamline files in pieces: files larger than the memory are read in passes, each from the first streamline to the
//! last, and written while they are read.
//!
//! TCK, TRK and TRX are read piece by piece; the next piece is read while the caller works on one. A TCK with values in
//! files beside it, and files of other formats, are read as a whole, as one piece. What a command computes does not
//! depend on the size of the pieces.
//!
//! Memory: two pieces, whose size follows from the free memory; of a TRX also the offsets and the groups, and members
//! that are compressed.
//!
//! # Example
//!
//! The number of points, without all of them in memory:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::data::Tractogram;
//! use arcuate_engine::io::pieces::{Piece, Pieces};
//! use arcuate_engine::io::{Error, Reading, streamlines};
//!
//! let control = Control::new();
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("lines.tck");
//! let lines = Tractogram::new(vec![[0.0; 3], [1.0, 2.0, 3.0], [4.0; 3]], vec![0, 2, 3]);
//! streamlines::save(&path, &lines, "an example", &control)?;
//! let pieces = Pieces::open(&path, &Reading::default(), &control)?.with_points_at_once(1);
//! let (mut pieces_read, mut points) = (0, 0);
//! pieces.pass(&control, |piece: Piece| -> Result<(), Error> {
//!     pieces_read += 1;
//!     points += piece.tractogram.points.len();
//!     Ok(())
//! })?;
//! assert_eq!((pieces_read, points), (2, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod copies;
mod in_place;
mod outline;
mod spool;

pub use copies::Copies;
pub use in_place::{InPlace, Sample, SampleLimits, ViewPart};
pub use outline::{Contents, Outline, Take};
pub(super) use spool::Spool;

use super::format::{Content, Format};
use super::warp::{OpenedWarp, PushCounts};
use super::{
    Error, FibreInfo, Reading, affine, detect, disk, in_world, leaves_no_volume, misnamed, scalars,
    streamlines, tck, trk, trx, warp,
};
use crate::compute::{Control, memory};
use crate::data::{Shared, Tractogram};
use glam::DAffine3;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// Points of a piece for each thread; also the least number of points of a piece, unless the memory is short.
const POINTS_PER_THREAD: usize = 1 << 17;
/// Largest number of points of a piece.
const MOST_POINTS: usize = 1 << 24;
/// Pieces of this number fit into the free memory: two that are read, and what becomes of them.
const PIECES_IN_MEMORY: u64 = 8;

/// Some consecutive streamlines of a file.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Number of the first streamline, from 0.
    pub first: usize,
    /// The streamlines with their values, without groups.
    pub tractogram: Tractogram,
}

/// Reads the streamlines of one format in their order.
pub(super) trait PieceReader: Send {
    /// The next streamlines; `None` after the last one.
    fn next(&mut self, control: &Control) -> Result<Option<Tractogram>, Error>;

    /// Remarks about the file, after the last streamline.
    fn info(self: Box<Self>) -> FibreInfo;
}

/// A streamline file that is read in passes.
#[derive(Clone, Debug)]
pub struct Pieces {
    path: PathBuf,
    format: Format,
    layout: Layout,
    affine: Option<DAffine3>,
    warp: Option<Arc<OpenedWarp>>,
    points_at_once: usize,
    empty: Tractogram,
    /// Further values of each streamline, which are not in the file, by their names.
    added: BTreeMap<String, Shared<f32>>,
    /// Length of the file, and the moment of its last change, when it was opened.
    state: Option<(u64, SystemTime)>,
    /// Numbers of streamlines and points in the first pass.
    counts: OnceLock<(usize, usize)>,
}

/// Contents of a file that are known before its streamlines are read.
#[derive(Clone, Debug)]
enum Layout {
    Tck,
    Trk,
    Trx(Arc<trx::Layout>),
    Whole(Box<(Tractogram, FibreInfo)>),
}

/// A file that was read as a whole.
struct WholeReader(Option<Tractogram>, FibreInfo);

impl PieceReader for WholeReader {
    fn next(&mut self, _: &Control) -> Result<Option<Tractogram>, Error> {
        Ok(self.0.take())
    }

    fn info(self: Box<Self>) -> FibreInfo {
        self.1
    }
}

impl Pieces {
    /// Whether the name or the first bytes of a path say that it holds streamlines.
    pub fn can_open(path: &Path) -> bool {
        let is_other_folder = path.is_dir() && !trx::is_folder(path);
        let streamlines = |format: Format| format.content() == Content::Streamlines;
        !is_other_folder && detect(path).is_ok_and(streamlines)
    }

    /// Reads what precedes the streamlines. The user's statements about the file apply as in
    /// [`super::open_with_reading`].
    pub fn open(path: &Path, reported: &Reading, control: &Control) -> Result<Self, Error> {
        let format = detect(path)?;
        if format.content() != Content::Streamlines {
            return Err(Error::unsupported(
                path,
                "a file without streamlines",
                format!("name one that ends in {}", Format::streamline_endings()),
            ));
        }
        let explained = |e| misnamed(path, format, e);
        let layout = layout(path, format, reported, control).map_err(explained)?;
        let mut pieces = Self {
            path: path.to_owned(),
            format,
            layout,
            affine: None,
            warp: None,
            points_at_once: POINTS_PER_THREAD,
            empty: Tractogram::empty(),
            added: BTreeMap::new(),
            state: state(path),
            counts: OnceLock::new(),
        };
        pieces.empty = pieces.read_empty(control).map_err(explained)?;
        if let Some(reading) = &reported.affine {
            let by = in_world(reading, pieces.empty.grid.as_deref(), control)?;
            if !affine::is_invertible(by) {
                return Err(leaves_no_volume(path));
            }
            pieces.affine = Some(by);
            pieces.empty = pieces.empty.moved(by);
        }
        if let Some(reading) = &reported.warp {
            warp::check_alone(path, reported)?;
            let own = pieces.empty.grid.clone();
            let opened = warp::open(reading, own.as_deref(), control)?;
            pieces.empty.grid.clone_from(&opened.fixed);
            pieces.empty.timestamp = None;
            pieces.warp = Some(Arc::new(opened));
        }
        pieces.points_at_once = points_at_once(pieces.empty.per_point.len());
        Ok(pieces)
    }

    /// Reads pieces that end with the first streamline with which they have this many points.
    pub fn with_points_at_once(self, points_at_once: usize) -> Self {
        Self {
            points_at_once,
            ..self
        }
    }

    /// Gives each streamline a further value. Every piece has those of its streamlines; they replace values of the file
    /// with the same name.
    pub fn with_values(&self, name: &str, values: Shared<f32>) -> Self {
        let mut more = self.clone();
        let names = &mut more.empty.per_streamline;
        names.insert(name.to_owned(), Shared::default());
        more.added.insert(name.to_owned(), values);
        more
    }

    /// Values of each streamline that were added to those of the file, by their names.
    pub fn all_added(&self) -> &BTreeMap<String, Shared<f32>> {
        &self.added
    }

    /// Values of each streamline that were added to those of the file.
    pub fn added(&self, name: &str) -> Option<&Shared<f32>> {
        self.added.get(name)
    }

    /// The piece that begins with the streamline number `first`, with the added values.
    fn with_added(&self, first: usize, piece: Tractogram) -> Result<Tractogram, Error> {
        let range = first..first + piece.len();
        self.added.iter().try_fold(piece, |piece, (name, values)| {
            let own = self.part_of(values, range.clone())?;
            Ok(piece.with_per_streamline(name, own.to_vec()))
        })
    }

    /// The values or marks of the streamlines with these numbers. Returns an error if the file now has more streamlines
    /// than there are values.
    pub fn part_of<'a, T>(&self, values: &'a [T], range: Range<usize>) -> Result<&'a [T], Error> {
        values.get(range).ok_or_else(|| self.changed())
    }

    /// Whether the file is read piece by piece, not as a whole.
    pub fn is_by_piece(&self) -> bool {
        !matches!(self.layout, Layout::Whole(_))
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The streamlines without any of them: names of values, meanings of codes, names of groups, grid.
    pub fn empty(&self) -> &Tractogram {
        &self.empty
    }

    /// Members of the groups, by the numbers of the streamlines.
    pub fn groups(&self) -> BTreeMap<String, Arc<[u32]>> {
        match &self.layout {
            Layout::Tck | Layout::Trk => BTreeMap::new(),
            Layout::Trx(layout) => layout.groups(),
            Layout::Whole(whole) => whole.0.groups.clone(),
        }
    }

    fn read_empty(&self, control: &Control) -> Result<Tractogram, Error> {
        let silent = control.silent();
        Ok(match &self.layout {
            Layout::Tck => tck::Reader::open(&self.path, 1, &silent)?.empty(),
            Layout::Trk => trk::Reader::open(&self.path, 1, &silent)?.empty(),
            Layout::Trx(layout) => layout.empty(),
            Layout::Whole(whole) => without_streamlines(&whole.0),
        })
    }

    fn reader(&self, control: &Control) -> Result<Box<dyn PieceReader>, Error> {
        let (path, points) = (&*self.path, self.points_at_once);
        Ok(match &self.layout {
            Layout::Tck => Box::new(tck::Reader::open(path, points, control)?),
            Layout::Trk => Box::new(trk::Reader::open(path, points, control)?),
            Layout::Trx(layout) => Box::new(trx::Reader::open(path, layout, points, control)),
            Layout::Whole(whole) => {
                let (mut tractogram, info) = (**whole).clone();
                tractogram.groups.clear();
                Box::new(WholeReader(Some(tractogram), info))
            }
        })
    }

    /// Returns an error if another program changed the file between two passes, or during one.
    fn check_unchanged(&self, counts: (usize, usize)) -> Result<(), Error> {
        let is_same = state(&self.path) == self.state || !self.is_by_piece();
        if *self.counts.get_or_init(|| counts) == counts && is_same {
            return Ok(());
        }
        Err(self.changed())
    }

    /// The error for a file that another program changed between two passes, or during one.
    pub fn changed(&self) -> Error {
        Error::malformed(
            &self.path,
            "a file that changed while it was read",
            ("a file that no program is writing", "try again"),
        )
    }

    /// Passes all streamlines to `take`, piece by piece in their order. The next piece is read meanwhile. Returns the
    /// remarks about the file, as [`super::open_with_reading`] does.
    pub fn pass<E: From<Error> + Send>(
        &self,
        control: &Control,
        mut take: impl FnMut(Piece) -> Result<(), E> + Send,
    ) -> Result<FibreInfo, E> {
        let explained = |e| misnamed(&self.path, self.format, e);
        let mut reader = self.reader(control).map_err(explained)?;
        let mut counts = PushCounts::default();
        let mut next = || {
            control.check().map_err(Error::from)?;
            let next = reader.next(control).map_err(explained)?;
            match (next, self.affine, &self.warp) {
                (Some(tractogram), _, Some(warp)) => {
                    warp::push(&self.path, &tractogram, warp, &mut counts, control).map(Some)
                }
                (Some(tractogram), Some(by), None) => Ok(Some(tractogram.moved(by))),
                (next, ..) => Ok(next),
            }
        };
        let (mut first, mut points) = (0, 0);
        let mut piece = next()?;
        while let Some(tractogram) = piece {
            let count = tractogram.len();
            points += tractogram.points.len();
            let tractogram = self.with_added(first, tractogram)?;
            let (following, taken) = rayon::join(&mut next, || take(Piece { first, tractogram }));
            taken?;
            piece = following?;
            first += count;
        }
        self.check_unchanged((first, points))?;
        let mut info = reader.info();
        if let Some(by) = self.affine {
            info.warnings.extend(affine::mirror_warning(by));
        }
        if let Some(warp) = &self.warp {
            counts.check(&self.path)?;
            warp::remark(warp, &counts, &mut info);
        }
        Ok(info)
    }
}

/// Length of a file, and the moment of its last change, if the system reports them.
pub(super) fn state(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = disk::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

fn layout(
    path: &Path,
    format: Format,
    reported: &Reading,
    control: &Control,
) -> Result<Layout, Error> {
    Ok(match format {
        Format::Tck if !scalars::has_companion_values(path) => Layout::Tck,
        Format::Trk => Layout::Trk,
        Format::Trx => Layout::Trx(Arc::new(trx::Layout::read(path, control)?)),
        _ => Layout::Whole(Box::new(streamlines::read(
            format, path, reported, control,
        )?)),
    })
}

/// The names of values and groups, meanings of codes and the grid of streamlines, without any streamline.
fn without_streamlines(tractogram: &Tractogram) -> Tractogram {
    let names = |values: &BTreeMap<String, Shared<f32>>| {
        let names = values.keys().map(|name| (name.clone(), Shared::default()));
        names.collect()
    };
    let groups = tractogram.groups.keys();
    let mut empty = Tractogram::empty();
    empty.per_point = names(&tractogram.per_point);
    empty.per_streamline = names(&tractogram.per_streamline);
    empty.groups = groups.map(|name| (name.clone(), Arc::default())).collect();
    empty.codes = tractogram.codes.clone();
    empty.per_group = tractogram.per_group.clone();
    empty.grid = tractogram.grid.clone();
    empty.timestamp = tractogram.timestamp.clone();
    empty
}

/// Points of a piece with this many values for each point.
fn points_at_once(values: usize) -> usize {
    let by_threads = (rayon::current_num_threads() * POINTS_PER_THREAD).min(MOST_POINTS);
    let each = (size_of::<[f32; 3]>() + size_of::<f32>() * values) as u64;
    let fitting = memory::available_bytes().map(|free| free / (PIECES_IN_MEMORY * each));
    let fitting = fitting.and_then(|points| usize::try_from(points).ok());
    by_threads.min(fitting.unwrap_or(usize::MAX)).max(1)
}

/// Checks that there is memory for this many points.
pub(super) fn claim_points(path: &Path, points: usize) -> Result<(), Error> {
    let claimed = memory::claim_for::<[f32; 3]>(super::source::READING, points, 1);
    claimed.map_err(|e| Error::memory(path, e))
}

/// Whether all coordinates are finite. A number times zero is zero unless it is not finite: this tests many at a time.
pub(super) fn all_finite(points: &[[f32; 3]]) -> bool {
    let (lanes, rest) = points.as_flattened().as_chunks::<16>();
    let mut sums = [0f32; 16];
    for lane in lanes {
        for (sum, v) in sums.iter_mut().zip(lane) {
            *sum += v * 0.0;
        }
    }
    sums.iter().chain(rest).all(|v| v.is_finite())
}
