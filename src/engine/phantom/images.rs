//! Anatomical images of the head with their truth: T1-weighted, T1-weighted with a tumour, labels, masks.

use super::head::Head;
use super::implicit::{bump, ramp};
use super::scan::Row;
use super::tissue::{Fractions, Tissue};
use super::waves::Waves;
use crate::compute::{Cancelled, Control};
use crate::data::random::Random;
use crate::data::{Grid, Mask, Volume};
use glam::{DAffine3, DMat3, DQuat, DVec3};
use rayon::prelude::*;
use std::sync::Arc;

/// T1-weighted intensity, white matter 1000.
pub fn t1_intensity(tissue: Tissue) -> f32 {
    match tissue {
        Tissue::Air => 0.0,
        Tissue::Scalp => 1050.0,
        Tissue::Muscle => 430.0,
        Tissue::Skull => 90.0,
        Tissue::Marrow => 620.0,
        Tissue::Eye => 200.0,
        Tissue::Csf | Tissue::Ventricle => 210.0,
        Tissue::Grey => 640.0,
        Tissue::CerebellarGrey => 620.0,
        Tissue::DeepGrey => 730.0,
        Tissue::White | Tissue::CerebellarWhite => 1000.0,
        Tissue::BrainStem => 900.0,
    }
}

/// An image with its truth.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Image values.
    pub image: Volume,
    /// Number of the main [`Tissue`] of each voxel.
    pub tissue: Volume,
    /// Brain including its ventricles, without the surrounding fluid and that in its sulci.
    pub brain: Mask,
}

/// A T1-weighted image with a tumour in the right hemisphere, and its truth.
#[derive(Clone, Debug)]
pub struct TumourPicture {
    /// Image with its tissues and brain mask.
    pub picture: Picture,
    /// Necrotic core: dark.
    pub core: Mask,
    /// Enhancing rim: bright.
    pub rim: Mask,
    /// Oedematous white matter around it: grey.
    pub oedema: Mask,
    /// Centre of the core, world mm.
    pub centre: DVec3,
}

/// Labels of a grid.
#[derive(Clone, Debug)]
pub struct Labels {
    /// Number of the main [`Tissue`].
    pub tissue: Volume,
    /// Label of the bundle with the largest fraction, 0 if there is none.
    pub bundle: Volume,
    /// Names of the values of `tissue`.
    pub tissue_names: Vec<(u16, String)>,
    /// Names of the values of `bundle`.
    pub bundle_names: Vec<(u16, String)>,
}

/// Noise and shading of an anatomical image.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PictureOptions {
    /// Ratio of the white matter signal to σ of the noise; `None` for no noise.
    pub snr: Option<f64>,
    /// Largest relative change of brightness by the receive coil.
    pub shading: f64,
    /// Seed of noise and shading.
    pub noise_seed: u64,
}

/// 1 mm voxels rotated by about 15° about an oblique axis: a grid with no axis parallel to those of a scan.
pub fn oblique_grid() -> Option<Arc<Grid>> {
    let turn = DQuat::from_axis_angle(DVec3::new(0.8, 0.3, 0.52).normalize(), 15f64.to_radians());
    let shape = [176usize, 220, 176];
    let middle = (DVec3::from_array(shape.map(|n| n as f64)) - 1.0) * 0.5;
    // Stored with left and right reversed and from above, as in scanners.
    let axes = DMat3::from_quat(turn) * DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0));
    let centre = DVec3::new(0.0, -12.0, 12.0);
    let affine = DAffine3::from_mat3_translation(axes, centre - axes * middle);
    Grid::new(shape, affine, crate::data::AffineSource::Computed).map(Arc::new)
}

struct Tumour {
    centre: DVec3,
    bumps: Waves<10>,
}

/// Radius of the core, and outer radius of the rim, mm.
const CORE_MM: f64 = 10.0;
const RIM_MM: f64 = 14.5;
const OEDEMA_MM: f64 = 26.0;

impl Tumour {
    fn new(head: &Head) -> Self {
        let random = Random::new(head.seed).stream(91);
        let drawn = DVec3::new(31.0, 22.0, 28.0);
        let jitter = DVec3::new(
            random.within(0, -3.0, 3.0),
            random.within(1, -3.0, 3.0),
            random.within(2, -3.0, 3.0),
        );
        Self {
            centre: head.world(drawn + jitter),
            bumps: Waves::new(random.stream(1), 24.0),
        }
    }

    /// Distance from the centre, as if the tumour were a ball.
    fn radius(&self, x: DVec3) -> f64 {
        let away = x - self.centre;
        (away / DVec3::new(0.95, 1.15, 0.95)).length() + 1.6 * self.bumps.value(x)
    }

