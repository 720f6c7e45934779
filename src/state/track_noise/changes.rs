//! Differences of the settings of the noise of streamlines.

use crate::state::Document;
use crate::state::core::fields::Fields;
use crate::state::pathways::NoiseMargin;
use crate::state::pathways::changes::distance_targets;
use crate::state::track_noise::TrackNoiseSettings;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let [was, is] = [before, after].map(|document| &document.streamlines.noise);
    let mut all = fields(was).differences(&fields(is));
    let targets = [was, is].map(|settings| settings.distance_to);
    all.extend(distance_targets([before, after], targets));
    all
}

fn fields(settings: &TrackNoiseSettings) -> Fields {
    let mut fields = Fields::default();
    fields.check("Share of repetitions", settings.shows_share);
    fields.check("Centre lines", settings.shows_centre_lines);
    let mm = settings.margin_mm;
    fields.rows(&NoiseMargin { mm }, &[]);
    fields
}
