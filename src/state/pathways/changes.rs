//! Pathways: the controls of the live one, and kept ones.

use crate::data::appearance::Transfer;
use crate::solvers::pathway::Width;
use crate::state::Document;
use crate::state::core::fields::{Fields, colour, cut, event_text, prefixed, renamed};
use crate::state::pathways::{
    DISTANCE_TO, DistanceTarget, KeptPathway, NoiseMargin, PathwayNoiseSettings, PathwaySettings,
    SHARE_OF_REPETITIONS, SURFACE_USE, ShownCost,
};
use std::sync::Arc;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let mut all = controls(&before.pathways).differences(&controls(&after.pathways));
    all.extend(crossings(&before.pathways).differences(&crossings(&after.pathways)));
    let noise = |document: &Document| repetitions(&document.pathways.noise);
    all.extend(noise(before).differences(&noise(after)));
    let targets = [before, after].map(|document| document.pathways.noise.distance_to);
    all.extend(distance_targets([before, after], targets));
    for pathway in &after.kept_pathways {
        let mut earlier = before.kept_pathways.iter();
        let Some(was) = earlier.find(|k| k.id == pathway.id) else {
            continue;
        };
        if !Arc::ptr_eq(was, pathway) {
            all.extend(renamed(&was.name, &pathway.name));
            let changes = kept_fields(was).differences(&kept_fields(pathway));
            all.extend(prefixed(&pathway.name, changes));
        }
    }
    all
}

fn controls(settings: &PathwaySettings) -> Fields {
    let mut fields = Fields::default();
    let epsilon = settings.epsilon;
    fields.rows(&Width { epsilon }, &[]);
    fields.name("Directions", PathwaySettings::directions(settings.model));
    fields.rows(&settings.params.metric, &[]);
    fields.rows(&settings.params, &[]);
    fields.name(SURFACE_USE, settings.surface_use.name());
    fields.name("Show cost", settings.shown.name());
    fields.percent("Colours up to", settings.range);
    fields.percent("Cost opacity", settings.opacity);
    fields.check("Grey images below the cost", settings.greys);
    fields.check("Pathway outline on slices", settings.outline);
    let shown = match settings.shown {
        ShownCost::Second => ShownCost::Second,
        _ => ShownCost::First,
    };
    fields.or_off("Cost contours", settings.contours, 1, shown.name());
    let shapes = [
        ((true, false), "Cloud"),
        ((false, true), "Surface"),
        ((true, true), "Cloud and surface"),
        ((false, false), "Off"),
    ];
    fields.choice("Shown as", &(settings.cloud, settings.surface), &shapes);
    cut(&mut fields, settings.cut);
    crate::state::core::fields::curve(&mut fields, &Transfer::cost_presets(), &settings.transfer);
    fields
}

/// Parameters of pathways through distributions.
fn crossings(settings: &PathwaySettings) -> Fields {
    let mut fields = Fields::default();
    fields.rows(&settings.lifted, &[]);
    fields
}

/// Settings of the repetitions of the live pathway.
fn repetitions(settings: &PathwayNoiseSettings) -> Fields {
    let mut fields = Fields::default();
    fields.check("Repeat the pathway", settings.repeats);
    fields.rows(&settings.params, &[]);
    let mm = settings.margin_mm;
    fields.rows(&NoiseMargin { mm }, &[]);
    fields.check(SHARE_OF_REPETITIONS, settings.shows_share);
    fields.check("Paths of the repetitions", settings.shows_paths);
    fields
}

/// The change of the object whose distance is measured, by the names that it has in two documents.
pub(in crate::state) fn distance_targets(
    documents: [&Document; 2],
    targets: [DistanceTarget; 2],
) -> Vec<String> {
    let fields = |i: usize| {
        let mut fields = Fields::default();
        fields.name(DISTANCE_TO, documents[i].distance_target_name(targets[i]));
        fields
    };
    match targets[0] == targets[1] {
        true => Vec::new(),
        false => fields(0).differences(&fields(1)),
    }
}

fn kept_fields(pathway: &KeptPathway) -> Fields {
    let mut fields = Fields::default();
    let epsilon = pathway.epsilon;
    fields.rows(&Width { epsilon }, &[]);
    fields.name("Colour", colour(pathway.colour));
    fields.name("", if pathway.visible { "shown" } else { "hidden" });
    fields
}

pub fn added_or_removed(before: &Document, after: &Document) -> Vec<String> {
    let missing = |document: &Document, from: &Document| -> Vec<Arc<KeptPathway>> {
        let exists = |id| document.kept_pathways.iter().any(|k| k.id == id);
        let kept = from.kept_pathways.iter();
        kept.filter(|k| !exists(k.id)).cloned().collect()
    };
    let names = |kept: &[Arc<KeptPathway>], done| {
        let names: Vec<&str> = kept.iter().map(|k| k.name.as_str()).collect();
        event_text(&names, "pathway", done)
    };
    let (gone, back) = (missing(after, before), missing(before, after));
    let both = [names(&gone, "removed"), names(&back, "restored")];
    both.into_iter().flatten().collect()
}
