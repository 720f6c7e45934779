//! Differences of the tensor fit.

use crate::solvers::csd;
use crate::solvers::tensor_fit::Method;
use crate::state::Document;
use crate::state::core::fields::Fields;
use crate::state::core::text::file_name;
use crate::state::tensors::types::fods::ResponseChoice;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let mut all = fit(before).differences(&fit(after));
    all.extend(fods(before).differences(&fods(after)));
    all
}

fn fods(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let settings = &document.distributions.settings;
    fields.check("Fibre orientations", settings.requested);
    let responses = match &settings.responses {
        ResponseChoice::Estimated => "estimated".to_owned(),
        ResponseChoice::Files(files) => {
            let names: Vec<String> = files.iter().map(|path| file_name(path)).collect();
            names.join(", ")
        }
    };
    fields.name("Responses", responses);
    fields.rows(&settings.response_params, &[]);
    fields.rows(&settings.params, &["method"]);
    // The fit has a row of this name, too.
    let method = match settings.params.method {
        csd::Method::Constrained => "Non-negative",
        csd::Method::Paper => "As in the paper",
    };
    fields.name("Deconvolution", method);
    fields.rows(&settings.peak_params, &[]);
    fields
}

fn fit(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = &document.fit;
    let method = match params.method {
        Method::Ols => "Ordinary least squares",
        Method::Wls => "Weighted",
        Method::Iwls { .. } => "Reweighted",
    };
    fields.name("Method", method);
    if let Method::Iwls { iterations } = params.method {
        fields.number("Iterations", f64::from(iterations), 0, "");
    }
    let (low, high) = params.b_range_s_per_mm2;
    fields.numbers("b range", &[low, high], "–", (0, "s/mm²"));
    let mask = document.fit_mask.and_then(|id| document.layer(id));
    let mask = mask.map_or("Found from the scan", |layer| &layer.name);
    fields.name("Mask", mask);
    fields
}
