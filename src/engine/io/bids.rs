//! BIDS folders ("Brain Imaging Data Structure", Gorgolewski et al. 2016, Sci Data 3:160044), understood by their
//! file names alone. No file is opened.

use super::format::{Content, Format};
use super::{Error, extension, fixels, names_in};
use crate::data::keyed;
use crate::data::text::file_name;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Depth of nested folders: `derivatives/PIPELINE/sub-01/ses-1/dwi` and one more.
const DEEPEST: usize = 6;
/// Largest number of entries examined; a larger collection is opened subject by subject.
const MAX_ENTRIES: usize = 50_000;

/// Kind of file, by its suffix and folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Diffusion-weighted image.
    Scan,
    /// T1-weighted image.
    T1,
    /// Brain mask.
    Mask,
    /// Segmentation with a label per voxel.
    Labels,
    /// Tractogram.
    Streamlines,
}

keyed!(Kind {
    Scan = "diffusion_scan",
    T1 = "t1",
    Mask = "mask",
    Labels = "label_map",
    Streamlines = "streamlines",
});

impl Kind {
    /// All kinds in the order of display.
    pub const ALL: [Self; 5] = [
        Self::Scan,
        Self::T1,
        Self::Mask,
        Self::Labels,
        Self::Streamlines,
    ];

    /// Name in sentences and menus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scan => "diffusion scan",
            Self::T1 => "T1",
            Self::Mask => "mask",
            Self::Labels => "label map",
            Self::Streamlines => "streamlines",
        }
    }
}

/// A file with the information from its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BidsFile {
    /// Kind by the file name.
    pub kind: Kind,
    /// Path, below that of the folder.
    pub path: PathBuf,
    /// `sub-01`, or empty.
    pub subject: String,
    /// `ses-1`, or empty.
    pub session: String,
    /// The bval and bvec of a scan, next to it or inherited; empty if there are none.
    pub gradients: Vec<PathBuf>,
    /// Whether a pipeline made it.
    pub derived: bool,
}

/// One session of a subject, or a subject without sessions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Visit {
    /// `sub-01`, or empty.
    pub subject: String,
    /// `ses-1`, or empty.
    pub session: String,
}

impl Visit {
    /// `sub-01 ses-1`.
    pub fn name(&self) -> String {
        let both = format!("{} {}", self.subject, self.session);
        both.trim().to_owned()
    }
}

/// A BIDS folder and its files that can be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder {
    /// Root of the collection, or the folder that was opened.
    pub path: PathBuf,
    /// In the order of their names.
    pub subjects: Vec<String>,
    /// By subject, then kind, then name; raw data before derived.
    pub files: Vec<BidsFile>,
    /// Whether there were more entries than are examined.
    pub cut: bool,
    /// Subfolders that could not be read.
    pub unreadable: Vec<PathBuf>,
}

/// Whether a folder is a BIDS data set, one of its subjects or sessions, the files of one kind, or the results of
/// pipelines.
pub fn is_folder(path: &Path) -> bool {
    let starts = |p: &Path, start: &str| {
        let name = file_name(p);
        name.starts_with(start)
    };
    let is_set = |p: &Path| p.join("dataset_description.json").is_file();
    let is_subject = |p: &Path| (starts(p, "sub-") || starts(p, "ses-")) && p.is_dir();
    let of_subject = |p: &Path| is_subject(p) || starts(p, "sub-") && p.is_file();
    let holds = |folder: &Path, what: &dyn Fn(&Path) -> bool| {
        names_in(folder).is_ok_and(|names| names.iter().any(|p| what(p)))
    };
    path.is_dir()
        && (is_set(path)
            || is_subject(path)
            || holds(path, &of_subject)
            || starts(path, "derivatives")
                && holds(path, &|p| is_set(p) || p.is_dir() && holds(p, &is_subject)))
}

/// The colour table that a label map in a data set inherits: the nearest file above it whose name ends in `_dseg.tsv`
/// and has no entity that the map lacks.
pub fn inherited_table(map: &Path) -> Option<PathBuf> {
    let name = map.file_name()?.to_string_lossy();
    let stem = name.strip_suffix(&format!(".{}", extension(map)))?;
    let entities: Vec<&str> = stem.split('_').collect();
    if !entities.contains(&"dseg") {
        return None;
    }
    let belongs = |file: &PathBuf| {
        let name = file_name(file);
        let own = name.strip_suffix(".tsv");
        own.is_some_and(|own| {
            own.ends_with("dseg") && own.split('_').all(|e| entities.contains(&e))
        })
    };
    for folder in map.ancestors().skip(1).take(DEEPEST) {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let names = names_in(folder).unwrap_or_default().into_iter();
        // The file with the longest name is the most specific.
        let table = names.filter(belongs).max_by_key(|p| p.as_os_str().len());
        if table.is_some() || folder.join("dataset_description.json").is_file() {
            return table;
        }
    }
    None
}

