//! All tests, one binary: `cargo test --release [filter]`.

// A test that cannot read what it made itself has failed.
#![allow(clippy::unwrap_used)]

mod alignment;
mod app;
mod architecture;
mod backend;
mod bundle;
mod cli;
mod commit;
mod connectivity;
mod contract;
mod data;
mod density;
mod eikonal;
mod faults;
mod fuzz;
mod geodesic;
mod gradient_check;
mod io;
mod jobs;
mod kernels;
mod lanes;
mod level_set;
mod metric;
mod pathway;
mod phantom;
mod profile;
mod region;
mod render;
mod seeds;
mod selection;
mod sessions;
#[cfg(unix)]
mod setup;
mod shaders;
mod space;
mod support;
mod tensor_fit;
mod tracking;
mod ui;
mod update;
mod views;

fn main() {
    sessions::kill::child();
    faults::child();
    fuzz::child();
    let arguments = libtest_mimic::Arguments::from_args();
    match support::seed() {
        Ok(_) if arguments.list => {}
        Ok(seed) => println!("ARCUATE_TEST_SEED={seed} repeats the random numbers of this run"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
    let tests = [
        alignment::tests(),
        app::tests(),
        architecture::tests(),
        backend::tests(),
        bundle::tests(),
        cli::tests(),
        commit::tests(),
        connectivity::tests(),
        contract::tests(),
        data::tests(),
        density::tests(),
        eikonal::tests(),
        faults::tests(),
        fuzz::tests(),
        metric::tests(),
        geodesic::tests(),
        gradient_check::tests(),
        io::tests(),
        jobs::tests(),
        kernels::tests(),
        lanes::tests(),
        level_set::tests(),
        pathway::tests(),
        phantom::tests(),
        profile::tests(),
        region::tests(),
        render::tests(),
        seeds::tests(),
        sessions::tests(),
        selection::tests(),
        #[cfg(unix)]
        setup::tests(),
        shaders::tests(),
        space::tests(),
        tensor_fit::tests(),
        tracking::tests(),
        ui::tests(),
        update::tests(),
        views::tests(),
    ];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit();
}
