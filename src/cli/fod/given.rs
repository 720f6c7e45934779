//! Peaks and maps of distributions that an image holds: nothing is deconvolved.

use super::super::output::{remark, shown};
use super::super::runner::{Failure, Runner};
use super::Options;
use crate::data::OdfLayout;
use crate::data::axis_change::AxisChange;
use crate::data::odf_field::Tissue;
use crate::data::text::counted;
use crate::parameters::Parameters as _;
use crate::solvers::{csd, response};
use crate::state::core::text::duration_text;
use crate::state::files::jobs::{OpenOrientations, OrientationReading, SaveSet};
use crate::state::tensors::jobs::fod::ReadFods;
use crate::state::tensors::jobs::fod::report::{json, provenance};
use crate::state::tensors::recipe::ScanSource;
use crate::state::tensors::recipe::fod::{FodArguments, FodMap, ResponseSource};
use serde_json::Value;
use std::path::PathBuf;

/// The first option that has an effect on scans only.
fn unused(options: &Options) -> Option<&'static str> {
    let (scan, responses) = (&options.scan, &options.responses);
    let named = [
        ("mask", options.mask.is_some()),
        ("gradients", scan.gradients.is_some()),
        ("bval", scan.bval.is_some()),
        ("bvec", scan.bvec.is_some()),
        (
            "turn",
            scan.turn.is_some_and(|turn| turn != AxisChange::NONE),
        ),
        ("tensor-order", scan.tensors.layout().is_some()),
        ("responses", !responses.responses.is_empty()),
        ("response-algorithm", responses.response_algorithm.is_some()),
        ("wm-mask", responses.wm_mask.is_some()),
    ];
    let named = named.into_iter().find(|(_, is_given)| *is_given);
    let of_responses = response::Params::TABLE.iter().map(|row| row.key);
    let mut of_responses = of_responses.filter(|key| responses.params.has(key));
    let of_deconvolution = csd::Params::TABLE.iter().map(|row| row.key);
    let mut of_deconvolution = of_deconvolution.filter(|key| options.params.has(key));
    named
        .map(|(name, _)| name)
        .or_else(|| of_responses.next())
        .or_else(|| of_deconvolution.next())
}

pub fn run(options: &Options, layout: OdfLayout, runner: &mut Runner) -> Result<(), Failure> {
    let peak_params = options.peaks.params()?;
    if let Some(option) = unused(options) {
        return Err(Failure::usage(format!(
            "Found --{option}, which has no effect: the image holds distributions already; leave it out"
        )));
    }
    let path = PathBuf::from(&options.scan.scan);
    let mut maps = options.maps.clone();
    maps.retain(|map| !map.is_of_scan());
    let files = options.files();
    runner.may_fill(&options.out, &files.all([Tissue::WhiteMatter], &maps))?;
    let (opened, _) = runner.run(OpenOrientations {
        path: path.clone(),
        reading: OrientationReading::Distributions(layout),
        affine: options.distributions.odf_affine.clone(),
    })?;
    let any_map = |is_of: fn(FodMap) -> bool| maps.iter().any(|map| is_of(*map));
    let (fods, wall_ms) = runner.run(ReadFods {
        key: None,
        path: path.clone(),
        volume: opened.volume,
        // It was converted on opening.
        layout: OdfLayout::MRTRIX,
        moved: None,
        peak_params: peak_params.clone(),
        wants_peaks: any_map(FodMap::is_of_peaks),
        wants_lobes: any_map(FodMap::is_of_lobes),
    })?;
    // An error is the only sentence about its cause.
    for note in &opened.remarks {
        remark(note, &options.scan.scan);
    }
    let recipe = FodArguments {
        source: ScanSource::Distributions {
            file: path,
            layout,
            transform: opened.affine.map(Box::new),
        },
        mask: None,
        responses: ResponseSource::NotUsed,
        response_params: response::Params::defaults(),
        params: csd::Params::defaults(),
        peak_params,
        maps,
    };
    let images = files.images(&fods, &recipe.maps);
    let report_file = files.report();
    let mut written = vec![report_file.clone()];
    written.extend(images.iter().map(|(path, _)| path.clone()));
    let command = recipe.command(&options.out).to_string() + &options.images.argument();
    let mut value = json(&files, &recipe.params, &recipe, &fods, None);
    value["repeat"] = Value::from(command.as_str());
    value["files"] = serde_json::json!(written);
    let _folders = options.make_folders(&files, &images)?;
    let provenance = provenance(&value);
    runner.run(SaveSet {
        first: (report_file, provenance),
        images,
        texts: Vec::new(),
        command,
    })?;
    value["fod_ms"] = serde_json::json!(wall_ms);
    let mut text = format!(
        "Distributions of order {} in {}, read in {} ({})\n",
        fods.output.order.order,
        counted(fods.mask.count(), "voxel"),
        duration_text(wall_ms),
        layout.description(),
    );
    for path in &written {
        text += &format!("{}\n", shown(path));
    }
    runner.report(&value, &text);
    Ok(())
}
