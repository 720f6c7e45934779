//! `arcuate render`: a view, or the whole window, as a PNG.

use super::headless::Headless;
use super::options::{
    CloudOptions, GlyphOptions, LineColourOptions, LookOptions, OverlayOptions, ProjectionOptions,
    RegionOptions, ScanOptions, SceneLookOptions, ShapeOptions, TensorOptions, ValueError,
    layer_named, whole_from,
};
use super::output::shown;
use super::pictures::Pictures;
use super::runner::{Failure, Runner};
use super::typed::must_exist;
use crate::data::text::number;
use crate::jobs::Ffmpeg;
use crate::state::core::slice_turn::{Commissures, SliceTurn};
use crate::state::pictures::jobs::SaveFilm;
use crate::state::sessions::jobs::head::MakeHead;
use crate::state::update::is_session;
use crate::state::{
    Camera, Content, Convention, FilesAction, LayerAction, Layout, Pane, Phase, Reading,
    RegionAction, State, Task, Turntable, View, ViewAction, ViewpointAction,
};
use glam::{DVec2, DVec3};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arcuate render dwi.nii.gz --view axial --at -24,-18,8 --out axial.png
  arcuate render t1.nii.gz tracks.tck --view 3d --size 1600x1200 --out tracks.png
  arcuate render t1.nii.gz --view coronal --ac 0,2,4 --pc 0,-23,3 --midline 0,-10,40 --out acpc.png
  arcuate render phantom:1 --seed sphere:-24,-18,8,5 --view window --size 1920x1080 --out window.png
  arcuate render t1.nii.gz stat.nii.gz --limits stat:2.3..8 --symmetric stat --outline stat --view axial --out stat.png
  arcuate render t1.nii.gz fa.nii.gz tracks.trk --line-colour image:fa --line-range 0.2..0.7 --out fa.png
  arcuate render t1.nii.gz --cloud-shape t1:gradient:ellipse:300..500:20..90:E69F00:0.4 --out edges.png
  arcuate render t1.nii.gz --cloud-shape t1:gradient:box:250..550:20..90:E69F00:0.4:curvature=0.05.. --out gyri.png
  arcuate render tracks.trk t1.nii.gz --clip plane:1,0,0:10:streamlines --depth-cue 0.6 --out half.png
  arcuate render dwi.nii.gz --show FA --glyphs superquadrics --glyph-scale fa --view coronal --out glyphs.png
  arcuate render fa.nii.gz peaks.nii.gz --show fa --glyphs peaks --view axial --out peaks.png
  arcuate render t1.nii.gz --fixels fixels/afd.mif --peak-colour value --view axial --out fixels.png
  arcuate render angiogram.nii.gz --projection angiogram:maximum:200..900 --no-slices --out vessels.png
  arcuate render tracts.arcuate --transparent --scale 2 --out figure.png
  arcuate render tracts.arcuate --turntable 120 --film --out turn.png

A scan with gradients is fitted first; --tensor-order refers to the first file. Letters, convention and scale bar are drawn as in the window.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Scans, images, masks, streamlines, phantom:SEED or phantom:KIND:SEED; later ones lie on top; or a single session
    #[arg(required = true)]
    pub inputs: Vec<String>,
    /// View to draw, or the whole window
    #[arg(long, value_enum, default_value = "3d")]
    pub view: ViewName,
    /// Crosshair, world mm (default: the middle)
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true)]
    pub at: Option<DVec3>,
    #[command(flatten)]
    pub slices: SliceOptions,
    /// Show only this image layer, by its name in the window: DEC, FA, MD, b0 or the name of the file; layers that other
    /// options name are shown as well
    #[arg(long, value_name = "LAYER")]
    pub show: Option<String>,
    /// Size in points; each becomes SCALE × SCALE pixels
    #[arg(long, value_name = "WxH", default_value = "960x720", value_parser = size)]
    pub size: DVec2,
    /// Pixels per point
    #[arg(long, value_name = "1..4", default_value = "1", value_parser = whole_from(1, 4u32))]
    pub scale: u32,
    /// Slices of the view in rows, MM mm apart
    #[arg(long, value_name = "MM", value_parser = super::options::positive)]
    pub mosaic: Option<f64>,
    /// Make the background transparent (3-D view)
    #[arg(long)]
    pub transparent: bool,
    /// Write this many pictures of a full turn (3-D view): NAME-001.png and so on
    #[arg(long, value_name = "PICTURES", value_parser = whole_from(2, Turntable::MAXIMUM_FRAMES))]
    pub turntable: Option<u32>,
    /// Also make NAME.mp4 of the turn, with ffmpeg
    #[arg(long, requires = "turntable")]
    pub film: bool,
    /// Show the patient's right on the right of the screen
    #[arg(long)]
    pub neurological: bool,
    #[command(flatten)]
    pub look: LookOptions,
    #[command(flatten)]
    pub tensors: TensorOptions,
    #[command(flatten)]
    pub regions: RegionOptions,
    #[command(flatten)]
    pub content: ContentOptions,
    #[command(flatten)]
    pub overlays: OverlayOptions,
    #[command(flatten)]
    pub lines: LineColourOptions,
    /// Picture to write
    #[arg(long, value_name = "FILE.png")]
    pub out: PathBuf,
}

