//! Two data sets that disagree, as a picture: both on one plane, in two colours, with the outlines of their grids and
//! the corner that holds the first voxel.

use crate::data::{Grid, Mask, Volume};
use crate::state::{Content, Layer};
use crate::ui::theme::{self, radius, size};
use crate::ui::widgets::paint;
use egui::{
    Align2, Color32, ColorImage, Pos2, Rect, Role, Sense, Shape, Stroke, TextureHandle,
    TextureOptions, Ui, WidgetInfo, pos2, vec2,
};
use glam::DVec3;
use std::sync::Arc;

/// Points of a picture's edge; the texture has twice as many pixels.
const SIDE: f32 = 148.0;
const PIXELS: usize = 296;
/// Colours of the reference and the other: where both are equally bright, the sum is nearly white.
const REFERENCE: [f32; 3] = [0.25, 0.62, 0.85];
const OTHER: [f32; 3] = [0.95, 0.48, 0.18];
/// Number of streamline points drawn.
const POINTS: usize = 30_000;
/// Disagreements below this share of the picture are drawn enlarged, at a corner.
const SMALL: f64 = 0.06;
/// Edge of an enlarged picture, in multiples of the disagreement.
const ENLARGED: f64 = 6.0;

/// The drawing, in units of the picture's edge from its top left corner.
pub struct Picture {
    texture: TextureHandle,
    outlines: [Vec<[f32; 2]>; 2],
    /// Lines between voxels in an enlarged picture.
    lattices: [Vec<[[f32; 2]; 2]>; 2],
    firsts: [Option<[f32; 2]>; 2],
    names: [String; 2],
    /// Letters at the left, right, top and bottom edge.
    letters: [&'static str; 4],
    enlarged: bool,
}

/// A plane of the world, oriented like the slices.
struct Plane {
    centre: DVec3,
    right: DVec3,
    down: DVec3,
    normal: usize,
    /// Edge of the picture, mm.
    edge_mm: f64,
}

impl Plane {
    fn place(&self, world: DVec3) -> [f32; 2] {
        let off = (world - self.centre) / self.edge_mm;
        [
            off.dot(self.right) as f32 + 0.5,
            off.dot(self.down) as f32 + 0.5,
        ]
    }

    fn world(&self, x: f64, y: f64) -> DVec3 {
        self.centre + (self.right * (x - 0.5) + self.down * (y - 0.5)) * self.edge_mm
    }
}

fn grid(layer: &Layer) -> Option<&Grid> {
    match &layer.content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => Some(&volume.grid),
        Content::Mask(mask) => Some(&mask.grid),
        Content::Tractogram(tractogram) => tractogram.grid.as_deref(),
        Content::InPlace(lines) => lines.first.tractogram.grid.as_deref(),
    }
}

/// Distance between corresponding corners, by axis; between the centres if the shapes differ.
fn distance_between(a: &Grid, b: &Grid) -> DVec3 {
    if a.shape != b.shape {
        return (a.centre() - b.centre()).abs();
    }
    let pairs = a.corners().into_iter().zip(b.corners());
    pairs.fold(DVec3::ZERO, |largest, (a, b)| largest.max((a - b).abs()))
}

