//! What FreeSurfer's numbers stand for in the label maps that its `recon-all` writes (`aseg`, `aparc+aseg`,
//! `aparc.a2009s+aseg`, `wmparc`), for those that come without a table. Names and numbers are those of
//! FreeSurferColorLUT.txt, version 7; colours are our own, the same on both sides.
//!
//! Fischl et al., Neuron 33:341, 2002 (subcortical); Desikan et al., NeuroImage 31:968, 2006, and Destrieux
//! et al., NeuroImage 53:1, 2010 (cortex).

use crate::data::labels::{Label, Labels};
use std::collections::{BTreeMap, BTreeSet};

/// Left, right, name.
const PAIRS: [(u32, u32, &str); 20] = [
    (2, 41, "Cerebral-White-Matter"),
    (3, 42, "Cerebral-Cortex"),
    (4, 43, "Lateral-Ventricle"),
    (5, 44, "Inf-Lat-Vent"),
    (7, 46, "Cerebellum-White-Matter"),
    (8, 47, "Cerebellum-Cortex"),
    (10, 49, "Thalamus"),
    (11, 50, "Caudate"),
    (12, 51, "Putamen"),
    (13, 52, "Pallidum"),
    (17, 53, "Hippocampus"),
    (18, 54, "Amygdala"),
    (25, 57, "Lesion"),
    (26, 58, "Accumbens-area"),
    (28, 60, "VentralDC"),
    (30, 62, "vessel"),
    (31, 63, "choroid-plexus"),
    (78, 79, "WM-hypointensities"),
    (81, 82, "non-WM-hypointensities"),
    (5001, 5002, "UnsegmentedWhiteMatter"),
];

const MIDDLE: [(u32, &str); 13] = [
    (14, "3rd-Ventricle"),
    (15, "4th-Ventricle"),
    (16, "Brain-Stem"),
    (24, "CSF"),
    (72, "5th-Ventricle"),
    (77, "WM-hypointensities"),
    (80, "non-WM-hypointensities"),
    (85, "Optic-Chiasm"),
    (251, "CC_Posterior"),
    (252, "CC_Mid_Posterior"),
    (253, "CC_Central"),
    (254, "CC_Mid_Anterior"),
    (255, "CC_Anterior"),
];

/// Of the cortex, in the order of their numbers from the first of a side on: Desikan's.
const DESIKAN: [&str; 36] = [
    "unknown",
    "bankssts",
    "caudalanteriorcingulate",
    "caudalmiddlefrontal",
    "corpuscallosum",
    "cuneus",
    "entorhinal",
    "fusiform",
    "inferiorparietal",
    "inferiortemporal",
    "isthmuscingulate",
    "lateraloccipital",
    "lateralorbitofrontal",
    "lingual",
    "medialorbitofrontal",
    "middletemporal",
    "parahippocampal",
    "paracentral",
    "parsopercularis",
    "parsorbitalis",
    "parstriangularis",
    "pericalcarine",
    "postcentral",
    "posteriorcingulate",
    "precentral",
    "precuneus",
    "rostralanteriorcingulate",
    "rostralmiddlefrontal",
    "superiorfrontal",
    "superiorparietal",
    "superiortemporal",
    "supramarginal",
    "frontalpole",
    "temporalpole",
    "transversetemporal",
    "insula",
];

