//! Differences of the settings of the noise of streamlines.

use crate::state::Document;
use crate::state::core::fields::Fields;
use crate::state::pathways::changes::distance_targets;
use crate::state::pathways::{NoiseMargin, SHARE_OF_REPETITIONS};
use crate::state::track_noise::{CENTRE_LINES, TrackNoiseSettings};

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let [was, is] = [before, after].map(|document| &document.track.noise);
    let mut all = fields(was).differences(&fields(is));
    let targets = [was, is].map(|settings| settings.distance_to);
    all.extend(distance_targets([before, after], targets));
    all
}

fn fields(settings: &TrackNoiseSettings) -> Fields {
    let mut fields = Fields::default();
    fields.check(SHARE_OF_REPETITIONS, settings.shows_share);
    fields.check(CENTRE_LINES, settings.shows_centre_lines);
    let mm = settings.margin_mm;
    fields.rows(&NoiseMargin { mm }, &[]);
    fields
}