/// The plane that shows the difference best, and whether it is enlarged.
fn plane(reference: &Grid, other: Option<&Grid>, bounds: (DVec3, DVec3)) -> (Plane, bool) {
    let off = other.map_or(DVec3::ZERO, |g| distance_between(reference, g));
    // From above, unless the difference is mainly up and down.
    let normal = match (off.z > 1.2 * off.x, off.z > 1.2 * off.y) {
        (true, _) if off.x >= off.y => 1,
        (_, true) | (true, _) => 0,
        _ => 2,
    };
    let (right, down) = match normal {
        0 => (DVec3::NEG_Y, DVec3::NEG_Z),
        1 => (DVec3::NEG_X, DVec3::NEG_Z),
        _ => (DVec3::NEG_X, DVec3::NEG_Y),
    };
    let (low, high) = bounds;
    let extent = high - low;
    let wide = (extent.dot(right.abs())).max(extent.dot(down.abs())) * 1.08;
    let mut in_plane = off;
    in_plane[normal] = 0.0;
    let small = in_plane.length() < SMALL * wide && in_plane.length() > 0.0;
    let twins = other.is_some_and(|g| g.shape == reference.shape);
    if small && twins {
        // Where the outlines meet: the corner of the box nearest to the picture's.
        let (low, high) = reference.bounds();
        let mut centre = high;
        centre[normal] = (low[normal] + high[normal]) * 0.5;
        let min_edge_mm = 5.0 * reference.spacing().min_element();
        let edge_mm = (in_plane.length() * ENLARGED).max(min_edge_mm);
        return (
            Plane {
                centre,
                right,
                down,
                normal,
                edge_mm,
            },
            true,
        );
    }
    (
        Plane {
            centre: (low + high) * 0.5,
            right,
            down,
            normal,
            edge_mm: wide.max(1.0),
        },
        false,
    )
}