    /// The position of the tissue at x before the tumour displaced it (with constant volume outside the tumour).
    fn before(&self, x: DVec3) -> DVec3 {
        let away = x - self.centre;
        let radius = away.length().max(1e-6);
        // Half of the tumour's volume displaces tissue; the displacement fades so that distant tissue stays.
        let pushed = 0.5 * RIM_MM.powi(3) * (-(radius / 45.0).powi(2)).exp();
        let old = (radius.powi(3) - pushed).max(0.02 * radius.powi(3)).cbrt();
        self.centre + away * (old / radius)
    }
}

/// T1-weighted intensity of a voxel at a distance from a tumour's centre (mm, as if it were a ball), and its part of
/// the lesion: 0 none, 1 core, 2 rim, 3 oedema.
fn shade(fractions: &Fractions, radius: f64) -> (f32, u8) {
    let plain: f32 = Tissue::ALL
        .iter()
        .map(|&t| fractions.fraction(t) * t1_intensity(t))
        .sum();
    if radius > OEDEMA_MM + 3.0 {
        return (plain, 0);
    }
    // Oedema spreads along white matter, in fingers; the blend widths are in mm.
    let white = f64::from(fractions.white());
    let swollen = white * ramp(OEDEMA_MM + 3.0, OEDEMA_MM - 7.0, radius);
    let blend = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let mut value = blend(f64::from(plain), 640.0, 0.85 * swollen);
    let solid = ramp(RIM_MM + 0.8, RIM_MM - 0.8, radius);
    let rim = 1320.0 + 120.0 * bump(radius, RIM_MM - 1.5, 2.0);
    value = blend(value, rim, solid);
    let dead = ramp(CORE_MM + 1.2, CORE_MM - 1.2, radius);
    value = blend(value, 330.0, dead);
    let mark = if dead >= 0.5 {
        1
    } else if solid >= 0.5 {
        2
    } else if swollen >= 0.5 {
        3
    } else {
        0
    };
    (value as f32, mark)
}

impl Head {
    /// A T1-weighted image on a grid.
    pub fn t1(
        &self,
        grid: &Arc<Grid>,
        options: &PictureOptions,
        control: &Control,
    ) -> Result<Picture, Cancelled> {
        self.picture(grid, options, None, control).map(|p| p.0)
    }

    /// A contrast-enhanced T1-weighted image with a tumour that displaces its surroundings.
    pub fn tumour_t1(
        &self,
        grid: &Arc<Grid>,
        options: &PictureOptions,
        control: &Control,
    ) -> Result<TumourPicture, Cancelled> {
        let tumour = Tumour::new(self);
        let (picture, lesion) = self.picture(grid, options, Some(&tumour), control)?;
        let mask = |value: u8| {
            let inside: Vec<u8> = lesion.iter().map(|&l| u8::from(l == value)).collect();
            Mask::new(grid.clone(), inside)
        };
        Ok(TumourPicture {
            picture,
            core: mask(1),
            rim: mask(2),
            oedema: mask(3),
            centre: tumour.centre,
        })
    }

    fn picture(
        &self,
        grid: &Arc<Grid>,
        options: &PictureOptions,
        tumour: Option<&Tumour>,
        control: &Control,
    ) -> Result<(Picture, Vec<u8>), Cancelled> {
        let slice = grid.shape[0] * grid.shape[1];
        let width = grid.spacing().element_sum() / 3.0;
        let shading = Waves::<8>::new(Random::new(options.noise_seed).stream(5), 260.0);
        let random = Random::new(options.noise_seed).stream(6);
        control.begin("Drawing the image", grid.shape[2] as u64);
        let n = grid.voxel_count();
        let (mut image, mut tissue) = (vec![0f32; n], vec![0f32; n]);
        let (mut brain, mut lesion) = (vec![0u8; n], vec![0u8; n]);
        image
            .par_chunks_mut(slice)
            .zip(tissue.par_chunks_mut(slice))
            .zip(brain.par_chunks_mut(slice))
            .zip(lesion.par_chunks_mut(slice))
            .enumerate()
            .try_for_each(|(z, (((image, tissue), brain), lesion))| {
                let [nx, ny, _] = grid.shape;
                let mut row = Row::default();
                for y in 0..ny {
                    control.check()?;
                    let at = |x: usize| grid.world(DVec3::new(x as f64, y as f64, z as f64));
                    row.fill(nx, grid.spacing().x, |x| match tumour {
                        None => self.sample(at(x), width),
                        Some(t) => (self.sample(t.before(at(x)), width).0, 0.0),
                    });
                    for (x, fractions) in row.fractions.iter().enumerate() {
                        let (i, world) = (y * nx + x, at(x));
                        let radius = tumour.map_or(f64::INFINITY, |t| t.radius(world));
                        let (intensity, mark) = shade(fractions, radius);
                        let gain = 1.0 + options.shading * 0.7 * shading.value(world);
                        image[i] = intensity * gain as f32;
                        tissue[i] = f32::from(fractions.main() as u8);
                        brain[i] = u8::from(fractions.brain() >= 0.5);
                        lesion[i] = mark;
                    }
                }
                if let Some(snr) = options.snr {
                    random.add_rician((1000.0 / snr) as f32, (z * slice) as u64, image);
                }
                control.advance(1);
                Ok(())
            })?;
        let picture = Picture {
            image: Volume::scalar(grid.clone(), image),
            tissue: Volume::scalar(grid.clone(), tissue),
            brain: Mask::new(grid.clone(), brain),
        };
        Ok((picture, lesion))
    }

