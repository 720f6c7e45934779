//! Drawing only changes, loading in pieces, small devices, tiles and the window.

use super::{ball, curve, fresh_offscreen, image, lines, offscreen, plain_grid, tractogram};
use crate::support::panes::{pane, scene};
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::data::appearance::ColourMap;
use arcuate::render::offscreen::{Error, Offscreen, Picture};
use arcuate::render::{PaneId, Renderer, Surface, device_descriptor, instance};
use arcuate::scene::draw_list::{
    ById, LineColour, LineStyle, Lines, Outline, ScenePane, Solid, SolidShape,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::draws_only_what_changed", only_what_changed),
        test("render::small_devices_split_buffers", small_devices),
        test("render::small_devices_join_tiles", tiles),
        test("render::large_grids_are_thinned", large_grids),
        test("render::loading_in_pieces_ends_the_same", pieces),
        test(
            "render::a_rough_picture_is_followed_by_a_better",
            rough_then_better,
        ),
        test("render::slow_pictures_come_in_pieces", slow_pictures),
        test("render::slow_slices_come_in_pieces", slow_slices),
        test("render::very_many_streamlines_show_by_and_by", very_many),
        test("render::windows_show_the_same_bytes", windows_show_the_same),
        test("render::too_large_pictures_are_refused", too_large),
    ]
}

pub const PANE: PaneId = PaneId(1);

pub fn busy_scene(random: &mut Random, streamlines: usize) -> ScenePane {
    let curves: Vec<_> = (0..streamlines).map(|_| curve(random, 40, 0.5)).collect();
    let count = curves.iter().map(Vec::len).sum::<usize>();
    let values: Vec<f32> = (0..count)
        .map(|_| random.uniform(0.0, 1.0) as f32)
        .collect();
    let tractogram = tractogram(&curves).with_per_point("value", values);
    let colour = LineColour::Scalar {
        name: "value".to_owned(),
        range: (0.0, 1.0),
        colour_map: ColourMap::Viridis,
        logarithmic: false,
        limits: None,
    };
    let mut list = scene(200, DVec3::new(120.0, -260.0, 70.0));
    list.lines = vec![lines(
        &tractogram,
        colour,
        LineStyle::Lines { width_px: 2.0 },
    )];
    list.solids = vec![Solid {
        shape: SolidShape::Sphere {
            centre: DVec3::new(3.0, 2.0, 1.0),
            radius_mm: 5.0,
        },
        colour: [245, 217, 10],
        opacity: 0.6,
        selected: true,
    }];
    list.outline = Some(Outline {
        mask: ById(ball(16.0, 2.0)),
        colour: [122, 162, 232],
        opacity: 0.9,
    });
    list
}

/// Nothing here takes longer, even on the slowest machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Largest difference between bytes, and the mean.
pub fn difference(a: &Picture, b: &Picture) -> (u8, f64) {
    assert_eq!(a.size_px, b.size_px);
    let off = || a.rgba.iter().zip(&b.rgba).map(|(a, b)| a.abs_diff(*b));
    let mean = off().map(f64::from).sum::<f64>() / a.rgba.len() as f64;
    (off().max().unwrap_or(0), mean)
}

fn only_what_changed() {
    let mut random = Random::fresh("only_what_changed");
    let mut offscreen = fresh_offscreen();
    let renderer = &mut offscreen.renderer;
    let mut list = busy_scene(&mut random, 20);
    let volume = Volume::scalar(plain_grid([4, 4, 4]), vec![0.5; 64]);
    let mut slice = pane(32, DVec3::ONE, DVec3::X, DVec3::Y, 0.2);
    slice.images = vec![image(&volume, (0.0, 1.0))];
    for expected in [2, 2, 2] {
        renderer.scene(&list, PANE);
        renderer.slice(&slice, PaneId(2));
        assert_eq!(renderer.draws(), expected);
    }
    list.solids[0].opacity = 0.5;
    renderer.scene(&list, PANE);
    renderer.slice(&slice, PaneId(2));
    assert_eq!(renderer.draws(), 3);
    // Equal data with a new id is a new value.
    slice.images[0].volume = ById(Volume::scalar(plain_grid([4, 4, 4]), vec![0.5; 64]));
    renderer.slice(&slice, PaneId(2));
    slice.size_px = [33, 32];
    renderer.slice(&slice, PaneId(2));
    renderer.scene(&list, PANE);
    assert_eq!(renderer.draws(), 5);
    assert!(renderer.device_bytes() > 0);
}

