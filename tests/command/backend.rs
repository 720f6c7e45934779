//! The choice of a backend, its texts, and the accounting of a card's cached memory.

#[cfg(target_os = "linux")]
mod refused;

use crate::support::{Random, test};
use arcuate::compute::cuda::{CardUsage, Error, gigabytes, least_used};
use arcuate::compute::lru::Lru;
use arcuate::compute::{Backend, BackendChoice, BackendKind, DeviceChoice};
use arcuate::jobs::sentence;
use libtest_mimic::Trial;
use std::process::{Command, Output};

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("backend::names_are_read_and_printed", names),
        test("backend::the_cpu_is_always_available", cpu),
        test("backend::automatic_choice_never_fails", automatic),
        test("backend::a_missing_card_is_refused", no_card),
        test("backend::variable_and_option", variable),
        #[cfg(target_os = "linux")]
        test("backend::a_library_that_is_no_driver", no_driver),
        test("backend::errors_are_sentences", sentences),
        test("backend::sizes_have_units", sizes),
        test("backend::the_least_used_card", least_used_card),
        test("backend::least_recently_used_goes_first", eviction),
    ];
    #[cfg(target_os = "linux")]
    return own.into_iter().chain(refused::tests()).collect();
    #[cfg(not(target_os = "linux"))]
    own
}

fn names() {
    let mut random = Random::fresh("backend names");
    let number = random.bits() as usize % 1000;
    for (text, kind) in [
        ("auto".to_owned(), BackendKind::Auto),
        ("cpu".to_owned(), BackendKind::Cpu),
        ("cuda".to_owned(), BackendKind::Cuda(DeviceChoice::First)),
        ("cuda:all".to_owned(), BackendKind::Cuda(DeviceChoice::All)),
        (
            "cuda:auto".to_owned(),
            BackendKind::Cuda(DeviceChoice::LeastUsed),
        ),
        (
            format!("cuda:{number}"),
            BackendKind::Cuda(DeviceChoice::Number(number)),
        ),
    ] {
        assert_eq!(text.parse(), Ok(kind));
        assert_eq!(kind.to_string(), text);
    }
    let absurd = "cuda:99999999999999999999999";
    for text in [
        "", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:+1", "cuda:1:2", "cpu:0", " cpu", absurd,
    ] {
        let error = text.parse::<BackendKind>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("“{text}” ")), "{error}");
        assert!(error.contains("cuda:NUMBER") && !error.contains('\n'));
    }
    assert_eq!(BackendChoice::default().kind, BackendKind::Auto);
}

fn cpu() {
    let backend = Backend::choose(&BackendChoice::cpu(Some(3))).unwrap();
    assert_eq!((backend.name(), backend.threads()), ("cpu", 3));
    assert_eq!(backend.install(rayon::current_num_threads), 3);
    assert!(backend.devices().is_empty());
    assert!(backend.label().starts_with("CPU 3 threads · "));
    assert_eq!(backend.reason(), "CPU: chosen by hand");
}

fn automatic() {
    let choice = BackendChoice {
        kind: BackendKind::Auto,
        threads: Some(2),
    };
    let backend = Backend::choose(&choice).unwrap();
    assert_eq!(backend.install(rayon::current_num_threads), 2);
    let reason = backend.reason();
    println!("{} ({reason})", backend.label());
    let requested = BackendChoice {
        kind: BackendKind::Cuda(DeviceChoice::First),
        ..choice
    };
    let found = Backend::choose(&requested);
    if backend.name() == "cuda" {
        assert!(reason.starts_with("CUDA: ") && !backend.devices().is_empty());
        assert!(found.is_ok(), "{found:?}");
        assert_eq!((backend.cpu().name(), backend.cpu().threads()), ("cpu", 2));
    } else {
        // The error has the text of the reason, with advice.
        let error = found.unwrap_err().to_string();
        let text = reason.strip_prefix("CPU: ").unwrap();
        assert!(error.to_lowercase().contains(&text.to_lowercase()));
        assert!(error.ends_with("--backend cpu"), "{error}");
    }
}

/// Runs `info` on a missing file, with the backend set by arguments and variables.
fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_arcuate"))
        .args(["track", "missing.nii", "--out", "t.tck", "--threads", "1"])
        .args(["--seed", "sphere:0,0,0,5"])
        .args(arguments)
        .current_dir(folder.path())
        .env_remove("ARCUATE_BACKEND")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// The one line on standard error, and the exit code.