    /// Main tissue and main bundle of every voxel.
    pub fn labels(&self, grid: &Arc<Grid>, control: &Control) -> Result<Labels, Cancelled> {
        let slice = grid.shape[0] * grid.shape[1];
        let m = grid.world_from_voxel.matrix3;
        let edges = [m.x_axis, m.y_axis, m.z_axis];
        control.begin("Labelling the head", grid.shape[2] as u64);
        let n = grid.voxel_count();
        let (mut tissue, mut bundle) = (vec![0f32; n], vec![0f32; n]);
        tissue
            .par_chunks_mut(slice)
            .zip(bundle.par_chunks_mut(slice))
            .enumerate()
            .try_for_each(|(z, (tissue, bundle))| {
                for i in 0..slice {
                    if i % grid.shape[0] == 0 {
                        control.check()?;
                    }
                    let voxel = grid.voxel(z * slice + i).map(|v| v as f64);
                    let world = grid.world(DVec3::from_array(voxel));
                    let (fractions, _) = self.voxel(world, edges);
                    tissue[i] = f32::from(fractions.main() as u8);
                    if fractions.white() > 0.25 {
                        let shares = self.fibres(world, 1.0).shares;
                        let dominant = shares.iter().max_by(|a, b| a.share.total_cmp(&b.share));
                        let dominant = dominant.filter(|s| s.share > 0.25);
                        bundle[i] =
                            dominant.map_or(0.0, |s| f32::from(self.bundles()[s.bundle].label));
                    }
                }
                control.advance(1);
                Ok(())
            })?;
        Ok(Labels {
            tissue: Volume::scalar(grid.clone(), tissue),
            bundle: Volume::scalar(grid.clone(), bundle),
            tissue_names: Tissue::ALL
                .iter()
                .map(|&t| (t as u16, t.name().to_owned()))
                .collect(),
            bundle_names: self
                .bundles()
                .iter()
                .map(|b| (b.label, b.name.clone()))
                .collect(),
        })
    }

    /// Voxels that are at least half brain (including ventricles).
    pub fn brain_mask(&self, grid: &Arc<Grid>, control: &Control) -> Result<Mask, Cancelled> {
        let inside = |tissues: &Fractions| u8::from(tissues.brain() >= 0.5);
        let inside = self.voxel_values(grid, ("Making the mask", control), inside)?;
        Ok(Mask::new(grid.clone(), inside))
    }

    /// A value from the tissues in each voxel.
    pub(super) fn voxel_values<T: Copy + Default + Send>(
        &self,
        grid: &Grid,
        (stage, control): (&'static str, &Control),
        value: impl Fn(&Fractions) -> T + Sync,
    ) -> Result<Vec<T>, Cancelled> {
        let slice = grid.shape[0] * grid.shape[1];
        let m = grid.world_from_voxel.matrix3;
        let edges = [m.x_axis, m.y_axis, m.z_axis];
        control.begin(stage, grid.shape[2] as u64);
        let mut values = vec![T::default(); grid.voxel_count()];
        let slices = values.par_chunks_mut(slice).enumerate();
        slices.try_for_each(|(z, part)| {
            for (i, here) in part.iter_mut().enumerate() {
                if i % grid.shape[0] == 0 {
                    control.check()?;
                }
                let voxel = grid.voxel(z * slice + i).map(|v| v as f64);
                let world = grid.world(DVec3::from_array(voxel));
                *here = value(&self.voxel(world, edges).0);
            }
            control.advance(1);
            Ok(())
        })?;
        Ok(values)
    }
}