/// With buffers of 16 kB (1000 points) instead of millions the picture is the same.
fn small_devices() {
    let mut random = Random::fresh("small_devices");
    let mut list = busy_scene(&mut random, 100);
    // One streamline longer than a whole buffer.
    let mut curves: Vec<_> = (0..60).map(|_| curve(&mut random, 40, 0.5)).collect();
    curves.insert(30, curve(&mut random, 2_500, 0.02));
    let style = LineStyle::Lines { width_px: 2.0 };
    list.lines
        .push(lines(&tractogram(&curves), LineColour::Direction, style));
    let large = offscreen().scene(&list).expect("a picture");
    let mut small = Offscreen::with_limits(|limits| wgpu::Limits {
        max_storage_buffer_binding_size: 16 << 10,
        max_buffer_size: 256 << 10,
        ..limits
    })
    .expect("a device");
    let small_picture = small.scene(&list).expect("a picture");
    let (most, mean) = difference(&large, &small_picture);
    // Lines of equal depth may be drawn in another order where they cross a buffer's end.
    assert!(mean < 0.02, "{most} {mean}");
    let mut slice = pane(120, DVec3::ZERO, DVec3::X, DVec3::Y, 0.3);
    slice.lines = list.lines.clone();
    slice.slab_mm = 8.0;
    let large = offscreen().slice(&slice).expect("a picture");
    let (most, mean) = difference(&large, &small.slice(&slice).expect("a picture"));
    assert!(mean < 0.02, "{most} {mean}");
}

/// A picture larger than the device's textures is joined from tiles without a seam.
fn tiles() {
    let mut random = Random::fresh("tiles");
    let mut list = busy_scene(&mut random, 60);
    list.size_px = [460, 380];
    let whole = offscreen().scene(&list).expect("a picture");
    let mut small = Offscreen::with_limits(|limits| wgpu::Limits {
        max_texture_dimension_2d: 256,
        ..limits
    })
    .expect("a device");
    let tiled = small.scene(&list).expect("a picture");
    let (most, mean) = difference(&whole, &tiled);
    // Edges of lines fall on the samples of a pixel only up to rounding.
    assert!(mean < 0.3, "{most} {mean}");
    let columns = |picture: &Picture, x: u32| -> f64 {
        let off = (0..380).map(|y| {
            let (a, b) = (picture.pixel(x, y), picture.pixel(x - 1, y));
            (0..3).map(|c| f64::from(a[c].abs_diff(b[c]))).sum::<f64>()
        });
        off.sum::<f64>() / 380.0
    };
    for x in 1..460 {
        let (seam, none) = (columns(&tiled, x), columns(&whole, x));
        assert!(seam < none * 1.2 + 1.0, "{x}: {seam} {none}");
    }
}

/// A grid beyond the device's limits shows every second voxel, where it belongs.
fn large_grids() {
    let mut small = Offscreen::with_limits(|limits| wgpu::Limits {
        max_texture_dimension_3d: 32,
        ..limits
    })
    .expect("a device");
    let grid = plain_grid([60, 4, 4]);
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| grid.voxel(i)[0] as f32 / 60.0)
        .collect();
    let volume = Volume::scalar(grid, values);
    let mut list = pane(60, DVec3::new(29.5, 1.0, 1.0), DVec3::X, DVec3::Y, 1.0);
    list.images = vec![image(&volume, (0.0, 1.0))];
    let picture = small.slice(&list).expect("a picture");
    for x in 0..59u8 {
        let found = picture.pixel(u32::from(x), 30)[0];
        let off = (f64::from(found) - f64::from(x) / 60.0 * 255.0).abs();
        // One voxel is 4.25 of 255.
        assert!(off < 5.0, "{x} {found}");
    }
}

/// Data loaded during a time slice per call give the same picture as data loaded at once, and `busy` is false when it
/// is complete.
fn pieces() {
    let mut random = Random::fresh("pieces");
    let base: Vec<_> = (0..50).map(|_| curve(&mut random, 100, 0.3)).collect();
    // A million points: more than one call's time slice.
    let many: Vec<_> = (0..10_000).map(|i| base[i % 50].clone()).collect();
    let many = tractogram(&many);
    let mut list = scene(64, DVec3::new(120.0, -260.0, 70.0));
    let style = LineStyle::Lines { width_px: 1.0 };
    list.lines = vec![lines(&many, LineColour::Direction, style)];
    let at_once = offscreen().scene(&list).expect("a picture");

    let mut fresh = fresh_offscreen();
    fresh.renderer.load_in_pieces();
    let (mut calls, started) = (0, Instant::now());
    while calls == 0 || fresh.renderer.is_busy() {
        // Better pictures wait until the view rests: calls meanwhile would be counted instead of pieces.
        std::thread::sleep(fresh.renderer.next_frame_in().unwrap_or_default());
        fresh.renderer.scene(&list, PANE);
        // While a piece is being drawn no other one begins.
        fresh.renderer.wait();
        calls += 1;
        assert!(
            started.elapsed() < LONGEST,
            "not loaded after {calls} calls in {LONGEST:?}"
        );
    }
    assert!(calls > 2, "{calls}");
    let slowly = fresh.scene(&list).expect("a picture");
    assert_eq!(difference(&at_once, &slowly).0, 0);
}