fn complaint(output: &Output) -> (String, Option<i32>) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.trim_end().lines().count(), 1, "one line: {text}");
    assert!(!text.contains("panicked"), "{text}");
    (text, output.status.code())
}

/// `CUDA_VISIBLE_DEVICES` hides the cards of a machine that has some.
const HIDDEN: (&str, &str) = ("CUDA_VISIBLE_DEVICES", "");

fn no_card() {
    for name in ["cuda", "cuda:0", "cuda:7", "cuda:auto", "cuda:all"] {
        let (text, code) = complaint(&run(&["--backend", name], &[HIDDEN]));
        assert_eq!(code, Some(1), "{name}: {text}");
        let found = ["No NVIDIA driver", "No NVIDIA graphics card"];
        assert!(found.iter().any(|f| text.contains(f)), "{name}: {text}");
        assert!(text.trim_end().ends_with("choose --backend cpu"), "{text}");
    }
    // The command itself runs, and does not find its file.
    for name in ["auto", "cpu"] {
        let (text, code) = complaint(&run(&["--backend", name], &[HIDDEN]));
        assert_eq!(code, Some(1));
        assert!(text.contains("missing.nii"), "{name}: {text}");
    }
}

fn variable() {
    let set = |value| [HIDDEN, ("ARCUATE_BACKEND", value)];
    let (text, code) = complaint(&run(&[], &set("cuda")));
    assert!(code == Some(1) && text.contains("--backend cpu"), "{text}");
    let (text, _) = complaint(&run(&["--backend", "cpu"], &set("cuda")));
    assert!(text.contains("missing.nii"), "the option decides: {text}");
    let (text, code) = complaint(&run(&[], &set("gpu")));
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("ARCUATE_BACKEND") && text.contains("“gpu”"));
    let (text, _) = complaint(&run(&[], &set("")));
    assert!(text.contains("missing.nii"), "{text}");
    for seconds in ["0", "3601", "2 s"] {
        let (text, code) = complaint(&run(&[], &[HIDDEN, ("ARCUATE_DRIVER_SECONDS", seconds)]));
        assert_eq!(code, Some(2), "{text}");
        let parts = ["ARCUATE_DRIVER_SECONDS", seconds, "from 1 to 3600"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let output = run(&["--backend", "gpu"], &[]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("is not a backend"), "{text}");
}

/// A library of the driver's name without its functions, first on the search path.
#[cfg(target_os = "linux")]
fn no_driver() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libcuda.so");
    let created = Command::new("cc")
        .args(["-shared", "-x", "c", "/dev/null", "-o"])
        .arg(&library)
        .status()
        .unwrap();
    assert!(created.success());
    let path = folder.path().to_str().unwrap();
    let (text, code) = complaint(&run(&["--backend", "cuda"], &[("LD_LIBRARY_PATH", path)]));
    assert_eq!(code, Some(1));
    assert!(text.contains("lacks cuInit"), "{text}");
    let (text, _) = complaint(&run(&[], &[("LD_LIBRARY_PATH", path)]));
    assert!(text.contains("missing.nii"), "{text}");
}

fn sentences() {
    let (name, doing, why) = ("Card".to_owned(), "tracing".to_owned(), "why".to_owned());
    let stem = "geodesic".to_owned();
    let all = [
        Error::NoDriver,
        Error::Incomplete { lacks: "cuInit" },
        Error::OldDriver { version: 11040 },
        Error::NoDevice,
        Error::NoSuchDevice {
            number: 3,
            count: 1,
        },
        Error::OldDevice {
            name: name.clone(),
            capability: (6, 1),
        },
        Error::WrongAnswer { name },
        Error::OutOfMemory {
            lower: "ask for fewer",
            what: "tracing 300000 rays".to_owned(),
            needs: 3_435_973_837,
            free: 1_181_116_006,
        },
        Error::Lost {
            doing: doing.clone(),
            why: why.clone(),
        },
        Error::Launch {
            doing: doing.clone(),
            why: why.clone(),
        },
        Error::Module {
            stem,
            why: why.clone(),
        },
        Error::Driver { doing, why },
        Error::TooMany {
            lower: "choose a smaller mask",
            what: "9000 cost fields of 60000 voxels".to_owned(),
        },
    ];
    for error in &all {
        let text = error.to_string();
        let begins = |c: char| c.is_uppercase() || c.is_ascii_digit();
        assert!(text.starts_with(begins), "{text}");
        assert!(text.contains("--backend cpu") && !text.contains('\n'));
        assert!(!error.problem().contains("--backend"), "{text}");
    }
    assert!(all[2].problem().contains("for CUDA 11.4, 12.2"));
    let memory = all[7].to_string();
    let begin = "Tracing 300000 rays needs 3.2 GB on the graphics card, but 1.1 GB are free; ";
    assert!(memory.starts_with(begin), "{memory}");
    // The job's own sentence, wherever memory ran short.
    let short = all[7].clone().in_job("solving", "choose a smaller mask");
    assert_eq!(
        short.to_string(),
        "Solving needs 3.2 GB on the graphics card, but 1.1 GB are free; choose a smaller mask, close other \
         programs on the card, or choose --backend cpu"
    );
    assert_eq!(all[8].clone().in_job("solving", "choose"), all[8]);
    // A window offers the CPU by a button.
    assert_eq!(
        sentence(&all[12]),
        "9000 cost fields of 60000 voxels are more than a graphics card can index; choose a smaller mask"
    );
}