/// The outline of the corners on the plane, in order.
fn outline(grid: &Grid, plane: &Plane) -> Vec<[f32; 2]> {
    let mut points: Vec<[f32; 2]> = grid.corners().into_iter().map(|c| plane.place(c)).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    // Andrew's monotone chain (1979).
    let turn = |o: [f32; 2], a: [f32; 2], b: [f32; 2]| {
        (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
    };
    let half = |points: &mut dyn Iterator<Item = [f32; 2]>| {
        let mut chain: Vec<[f32; 2]> = Vec::new();
        for p in points {
            while let [.., a, b] = chain[..] {
                if turn(a, b, p) > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut around = half(&mut points.iter().copied());
    around.extend(half(&mut points.iter().rev().copied()));
    around
}

/// Where planes between voxels cross the plane near its middle, as far as the grid extends.
fn lattice(grid: &Grid, plane: &Plane) -> Vec<[[f32; 2]; 2]> {
    let mut lines = Vec::new();
    let voxel = grid.voxel_from_world.transform_point3(plane.centre);
    // The axis closest to the plane's normal.
    let leaves = |axis: usize| {
        let edge = grid.world_from_voxel.matrix3.col(axis);
        edge[plane.normal].abs() / edge.length()
    };
    let out = (0..3).max_by(|a, b| leaves(*a).total_cmp(&leaves(*b)));
    let out = out.unwrap_or(2);
    for axis in (0..3).filter(|a| *a != out) {
        let along = 3 - axis - out;
        let edge_mm = grid.spacing()[axis];
        let reach = (plane.edge_mm / edge_mm).ceil() as i64 + 1;
        for k in -reach..=reach {
            let at = voxel[axis].round() + k as f64 + 0.5;
            if at < -0.6 || at > grid.shape[axis] as f64 - 0.4 {
                continue;
            }
            let end = |along_at: f64| {
                let mut on = voxel;
                (on[axis], on[along]) = (at, along_at);
                plane.place(grid.world(on))
            };
            lines.push([end(-0.5), end(grid.shape[along] as f64 - 0.5)]);
        }
    }
    lines
}

/// Brightness from 0 to 1 at a world point.
fn level(layer: &Layer, windows: (f32, f32), world: DVec3) -> f32 {
    let brightness = |volume: &Volume| {
        let value = volume.nearest(layer.display.frame.min(volume.frames - 1), world);
        let (low, high) = windows;
        let value = value.filter(|v| v.is_finite()).unwrap_or(low);
        ((value - low) / (high - low).max(1e-12)).clamp(0.0, 1.0)
    };
    match &layer.content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => brightness(volume),
        Content::Mask(mask) => f32::from(u8::from(mask.contains(world))) * 0.55,
        Content::Tractogram(_) | Content::InPlace(_) => 0.0,
    }
}

fn window(layer: &Layer) -> (f32, f32) {
    match layer.content.volume() {
        Some(volume) => volume.percentiles(layer.display.frame.min(volume.frames - 1), 0.01, 0.99),
        None => (0.0, 1.0),
    }
}

impl Picture {
    /// A layer at the positions given by its header's sform and qform.
    pub fn of_forms(ui: &Ui, layer: &Layer) -> Option<Self> {
        let elsewhere: Arc<Grid> = grid(layer)?.by_qform()?.into();
        let moved = match &layer.content {
            Content::Scan { dwi: volume, .. } | Content::Image(volume) => {
                Content::Image(volume.on_grid(elsewhere))
            }
            Content::Mask(mask) => Content::Mask(Mask::new(elsewhere, mask.inside.clone())),
            Content::Tractogram(_) | Content::InPlace(_) => return None,
        };
        let named = |name: &str, content: Content| Layer {
            name: name.to_owned(),
            content,
            ..layer.clone()
        };
        let used = named("sform, used", layer.content.clone());
        Self::new(ui, &used, &named("qform", moved))
    }

    /// `None` where there is no grid to draw.
    pub fn new(ui: &Ui, reference: &Layer, other: &Layer) -> Option<Self> {
        let own = grid(reference)?;
        let theirs = grid(other).filter(|g| !own.matches(g));
        let mut bounds = own.bounds();
        for (low, high) in [theirs.map(Grid::bounds), other.content.bounds()]
            .into_iter()
            .flatten()
        {
            bounds = (bounds.0.min(low), bounds.1.max(high));
        }
        let (plane, enlarged) = plane(own, theirs, bounds);
        let mut image = pixels(&plane, reference, other);
        let lines = match &other.content {
            Content::Tractogram(tractogram) => Some(tractogram),
            Content::InPlace(lines) => Some(&lines.first.tractogram),
            _ => None,
        };
        if let Some(tractogram) = lines {
            let every = tractogram.points.len().div_ceil(POINTS).max(1);
            for p in tractogram.points.iter().step_by(every) {
                let [x, y] = plane.place(DVec3::from_array(p.map(f64::from)));
                let inside = |v: f32| (0.0..1.0).contains(&v);
                if inside(x) && inside(y) {
                    let at = |v: f32| (v * PIXELS as f32) as usize;
                    let [r, g, b] = OTHER.map(|v| (v * 255.0) as u8);
                    image.pixels[at(x) + PIXELS * at(y)] = Color32::from_rgb(r, g, b);
                }
            }
        }
        let first = |g: &Grid| plane.place(g.world(DVec3::splat(-0.5)));
        let lines = |g: &Grid| match enlarged {
            true => lattice(g, &plane),
            false => Vec::new(),
        };
        Some(Self {
            texture: ui
                .ctx()
                .load_texture("overlap", image, TextureOptions::LINEAR),
            outlines: [
                outline(own, &plane),
                theirs.map_or(Vec::new(), |g| outline(g, &plane)),
            ],
            lattices: [lines(own), theirs.map_or(Vec::new(), lines)],
            firsts: [Some(first(own)), theirs.map(first)],
            names: [reference.name.clone(), other.name.clone()],
            letters: match plane.normal {
                0 => ["A", "P", "S", "I"],
                1 => ["R", "L", "S", "I"],
                _ => ["R", "L", "A", "P"],
            },
            enlarged,
        })
    }

    /// The picture with its legend next to it, `left` points into the panel.
    pub fn show(&self, ui: &mut Ui, left: f32, sentence: &str) {
        let p = theme::palette(ui.style());
        let desired_size = vec2(ui.available_width(), SIDE + 10.0);
        let (all, response) = ui.allocate_exact_size(desired_size, Sense::hover());
        let label = format!("Picture: {sentence}");
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &label));
        let corner = all.left_top() + vec2(left, 4.0);
        let place = Rect::from_min_size(corner, vec2(SIDE, SIDE));
        let painter = ui.painter().with_clip_rect(place);
        paint::picture(&painter, place, self.texture.id(), radius::CONTROL);
        let at = |[x, y]: [f32; 2]| place.min + vec2(x, y) * SIDE;
        let inks = [REFERENCE, OTHER].map(|c| {
            let [r, g, b] = c.map(|v| (v * 255.0) as u8);
            Color32::from_rgb(r, g, b)
        });
        for i in 0..2 {
            let ink = inks[i];
            for line in &self.lattices[i] {
                let faint = Stroke::new(0.7, ink.gamma_multiply(0.6));
                painter.line_segment(line.map(at), faint);
            }
            let mut points: Vec<Pos2> = self.outlines[i].iter().copied().map(at).collect();
            points.extend(points.first().copied());
            let stroke = Stroke::new(1.5, ink);
            if i == 0 {
                painter.add(Shape::line(points, stroke));
            } else {
                painter.extend(Shape::dashed_line(&points, stroke, 5.0, 3.0));
            }
            if let Some(first) = self.firsts[i] {
                let half = if i == 0 { 4.5 } else { 3.0 };
                let mark = Rect::from_center_size(at(first), vec2(2.0, 2.0) * half);
                painter.rect_filled(mark, 0.0, ink);
            }
        }
        let [west, east, north, south] = self.letters;
        let letter = |pos: Pos2, align: Align2, text: &str| {
            let font = theme::semibold(size::CAPTION);
            painter.text(pos, align, text, font, Color32::WHITE);
        };
        letter(
            place.left_center() + vec2(3.0, 0.0),
            Align2::LEFT_CENTER,
            west,
        );
        letter(
            place.right_center() - vec2(3.0, 0.0),
            Align2::RIGHT_CENTER,
            east,
        );
        letter(
            place.center_top() + vec2(0.0, 2.0),
            Align2::CENTER_TOP,
            north,
        );
        letter(
            place.center_bottom() - vec2(0.0, 2.0),
            Align2::CENTER_BOTTOM,
            south,
        );
        ui.painter().rect_stroke(
            place,
            radius::CONTROL,
            Stroke::new(1.0, p.line),
            egui::StrokeKind::Inside,
        );
        let mut row = Rect::from_min_max(
            place.right_top() + vec2(10.0, 0.0),
            pos2(all.right() - 12.0, place.top() + 18.0),
        );
        for (name, ink) in self.names.iter().zip(inks) {
            let swatch =
                Rect::from_center_size(pos2(row.left() + 5.0, row.center().y), vec2(9.0, 9.0));
            ui.painter().rect_filled(swatch, 2.0, ink);
            let text = paint::inset(row, 16.0, 0.0);
            paint::left(
                ui.painter(),
                text,
                name,
                theme::regular(size::CAPTION),
                p.t1,
            );
            row = row.translate(vec2(0.0, 18.0));
        }
        let about = match self.enlarged {
            true => "a corner, enlarged",
            false => "square: first voxel",
        };
        paint::left(
            ui.painter(),
            row,
            about,
            theme::regular(size::CAPTION),
            p.t3,
        );
    }
}

fn pixels(plane: &Plane, reference: &Layer, other: &Layer) -> ColorImage {
    let mut image = ColorImage::filled([PIXELS, PIXELS], Color32::BLACK);
    let windows = [window(reference), window(other)];
    for (i, pixel) in image.pixels.iter_mut().enumerate() {
        let x = ((i % PIXELS) as f64 + 0.5) / PIXELS as f64;
        let y = ((i / PIXELS) as f64 + 0.5) / PIXELS as f64;
        let world = plane.world(x, y);
        let a = level(reference, windows[0], world);
        let b = level(other, windows[1], world);
        let mixed = [0, 1, 2].map(|c| {
            let sum = a * REFERENCE[c] + b * OTHER[c];
            (sum * 255.0 * 0.85).clamp(0.0, 255.0) as u8
        });
        *pixel = Color32::from_rgb(mixed[0], mixed[1], mixed[2]);
    }
    image
}
