//! The meaning of FreeSurfer's numbers in the label maps that its `recon-all` writes (`aseg`, `aparc+aseg`,
//! `aparc.a2009s+aseg`, `wmparc`), for maps without a table. Names, numbers and colours are those of
//! FreeSurferColorLUT.txt, version 7.
//!
//! Fischl et al., Neuron 33:341, 2002 (subcortical); Desikan et al., NeuroImage 31:968, 2006, and Destrieux
//! et al., NeuroImage 53:1, 2010 (cortex).

use crate::data::labels::{Label, Labels};
use std::collections::{BTreeMap, BTreeSet};

/// sRGB.
type Rgb = [u8; 3];

/// Left, right, name, colour of both.
const PAIRS: [(u32, u32, &str, Rgb); 20] = [
    (2, 41, "Cerebral-White-Matter", [245, 245, 245]),
    (3, 42, "Cerebral-Cortex", [205, 62, 78]),
    (4, 43, "Lateral-Ventricle", [120, 18, 134]),
    (5, 44, "Inf-Lat-Vent", [196, 58, 250]),
    (7, 46, "Cerebellum-White-Matter", [220, 248, 164]),
    (8, 47, "Cerebellum-Cortex", [230, 148, 34]),
    (10, 49, "Thalamus", [0, 118, 14]),
    (11, 50, "Caudate", [122, 186, 220]),
    (12, 51, "Putamen", [236, 13, 176]),
    (13, 52, "Pallidum", [12, 48, 255]),
    (17, 53, "Hippocampus", [220, 216, 20]),
    (18, 54, "Amygdala", [103, 255, 255]),
    (25, 57, "Lesion", [255, 165, 0]),
    (26, 58, "Accumbens-area", [255, 165, 0]),
    (28, 60, "VentralDC", [165, 42, 42]),
    (30, 62, "vessel", [160, 32, 240]),
    (31, 63, "choroid-plexus", [0, 200, 200]),
    (78, 79, "WM-hypointensities", [255, 148, 10]),
    (81, 82, "non-WM-hypointensities", [164, 108, 226]),
    (5001, 5002, "UnsegmentedWhiteMatter", [20, 30, 40]),
];

/// Labels whose right side has a different colour from the left.
const RIGHT: [(u32, Rgb); 2] = [(52, [13, 48, 255]), (63, [0, 200, 221])];

const MIDDLE: [(u32, &str, Rgb); 13] = [
    (14, "3rd-Ventricle", [204, 182, 142]),
    (15, "4th-Ventricle", [42, 204, 164]),
    (16, "Brain-Stem", [119, 159, 176]),
    (24, "CSF", [60, 60, 60]),
    (72, "5th-Ventricle", [120, 190, 150]),
    (77, "WM-hypointensities", [200, 70, 255]),
    (80, "non-WM-hypointensities", [164, 108, 226]),
    (85, "Optic-Chiasm", [234, 169, 30]),
    (251, "CC_Posterior", [0, 0, 64]),
    (252, "CC_Mid_Posterior", [0, 0, 112]),
    (253, "CC_Central", [0, 0, 160]),
    (254, "CC_Mid_Anterior", [0, 0, 208]),
    (255, "CC_Anterior", [0, 0, 255]),
];

/// Desikan's cortical labels, in the order of their numbers from the first of a side.
const DESIKAN: [(&str, Rgb); 36] = [
    ("unknown", [25, 5, 25]),
    ("bankssts", [25, 100, 40]),
    ("caudalanteriorcingulate", [125, 100, 160]),
    ("caudalmiddlefrontal", [100, 25, 0]),
    ("corpuscallosum", [120, 70, 50]),
    ("cuneus", [220, 20, 100]),
    ("entorhinal", [220, 20, 10]),
    ("fusiform", [180, 220, 140]),
    ("inferiorparietal", [220, 60, 220]),
    ("inferiortemporal", [180, 40, 120]),
    ("isthmuscingulate", [140, 20, 140]),
    ("lateraloccipital", [20, 30, 140]),
    ("lateralorbitofrontal", [35, 75, 50]),
    ("lingual", [225, 140, 140]),
    ("medialorbitofrontal", [200, 35, 75]),
    ("middletemporal", [160, 100, 50]),
    ("parahippocampal", [20, 220, 60]),
    ("paracentral", [60, 220, 60]),
    ("parsopercularis", [220, 180, 140]),
    ("parsorbitalis", [20, 100, 50]),
    ("parstriangularis", [220, 60, 20]),
    ("pericalcarine", [120, 100, 60]),
    ("postcentral", [220, 20, 20]),
    ("posteriorcingulate", [220, 180, 220]),
    ("precentral", [60, 20, 220]),
    ("precuneus", [160, 140, 180]),
    ("rostralanteriorcingulate", [80, 20, 140]),
    ("rostralmiddlefrontal", [75, 50, 125]),
    ("superiorfrontal", [20, 220, 160]),
    ("superiorparietal", [20, 180, 140]),
    ("superiortemporal", [140, 220, 220]),
    ("supramarginal", [80, 160, 20]),
    ("frontalpole", [100, 0, 100]),
    ("temporalpole", [70, 70, 70]),
    ("transversetemporal", [150, 150, 200]),
    ("insula", [255, 192, 32]),
];