/// Cards by their free memory, then by their load, then by the number of the process.
fn least_used_card() {
    let card = |free: u64, load: u32| {
        Some(CardUsage {
            free: free << 30,
            total: 100 << 30,
            load: Some(load),
        })
    };
    let chosen = |cards: &[Option<CardUsage>]| {
        let chosen = (0..4).map(|salt| least_used(cards, salt).expect("a card"));
        chosen.collect::<Vec<usize>>()
    };
    assert_eq!(chosen(&[card(40, 0), card(90, 99), card(60, 0)]), [1; 4]);
    assert_eq!(chosen(&[card(90, 80), card(89, 20), card(40, 0)]), [1; 4]);
    assert_eq!(
        chosen(&[card(90, 5), card(40, 0), card(90, 0)]),
        [0, 2, 0, 2]
    );
    assert_eq!(chosen(&[None, card(3, 100)]), [1; 4]);
    assert_eq!(chosen(&[None, None]), [0; 4]);
    assert_eq!(least_used(&[], 0), None);
    // A small card that is empty is preferred to a large one of which half is free.
    let small = Some(CardUsage {
        free: 16 << 30,
        total: 16 << 30,
        load: None,
    });
    assert_eq!(chosen(&[card(50, 0), small]), [1; 4]);
}

fn sizes() {
    for (bytes, label) in [
        (0, "0 MB"),
        (1, "1 MB"),
        (48 << 20, "48 MB"),
        (1 << 30, "1 GB"),
        (3 << 29, "1.5 GB"),
        (24 << 30, "24 GB"),
        (149_963_210_752, "140 GB"),
    ] {
        assert_eq!(gigabytes(bytes), label, "{bytes}");
    }
}

/// Compares the cache with a list in order of use, with random calls.
fn eviction() {
    let mut random = Random::fresh("backend eviction");
    for _ in 0..50 {
        let mut lru = Lru::new();
        // Key, value, bytes; the most recently used last.
        let mut model: Vec<(u64, u64, u64)> = Vec::new();
        for step in 0..400u64 {
            let key = random.bits() % 20;
            let at = model.iter().position(|entry| entry.0 == key);
            match random.bits() % 4 {
                0 | 1 => {
                    let known = at.map(|at| model.remove(at));
                    model.extend(known);
                    assert_eq!(lru.get(&key).copied(), known.map(|entry| entry.1));
                }
                2 => {
                    let bytes = random.bits() % 1000;
                    let old = at.map(|at| model.remove(at).1);
                    model.push((key, step, bytes));
                    assert_eq!(lru.insert(key, step, bytes), old);
                }
                _ => {
                    let requested = random.bits() % 3000;
                    let may_go = |value: &u64| !value.is_multiple_of(3);
                    let mut freed = 0;
                    let mut gone = Vec::new();
                    model.retain(|(_, value, bytes)| {
                        let evicted = freed < requested && may_go(value);
                        if evicted {
                            freed += bytes;
                            gone.push(*value);
                        }
                        !evicted
                    });
                    assert_eq!(lru.evict(requested, may_go), gone);
                }
            }
            let bytes: u64 = model.iter().map(|entry| entry.2).sum();
            assert_eq!((lru.bytes(), lru.len()), (bytes, model.len()));
        }
    }
}
