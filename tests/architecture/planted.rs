//! Checks of the checks: planted violations are found, allowed code passes.

use crate::rules::{File, imports, length, report, stems};
use crate::support::test;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("architecture::planted imports", planted_imports),
        test("architecture::allowed imports", allowed_imports),
        test("architecture::planted lengths", planted_lengths),
        test("architecture::planted stems", planted_stems),
    ]
}

fn violations(path: &str, text: &str) -> Vec<String> {
    imports(&File {
        path: path.to_owned(),
        text: text.to_owned(),
    })
}

fn planted_imports() {
    for (path, text, line) in [
        ("src/engine/data/grid.rs", "use crate::io::open;", 1),
        ("src/engine/data/grid.rs", "use crate::compute::Control;", 1),
        (
            "src/engine/data/grid.rs",
            "use crate::{\n    compute::DataId,\n    solvers::tracking,\n};",
            3,
        ),
        ("src/engine/data/grid.rs", "use super::super::io;", 1),
        ("src/engine/data/mod.rs", "fn f() { super::io::open() }", 1),
        (
            "src/engine/data/mod.rs",
            "mod inner { use super::super::io; }",
            1,
        ),
        (
            "src/engine/compute/mod.rs",
            "fn f(g: &crate::data::Grid) {}",
            1,
        ),
        ("src/engine/io/mod.rs", "use crate::compute::Backend;", 1),
        (
            "src/engine/solvers/tracking/mod.rs",
            "use crate::state::State;",
            1,
        ),
        (
            "src/engine/solvers/tracking/cpu.rs",
            "use crate::solvers::geodesic::Medium;",
            1,
        ),
        (
            "src/engine/solvers/geodesic/cpu.rs",
            "use super::super::tracking::track;",
            1,
        ),
        (
            "src/engine/solvers/geodesic/mod.rs",
            "use super::{\n    curves,\n    tracking,\n};",
            3,
        ),
        (
            "src/engine/solvers/curves/seeding.rs",
            "use crate::solvers::tracking::track;",
            1,
        ),
        (
            "src/engine/solvers/curves/cuda/mod.rs",
            "fn f() { crate::solvers::geodesic::trace() }",
            1,
        ),
        (
            "src/engine/solvers/tractogram/pick.rs",
            "use crate::solvers::tracking::track;",
            1,
        ),
        (
            "src/engine/solvers/density/mod.rs",
            "use super::{curves, tracking};",
            1,
        ),
        (
            "src/engine/solvers/oracle.rs",
            "use super::curves::Params;",
            1,
        ),
        (
            "src/engine/solvers/tracking/mod.rs",
            "use crate::compute::Backend;\nfn f(b: &Backend) -> bool { matches!(b, Backend::Cuda { .. }) }",
            2,
        ),
        ("src/cli/bench.rs", "use crate::compute::Backend::Cpu;", 1),
        ("src/state/update/mod.rs", "use crate::io;", 1),
        ("src/state/update/mod.rs", "use crate::compute::Backend;", 1),
        ("src/state/update/mod.rs", "use crate::render::Renderer;", 1),
        ("src/state/update/mod.rs", "use crate::scene;", 1),
        (
            "src/state/sessions/saved/read.rs",
            "use crate::state::update::edited;",
            1,
        ),
        (
            "src/state/sessions/saved/read.rs",
            "fn f() { super::super::super::update::edited() }",
            1,
        ),
        (
            "src/state/origin/commands.rs",
            "use super::super::sessions::saved::{self};",
            1,
        ),
        ("src/render/slice.rs", "use crate::state::State;", 1),
        ("src/jobs/mod.rs", "use crate::state::State;", 1),
        ("src/jobs/mod.rs", "use crate::phantom::Demo;", 1),
        ("src/render/slice.rs", "use crate::scene::flats;", 1),
        (
            "src/state/command_line.rs",
            "use crate::solvers::tracking;\nfn f() { tracking::track() }",
            2,
        ),
        (
            "src/state/command_line.rs",
            "use crate::solvers::tracking::track;",
            1,
        ),
        (
            "src/state/command_line.rs",
            "use crate::solvers::tracking::*;",
            1,
        ),
        (
            "src/state/command_line.rs",
            "use crate::solvers;\nuse solvers::tracking::track;",
            2,
        ),
        (
            "src/state/command_line.rs",
            "use crate::solvers::tracking as t;\nfn f() { t::track() }",
            2,
        ),
        (
            "src/state/alignment/jobs.rs",
            "use crate::io::affine;\nuse crate::ui::Memory;",
            2,
        ),
        ("src/state/alignment/mod.rs", "use crate::io::affine;", 1),
        ("src/ui/theme.rs", "use crate::jobs::Jobs;", 1),
        ("src/ui/files.rs", "use crate::compute::thread;", 1),
        ("src/ui/files.rs", "fn f() { std::thread::spawn(g) }", 1),
        ("src/ui/files.rs", "use std::sync::mpsc::channel;", 1),
        ("src/ui/files.rs", "fn f(p: &Path) { p.exists() }", 1),
        (
            "src/ui/files/typed.rs",
            "fn f(p: &Path) {\n    p.is_dir()\n}",
            2,
        ),
        ("src/ui/palette.rs", "use std::fs;", 1),
        (
            "src/ui/files/typed.rs",
            "fn f() { rfd::FileDialog::new() }",
            1,
        ),
        (
            "src/state/sessions/types.rs",
            "fn f(p: &Path) { p.try_exists() }",
            1,
        ),
        (
            "src/scene/flats.rs",
            "fn f(p: &Path) { Path::is_file(p) }",
            1,
        ),
        ("src/engine/io/tck.rs", "use std::fs::File;", 1),
        ("src/engine/io/tck.rs", "use std::io;\nuse std::fs;", 2),
        (
            "src/engine/io/atomic.rs",
            "fn f(p: &Path) {\n    std::fs::File::open(p)\n}",
            2,
        ),
        (
            "src/engine/io/atomic.rs",
            "fn f(p: &Path) { std::fs::read_to_string(p) }",
            1,
        ),
        (
            "src/engine/io/bids.rs",
            "fn f(p: &Path) { p.read_dir() }",
            1,
        ),
        (
            "src/engine/compute/memory.rs",
            "fn f() { std::fs::read(p) }",
            1,
        ),
        ("src/ui/theme.rs", "use wgpu::Device;", 1),
        ("src/ui/theme.rs", "fn f(d: &egui_wgpu::wgpu::Device) {}", 1),
        ("src/cli/fit.rs", "use crate::app::App;", 1),
        ("src/cli/fit.rs", "use std::{env, fs::{File}};", 1),
        ("src/cli/fit.rs", "fn f() { ::std::fs::read(p) }", 1),
        (
            "src/cli/fit.rs",
            "fn f() { let n = 0..rayon::current_num_threads(); }",
            1,
        ),
        ("src/state/document.rs", "use std::sync::{Arc, mpsc};", 1),
        ("src/engine/solvers/tracking/cpu.rs", "use std::thread;", 1),
        (
            "src/engine/compute/backend.rs",
            "fn f() { std::thread::spawn(g) }",
            1,
        ),
        (
            "src/engine/solvers/tracking/cuda.rs",
            "use rayon::prelude::*;",
            1,
        ),
        (
            "src/engine/solvers/tracking/cpu.rs",
            "use cudarc::driver;",
            1,
        ),
        ("src/render/slice.rs", "use eframe::egui;", 1),
        ("src/main.rs", "use arcuate::io;", 1),
        (
            "src/engine/data/grid.rs",
            "fn f() {\n    unsafe { g() }\n}",
            2,
        ),
        (
            "src/engine/io/nifti.rs",
            "// \"\nfn f() { unsafe { g() } } // \"",
            2,
        ),
        (
            "src/engine/solvers/tracking/cpu.rs",
            "fn f<'a>(c: char) { c == '\"'; unsafe {} }",
            1,
        ),
        ("src/engine/data/grid.rs", "\n#[test]\nfn f() {}", 2),
        ("src/engine/data/grid.rs", "#[cfg(test)]\nmod tests {}", 1),
        ("src/engine/parameters/mod.rs", "use crate::data::Grid;", 1),
        ("src/engine/phantom/head.rs", "use crate::io::open;", 1),
        ("src/engine/io/tck.rs", "use crate::parameters::Unit;", 1),
        ("src/scene/mod.rs", "use crate::render::Renderer;", 1),
        ("src/scene/mod.rs", "use crate::jobs::Jobs;", 1),
        ("src/ui/files.rs", "use crate::io::open;", 1),
        ("src/ui/files.rs", "use crate::cli::Arguments;", 1),
        ("src/app/start.rs", "use crate::solvers::Error;", 1),
        ("src/cli/fit.rs", "use crate::ui::theme;", 1),
        ("src/guide.rs", "use crate::state::State;", 1),
        (
            "src/state/track/update.rs",
            "use crate::jobs::memory_for_curves;",
            1,
        ),
        (
            "src/state/track/jobs/trace.rs",
            "use crate::scene::draw_list;",
            1,
        ),
        (
            "src/state/sessions/types/file.rs",
            "use crate::io::session::describe;",
            1,
        ),
        (
            "src/state/origin.rs",
            "use crate::state::update::update;",
            1,
        ),
        ("src/state/files/update.rs", "use std::env;", 1),
        ("src/engine/io/source.rs", "use std::net::TcpStream;", 1),
        ("src/ui/files.rs", "use std::process::Command;", 1),
        ("src/ui/files.rs", "use clap::Parser;", 1),
        ("src/jobs/film.rs", "use zip::ZipArchive;", 1),
        ("src/render/slice.rs", "use ash::vk;", 1),
        ("src/helpers.rs", "", 0),
    ] {
        let found = violations(path, text);
        assert_eq!(found.len(), 1, "{path}: {text}: {found:?}");
        assert!(
            line == 0 || found[0].contains(&format!(":{line}: ")),
            "{found:?}"
        );
    }
}

