//! Committed PTX against its sources, and the graphics card's memory, copies and self-test.

mod sha256;

use crate::support::{Random, cuda_test, cuda_test_alone, test};
use arcuate::compute::cuda::{Device, Error};
use arcuate::compute::kernels::{self, KernelFile};
use arcuate::compute::{Backend, DataId};
use libtest_mimic::Trial;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn tests() -> Vec<Trial> {
    vec![
        test("kernels::the_hash_is_sha256", hash_is_right),
        test("kernels::ptx_is_made_of_these_sources", ptx_is_current),
        test("kernels::table_and_files_agree", table_agrees),
        cuda_test("kernels::self_test", self_test),
        cuda_test("kernels::copies_come_back", copies),
        cuda_test_alone("kernels::cached_buffers_are_shared_and_evicted", caching),
        cuda_test("kernels::refusals_are_sentences", refusals),
    ]
}

fn folder() -> PathBuf {
    crate::support::root().join("kernels")
}

/// File names in `folder` with this ending, sorted.
fn names(folder: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(ending))
        .collect();
    names.sort();
    names
}

/// Answers of FIPS 180-4's examples.
fn hash_is_right() {
    let short = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let long = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
    let text = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_eq!(sha256::hex(b"abc"), short);
    assert_eq!(sha256::hex(text), long);
}

/// Same algorithm as `fingerprint` in kernels/make_ptx.py.
fn fingerprint(stem: &str) -> String {
    let folder = folder();
    let mut whole = Vec::new();
    let source = format!("{stem}.cu");
    let headers = names(&folder, ".cuh");
    for name in std::iter::once("options.txt".to_owned())
        .chain(headers)
        .chain([source])
    {
        let text = std::fs::read(folder.join(&name)).unwrap();
        whole.extend(format!("{name} {}\n", text.len()).bytes());
        whole.extend(text);
    }
    sha256::hex(&whole)
}

fn ptx_is_current() {
    for file in kernels::ALL {
        let line = "// SHA-256 of options and sources: ";
        let found = file.ptx.lines().find_map(|l| l.strip_prefix(line));
        assert_eq!(
            found,
            Some(fingerprint(file.stem).as_str()),
            "kernels/{}.cu, a header or options.txt changed: run kernels/make_ptx.py",
            file.stem
        );
    }
}

fn table_agrees() {
    let stems = |list: Vec<String>, ending: &str| -> Vec<String> {
        let stem = |name: String| name.strip_suffix(ending).unwrap().to_owned();
        list.into_iter().map(stem).collect()
    };
    let mut table: Vec<String> = kernels::ALL.iter().map(|f| f.stem.to_owned()).collect();
    table.sort();
    assert_eq!(stems(names(&folder(), ".cu"), ".cu"), table);
    let ptx = names(&folder().join("ptx"), ".sm70.ptx");
    assert_eq!(stems(ptx, ".sm70.ptx"), table);
    for file in kernels::ALL {
        let mut entries: Vec<&str> = file
            .ptx
            .lines()
            .filter_map(|line| line.trim().strip_prefix(".visible .entry "))
            .map(|rest| rest.trim_end_matches('('))
            .collect();
        entries.sort_unstable();
        let mut listed = file.entries.to_vec();
        listed.sort_unstable();
        assert_eq!(entries, listed, "{}", file.stem);
        for entry in listed {
            let verb = entry.strip_prefix(file.stem);
            assert!(
                verb.is_some_and(|verb| verb.starts_with('_')),
                "{entry} is no {}_verb",
                file.stem
            );
        }
    }
}

fn first(backend: &Backend) -> &Device {
    backend.devices().first().expect("at least one card")
}

fn self_test(backend: Backend) {
    let mut random = Random::fresh("kernels self-test");
    for device in backend.devices() {
        let times: Vec<f32> = (0..20)
            .map(|_| device.self_test(random.bits() as u32).unwrap())
            .collect();
        let (free, total) = device.memory().unwrap();
        assert!(free <= total && total == device.total());
        assert!(device.capability() >= (7, 0));
        let best = times.iter().copied().fold(f32::INFINITY, f32::min);
        println!(
            "{device:?}: {}, {}, capability {:?}, {free} of {total} bytes free, launch {best} ms",
            backend.label(),
            backend.reason(),
            device.capability()
        );
        let loading = std::time::Instant::now();
        kernels::ALL.iter().for_each(|f| device.load(*f).unwrap());
        println!(
            "all kernels loaded in {:.2} s",
            loading.elapsed().as_secs_f64()
        );
        // Far above any launch: the clock counts milliseconds and runs forwards.
        assert!(best > 0.0 && best < 1000.0, "{best} ms");
    }
}