/// Destrieux's: G gyrus, S sulcus.
const DESTRIEUX: [&str; 76] = [
    "Unknown",
    "G_and_S_frontomargin",
    "G_and_S_occipital_inf",
    "G_and_S_paracentral",
    "G_and_S_subcentral",
    "G_and_S_transv_frontopol",
    "G_and_S_cingul-Ant",
    "G_and_S_cingul-Mid-Ant",
    "G_and_S_cingul-Mid-Post",
    "G_cingul-Post-dorsal",
    "G_cingul-Post-ventral",
    "G_cuneus",
    "G_front_inf-Opercular",
    "G_front_inf-Orbital",
    "G_front_inf-Triangul",
    "G_front_middle",
    "G_front_sup",
    "G_Ins_lg_and_S_cent_ins",
    "G_insular_short",
    "G_occipital_middle",
    "G_occipital_sup",
    "G_oc-temp_lat-fusifor",
    "G_oc-temp_med-Lingual",
    "G_oc-temp_med-Parahip",
    "G_orbital",
    "G_pariet_inf-Angular",
    "G_pariet_inf-Supramar",
    "G_parietal_sup",
    "G_postcentral",
    "G_precentral",
    "G_precuneus",
    "G_rectus",
    "G_subcallosal",
    "G_temp_sup-G_T_transv",
    "G_temp_sup-Lateral",
    "G_temp_sup-Plan_polar",
    "G_temp_sup-Plan_tempo",
    "G_temporal_inf",
    "G_temporal_middle",
    "Lat_Fis-ant-Horizont",
    "Lat_Fis-ant-Vertical",
    "Lat_Fis-post",
    "Medial_wall",
    "Pole_occipital",
    "Pole_temporal",
    "S_calcarine",
    "S_central",
    "S_cingul-Marginalis",
    "S_circular_insula_ant",
    "S_circular_insula_inf",
    "S_circular_insula_sup",
    "S_collat_transv_ant",
    "S_collat_transv_post",
    "S_front_inf",
    "S_front_middle",
    "S_front_sup",
    "S_interm_prim-Jensen",
    "S_intrapariet_and_P_trans",
    "S_oc_middle_and_Lunatus",
    "S_oc_sup_and_transversal",
    "S_occipital_ant",
    "S_oc-temp_lat",
    "S_oc-temp_med_and_Lingual",
    "S_orbital_lateral",
    "S_orbital_med-olfact",
    "S_orbital-H_Shaped",
    "S_parieto_occipital",
    "S_pericallosal",
    "S_postcentral",
    "S_precentral-inf-part",
    "S_precentral-sup-part",
    "S_suborbital",
    "S_subparietal",
    "S_temporal_inf",
    "S_temporal_sup",
    "S_temporal_transverse",
];

/// Where the numbers of a parcellation begin on the left and on the right, and what stands before the name
/// there: the cortex, and the white matter below it.
const PARCELS: [(u32, u32, [&str; 2], &[&str]); 4] = [
    (1000, 2000, ["ctx-lh-", "ctx-rh-"], &DESIKAN),
    (3000, 4000, ["wm-lh-", "wm-rh-"], &DESIKAN),
    (11100, 12100, ["ctx_lh_", "ctx_rh_"], &DESTRIEUX),
    (13100, 14100, ["wm_lh_", "wm_rh_"], &DESTRIEUX),
];

/// All of them.
fn all() -> BTreeMap<u32, Label> {
    let mut table = BTreeMap::new();
    let own = Labels::default();
    // A colour is that of the left side's number.
    let mut put = |number: u32, left: u32, name: String| {
        let colour = Some(own.colour(left));
        table.insert(number, Label { name, colour });
    };
    for (number, name) in MIDDLE {
        put(number, number, name.to_owned());
    }
    for (left, right, name) in PAIRS {
        put(left, left, format!("Left-{name}"));
        put(right, left, format!("Right-{name}"));
    }
    for (left, right, [of_left, of_right], names) in PARCELS {
        for (i, name) in (0..).zip(names) {
            put(left + i, left + i, format!("{of_left}{name}"));
            put(right + i, left + i, format!("{of_right}{name}"));
        }
    }
    table
}

/// The names of a label map with these numbers; `None` where one is none of FreeSurfer's.
pub(super) fn names(numbers: &BTreeSet<u32>) -> Option<Labels> {
    let mut table = all();
    table.retain(|number, _| numbers.contains(number));
    (table.len() == numbers.len()).then_some(Labels { table })
}