fn planted_lengths() {
    let file = |lines: usize| File {
        path: "src/main.rs".to_owned(),
        text: "\n".repeat(lines),
    };
    assert_eq!(length(&file(60)), None);
    assert!(length(&file(0)).is_some(), "left behind");
    assert!(length(&file(61)).is_some());
}

fn allowed_imports() {
    for (path, text) in [
        (
            "src/engine/data/grid.rs",
            "use crate::compute::DataId; use super::Volume; use self::x::Y;",
        ),
        (
            "src/engine/data/grid.rs",
            "// use crate::io;\n/* unsafe /* nested */ std::fs */",
        ),
        (
            "src/engine/data/grid.rs",
            "const S: &str = \"unsafe { std::fs::read() }\";",
        ),
        (
            "src/engine/data/grid.rs",
            "const S: &str = r##\"unsafe \"# std::fs::read()\"##; fn f<'a>() {}",
        ),
        (
            "src/engine/data/grid.rs",
            "#![allow(unsafe_code)] mod inner { use super::super::Volume; }",
        ),
        (
            "src/engine/data/grid.rs",
            "fn f() { self.io.open(); x.rayon::<u8>(); T::fs::<u8>() }",
        ),
        (
            "src/state/command_line.rs",
            "use crate::solvers::tracking;\nfn f(p: tracking::Params) {}",
        ),
        (
            "src/state/command_line.rs",
            "use crate::solvers::tracking::{self, Params};",
        ),
        (
            "src/state/document.rs",
            "use crate::data::appearance::LineStyle;",
        ),
        (
            "src/state/track/update.rs",
            "use crate::state::sessions::saved; use crate::state::origin::commands::edited;",
        ),
        (
            "src/state/sessions/types/file.rs",
            "use crate::io::session::{Entry, STORED_MAX_BYTES};",
        ),
        (
            "src/ui/files/dialog.rs",
            "use std::sync::mpsc::channel; fn f(p: &Path) { p.is_file(); rfd::FileDialog::new() }",
        ),
        (
            "src/engine/io/mod.rs",
            "mod nifti; pub use nifti::open; fn f(p: &Path) { p.exists() }",
        ),
        (
            "src/engine/io/disk.rs",
            "use std::fs; fn f(p: &Path) { p.read_dir() }",
        ),
        (
            "src/cli/signals.rs",
            "fn f() { std::fs::read_to_string(\"/proc/self/status\") }",
        ),
        (
            "src/jobs/mod.rs",
            "fn f() { std::thread::spawn(crate::compute::pool) }",
        ),
        (
            "src/jobs/mod.rs",
            "use crate::io; fn f() { io::nifti::save() }",
        ),
        (
            "src/engine/compute/backend.rs",
            "fn f() { std::thread::available_parallelism() }",
        ),
        (
            "src/engine/compute/cuda.rs",
            "use cudarc::driver; fn f() { unsafe { g() } }",
        ),
        (
            "src/engine/solvers/tracking/cuda.rs",
            "use cudarc::driver; fn f() { unsafe { g() } }",
        ),
        (
            "src/engine/solvers/tracking/cpu.rs",
            "use rayon::prelude::*; use crate::solvers::Error; use crate::solvers::curves::Params;",
        ),
        (
            "src/engine/solvers/geodesic/cpu.rs",
            "use super::super::curves::seeding::Seeds; use super::medium::Medium;",
        ),
        (
            "src/engine/solvers/tractogram/pick.rs",
            "use crate::solvers::curves::{self, StopReason};",
        ),
        (
            "src/engine/solvers/tracking/mod.rs",
            "use crate::compute::{Accelerator, Backend}; fn f() { Backend::choose(g); Accelerator::Cuda(d) }",
        ),
        (
            "src/engine/compute/backend.rs",
            "fn f() { crate::compute::Backend::Cuda }",
        ),
        (
            "src/ui/paint_callback.rs",
            "use eframe::egui_wgpu::wgpu; use egui::Ui;",
        ),
        (
            "src/main.rs",
            "fn main() -> std::process::ExitCode { arcuate::cli::run() }",
        ),
        (
            "src/lib.rs",
            "pub mod jobs; pub use arcuate_engine::{compute, data};",
        ),
        ("src/engine/lib.rs", "pub mod compute; pub mod data;"),
        ("tests/io.rs", "use std::fs; fn f() { unsafe { g() } }"),
    ] {
        report(violations(path, text));
    }
}