/// The bval and bvec that a scan in a data set inherits from above it; `None` without either.
pub fn inherited_gradients(scan: &Path) -> Option<[PathBuf; 2]> {
    let name = scan.file_name()?.to_string_lossy();
    let stem = name.strip_suffix(&format!(".{}", extension(scan)))?;
    let mut files = Vec::new();
    for folder in scan.ancestors().skip(1).take(DEEPEST) {
        files.extend(names_in(folder).unwrap_or_default());
        if folder.join("dataset_description.json").is_file() {
            break;
        }
    }
    let [bval, bvec] = ["bval", "bvec"].map(|ending| inherited(scan, stem, ending, &files));
    Some([bval?, bvec?])
}

/// Why a folder outside any data set is not opened: what it seems to contain.
pub fn refusal(path: &Path) -> Error {
    /// A series has hundreds of files and lies among a few others.
    const EXAMINED_FILES: usize = 24;
    const DEEP: usize = 3;
    let mut left = EXAMINED_FILES;
    // Nothing can be said about a folder that cannot be listed.
    if let Err(why) = names_in(path) {
        return why;
    }
    if fixels::is_folder(path) {
        return Error::unsupported(
            path,
            "a folder of MRtrix's fixels",
            "write its peaks as an image with arcuate convert --peaks, then open that",
        );
    }
    match has_dicom(path, DEEP, &mut left) {
        true => Error::Dicom {
            path: path.to_owned(),
        },
        false => Error::PlainFolder {
            path: path.to_owned(),
        },
    }
}

/// Whether one of the first few files is a DICOM file, including nested folders.
fn has_dicom(folder: &Path, deep: usize, left: &mut usize) -> bool {
    let names = names_in(folder).unwrap_or_default();
    let (folders, files): (Vec<_>, Vec<_>) = names.into_iter().partition(|p| p.is_dir());
    for file in files {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if is_dicom(&file) {
            return true;
        }
    }
    deep > 0
        && folders
            .iter()
            .take(LOOKED_AT_FOLDERS)
            .any(|f| has_dicom(f, deep - 1, left))
}

/// Number of nested folders examined.
const LOOKED_AT_FOLDERS: usize = 4;

/// Whether a file is DICOM, by its name or by the letters after its preamble (PS3.10, 7.1).
fn is_dicom(path: &Path) -> bool {
    let name = file_name(path);
    if extension(path) == "dcm" || name.eq_ignore_ascii_case("DICOMDIR") {
        return true;
    }
    // Opening a pipe would wait for its other end.
    let mut start = [0; 132];
    path.is_file()
        && super::disk::File::open(path).is_ok_and(|mut f| f.read_exact(&mut start).is_ok())
        && start.ends_with(b"DICM")
}

/// Finds the files of a folder.
pub fn find(path: &Path) -> Result<Folder, Error> {
    let mut files = Vec::new();
    let mut unreadable = Vec::new();
    let mut left = MAX_ENTRIES;
    let names = names_in(path)?;
    walk_folder(names, DEEPEST, &mut left, &mut files, &mut unreadable);
    let mut scans: Vec<BidsFile> = files.iter().filter_map(|f| classify(f, &files)).collect();
    scans.sort_by(|a, b| {
        let key = |f: &BidsFile| {
            let visit = (f.subject.clone(), f.session.clone());
            (visit, f.kind, f.derived, f.path.clone())
        };
        key(a).cmp(&key(b))
    });
    let mut subjects: Vec<String> = scans.iter().map(|f| f.subject.clone()).collect();
    subjects.retain(|s| !s.is_empty());
    subjects.dedup();
    // The scan may be in a folder that cannot be listed.
    if scans.is_empty()
        && let Some(why) = unreadable.first().and_then(|f| names_in(f).err())
    {
        return Err(why);
    }
    if scans.is_empty() {
        return Err(Error::unsupported(
            path,
            "a folder without any file named as a diffusion scan, T1, mask or streamlines",
            "choose the folder of a BIDS data set, or the files themselves",
        ));
    }
    Ok(Folder {
        path: path.to_owned(),
        subjects,
        files: scans,
        cut: left == 0,
        unreadable,
    })
}

impl Folder {
    /// The visits of all subjects, in the order of their names. Files outside any session belong to all sessions of
    /// their subject.
    pub fn visits(&self) -> Vec<Visit> {
        let visit = |f: &BidsFile| Visit {
            subject: f.subject.clone(),
            session: f.session.clone(),
        };
        let mut all: Vec<Visit> = self.files.iter().map(visit).collect();
        all.sort();
        all.dedup();
        // A mean over all subjects is not a subject, and files of a subject are not another session.
        let somebody = all.iter().any(|v| !v.subject.is_empty());
        let sessions: Vec<String> = all
            .iter()
            .filter(|v| !v.session.is_empty())
            .map(|v| v.subject.clone())
            .collect();
        all.retain(|v| {
            let of_all = v.session.is_empty() && sessions.contains(&v.subject);
            let of_nobody = somebody && v.subject.is_empty();
            !(of_all || of_nobody)
        });
        all
    }

