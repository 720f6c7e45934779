//! Parameters of a surface, and its spheres.

use crate::parameters::shortest_f64;
use crate::solvers::level_set::{Params, TargetParts};
use crate::state::core::fields::{Fields, label};
use crate::state::core::text::{counted, fixed, with_unit};
use crate::state::segment::jobs::PlacedSphere;
use crate::state::segment::{Margin, Segmentation, frame_of};
use crate::state::{Document, LayerId};

/// The differences between two segmentations; `document` has the layers and regions that they refer to.
pub fn segment(document: &Document, from: &Segmentation, to: &Segmentation) -> Vec<String> {
    let values = (from.settings.params.target, from.settings.params.tolerance);
    let differ = values != (to.settings.params.target, to.settings.params.tolerance);
    let fields = |segmentation: &Segmentation| fields(document, segmentation, differ);
    let mut all = fields(from).differences(&fields(to));
    all.extend(spheres(&from.spheres, &to.spheres));
    all
}

fn fields(document: &Document, segmentation: &Segmentation, with_values: bool) -> Fields {
    let mut fields = Fields::default();
    let layer = |fields: &mut Fields, label: &str, id: Option<LayerId>| {
        let layer = id.and_then(|id| document.layer(id));
        let name = layer.map_or("none", |l| &l.name);
        fields.detailed(label, name, format!("{id:?}"));
    };
    let (settings, params) = (&segmentation.settings, &segmentation.settings.params);
    if with_values {
        target(&mut fields, document, params);
    }
    if segmentation.image.is_some() {
        layer(&mut fields, "Image", segmentation.image);
    }
    fields.detailed(
        "Start",
        segmentation.start.name(),
        format!("{:?}", segmentation.start),
    );
    fields.rows(params, &[]);
    layer(&mut fields, "Speed image", segmentation.layer);
    for (label, id) in ["Grow in", "Keep out of"]
        .into_iter()
        .zip(segmentation.painted)
    {
        let region = id.and_then(|id| document.region(id));
        let name = region.map_or("none", |r| &r.name);
        fields.detailed(label, name, format!("{id:?}"));
    }
    layer(&mut fields, "Reference", segmentation.reference);
    fields.percent("Speed overlay", settings.speed_opacity);
    let pace = settings.steps_per_update.map(|steps| steps as f64);
    fields.number_or("Steps per frame", pace, (0, ""), "auto");
    let fade = settings.fade_mm.map(shortest_f64);
    fields.or_off("Fade near the cut", fade, 2, "mm");
    let mm = settings.margin_mm;
    fields.rows(&Margin { mm }, &[]);
    fields.check("Pause at leaks", settings.watched);
    fields.check("Dim the volume outside the surface", settings.dims);
    fields.check("Sampling sets the opacity curve", settings.curve);
    let shown = [(true, "surface shown"), (false, "surface hidden")];
    fields.choice("", &settings.shown, &shown);
    fields
}

/// Its decimals depend on the range of values in the panel.
fn target(fields: &mut Fields, document: &Document, params: &Params) {
    let Some((layer, volume)) = document.segmented_image() else {
        return;
    };
    let (low, high) = volume.percentiles(frame_of(layer, volume), 0.01, 0.998);
    let (low, high) = (low.min(params.target), high.max(params.target));
    let scale = f64::from(layer.unit_scale);
    let span = f64::from(high - low) * scale;
    let decimals = (3.0 - span.max(1e-12).log10().floor()).clamp(0.0, 6.0) as usize;
    let unit = match layer.unit.chars().count() <= 3 {
        true => layer.unit,
        false => "",
    };
    for (key, value) in [("target", params.target), ("tolerance", params.tolerance)] {
        let label = label::<TargetParts>(key);
        fields.number(label, shortest_f64(value) * scale, decimals, unit);
    }
}

/// Each sphere by its kind and size; many of them by their number.
fn spheres(from: &[PlacedSphere], to: &[PlacedSphere]) -> Vec<String> {
    let mm = |radius: f64| with_unit(&fixed(radius, 1), "mm");
    let what = |add: bool| if add { "sphere" } else { "keep-out sphere" };
    let missing =
        |hands: &[PlacedSphere], (number, _): &PlacedSphere| hands.iter().all(|(n, _)| n != number);
    let mut all = Vec::new();
    for (spheres, others, done) in [(from, to, "deleted"), (to, from, "restored")] {
        let own: Vec<&PlacedSphere> = spheres
            .iter()
            .filter(|sphere| missing(others, sphere))
            .collect();
        match &*own {
            [] => {}
            [(_, s)] => all.push(format!("{} of {} {done}", what(s.add), mm(s.radius_mm))),
            many => {
                let kind = match many.iter().all(|(_, s)| s.add == many[0].1.add) {
                    true => what(many[0].1.add),
                    false => "sphere",
                };
                all.push(format!("{} {done}", counted(many.len(), kind)));
            }
        }
    }
    for (number, before) in from {
        let after = to.iter().find(|(n, _)| n == number).map(|(_, s)| s);
        let Some(after) = after.filter(|after| *after != before) else {
            continue;
        };
        let [old, new] = [before, after].map(|s| mm(s.radius_mm));
        all.push(match old == new {
            true => format!("{} moved", what(after.add)),
            false => format!("{} {old} → {new}", what(after.add)),
        });
    }
    all
}