/// How images and fibres show in 3-D.
#[derive(clap::Args, Debug)]
pub struct ContentOptions {
    #[command(flatten)]
    pub clouds: CloudOptions,
    #[command(flatten)]
    pub shapes: ShapeOptions,
    #[command(flatten)]
    pub projections: ProjectionOptions,
    /// Leave the slices out of the 3-D view, for instance to project the whole image
    #[arg(long, help_heading = "Intensity projections")]
    pub no_slices: bool,
    #[command(flatten)]
    pub scene_look: SceneLookOptions,
    #[command(flatten)]
    pub glyphs: GlyphOptions,
}

impl ContentOptions {
    /// The first option that changes only the 3-D view.
    fn scene_option(&self) -> Option<&'static str> {
        let look = &self.scene_look;
        [
            ("--cloud", !self.clouds.cloud.is_empty()),
            ("--cloud-thickness", !self.clouds.cloud_thickness.is_empty()),
            ("--cloud-flat", !self.clouds.cloud_flat.is_empty()),
            ("--cloud-shape", !self.shapes.cloud_shape.is_empty()),
            ("--projection", !self.projections.projection.is_empty()),
            ("--no-slices", self.no_slices),
            ("--clip", !look.clip.is_empty()),
            ("--depth-cue", look.depth_cue.is_some()),
        ]
        .into_iter()
        .find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// From where the views look.
#[derive(clap::Args, Debug)]
pub struct SliceOptions {
    /// Turn the slices about the axes x, y and z, one after the other, degrees from -180 to 180
    #[arg(long, value_name = "X,Y,Z", value_parser = angles, allow_hyphen_values = true, conflicts_with = "ac")]
    pub turn: Option<DVec3>,
    /// Align the slices to the line of the commissures: the anterior one, world mm
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true, requires_all = ["pc", "midline"])]
    pub ac: Option<DVec3>,
    /// The posterior commissure, world mm
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true, requires = "ac")]
    pub pc: Option<DVec3>,
    /// A point between the hemispheres, away from that line, world mm
    #[arg(long, value_name = "X,Y,Z", value_parser = point, allow_hyphen_values = true, requires = "ac")]
    pub midline: Option<DVec3>,
    /// Look from this camera (3-D view): the point in the middle, the distance from it in mm, and the direction of view in
    /// degrees, 0,0 from behind
    #[arg(long, value_name = "X,Y,Z:MM:AZIMUTH,ELEVATION", value_parser = camera, allow_hyphen_values = true, conflicts_with = "viewpoint")]
    pub camera: Option<Camera>,
    /// Look from the named view of the session
    #[arg(long, value_name = "NAME")]
    pub viewpoint: Option<String>,
}

const NO_SLICES: &str = "A mosaic shows slices: add --view axial, sagittal or coronal";

/// A view; `None` for the whole window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewName(Option<Pane>);

impl clap::ValueEnum for ViewName {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(Some(Pane::Axial)),
            Self(Some(Pane::Coronal)),
            Self(Some(Pane::Sagittal)),
            Self(Some(Pane::Scene)),
            Self(None),
        ]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(Pane::option(self.0)))
    }
}