/// During motion a slow device draws fewer pixels; at rest the picture is the full one, without a new list.
fn rough_then_better() {
    let mut random = Random::fresh("rough_then_better");
    let mut offscreen = fresh_offscreen();
    let list = busy_scene(&mut random, 300);
    let full = offscreen.scene(&list).expect("a picture");
    let renderer = &mut offscreen.renderer;
    renderer.load_in_pieces();
    let mut turned = list.clone();
    for _ in 0..3 {
        turned.solids[0].opacity += 0.01;
        renderer.scene(&turned, PANE);
    }
    renderer.scene(&list, PANE);
    let draws = renderer.draws();
    let waits = renderer.is_busy();
    assert_eq!(renderer.shows(&list, PANE), !waits);
    std::thread::sleep(std::time::Duration::from_millis(300));
    at_rest(renderer, &list);
    assert_eq!(
        renderer.draws() > draws,
        waits,
        "drawn again if it was rough"
    );
    let read = renderer.read(PANE).expect("a picture");
    assert_eq!(difference(&full, &read).0, 0);
    assert!(renderer.device_ms() > 0.0);
    renderer.forget(PANE);
    assert!(renderer.device_ms() > 0.0);
}

/// Nothing is refined while a gesture may continue.
pub fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(300));
}

/// Calls until nothing is pending; returns their number.
pub fn at_rest(renderer: &mut Renderer, list: &ScenePane) -> usize {
    pause();
    for calls in 0..10_000 {
        if !renderer.is_busy() {
            return calls;
        }
        renderer.wait();
        renderer.scene(list, PANE);
    }
    panic!("never at rest");
}

/// A picture that takes longer than users wait is drawn in pieces: a rough one shows until the last piece is finished,
/// a change meanwhile restarts it, and the result is the whole picture.
fn slow_pictures() {
    let mut random = Random::fresh("slow_pictures");
    let mut offscreen = fresh_offscreen();
    let mut list = busy_scene(&mut random, 300);
    let faint = Lines {
        opacity: 0.3,
        context: true,
        ..list.lines[0].clone()
    };
    let seen_through = Lines {
        opacity: 0.4,
        ..list.lines[0].clone()
    };
    list.lines.extend([faint, seen_through]);
    let mut turned = list.clone();
    turned.solids[0].opacity += 0.01;
    let full = offscreen.scene(&list).expect("a picture");
    let full_turned = offscreen.scene(&turned).expect("a picture");
    assert!(difference(&full, &full_turned).0 > 0);
    let mut fresh = fresh_offscreen();
    let renderer = &mut fresh.renderer;
    renderer.load_in_pieces();
    // Makes everything count as slow.
    renderer.set_patience_ms(0.0);
    renderer.scene(&list, PANE);
    at_rest(renderer, &list);
    // Its time is known once it is finished.
    renderer.wait();
    pause();
    renderer.scene(&turned, PANE);
    assert!(renderer.is_busy() && !renderer.shows(&turned, PANE));
    // Some pieces, then the view moves again.
    pause();
    for _ in 0..3 {
        renderer.wait();
        renderer.scene(&turned, PANE);
    }
    assert!(renderer.is_busy() && !renderer.shows(&turned, PANE));
    // None is drawn during interaction, and drawing continues once it pauses.
    let share = renderer.share([PANE]);
    assert!(share > 0.0 && share < 1.0, "{share}");
    renderer.wait();
    assert_eq!(renderer.next_frame_in(), Some(Duration::ZERO));
    // A busy machine may take longer than the pause.
    let at_once = (0..50).any(|_| {
        let (share, began) = (renderer.share([PANE]), Instant::now());
        renderer.record_interaction();
        renderer.scene(&turned, PANE);
        let (wait, now) = (renderer.next_frame_in(), renderer.share([PANE]));
        if began.elapsed() > Duration::from_millis(120) {
            return false;
        }
        assert!(wait.is_some_and(|wait| wait > Duration::ZERO));
        assert_eq!(now, share);
        true
    });
    assert!(at_once);
    let share = renderer.share([PANE]);
    pause();
    assert_eq!(renderer.next_frame_in(), Some(Duration::ZERO));
    renderer.scene(&turned, PANE);
    assert!(renderer.share([PANE]) > share);
    // The last of them does not composite it either: that is a separate piece.
    while renderer.share([PANE]) < 1.0 {
        renderer.wait();
        renderer.scene(&turned, PANE);
    }
    assert!(renderer.is_busy() && !renderer.is_whole([PANE]));
    renderer.wait();
    renderer.scene(&turned, PANE);
    renderer.wait();
    assert!(!renderer.is_busy() && renderer.is_whole([PANE]));
    renderer.scene(&list, PANE);
    pause();
    for _ in 0..3 {
        renderer.wait();
        renderer.scene(&list, PANE);
    }
    // The view moves again before it is finished.
    renderer.scene(&turned, PANE);
    renderer.scene(&list, PANE);
    assert!(!renderer.shows(&list, PANE));
    let draws = renderer.draws();
    let calls = at_rest(renderer, &list);
    assert!(calls > 3, "{calls} pieces");
    assert_eq!(renderer.draws(), draws + 1);
    assert!(renderer.shows(&list, PANE));
    let read = renderer.read(PANE).expect("a picture");
    // Equal triangles in an equal order give an equal picture.
    assert_eq!(difference(&full, &read).0, 0);
    // Seen from elsewhere they are the same streamlines, but others are not.
    let mut other = list.clone();
    other.lines.pop();
    assert!(renderer.shows(&turned, PANE) && !renderer.shows(&other, PANE));
}

