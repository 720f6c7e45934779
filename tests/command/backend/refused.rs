//! Drivers that hang or answer incorrectly, and an operating system that starts no threads, replaced by C libraries.

use super::{complaint, run};
use crate::support::{PATIENCE, test};
use arcuate::compute::{Control, thread};
use arcuate::data::Tractogram;
use arcuate::io::trx;
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub fn tests() -> Vec<Trial> {
    vec![
        test("backend::a_driver_that_hangs", hangs),
        test("backend::a_card_name_without_an_end", endless_name),
        test("backend::threads_that_cannot_be_started", threads),
        test("backend::calls_have_a_time_limit", limit),
    ]
}

/// A shared library from this C source.
fn library(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("library.c");
    std::fs::write(&source, text).expect("written");
    let library = folder.path().join(name);
    let created = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(created.expect("a C compiler").success());
    (folder, library)
}

/// A driver for CUDA 12.4 with one card of compute capability 5.0; `init` is the body of `cuInit`.
fn driver(init: &str) -> (TempDir, PathBuf) {
    let functions = [
        "cuGetErrorString",
        "cuGetErrorName",
        "cuCtxSetFlags",
        "cuMemAllocAsync",
        "cuModuleLoadData",
        "cuCtxSetCurrent",
        "cuCtxGetCurrent",
        "cuDevicePrimaryCtxRelease_v2",
        "cuCtxSynchronize",
    ];
    let plain = functions.map(|name| format!("int {name}() {{ return 0; }}\n"));
    let text = format!(
        "#include <string.h>\n#include <unistd.h>\n\
         int cuInit(unsigned flags) {{ {init} return 0; }}\n\
         int cuDriverGetVersion(int *v) {{ *v = 12040; return 0; }}\n\
         int cuDeviceGetCount(int *n) {{ *n = 1; return 0; }}\n\
         int cuDeviceGet(int *d, int n) {{ *d = n; return 0; }}\n\
         int cuDevicePrimaryCtxRetain(void **c, int d) {{ static int it; *c = &it; return 0; }}\n\
         int cuDeviceGetAttribute(int *v, int a, int d) {{ *v = a == 75 ? 5 : 0; return 0; }}\n\
         int cuDeviceGetName(char *name, int n, int d) {{ memset(name, 'A', n); return 0; }}\n\
         {}",
        plain.concat()
    );
    library("libcuda.so", &text)
}

/// After the time limit the CPU computes; an explicitly requested card is refused with a sentence.
fn hangs() {
    let (folder, _) = driver("sleep(600);");
    let path = folder.path().to_str().expect("letters");
    let set = [("LD_LIBRARY_PATH", path), ("ARCUATE_DRIVER_SECONDS", "2")];
    let started = Instant::now();
    std::thread::scope(|scope| {
        let requested = scope.spawn(|| complaint(&run(&["--backend", "cuda"], &set)));
        // A command that needed no card does not wait for one at its end.
        let (text, code) = complaint(&run(&["--backend", "auto"], &set));
        assert!(code == Some(1) && text.contains("missing.nii"), "{text}");
        let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
            .args(["track", "phantom:helix", "--out", "t.tck", "--quiet"])
            .args(["--backend", "auto", "--seeds", "random:10"])
            .current_dir(folder.path())
            .env_remove("ARCUATE_BACKEND")
            .envs(set)
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            text.contains("warning: The CPU is used because the NVIDIA driver did not answer"),
            "{text}"
        );
        assert!(output.status.success(), "{text}");
        let (text, code) = requested.join().expect("it ran");
        assert_eq!(code, Some(1), "{text}");
        assert!(
            text.contains("did not answer within 2 s") && text.contains("--backend cpu"),
            "{text}"
        );
    });
    // The driver sleeps much longer.
    assert!(started.elapsed() < PATIENCE);
}