/// Destrieux's labels: G gyrus, S sulcus.
const DESTRIEUX: [(&str, Rgb); 76] = [
    ("Unknown", [0, 0, 0]),
    ("G_and_S_frontomargin", [23, 220, 60]),
    ("G_and_S_occipital_inf", [23, 60, 180]),
    ("G_and_S_paracentral", [63, 100, 60]),
    ("G_and_S_subcentral", [63, 20, 220]),
    ("G_and_S_transv_frontopol", [13, 0, 250]),
    ("G_and_S_cingul-Ant", [26, 60, 0]),
    ("G_and_S_cingul-Mid-Ant", [26, 60, 75]),
    ("G_and_S_cingul-Mid-Post", [26, 60, 150]),
    ("G_cingul-Post-dorsal", [25, 60, 250]),
    ("G_cingul-Post-ventral", [60, 25, 25]),
    ("G_cuneus", [180, 20, 20]),
    ("G_front_inf-Opercular", [220, 20, 100]),
    ("G_front_inf-Orbital", [140, 60, 60]),
    ("G_front_inf-Triangul", [180, 220, 140]),
    ("G_front_middle", [140, 100, 180]),
    ("G_front_sup", [180, 20, 140]),
    ("G_Ins_lg_and_S_cent_ins", [23, 10, 10]),
    ("G_insular_short", [225, 140, 140]),
    ("G_occipital_middle", [180, 60, 180]),
    ("G_occipital_sup", [20, 220, 60]),
    ("G_oc-temp_lat-fusifor", [60, 20, 140]),
    ("G_oc-temp_med-Lingual", [220, 180, 140]),
    ("G_oc-temp_med-Parahip", [65, 100, 20]),
    ("G_orbital", [220, 60, 20]),
    ("G_pariet_inf-Angular", [20, 60, 220]),
    ("G_pariet_inf-Supramar", [100, 100, 60]),
    ("G_parietal_sup", [220, 180, 220]),
    ("G_postcentral", [20, 180, 140]),
    ("G_precentral", [60, 140, 180]),
    ("G_precuneus", [25, 20, 140]),
    ("G_rectus", [20, 60, 100]),
    ("G_subcallosal", [60, 220, 20]),
    ("G_temp_sup-G_T_transv", [60, 60, 220]),
    ("G_temp_sup-Lateral", [220, 60, 220]),
    ("G_temp_sup-Plan_polar", [65, 220, 60]),
    ("G_temp_sup-Plan_tempo", [25, 140, 20]),
    ("G_temporal_inf", [220, 220, 100]),
    ("G_temporal_middle", [180, 60, 60]),
    ("Lat_Fis-ant-Horizont", [61, 20, 220]),
    ("Lat_Fis-ant-Vertical", [61, 20, 60]),
    ("Lat_Fis-post", [61, 60, 100]),
    ("Medial_wall", [25, 25, 25]),
    ("Pole_occipital", [140, 20, 60]),
    ("Pole_temporal", [220, 180, 20]),
    ("S_calcarine", [63, 180, 180]),
    ("S_central", [221, 20, 10]),
    ("S_cingul-Marginalis", [221, 20, 100]),
    ("S_circular_insula_ant", [221, 60, 140]),
    ("S_circular_insula_inf", [221, 20, 220]),
    ("S_circular_insula_sup", [61, 220, 220]),
    ("S_collat_transv_ant", [100, 200, 200]),
    ("S_collat_transv_post", [10, 200, 200]),
    ("S_front_inf", [221, 220, 20]),
    ("S_front_middle", [141, 20, 100]),
    ("S_front_sup", [61, 220, 100]),
    ("S_interm_prim-Jensen", [141, 60, 20]),
    ("S_intrapariet_and_P_trans", [143, 20, 220]),
    ("S_oc_middle_and_Lunatus", [101, 60, 220]),
    ("S_oc_sup_and_transversal", [21, 20, 140]),
    ("S_occipital_ant", [61, 20, 180]),
    ("S_oc-temp_lat", [221, 140, 20]),
    ("S_oc-temp_med_and_Lingual", [141, 100, 220]),
    ("S_orbital_lateral", [221, 100, 20]),
    ("S_orbital_med-olfact", [181, 200, 20]),
    ("S_orbital-H_Shaped", [101, 20, 20]),
    ("S_parieto_occipital", [101, 100, 180]),
    ("S_pericallosal", [181, 220, 20]),
    ("S_postcentral", [21, 140, 200]),
    ("S_precentral-inf-part", [21, 20, 240]),
    ("S_precentral-sup-part", [21, 20, 200]),
    ("S_suborbital", [21, 20, 60]),
    ("S_subparietal", [101, 60, 60]),
    ("S_temporal_inf", [21, 180, 180]),
    ("S_temporal_sup", [223, 220, 60]),
    ("S_temporal_transverse", [221, 60, 60]),
];

