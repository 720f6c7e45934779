//! Differences of the tensor fit.

use crate::solvers::tensor_fit::Params;
use crate::state::Document;
use crate::state::core::fields::{Fields, label};
use crate::state::core::text::file_name;
use crate::state::tensors::types::fods::{FodSource, ResponseChoice, TissueChoice};

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
        ResponseChoice::Each(choices) => {
            let names: Vec<String> = choices.iter().map(|c| choice(document, c)).collect();
            names.join(", ")
        }
    };
    let source = match settings.source {
        FodSource::Scan => "from the scan",
        FodSource::Image(id) => document.layer(id).map_or("", |layer| &layer.name),
    };
    fields.name("Distributions", source);
    fields.name("Responses", responses);
    fields.rows(&settings.response_params, &[]);
    fields.rows(&settings.params, &["method"]);
    // The fit has a row of this name, too.
    fields.row_named("Deconvolution", &settings.params, "method");
    fields.rows(&settings.peak_params, &[]);
    fields
}

fn choice(document: &Document, choice: &TissueChoice) -> String {
    match choice {
        TissueChoice::Estimated => "estimated".to_owned(),
        TissueChoice::Region(id) => document
            .region(*id)
            .map_or(String::new(), |r| r.name.clone()),
        TissueChoice::Layer(id) => document
            .layer(*id)
            .map_or(String::new(), |l| l.name.clone()),
        TissueChoice::File(path) => file_name(path),
        TissueChoice::Omitted => "left out".to_owned(),
    }
}

fn fit(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = &document.fit;
    let range = "b-range";
    fields.rows(params, &[range]);
    // In the format of its field in the form, not of the option.
    let (low, high) = params.b_range_s_per_mm2;
    let range = label::<Params>(range);
    fields.numbers(range, &[low, high], "–", (0, "s/mm²"));
    let mask = document.fit_mask.and_then(|id| document.layer(id));
    let mask = mask.map_or("From the scan", |layer| &layer.name);
    fields.name("Mask", mask);
    fields
}