fn point(text: &str) -> Result<DVec3, ValueError> {
    let parsed: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    match parsed.as_deref() {
        Some(&[x, y, z]) if [x, y, z].iter().all(|v| v.is_finite()) => Ok(DVec3::new(x, y, z)),
        _ => Err(ValueError::new("X,Y,Z in mm", text)),
    }
}

fn camera(text: &str) -> Result<Camera, ValueError> {
    let read = || {
        let parts: Vec<&str> = text.split(':').collect();
        let [focus, distance, direction] = parts[..] else {
            return None;
        };
        let (azimuth, elevation) = direction.split_once(',')?;
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let camera = Camera {
            focus: point(focus).ok()?,
            distance_mm: number(distance)?,
            azimuth: number(azimuth)?.to_radians(),
            elevation: number(elevation)?.to_radians(),
        };
        let is_upright = camera.elevation.abs() < std::f64::consts::FRAC_PI_2;
        (camera.is_valid() && is_upright).then_some(camera)
    };
    let expected = "X,Y,Z:MM:AZIMUTH,ELEVATION with a positive distance and an elevation between -90 and 90 degrees, as in \
                    0,-20,10:500:112,13";
    read().ok_or_else(|| ValueError::new(expected, text))
}

fn angles(text: &str) -> Result<DVec3, ValueError> {
    let valid = point(text)
        .ok()
        .filter(|angles| angles.abs().max_element() <= 180.0);
    valid.ok_or_else(|| ValueError::new("X,Y,Z in degrees, each from -180 to 180", text))
}

fn size(text: &str) -> Result<DVec2, ValueError> {
    let parsed = text
        .split_once('x')
        .and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    let valid =
        parsed.filter(|&(w, h): &(u32, u32)| (64..=8192).contains(&w) && (64..=8192).contains(&h));
    let (w, h) = valid.ok_or_else(|| ValueError::new("WxH with sides of 64 to 8192", text))?;
    Ok(DVec2::new(f64::from(w), f64::from(h)))
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    options.check()?;
    let turn = options.turn();
    let files: Vec<PathBuf> = match turn {
        Some(turn) => (0..turn.frames)
            .map(|i| turn.path(&options.out, i))
            .collect(),
        None => vec![options.out.clone()],
    };
    let inputs = options.inputs.iter().map(Path::new);
    must_exist(inputs.chain(options.content.glyphs.fixels.as_deref()))?;
    for file in &files {
        runner.may_make(file)?;
    }
    let film = options.film.then(|| Turntable::film_path(&options.out));
    if let Some(film) = &film {
        runner.may_make(film)?;
    }
    let mut window = Headless::new(runner);
    options.open_inputs(&mut window)?;
    options.set_view(&mut window)?;
    window.report_warnings();
    let state = window.state;
    let mut pictures = Pictures::new()?;
    let look = (options.size, options.scale, options.transparent);
    for (i, file) in (0..).zip(&files) {
        let mut seen = state.clone();
        if let Some(turn) = turn {
            seen.view.camera = turn.camera(&state.view.camera, i);
        }
        pictures.save(&seen, options.view.0, look, file, runner)?;
    }
    if let Some(path) = &film {
        runner.run(SaveFilm {
            path: path.clone(),
            frames: files.clone(),
            per_s: Turntable::FRAMES_PER_S,
        })?;
    }
    let pixels = options.size * f64::from(options.scale);
    let report = json!({
        "command": "render", "file": files[0], "files": files.len(), "film": film, "size_px": [pixels.x, pixels.y],
        "crosshair_mm": state.view.crosshair.to_array(), "streamlines": streamlines(&state),
        "drawn_by": pictures.device(),
    });
    let mut text = match files.as_slice() {
        [first, .., last] => format!("{} to {}", shown(first), shown(last)),
        _ => shown(&options.out),
    };
    if let Some(film) = &film {
        text += &format!("\n{}", shown(film));
    }
    runner.report(&report, &text);
    Ok(())
}

/// `None` without tractograms, which differs from a count of 0.
fn streamlines(state: &State) -> Option<usize> {
    let live = state
        .runtime
        .track
        .live
        .value()
        .map(|l| l.output.kept.len());
    let layers = state
        .document
        .layers
        .iter()
        .filter_map(|l| match &l.content {
            Content::Tractogram(tractogram) => Some(tractogram.len()),

            _ => None,
        });
    live.into_iter().chain(layers).reduce(|a, b| a + b)
}

