//! Differences of the tensor fit.

use crate::solvers::tensor_fit::Method;
use crate::state::Document;
use crate::state::core::fields::Fields;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    fit(before).differences(&fit(after))
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