fn planted_stems() {
    let written = |files: &[&str]| -> Vec<String> {
        let solver = [
            "src/engine/solvers/tracking/mod.rs",
            "src/engine/solvers/tracking/cpu.rs",
        ];
        solver
            .iter()
            .chain(files)
            .map(|&name| name.to_owned())
            .collect()
    };
    let complete = [
        "tests/solvers/tracking.rs",
        "src/ui/forms/tracking.rs",
        "src/cli/track.rs",
    ];
    report(stems(&written(&complete)));
    for (files, missing) in [
        (vec![], 1),
        (vec!["tests/solvers/tracking.rs"], 0),
        (vec!["tests/solvers/tracking.rs", "src/cli/mod.rs"], 1),
        (vec!["tests/solvers/tracking.rs", "src/ui/forms/mod.rs"], 1),
        (
            vec![
                "tests/solvers/tracking.rs",
                "src/engine/solvers/tracking/cuda.rs",
            ],
            1,
        ),
        (vec!["tests/solvers/tracking.rs", "kernels/tracking.cu"], 1),
        (
            vec![
                "tests/solvers/tracking.rs",
                "shaders/slice.wgsl",
                "shaders/common.wgsl",
            ],
            1,
        ),
        (
            vec![
                "tests/solvers/tracking.rs",
                "src/engine/solvers/oracle/mod.rs",
            ],
            1,
        ),
        (
            vec![
                "tests/solvers/tracking.rs",
                "src/engine/solvers/mod.rs",
                "src/engine/solvers/oracle.rs",
            ],
            1,
        ),
        (
            vec![
                "tests/solvers/tracking.rs",
                "src/engine/solvers/uncertainty.rs",
            ],
            1,
        ),
    ] {
        let found = stems(&written(&files));
        assert_eq!(found.len(), missing, "{files:?}: {found:?}");
    }
}