impl Options {
    fn turn(&self) -> Option<Turntable> {
        self.turntable.map(|frames| Turntable {
            frames,
            film: self.film,
        })
    }

    /// Rejects options that contradict each other, and a film without ffmpeg.
    fn check(&self) -> Result<(), Failure> {
        if self
            .out
            .extension()
            .is_none_or(|e| !e.eq_ignore_ascii_case("png"))
        {
            return Err(Failure::usage(format!(
                "Pictures are written as PNG, expected a name ending in .png: {}",
                self.out.display()
            )));
        }
        let session = self.inputs.iter().find(|i| is_session(Path::new(i)));
        if let Some(session) = session.filter(|_| self.inputs.len() > 1) {
            return Err(Failure::usage(format!(
                "Found a session among other files, expected a session alone or files without one; leave one \
                 out: {session}"
            )));
        }
        let scene = self.view.0 == Some(Pane::Scene);
        if let (false, Some(option)) = (
            scene,
            (self.transparent.then_some("--transparent")).or(self.turn().map(|_| "--turntable")),
        ) {
            return Err(Failure::usage(format!(
                "{option} is for the 3-D view, expected --view 3d"
            )));
        }
        // The whole window has a 3-D view, too.
        let slices = self.view.0.filter(|pane| *pane != Pane::Scene);
        let camera = || self.slices.camera.map(|_| "--camera");
        let scene_option = || self.content.scene_option().or_else(camera);
        if let Some(option) = slices.and_then(|_| scene_option()) {
            return Err(Failure::usage(format!(
                "{option} changes only the 3-D view, expected --view 3d or --view window"
            )));
        }
        if self.mosaic.is_some() && self.view.0.is_none_or(|pane| pane == Pane::Scene) {
            return Err(Failure::usage(NO_SLICES));
        }
        let limits = View::MOSAIC_LIMITS_MM;
        if let Some(mm) = self.mosaic.filter(|mm| !limits.contains(mm)) {
            let [mm, low, high] = [mm, *limits.start(), *limits.end()].map(number);
            return Err(Failure::usage(format!(
                "Found --mosaic {mm}, expected {low} to {high} mm between slices"
            )));
        }
        self.tensors.check()?;
        if let Some(points) = self.slices.commissures() {
            points.rotation().map_err(Failure::usage)?;
        }
        if let (true, Err(none)) = (self.film, Ffmpeg::find()) {
            let (found, remedy) = none.text();
            let sentence = format!("Found {found}; {remedy}, or leave --film out");
            return Err(Failure::new(sentence));
        }
        Ok(())
    }

    fn open_inputs(&self, window: &mut Headless) -> Result<(), Failure> {
        if let [session] = self.inputs.as_slice()
            && is_session(Path::new(session))
        {
            window.open_session(Path::new(session), &self.look.look_in, false)?;
        }
        let others = self.inputs.iter().filter(|i| !is_session(Path::new(i)));
        // Applies to the first file.
        let mut tensors = self.tensors.layout();
        for input in others {
            let phantom = ScanOptions::from_name(input).built_in_phantom()?;
            let path = PathBuf::from(input);
            match (phantom, tensors.take()) {
                (Some(head), _) => window.request(MakeHead { head })?,
                (None, Some(layout)) => window.act(FilesAction::OpenAs {
                    path,
                    reading: Reading {
                        tensors: Some(layout),
                        ..Reading::default()
                    },
                })?,
                (None, None) => window.act(FilesAction::Open(vec![path]))?,
            }
        }
        self.content.glyphs.open(window)
    }

