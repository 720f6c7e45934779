//! The works that the methods paragraph cites.

use std::fmt::Write as _;

/// Around the place of a work among those cited, until the text is complete; private characters, which no name has.
const BEGIN: char = '\u{E0F0}';
const END: char = '\u{E0F1}';

/// Clusters of streamlines, and the distance by which repetitions of streamlines are compared.
pub(in crate::state) const QUICK_BUNDLES: &str = "Garyfallidis E, Brett M, Correia MM, Williams GB, Nimmo-Smith I \
    (2012). QuickBundles, a method for tractography simplification. Frontiers in Neuroscience 6:175.";

/// Cited works, each once. Their numbers follow the order in which the complete text mentions them, which need not be
/// the order in which its parts were written.
#[derive(Default)]
pub(in crate::state) struct Citations(Vec<&'static str>);

impl Citations {
    /// A mark in the text that [`Self::numbered`] replaces by a number: `[2]`.
    pub(in crate::state) fn cite(&mut self, work: &'static str) -> String {
        let known = self.0.iter().position(|&w| w == work);
        let place = known.unwrap_or_else(|| {
            self.0.push(work);
            self.0.len() - 1
        });
        format!("{BEGIN}{place}{END}")
    }

    /// The text with numbers, and the works in the order of their numbers.
    pub(in crate::state) fn numbered(self, text: &str) -> (String, Vec<&'static str>) {
        let mut numbered = String::with_capacity(text.len());
        let mut mentioned: Vec<&'static str> = Vec::new();
        let mut rest = text;
        while let Some((before, (place, after))) = rest
            .split_once(BEGIN)
            .and_then(|(before, after)| Some((before, after.split_once(END)?)))
        {
            numbered += before;
            rest = after;
            let place: Option<usize> = place.parse().ok();
            if let Some(work) = place.and_then(|place| self.0.get(place)) {
                let known = mentioned.iter().position(|known| known == work);
                let number = known.unwrap_or_else(|| {
                    mentioned.push(work);
                    mentioned.len() - 1
                });
                let _ = write!(numbered, "[{}]", number + 1);
            }
        }
        numbered += rest;
        (numbered, mentioned)
    }
}
