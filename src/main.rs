//! Turns the arguments into a window or a command.

use arcuate::app;
use arcuate::cli::{self, Command, DemoOptions, Failure, Global};
use arcuate::compute::HugePages;
use clap::Parser as _;
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    // The window itself reports if the desktop cannot show a dialog.
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Error)
        .filter_module("rfd", log::LevelFilter::Off)
        // Our own sentence gives the reason why the window cannot open.
        .filter_module("eframe", log::LevelFilter::Off)
        .filter_module("wgpu", log::LevelFilter::Off)
        .filter_module("naga", log::LevelFilter::Off)
        .parse_default_env()
        .init();
    cli::signals::watch();
    if let Err(failure) = cli::check_letters(std::env::args_os()) {
        return failed(failure, cli::output::wants_json());
    }
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(cli::output::usage_error(&error)),
    };
    let global = &arguments.global;
    match arguments.command {
        Some(Command::Demo(options)) if options.wants_window() => window(Vec::new(), true, global),
        Some(command) => cli::run(command, global),
        None if arguments.files.is_empty() && !cli::has_display() => {
            cli::run(Command::Demo(DemoOptions::default()), global)
        }
        None => match cli::check_files(&arguments.files) {
            Ok(()) => window(arguments.files, false, global),
            Err(failure) => failed(failure, global.json),
        },
    }
}

fn window(files: Vec<PathBuf>, demo: bool, global: &Global) -> ExitCode {
    global.begin_window();
    let threads = global.threads.map(usize::from);
    let opened = global
        .backend_kind()
        .and_then(|kind| app::run(files, demo, kind, threads).map_err(Failure::from));
    match opened {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failed(failure, global.json),
    }
}

fn failed(failure: Failure, json: bool) -> ExitCode {
    ExitCode::from(cli::output::end(Err(failure), json))
}