/// Slices with many streamlines that take longer than users wait: a half-drawn one is never shown.
fn slow_slices() {
    let mut random = Random::fresh("slow_slices");
    let scene = busy_scene(&mut random, 600);
    let mut list = pane(160, DVec3::ZERO, DVec3::X, DVec3::Y, 0.3);
    let faint = Lines {
        opacity: 0.5,
        colour: LineColour::Direction,
        ..scene.lines[0].clone()
    };
    list.lines = vec![scene.lines[0].clone(), faint];
    list.slab_mm = 6.0;
    let mut moved = list.clone();
    moved.origin += DVec3::Z;
    let full = offscreen().slice(&list).expect("a picture");
    let full_moved = offscreen().slice(&moved).expect("a picture");
    assert!(difference(&full, &full_moved).0 > 0);
    let mut fresh = fresh_offscreen();
    let renderer = &mut fresh.renderer;
    renderer.load_in_pieces();
    // Makes everything count as slow.
    renderer.set_patience_ms(0.0);
    let at_rest = |renderer: &mut Renderer, list| {
        pause();
        for calls in 0..10_000 {
            if !renderer.is_busy() {
                return calls;
            }
            renderer.wait();
            renderer.slice(list, PANE);
        }
        panic!("never at rest");
    };
    renderer.slice(&list, PANE);
    let calls = at_rest(renderer, &list);
    assert!(calls > 10, "{calls} pieces");
    let read = |renderer: &Renderer| renderer.read(PANE).expect("a picture");
    assert_eq!(difference(&full, &read(renderer)).0, 0);
    renderer.slice(&moved, PANE);
    let (rough, draws) = (read(renderer), renderer.draws());
    pause();
    for _ in 0..4 {
        renderer.wait();
        renderer.slice(&moved, PANE);
    }
    assert!(renderer.is_busy());
    assert_eq!(difference(&rough, &read(renderer)).0, 0);
    assert_eq!(renderer.draws(), draws);
    at_rest(renderer, &moved);
    assert_eq!(renderer.draws(), draws + 1);
    assert_eq!(difference(&full_moved, &read(renderer)).0, 0);
    // Restarted in the middle.
    pause();
    renderer.slice(&list, PANE);
    pause();
    for _ in 0..4 {
        renderer.wait();
        renderer.slice(&list, PANE);
    }
    renderer.slice(&moved, PANE);
    at_rest(renderer, &moved);
    assert_eq!(difference(&full_moved, &read(renderer)).0, 0);
}

