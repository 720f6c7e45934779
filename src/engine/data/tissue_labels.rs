//! The tissue of a label by its name, or by its number in FreeSurfer's table, which SynthSeg uses, too.

use super::tissue_map::TissueType;

/// The meaning of a label for tracking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Labelled {
    Tissue(TissueType),
    /// Known, and outside the brain.
    Outside,
    Unknown,
}

/// The tissue of a label. A name that says nothing leaves the decision to the number.
pub fn tissue_of(number: u32, name: Option<&str>) -> Labelled {
    match name.map(by_name) {
        Some(labelled) if labelled != Labelled::Unknown => labelled,
        // A table with other names has other numbers.
        Some(_) if !is_generic(name.unwrap_or_default()) => Labelled::Unknown,
        _ => by_number(number),
    }
}

/// Whether a name only repeats a number, as in `Label 17`.
pub(super) fn is_generic(name: &str) -> bool {
    let letters: String = name
        .chars()
        .filter(|c| c.is_ascii_alphabetic())
        .collect::<String>()
        .to_ascii_lowercase();
    matches!(letters.as_str(), "" | "label" | "region" | "l" | "r")
}

/// Parts of names; the first that occurs decides: a *cortex of white matter* is white matter. Hippocampus and amygdala
/// are cortical, as in MRtrix's `5ttgen freesurfer`: streamlines end in them.
const NAME_PARTS: &[(&str, Labelled)] = &[
    ("tumor", Labelled::Tissue(TissueType::Other)),
    ("tumour", Labelled::Tissue(TissueType::Other)),
    ("lesion", Labelled::Tissue(TissueType::Other)),
    ("hypointensit", Labelled::Tissue(TissueType::White)),
    ("hyperintensit", Labelled::Tissue(TissueType::White)),
    ("white", Labelled::Tissue(TissueType::White)),
    ("wm-", Labelled::Tissue(TissueType::White)),
    ("brainstem", Labelled::Tissue(TissueType::White)),
    ("callosum", Labelled::Tissue(TissueType::White)),
    ("cc_", Labelled::Tissue(TissueType::White)),
    ("ventraldc", Labelled::Tissue(TissueType::White)),
    ("chiasm", Labelled::Tissue(TissueType::White)),
    ("ventricle", Labelled::Tissue(TissueType::Csf)),
    ("inflatvent", Labelled::Tissue(TissueType::Csf)),
    ("csf", Labelled::Tissue(TissueType::Csf)),
    ("choroid", Labelled::Tissue(TissueType::Csf)),
    ("vessel", Labelled::Tissue(TissueType::Csf)),
    ("thalamus", Labelled::Tissue(TissueType::DeepGrey)),
    ("caudate", Labelled::Tissue(TissueType::DeepGrey)),
    ("putamen", Labelled::Tissue(TissueType::DeepGrey)),
    ("pallidum", Labelled::Tissue(TissueType::DeepGrey)),
    ("accumbens", Labelled::Tissue(TissueType::DeepGrey)),
    ("substantianigra", Labelled::Tissue(TissueType::DeepGrey)),
    ("deepgrey", Labelled::Tissue(TissueType::DeepGrey)),
    ("deepgray", Labelled::Tissue(TissueType::DeepGrey)),
    ("hippocampus", Labelled::Tissue(TissueType::CorticalGrey)),
    ("amygdala", Labelled::Tissue(TissueType::CorticalGrey)),
    ("cortex", Labelled::Tissue(TissueType::CorticalGrey)),
    ("ctx", Labelled::Tissue(TissueType::CorticalGrey)),
    ("grey", Labelled::Tissue(TissueType::CorticalGrey)),
    ("gray", Labelled::Tissue(TissueType::CorticalGrey)),
    ("skull", Labelled::Outside),
    ("scalp", Labelled::Outside),
    ("skin", Labelled::Outside),
    ("background", Labelled::Outside),
];

fn by_name(name: &str) -> Labelled {
    // `Brain-Stem`, `brain stem` and `Left-Thalamus-Proper*` have several spellings.
    let plain = name.to_ascii_lowercase().replace([' ', '*'], "");
    let joined = plain.replace('-', "");
    let has = |part: &str| plain.contains(part) || joined.contains(part);
    let row = NAME_PARTS.iter().find(|(part, _)| has(part));
    row.map_or(Labelled::Unknown, |(_, labelled)| *labelled)
}

fn by_number(number: u32) -> Labelled {
    use TissueType::{CorticalGrey, Csf, DeepGrey, White};
    Labelled::Tissue(match number {
        // White matter of cerebrum and cerebellum, brain stem, ventral diencephalon, hypointensities, optic chiasm.
        2 | 41 | 7 | 46 | 16 | 28 | 60 | 77..=79 | 85 | 100 | 109 | 192 | 250..=255 => White,
        3001..=3035 | 4001..=4035 | 5001 | 5002 => White,
        // Ventricles, CSF, vessels, choroid plexus.
        4 | 5 | 14 | 15 | 24 | 43 | 44 | 72 | 30 | 62 | 31 | 63 | 213 | 221 => Csf,
        // Thalamus, caudate, putamen, pallidum, accumbens, substantia nigra.
        9..=13 | 26 | 27 | 48..=52 | 58 | 59 => DeepGrey,
        // Cortex of cerebrum and cerebellum, hippocampus, amygdala.
        3 | 42 | 8 | 47 | 17 | 18 | 53 | 54 | 19 | 20 | 55 | 56 => CorticalGrey,
        // Parcels: Desikan-Killiany, Destrieux.
        1000..=1035 | 2000..=2035 | 11100..=11175 | 12100..=12175 => CorticalGrey,
        165 | 258 | 259 => return Labelled::Outside,
        _ => return Labelled::Unknown,
    })
}