    /// All files that belong to a visit.
    pub fn files_of<'a>(&'a self, visit: &'a Visit) -> impl Iterator<Item = &'a BidsFile> {
        self.files.iter().filter(move |f| {
            f.subject == visit.subject && (f.session == visit.session || f.session.is_empty())
        })
    }

    /// The files of a visit to open first: the first scan, T1, brain mask and streamlines.
    pub fn chosen<'a>(&'a self, visit: &'a Visit) -> Vec<&'a BidsFile> {
        let files_with = |kind: Kind| {
            let mut all: Vec<&BidsFile> = self.files_of(visit).filter(|f| f.kind == kind).collect();
            // Files of the session precede files of all sessions.
            all.sort_by_key(|f| f.session.is_empty());
            all.into_iter()
        };
        // A mask of the diffusion scan is preferred to one of the T1.
        let mask = || {
            let brain = |f: &&BidsFile| {
                let path = f.path.to_string_lossy();
                path.contains("brain") && path.contains("dwi")
            };
            files_with(Kind::Mask)
                .find(brain)
                .or_else(|| files_with(Kind::Mask).next())
        };
        [
            files_with(Kind::Scan).next(),
            files_with(Kind::T1).next(),
            mask(),
            files_with(Kind::Streamlines).next(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn walk_folder(
    names: Vec<PathBuf>,
    depth: usize,
    left: &mut usize,
    files: &mut Vec<PathBuf>,
    unreadable: &mut Vec<PathBuf>,
) {
    for path in names {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let name = file_name(&path);
        if name.starts_with('.') || name == "sourcedata" {
            continue;
        }
        if path.is_file() || Format::named(&path).is_some_and(|f| f == Format::Trx) {
            files.push(path);
        } else if depth > 1 && path.is_dir() {
            match names_in(&path) {
                Ok(names) => walk_folder(names, depth - 1, left, files, unreadable),
                // The rest of the data set is usable without it.
                Err(_) => unreadable.push(path),
            }
        }
    }
}

fn classify(path: &Path, files: &[PathBuf]) -> Option<BidsFile> {
    let format = Format::named(path)?;
    let name = path.file_name()?.to_string_lossy();
    let stem = name.strip_suffix(&format!(".{}", extension(path)))?;
    let suffix = stem.rsplit('_').next()?;
    let kind = match (format.content(), suffix) {
        (Content::Streamlines, _) => Kind::Streamlines,
        (Content::Image, "dwi") => Kind::Scan,
        (Content::Image, "T1w") => Kind::T1,
        (Content::Image, "mask") => Kind::Mask,
        (Content::Image, "dseg") => Kind::Labels,
        _ => return None,
    };
    let parts = || path.components().map(|c| c.as_os_str().to_string_lossy());
    let subject = stem.split('_').find(|e| e.starts_with("sub-"));
    let subject = subject.map(str::to_owned);
    let subject = subject.or_else(|| parts().find(|p| p.starts_with("sub-")).map(Into::into));
    let session = stem.split('_').find(|e| e.starts_with("ses-"));
    let session = session.map(str::to_owned);
    let session = session.or_else(|| parts().find(|p| p.starts_with("ses-")).map(Into::into));
    let gradients = match kind {
        Kind::Scan => ["bval", "bvec"]
            .map(|ending| inherited(path, stem, ending, files))
            .into_iter()
            .flatten()
            .collect(),
        _ => Vec::new(),
    };
    Some(BidsFile {
        kind,
        path: path.to_owned(),
        subject: subject.unwrap_or_default(),
        session: session.unwrap_or_default(),
        // A single file is not a complete table.
        gradients: if gradients.len() == 2 {
            gradients
        } else {
            Vec::new()
        },
        derived: parts().any(|p| p == "derivatives"),
    })
}

/// The file with an ending that belongs to a scan: all its entities are entities of the scan, and of several such
/// files the one in the nearest folder above applies (the inheritance principle).
fn inherited(scan: &Path, stem: &str, ending: &str, files: &[PathBuf]) -> Option<PathBuf> {
    let entities: Vec<&str> = stem.split('_').collect();
    let belongs = |file: &&PathBuf| {
        let name = file_name(file);
        let above = file.parent().is_some_and(|folder| scan.starts_with(folder));
        let own = name.strip_suffix(&format!(".{ending}"));
        above && own.is_some_and(|own| own.split('_').all(|e| entities.contains(&e)))
    };
    let near = |file: &&PathBuf| (file.components().count(), file.as_os_str().len());
    files.iter().filter(belongs).max_by_key(near).cloned()
}