/// If there are more points than a slow device draws at once, some are shown before all.
fn very_many() {
    let mut random = Random::fresh("very_many");
    let base: Vec<_> = (0..40).map(|_| curve(&mut random, 100, 0.3)).collect();
    let many: Vec<_> = (0..21_000).map(|i| base[i % 40].clone()).collect();
    let count = 100 * many.len();
    let many = tractogram(&many).with_per_point("value", vec![0.5; count]);
    let colour = LineColour::Scalar {
        name: "value".to_owned(),
        range: (0.0, 1.0),
        colour_map: ColourMap::Viridis,
        logarithmic: false,
        limits: None,
    };
    let mut list = scene(64, DVec3::new(120.0, -260.0, 70.0));
    list.lines = vec![lines(&many, colour, LineStyle::Lines { width_px: 1.0 })];
    let mut fresh = fresh_offscreen();
    let software = fresh.is_software();
    let renderer = &mut fresh.renderer;
    // Loaded and drawn at once for another pane.
    renderer.scene(&list, PaneId(2));
    let full = renderer.read(PaneId(2)).expect("a picture");
    renderer.forget(PaneId(2));
    renderer.load_in_pieces();
    let draws = renderer.draws();
    let mut first = None;
    for _ in 0..10_000 {
        // Calls while the view does not rest draw nothing.
        std::thread::sleep(renderer.next_frame_in().unwrap_or_default());
        renderer.scene(&list, PANE);
        renderer.wait();
        if !renderer.is_busy() {
            break;
        }
        first = first.or(Some(renderer.share([PANE])).filter(|&share| share > 0.0));
        assert!(!renderer.shows(&list, PANE));
    }
    assert!(renderer.shows(&list, PANE));
    // The time of a piece is not yet known: the first is small.
    assert!(
        !software || first.is_some_and(|share| share < 0.1),
        "{first:?}"
    );
    // A rough picture, a million points, all.
    let expected = if software { 3 } else { 1 };
    assert_eq!(renderer.draws() - draws, expected);
    let read = renderer.read(PANE).expect("a picture");
    assert_eq!(difference(&full, &read).0, 0);
}

/// egui's surface, plain or sRGB, gets the pane's bytes.
fn windows_show_the_same() {
    let mut random = Random::fresh("windows_show_the_same");
    let adapter = pollster::block_on(instance().request_adapter(&Default::default())).expect("one");
    let (device, queue) =
        pollster::block_on(adapter.request_device(&device_descriptor(&adapter))).expect("one");
    let mut renderer = Renderer::new(device.clone(), queue.clone());
    let list = busy_scene(&mut random, 30);
    let expected = renderer.scene_picture(&list).expect("a picture");
    for format in [
        wgpu::TextureFormat::Rgba8Unorm,
        wgpu::TextureFormat::Rgba8UnormSrgb,
        wgpu::TextureFormat::Bgra8Unorm,
    ] {
        let surface = device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d {
                width: 256,
                height: 200,
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        renderer.prepare_blit(Surface {
            format,
            samples: 1,
            depth: None,
        });
        while {
            renderer.scene(&list, PANE);
            renderer.is_busy()
        } {}
        let view = surface.create_view(&Default::default());
        let mut encoder = device.create_command_encoder(&Default::default());
        let attachment = wgpu::RenderPassColorAttachment {
            view: &view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations::default(),
        };
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(attachment)],
                ..Default::default()
            });
            // The pane's rectangle is the viewport, as in egui.
            pass.set_viewport(40.0, 0.0, 200.0, 200.0, 0.0, 1.0);
            renderer.blit(PANE, &mut pass);
        }
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 1024 * 200,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        encoder.copy_texture_to_buffer(
            surface.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(1024),
                    rows_per_image: None,
                },
            },
            surface.size(),
        );
        queue.submit([encoder.finish()]);
        buffer.map_async(wgpu::MapMode::Read, .., |r| r.expect("mapped"));
        device
            .poll(wgpu::PollType::wait_indefinitely())
            .expect("done");
        let bytes = buffer.get_mapped_range(..).expect("mapped");
        for y in 0..200u32 {
            for x in 0..200u32 {
                let at = (y * 1024 + (x + 40) * 4) as usize;
                let mut found = [0, 1, 2].map(|c| bytes[at + c]);
                if format == wgpu::TextureFormat::Bgra8Unorm {
                    found.reverse();
                }
                let requested = expected.pixel(x, y);
                for c in 0..3 {
                    // An sRGB surface rounds once more.
                    assert!(found[c].abs_diff(requested[c]) <= 1, "{format:?} {x} {y}");
                }
            }
        }
    }
}

fn too_large() {
    let mut list = pane(16, DVec3::ZERO, DVec3::X, DVec3::Y, 1.0);
    list.size_px = [60_000, 60_000];
    let error = offscreen().slice(&list).expect_err("too large");
    assert_eq!(
        error,
        Error::TooLarge {
            size_px: [60_000, 60_000]
        }
    );
    assert!(error.to_string().contains("60000 × 60000 pixels"));
}
