//! Fits of weights: what they are of, the model, and the cut.

use super::Fields;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::operator::{Precision, Way};
use crate::state::filter::Times;
use crate::state::words::significant;
use crate::state::{Document, LayerId};

/// mm²/s to what the panel shows.
const SHOWN: f64 = 1e3;

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
    layer("Mask", filter.mask, "none");
    layer("Peaks", filter.peaks, "tensors");
    match &filter.times {
        Times::Unknown => fields.name("Timing", "not known"),
        Times::Both(timing) => {
            fields.name("Timing", "δ and Δ");
            fields.number("Pulse δ", timing.pulse_ms, 1, "ms");
            fields.number("Between Δ", timing.between_ms, 1, "ms");
        }
        Times::Scheme { path, rows } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            fields.detailed("Timing", name, format!("{rows:?}"));
        }
    }
    let cut = match filter.cut {
        cut if cut > 0.0 => format!("≥\u{202F}{}", significant(f64::from(cut))),
        _ => "all".to_owned(),
    };
    fields.detailed("Weight", cut, filter.cut.to_string());
    if let Some((layer, _)) = document.filtered() {
        let shown = document.shown_by_weight(layer.id);
        fields.name("Streamlines shown", shown.name());
    }
    fields
}

fn model(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = document.filter_params();
    let model = &params.model;
    let mut along = None;
    match &model.intra {
        Intra::Stick { along: mm2 } => {
            fields.name("Fibres", "Sticks");
            along = Some(*mm2);
        }
        Intra::Cylinders {
            along: mm2,
            radii_um,
        } => {
            fields.name("Fibres", "Cylinders");
            let radii: Vec<String> = radii_um.iter().map(f64::to_string).collect();
            fields.name("Radii", format!("{}\u{202F}µm", radii.join(", ")));
            along = Some(*mm2);
        }
        Intra::GammaCylinders { along: mm2, radii } => {
            fields.name("Fibres", "Gamma cylinders");
            if let Some(first) = radii.first() {
                fields.number("Shape", first.shape, 2, "");
                fields.number("Scale", first.scale_um, 2, "µm");
            }
            along = Some(*mm2);
        }
        Intra::Density => fields.name("Fibres", "Streamline density"),
    }
    let water = |some: bool, name| if some { name } else { "None" };
    fields.name("Around them", water(!model.extra.is_empty(), "Zeppelin"));
    fields.name("Free water", water(!model.free.is_empty(), "Ball"));
    fields.check("Force the model", params.force_model);
    let mut diffusivity = |label: &str, i: usize, mm2: f64| {
        let label = match i {
            0 => label.to_owned(),
            i => format!("{label} {}", i + 1),
        };
        // Whole units in the seventh place, as they are typed.
        let shown = (mm2 * SHOWN * 1e6).round() / 1e6;
        fields.number(&label, shown, 2, "· 10⁻³ mm²/s");
    };
    if let Some(along) = along {
        diffusivity("Axial", 0, along);
    }
    for (i, zeppelin) in model.extra.iter().enumerate() {
        diffusivity("Radial", i, zeppelin.across);
    }
    for (i, free) in model.free.iter().enumerate() {
        diffusivity("Ball", i, *free);
    }
    for (label, weight) in [
        ("Sparsity λ", params.lasso),
        ("Bundle penalty", params.group),
    ] {
        match weight {
            0.0 => fields.name(label, "0"),
            weight => fields.single(label, weight, 4, ""),
        }
    }
    fields.name("Stop at change", power(params.stop.objective));
    fields.number("Most iterations", f64::from(params.stop.iterations), 0, "");
    fields.or_off("Blur", params.blur_mm, 2, "mm");
    fields.check("Merge b = 0 volumes", params.switches.merge_b0);
    let relative = params.switches.normalise_signal;
    fields.check("Signals relative to b = 0", relative);
    fields.check("Kernels of equal length", params.switches.normalise_kernels);
    let operators = [
        (None, "Whichever is quicker"),
        (Some(Way::Factorised), "Harmonics"),
        (Some(Way::Dense { side: 256 }), "Look-up table"),
        (Some(Way::Dense { side: 64 }), "Coarse table"),
    ];
    fields.choice("Operator", &params.way, &operators);
    let precisions = [(Precision::Exact, "Single"), (Precision::Fast, "Half")];
    fields.choice("Precision", &params.precision, &precisions);
    fields
}

/// `10⁻⁵`, as the menu has it.
fn power(tolerance: f64) -> String {
    let names = ["10⁻³", "10⁻⁴", "10⁻⁵", "10⁻⁶", "10⁻⁷", "10⁻⁸"];
    let powers = (3..).map(|power| 10f64.powi(-power));
    let mut known = powers.zip(names);
    let known = known.find(|(power, _)| (tolerance / power - 1.0).abs() < 1e-6);
    known.map_or_else(|| format!("{tolerance:e}"), |(_, name)| name.to_owned())
}