/// A cortical parcellation: its first number on the left and on the right, the prefix of its names there, and a
/// function that derives the colour of a label from its index and its colour in the list.
struct Parcels {
    first: [u32; 2],
    prefixes: [&'static str; 2],
    names: &'static [(&'static str, Rgb)],
    colour: fn(u32, Rgb) -> Rgb,
}

impl Parcels {
    /// Cortical labels, with the colours of the list.
    const fn cortex(
        first: [u32; 2],
        prefixes: [&'static str; 2],
        names: &'static [(&'static str, Rgb)],
    ) -> Self {
        Self {
            first,
            prefixes,
            names,
            colour: |_, rgb| rgb,
        }
    }
}

const PARCELS: [Parcels; 4] = [
    Parcels::cortex([1000, 2000], ["ctx-lh-", "ctx-rh-"], &DESIKAN),
    Parcels {
        // White matter has the complement of its cortex's colour, except the insula.
        colour: |i, rgb| match i {
            35 => [20, 220, 160],
            _ => rgb.map(|level| 255 - level),
        },
        ..Parcels::cortex([3000, 4000], ["wm-lh-", "wm-rh-"], &DESIKAN)
    },
    Parcels::cortex([11100, 12100], ["ctx_lh_", "ctx_rh_"], &DESTRIEUX),
    Parcels::cortex([13100, 14100], ["wm_lh_", "wm_rh_"], &DESTRIEUX),
];

/// All labels.
fn all() -> BTreeMap<u32, Label> {
    let mut table = BTreeMap::new();
    let mut put = |number: u32, name: String, rgb: Rgb| {
        let colour = Some(rgb);
        table.insert(number, Label { name, colour });
    };
    for (number, name, rgb) in MIDDLE {
        put(number, name.to_owned(), rgb);
    }
    for (left, right, name, rgb) in PAIRS {
        put(left, format!("Left-{name}"), rgb);
        put(right, format!("Right-{name}"), rgb);
    }
    for parcels in PARCELS {
        for (first, prefix) in parcels.first.into_iter().zip(parcels.prefixes) {
            for (i, &(name, rgb)) in (0..).zip(parcels.names) {
                put(
                    first + i,
                    format!("{prefix}{name}"),
                    (parcels.colour)(i, rgb),
                );
            }
        }
    }
    for (number, rgb) in RIGHT {
        if let Some(label) = table.get_mut(&number) {
            label.colour = Some(rgb);
        }
    }
    table
}

/// The names and colours of a label map with these numbers; `None` if any of them is not FreeSurfer's.
pub(super) fn label_names(numbers: &BTreeSet<u32>) -> Option<Labels> {
    let mut table = all();
    table.retain(|number, _| numbers.contains(number));
    (table.len() == numbers.len()).then_some(Labels { table })
}