fn endless_name() {
    let (folder, _) = driver("");
    let path = folder.path().to_str().expect("letters");
    let (text, code) = complaint(&run(&["--backend", "cuda"], &[("LD_LIBRARY_PATH", path)]));
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("AAAA") && text.contains("compute capability 5.0"),
        "{text}"
    );
}

/// With this many threads allowed the program works with fewer, or reports why it cannot.
fn threads() {
    let (folder, library) = library(
        "few.so",
        r#"
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <errno.h>
            #include <pthread.h>
            #include <stdlib.h>
            static int running;
            struct work { void *(*run)(void *); void *with; };
            static void *counted(void *own) {
                struct work work = *(struct work *)own;
                free(own);
                void *result = work.run(work.with);
                __sync_fetch_and_sub(&running, 1);
                return result;
            }
            int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
                int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
                    dlsym(RTLD_NEXT, "pthread_create");
                if (__sync_add_and_fetch(&running, 1) > atoi(getenv("THREADS_ALLOWED"))) {
                    __sync_fetch_and_sub(&running, 1);
                    return EAGAIN;
                }
                struct work *own = malloc(sizeof *own);
                own->run = f;
                own->with = x;
                return real(t, a, counted, own);
            }
        "#,
    );
    let library = library.to_str().expect("letters");
    // A file is read by threads that belong to no backend.
    let tracks = folder.path().join("a.trx");
    let lines = Tractogram::new(vec![[0.5; 3]; 40], vec![0, 20, 40]);
    trx::save(&tracks, &lines, &Control::new()).expect("saved");
    let command = |n: &str, command: &[&str], arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_arcuate"))
            .args(command)
            .args(["--backend", "cpu"])
            .args(arguments)
            .env("LD_PRELOAD", library)
            .env("THREADS_ALLOWED", n)
            .output()
            .expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        for label in ["panicked", "os error"] {
            assert!(!text.contains(label), "{n} threads: {text}");
        }
        (text, output.status.code())
    };
    let tracks = tracks.to_str().expect("letters");
    let allowed = |n: &str, arguments: &[&str]| command(n, &["info", tracks], arguments);
    let (text, code) = allowed("0", &[]);
    assert!(
        code == Some(1) && text.contains("worker thread") && text.contains("ulimit -u"),
        "{text}"
    );
    for n in ["1", "2", "3", "5", "6", "7", "8", "9", "11"] {
        let (text, code) = allowed(n, &["--threads", "4"]);
        let sentence = text.lines().last().unwrap_or_default();
        assert!(
            code == Some(0) || code == Some(1) && sentence.contains("Could not start"),
            "{n} threads, {code:?}: {text}"
        );
    }
    let (text, code) = allowed("8", &["--threads", "8"]);
    assert!(
        text.contains("of 8 worker threads") && code == Some(0),
        "{text}"
    );
    // Reading, selecting and writing are jobs with threads of their own, for which some are left.
    let out = folder.path().join("b.tck");
    let out = out.to_str().expect("letters");
    let select = ["select", tracks, out, "--length", "0..900", "--force"];
    for n in 10..40 {
        let (text, code) = command(&n.to_string(), &select, &["--threads", "16"]);
        assert_eq!(code, Some(0), "{n} threads: {text}");
        assert!(
            text.is_empty() || text.contains("of 16 worker threads"),
            "{n} threads: {text}"
        );
    }
    let (text, code) = allowed("1000", &["--threads", "4"]);
    assert_eq!((text.as_str(), code), ("", Some(0)));
}

fn limit() {
    let slow = || std::thread::sleep(Duration::from_secs(60));
    let late = thread::within(Duration::from_millis(20), "slow", slow);
    assert!(matches!(late, Ok(None)), "{late:?}");
    let quick = thread::within(Duration::from_secs(60), "quick", || 7);
    assert!(matches!(quick, Ok(Some(7))), "{quick:?}");
    let failed = thread::within(Duration::from_secs(60), "faulty", || {
        std::panic::resume_unwind(Box::new("a fault"))
    });
    assert!(matches!(failed, Err(thread::ThreadError::Ended)));
}