    /// Applies the options for convention, layers, regions, mosaic and crosshair to the opened data.
    fn set_view(&self, window: &mut Headless) -> Result<(), Failure> {
        if self.neurological {
            window.act(ViewAction::SetConvention(Convention::Neurological))?;
        }
        if let Some(name) = &self.show {
            show_only(name, window)?;
        }
        self.overlays.apply(window)?;
        self.content.clouds.apply(window)?;
        self.content.shapes.apply(window)?;
        self.content.clouds.finish(window)?;
        self.content.projections.apply(window)?;
        for region in self.regions.regions()? {
            let shape = (*region.shape).clone();
            window.act(RegionAction::Add {
                role: region.role,
                shape,
            })?;
            window.act(ViewAction::SelectTask(Task::Track))?;
        }
        // The switch is that of the task, which regions may have changed.
        if self.content.no_slices && window.state.view.slices_in_scene() {
            window.act(ViewAction::ToggleSlicesInScene)?;
        }
        self.lines.apply(window)?;
        self.content.scene_look.apply(window)?;
        self.content.glyphs.apply(window)?;
        self.overlays.hide(window)?;
        if let Some(mm) = self.mosaic {
            let pane = self.view.0.filter(|p| *p != Pane::Scene);
            let pane = pane.ok_or_else(|| Failure::usage(NO_SLICES))?;
            window.act(ViewAction::SetLayout(Layout::Mosaic))?;
            window.act(ViewAction::SetMosaic(pane, mm))?;
        }
        self.slices.look_from_named(window)?;
        self.slices.turn(window)?;
        self.slices.look_from_camera(window)?;
        if let Some(at) = self.at {
            window.act(ViewAction::MoveCrosshair(at))?;
            let moved = window.state.view.crosshair;
            if moved != at {
                let tenths = |v: f64| number((10.0 * v).round() / 10.0);
                let [at, moved] = [at, moved].map(|p| p.to_array().map(tenths).join(", "));
                warning!(
                    "The point {at} lies outside the open data; the crosshair is at {moved}, at their edge"
                );
            }
        }
        if self.mosaic.is_some() {
            all_slices_fit(&window.state)?;
        }
        Ok(())
    }
}

/// Refuses a mosaic with more slices than it can show: a picture without some of them looks complete.
fn all_slices_fit(state: &State) -> Result<(), Failure> {
    let (count, most) = (state.mosaic_count(), View::MAXIMUM_SLICES);
    if count <= most {
        return Ok(());
    }
    let (low, high) = state.mosaic_ends();
    // At both ends, rounding may add a slice.
    let spacing = (high - low) / (most - 1) as f64;
    let spacing = number((10.0 * spacing).ceil() / 10.0);
    Err(Failure::usage(format!(
        "Found {count} slices {} mm apart, expected at most {most} in a mosaic: give --mosaic {spacing} or more",
        number(state.view.mosaic_mm)
    )))
}

impl SliceOptions {
    fn look_from_named(&self, window: &mut Headless) -> Result<(), Failure> {
        let Some(name) = &self.viewpoint else {
            return Ok(());
        };
        let named = &window.state.view.named;
        match named.iter().position(|named| named.name == *name) {
            Some(index) => window.act(ViewAction::Viewpoint(ViewpointAction::Show(index))),
            None if named.is_empty() => Err(Failure::usage(format!(
                "Found an input without named views, expected a session in which “{name}” was saved; open that session, \
                 or leave --viewpoint out"
            ))),
            None => {
                let names: Vec<&str> = named.iter().map(|named| named.name.as_str()).collect();
                Err(Failure::usage(format!(
                    "There is no view “{name}”, expected one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    fn look_from_camera(&self, window: &mut Headless) -> Result<(), Failure> {
        match self.camera {
            Some(camera) => window.act(ViewAction::SetCamera {
                camera,
                phase: Phase::Done,
            }),
            None => Ok(()),
        }
    }

    /// Turns the slices about the centre of what they frame, or aligns them to the commissures.
    fn turn(&self, window: &mut Headless) -> Result<(), Failure> {
        if let Some(angles) = self.turn {
            let (low, high) = window.state.document.sliced();
            let rotation = SliceTurn::rotation_from_angles(angles);
            let turn = SliceTurn::about((low + high) * 0.5, rotation);
            window.act(ViewAction::TurnSlices(turn))?;
        }
        match self.commissures() {
            Some(points) => window.act(ViewAction::AlignToCommissures(points)),
            None => Ok(()),
        }
    }

    /// The points of `--ac`, `--pc` and `--midline`.
    fn commissures(&self) -> Option<Commissures> {
        Some(Commissures {
            anterior: self.ac?,
            posterior: self.pc?,
            midline: self.midline?,
        })
    }
}

/// Hides all image layers except the one of this name.
fn show_only(name: &str, window: &mut Headless) -> Result<(), Failure> {
    let layer = layer_named(name, window)?.id;
    window.act(LayerAction::ShowOnly(layer))
}