/// Sizes on both sides of the staging chunks, whole and in parts, on several threads at once.
fn copies(backend: Backend) {
    let device = first(&backend);
    let mut random = Random::fresh("kernels copies");
    let sizes: Vec<usize> = [0, 1, 1023, 1 << 20, (1 << 20) + 1, 3 << 20, 10_000_019]
        .into_iter()
        .chain((0..3).map(|_| random.bits() as usize % 6_000_000))
        .collect();
    let salt = random.bits() as u32;
    let part = random.uniform(0.0, 1.0);
    sizes.par_iter().for_each(|&n| {
        let values: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(salt | 1)).collect();
        let buffer = device.upload(&values).unwrap();
        assert_eq!(buffer.len(), n);
        assert!(device.download(&buffer, 0..n).unwrap() == values, "{n}");
        let begin = (n as f64 * part) as usize;
        let end = begin + (n - begin) / 2;
        let some = device.download(&buffer, begin..end).unwrap();
        assert!(some == values[begin..end], "{n}: {begin}..{end}");
        let zeros = device.alloc_zeros::<[f32; 3]>(n).unwrap();
        let zeros = device.download(&zeros, 0..n).unwrap();
        assert!(zeros.len() == n && zeros.iter().all(|v| *v == [0.0; 3]));
    });
    let n = 64 << 20;
    let buffer = device.alloc_zeros::<f32>(n).unwrap();
    let rate = |started: std::time::Instant| n as f64 * 4e-9 / started.elapsed().as_secs_f64();
    let started = std::time::Instant::now();
    let mut values = device.download(&buffer, 0..n).unwrap();
    println!("into fresh memory: {:.2} GB/s", rate(started));
    values.fill(1.0);
    let started = std::time::Instant::now();
    device.download_into(&buffer, 0, &mut values).unwrap();
    println!("into used memory: {:.2} GB/s", rate(started));
    assert!(values.iter().all(|v| *v == 0.0));
}

fn caching(backend: Backend) {
    let device = first(&backend);
    let id = DataId::fresh();
    let created = AtomicUsize::new(0);
    let n = 256 << 20;
    let size = n as u64 * 4;
    let before = device.cached_bytes();
    let get = || {
        let values = || {
            created.fetch_add(1, Ordering::Relaxed);
            vec![7.5f32; n]
        };
        device.cached(id, "values", values).unwrap()
    };
    let buffers: Vec<_> = (0..32).into_par_iter().map(|_| get()).collect();
    assert_eq!(created.load(Ordering::Relaxed), 1, "uploads");
    assert!(
        buffers
            .iter()
            .all(|b| std::sync::Arc::ptr_eq(b, &buffers[0]))
    );
    assert_eq!(device.cached_bytes() - before, size);
    // Another form of the same value, and another element type.
    let other = device.cached(id, "other", || [1u32, 2, 3]).unwrap();
    let bytes = device.cached(id, "other", || [9u8]).unwrap();
    assert_eq!(device.download(&other, 0..3).unwrap(), [1, 2, 3]);
    assert_eq!(device.download(&bytes, 0..1).unwrap(), [9]);
    // More than available: data in use stay, the rest is dropped.
    drop((other, bytes));
    assert!(
        device
            .needs(device.total(), "too much", "ask for less")
            .is_err()
    );
    assert_eq!(device.cached_bytes(), size);
    assert_eq!(device.download(&buffers[0], n - 1..n).unwrap(), [7.5]);
    let (free_before, _) = device.memory().unwrap();
    drop(buffers);
    assert!(
        device
            .needs(device.total(), "too much", "ask for less")
            .is_err()
    );
    assert_eq!(device.cached_bytes(), 0);
    let (free, _) = device.memory().unwrap();
    // Half of it, since other tests allocate meanwhile, at most a fraction of this.
    assert!(
        free > free_before + size / 2,
        "{free_before} to {free} free"
    );
    get();
    assert_eq!(created.load(Ordering::Relaxed), 2, "uploads");
}

fn refusals(backend: Backend) {
    let device = first(&backend);
    let sentence = |error: Error| {
        let text = error.to_string();
        assert!(
            text.contains("--backend cpu") && !text.contains('\n'),
            "{text}"
        );
        println!("{text}");
        text
    };
    let unknown = device
        .kernel(kernels::PROBE, "probe_nothing")
        .err()
        .unwrap();
    assert!(sentence(unknown).contains("kernels of probe"));
    let broken = KernelFile {
        stem: "broken",
        ptx: "no PTX",
        entries: &[],
    };
    let broken = device.kernel(broken, "any").err().unwrap();
    assert!(matches!(broken, Error::Module { .. }), "{broken:?}");
    sentence(broken);
    let large = device.needs(
        device.total() * 2,
        "tracing 300000 rays",
        "ask for fewer rays",
    );
    let large = sentence(large.unwrap_err());
    assert!(large.starts_with("Tracing 300000 rays needs "));
    assert!(large.contains("; ask for fewer rays, close"));
    let n = device.total() as usize;
    let large = device.alloc_zeros::<f32>(n).err().unwrap();
    assert!(matches!(large, Error::OutOfMemory { .. }), "{large:?}");
    sentence(large);
    device.needs(1 << 20, "little", "ask for less").unwrap();
    // None of this has harmed the card.
    device.self_test(1).unwrap();
}
