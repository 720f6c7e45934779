//! Memory of streamlines that stay in their file: none for those without points, and pictures for which there is little.

use super::{arcs, limits, open};
use crate::support::{Random, test};
use arcuate::compute::{Control, memory};
use arcuate::data::Tractogram;
use arcuate::io::pieces::Sample;
use arcuate::io::{Reading, streamlines};
use libtest_mimic::Trial;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "io::in_place::streamlines without points take no memory",
            without_points,
        ),
        test(
            "io::in_place::a picture for which there is little memory",
            little_memory,
        ),
    ]
}

/// The pages of some numbers that are in memory, and all of them; `None` where the system does not report them.
fn pages(numbers: &[u64]) -> Option<[usize; 2]> {
    const PAGE: usize = 4096;
    const PRESENT: u64 = 1 << 63;
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        return None;
    }
    let start = numbers.as_ptr().addr();
    let first = start.div_ceil(PAGE);
    let count = (start + size_of_val(numbers)) / PAGE - first;
    let mut map = File::open("/proc/self/pagemap").ok()?;
    map.seek(SeekFrom::Start(8 * first as u64)).ok()?;
    let mut entries = vec![[0; 8]; count];
    map.read_exact(entries.as_flattened_mut()).ok()?;
    let present = entries.into_iter().map(u64::from_le_bytes);
    let present = present.filter(|entry| entry & PRESENT != 0);
    Some([present.count(), count])
}

/// Their offsets are zeros that nothing writes.
fn without_points() {
    // More than the 64 MB that the C library keeps for a thread, which it would have to clear.
    const COUNT: usize = 8_500_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.trx/");
    // The last streamline has the only point.
    let mut offsets = vec![0; COUNT + 1];
    offsets[COUNT] = 1;
    let lines = Tractogram::new(vec![[1.0; 3]], offsets);
    streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
    let file = open(&path, &Reading::default()).unwrap().unwrap();
    let empty = file.without_points();
    assert_eq!((empty.len(), empty.points.len()), (COUNT, 0));
    if let Some([present, all]) = pages(&empty.offsets) {
        // A system with huge pages adds some at either end.
        assert!(present < all / 2, "{present} of {all} pages");
    }
    let valued = file.with_values("weight", vec![1.0; COUNT].into());
    assert!(valued.without_points().same_lines(file.without_points()));
    assert!(empty.streamline(COUNT - 1).is_empty());
}

/// The picture stays as it is when the next level does not fit: the file was opened, so there is nothing to report.
fn little_memory() {
    let mut random = Random::fresh("little memory");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trx");
    let lines = arcs(30_011, 23, &mut random);
    streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
    let file = open(&path, &Reading::default()).unwrap().unwrap();
    let (control, limits) = (Control::new(), limits(4_000_000, 1e-9));
    let mut first: Option<Sample> = None;
    let whole = file.sample(&limits, None, &control, |sample| {
        first.get_or_insert_with(|| sample.clone());
    });
    assert!(whole.unwrap().is_complete);
    let first = first.expect("the picture grows");
    // Other tests draw streamlines at the same time, in pictures of other sizes.
    let refused = (36 * 2 * first.tractogram.points.len()) as u64;
    let _watch = memory::watch(Arc::new(move |what, bytes| {
        what != "Drawing the streamlines" || bytes != refused
    }));
    let sample = file.sample(&limits, None, &control, |_| {});
    let sample = sample.expect("a picture of the streamlines that fit");
    assert_eq!(sample.numbers, first.numbers);
    assert!(!sample.is_complete);
}
