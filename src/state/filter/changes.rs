//! COMMIT fits: their inputs, the model, and the cut.

use crate::data::text::file_name;
use crate::parameters::Parameters as _;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::{Params, WaterParts};
use crate::state::core::fields::Fields;
use crate::state::core::text::significant;
use crate::state::filter::{GivenPeaks, ScanTimings};
use crate::state::{Document, LayerId};

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let mut all = inputs(before).differences(&inputs(after));
    if before.filter.params != after.filter.params {
        all.extend(model(before).differences(&model(after)));
    }
    all
}

fn inputs(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let filter = &document.filter;
    let mut layer = |label: &str, id: Option<LayerId>, none: &str| {
        let layer = id.and_then(|id| document.layer(id));
        let name = layer.map_or(none, |l| &l.name);
        fields.detailed(label, name, format!("{id:?}"));
    };
    layer("Streamlines", filter.tractogram, "topmost");
    layer("Scan", filter.scan, "topmost");
    layer("Mask", filter.mask, "voxels they cross");
    let (image, none) = match filter.peaks {
        None => (None, "tensors"),
        Some(GivenPeaks::Image(id)) => (Some(id), "tensors"),
        Some(GivenPeaks::Distributions(())) => (None, "distributions"),
    };
    layer("Peaks", image, none);
    match &filter.times {
        ScanTimings::Unknown => fields.name("Timing", "not known"),
        ScanTimings::Both(timing) => {
            fields.name("Timing", "δ and Δ");
            fields.rows(timing, &[]);
        }
        ScanTimings::Scheme { path, rows } => {
            let name = file_name(path);
            fields.detailed("Timing", name, format!("{rows:?}"));
        }
    }
    // The cut of the shown layer: each layer's weights have their own.
    if let Some((layer, _)) = document.filtered() {
        let min_weight = filter.cut_of(layer.id);
        let cut = match min_weight {
            cut if cut > 0.0 => format!("≥\u{202F}{}", significant(f64::from(cut))),
            _ => "all".to_owned(),
        };
        fields.detailed("Weight", cut, min_weight.to_string());
        let shown = document.shown_by_weight(layer.id);
        fields.name("Streamlines shown", shown.name());
    }
    fields
}

fn model(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = document.filter_params();
    if let Intra::GammaCylinders { radii, .. } = &params.model.intra
        && let Some(first) = radii.first()
    {
        fields.rows(first, &[]);
    }
    water(&mut fields, &params);
    fields.rows(&params, &["across", "free", "tolerance"]);
    fields.name("Stop at change", power(params.stop.objective));
    fields
}

/// Water around the fibres and free water, each compartment in a row of its own as in the panel; commands use lists.
fn water(fields: &mut Fields, params: &Params) {
    let model = &params.model;
    if model.intra == Intra::Density {
        return;
    }
    let name = |some: bool, name| if some { name } else { "None" };
    fields.name("Extra-axonal", name(!model.extra.is_empty(), "Zeppelin"));
    fields.name("Free water", name(!model.free.is_empty(), "Ball"));
    let across = (0..model.extra.len()).map(|i| ("across", i));
    for (key, i) in across.chain((0..model.free.len()).map(|i| ("free", i))) {
        let parts = WaterParts::at_index(params, i, WaterParts::defaults());
        fields.row_named(&WaterParts::label(key, i), &parts, key);
    }
}

/// `10⁻⁵`, as in the menu.
fn power(tolerance: f64) -> String {
    let names = ["10⁻³", "10⁻⁴", "10⁻⁵", "10⁻⁶", "10⁻⁷", "10⁻⁸"];
    let powers = (3..).map(|power| 10f64.powi(-power));
    let mut known = powers.zip(names);
    let known = known.find(|(power, _)| (tolerance / power - 1.0).abs() < 1e-6);
    known.map_or_else(|| format!("{tolerance:e}"), |(_, name)| name.to_owned())
}
