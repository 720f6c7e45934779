//! Files: what is read, what is refused and in which words, what is written.

mod bids;
mod definitions;
mod differential;
mod fibres;
mod files;
mod formats;
mod gradients;
mod hostile;
mod images;
mod kept;
mod kept_gradients;
mod kept_rest;
mod labels;
pub mod made;
mod masks;
mod mutations;
mod peers;
mod races;
mod scalars;
mod surfaces;
mod variants;
mod volumes;
mod vtp;

use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    [
        bids::tests(),
        images::tests(),
        kept::tests(),
        kept_gradients::tests(),
        kept_rest::tests(),
        hostile::tests(),
        labels::tests(),
        masks::tests(),
        gradients::tests(),
        definitions::tests(),
        differential::tests(),
        fibres::tests(),
        files::tests(),
        formats::tests(),
        mutations::tests(),
        peers::tests(),
        races::tests(),
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

/// The sentence of an error: one line, no full stop, the path last, none of Rust's own words.
pub fn sentence(error: &arcuate::io::Error) -> String {
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!text.contains("os error"), "{text}");
    assert!(text.starts_with(|c: char| c.is_uppercase()), "{text}");
    if let Some(path) = error.path() {
        let path = format!(": {}", path.display());
        assert!(text.ends_with(&path), "{text}");
        let words = text.trim_end_matches(&path);
        assert!(words.len() > 15 && !words.ends_with('.'), "{text}");
        // What to do about it.
        let remedies = ["; ", ", check", ", ask", ", choose", ", create"];
        assert!(remedies.iter().any(|r| words.contains(r)), "{text}");
    }
    text
}
