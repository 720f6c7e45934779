//! Files: reading, refusals with their sentences, writing.

mod bids;
mod card_claims;
pub mod conversion;
mod conversion_gradients;
mod conversion_headers;
mod conversion_losses;
mod conversion_mif;
mod crosshair_links;
mod definitions;
mod differential;
mod fibres;
mod files;
mod fixels;
pub mod formats;
mod gradients;
mod hostile;
mod html;
mod images;
mod in_place;
mod labels;
mod masks;
pub mod mif;
mod mutations;
mod orientations;
mod peers;
mod pieces;
mod protocols;
mod races;
mod responses;
mod scalars;
mod surfaces;
pub mod variants;
pub mod volumes;
pub mod vtp;

pub use crate::support::entries::sentence;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    [
        bids::tests(),
        card_claims::tests(),
        images::tests(),
        in_place::tests(),
        conversion::tests(),
        conversion_gradients::tests(),
        conversion_losses::tests(),
        conversion_mif::tests(),
        conversion_headers::tests(),
        hostile::tests(),
        html::tests(),
        labels::tests(),
        masks::tests(),
        mif::tests(),
        gradients::tests(),
        crosshair_links::tests(),
        definitions::tests(),
        differential::tests(),
        fibres::tests(),
        files::tests(),
        fixels::tests(),
        formats::tests(),
        protocols::tests(),
        mutations::tests(),
        orientations::tests(),
        peers::tests(),
        pieces::tests(),
        races::tests(),
        responses::tests(),
        surfaces::tests(),
        variants::tests(),
        volumes::tests(),
        vtp::tests(),
        scalars::tests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
