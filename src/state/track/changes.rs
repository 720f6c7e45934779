//! Differences of streamlines, rays and the whole brain.

use crate::parameters::{Kind, row};
use crate::solvers::curves::{DeflectionParts, Params, SeedingParts};
use crate::solvers::geodesic::{Cut, DirectionParts, Rays, SharpeningParts};
use crate::state::Document;
use crate::state::core::fields::{Fields, label};
use crate::state::core::text::{measure, significant};
use crate::state::track::types::RayCount;
use crate::state::track::types::odf::OdfRays;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let mut all = Vec::new();
    for fields in [method, streamlines, rays, whole_brain] {
        all.extend(fields(before).differences(&fields(after)));
    }
    // The defaults depend on the scan, which other steps change.
    let own = |document: &Document| {
        let odf = &document.track.odf;
        (odf.params.clone(), odf.tissues)
    };
    if own(before) != own(after) {
        all.extend(odf_fields(before).differences(&odf_fields(after)));
    }
    all.extend(odf_rays(before).differences(&odf_rays(after)));
    all
}

fn method(document: &Document) -> Fields {
    let mut fields = Fields::default();
    fields.name("Method", document.track.method.name());
    fields.name("Model", document.track.model.name());
    fields
}

/// Streamlines along distributions, and their tissues.
fn odf_fields(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = document.odf_params();
    fields.rows(&SeedingParts::from(params.seeding), &[]);
    fields.rows(&params, &["seeds"]);
    let tissues = document.track.odf.tissues;
    let name = match tissues {
        None => "none".to_owned(),
        Some(id) => document
            .layer(id)
            .map_or("missing".to_owned(), |l| l.name.clone()),
    };
    fields.detailed("Tissues", name, format!("{tissues:?}"));
    fields
}

fn streamlines(document: &Document) -> Fields {
    let mut fields = Fields::default();
    let params = &document.track.streamlines;
    fields.rows(&SeedingParts::from(params.seeding), &[]);
    fields.rows(&DeflectionParts::from(params.deflection), &[]);
    fields.rows(params, SEPARATE);
    length(&mut fields, params);
    fields
}

/// Rows of curves that forms display differently: by their parts, or two in one row.
const SEPARATE: &[&str] = &["seeds", "deflect", "min-length", "max-length"];

/// Both lengths in one field, as in the form.
fn length(fields: &mut Fields, params: &Params) {
    // Without a limit the row's upper handle stands at the end of its slider.
    let end = match row::<Params>("max-length").map(|row| &row.kind) {
        Some(Kind::Number(longest)) => longest.soft.1,
        _ => f64::INFINITY,
    };
    let ends = [params.min_length_mm, params.max_length_mm.unwrap_or(end)];
    fields.numbers("Length", &ends, "–", (0, "mm"));
}

fn rays(document: &Document) -> Fields {
    ray_fields(&document.track.rays)
}

/// Rays along distributions.
fn odf_rays(document: &Document) -> Fields {
    let OdfRays { speed, rays } = &document.track.odf.rays;
    let mut fields = ray_fields(rays);
    fields.rows(speed, &[]);
    fields
}

fn ray_fields(rays: &Rays) -> Fields {
    let mut fields = Fields::default();
    if let Some(count) = rays.count() {
        fields.rows(&RayCount { count }, &[]);
    }
    fields.rows(&DirectionParts::from(rays.params.directions), &[]);
    fields.rows(&SharpeningParts::from(rays.metric.sharpening), &[]);
    // Both tables have the direction of travel; that of all curves names it.
    let separate = ["directions", "sharpen", "both-ways", "cut"];
    fields.rows(rays, &separate);
    fields.rows(&rays.params.curves, SEPARATE);
    length(&mut fields, &rays.params.curves);
    let keep = label::<Rays>("cut");
    fields.detailed(keep, cut_text(rays.cut), format!("{:?}", rays.cut));
    fields
}

/// The cut in the format of its field in the form.
fn cut_text(cut: Cut) -> String {
    match cut {
        Cut::All => "all".to_owned(),
        Cut::AtLeast(threshold) => format!("≥\u{202F}{}", measure(f64::from(threshold))),
        Cut::Top(count) => format!("best {}", crate::state::core::text::count(count as u64)),
        Cut::TopShare(share) => format!("best {}\u{202F}%", significant(share * 100.0)),
    }
}

fn whole_brain(document: &Document) -> Fields {
    let mut fields = Fields::default();
    fields.rows(&document.track.whole_brain, &[]);
    fields
}
