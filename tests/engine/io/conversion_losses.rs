//! The window names what a saved image lacks of the file that was opened.

use super::conversion::{Found, Nifti};
use crate::support::{Window, test};
use arcuate::compute::Control;
use arcuate::io::convert::{plan, save_volume};
use arcuate::io::{AffineReading, Reading};
use arcuate::state::{Action, FilesAction};
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "io::conversion::a_moved_image_is_saved_with_its_transform",
            saved_where_moved,
        ),
        test("io::conversion::a_save_names_its_losses", losses_are_named),
        test("io::conversion::colours_as_they_were_opened", colours),
    ]
}

/// A moved image is saved without header extensions, which may name the earlier place; the loss has the sentence that
/// a conversion gives. An image that was not moved keeps its extensions.
fn saved_where_moved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (folder.path().join("a.nii"), folder.path().join("b.nii"));
    let image = Nifti::new(4, 2, (0..16).collect());
    let mut file = image.file();
    let voxels = file.split_off(352);
    let mut extension = b"\x20\0\0\0\x04\0\0\0<AFNI_atr/>".to_vec();
    extension.resize(32, 0);
    file[348] = 1;
    file[108..112].copy_from_slice(&384f32.to_le_bytes());
    std::fs::write(&from, [file, extension, voxels].concat()).expect("written");
    let control = Control::new();
    let (volume, _) = arcuate::io::image::read(&from, &control).expect("read");
    let by = DAffine3::from_translation(DVec3::X);
    let moved = volume.grid.moved(by).expect("a grid");
    for (volume, keeps) in [(volume.on_grid(moved.into()), false), (volume, true)] {
        let losses = save_volume(&to, &volume, Some(&from), "", &control).expect("saved");
        let found = Found::read(&to);
        assert_eq!((found.i16(70), found.voxels()), (4, &*image.bytes));
        let text = String::from_utf8_lossy(&found.0).into_owned();
        assert_eq!(text.contains("AFNI_atr"), keeps);
        // A conversion gives the same sentences.
        let rows = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let affine = (!keeps).then(|| Box::new(AffineReading::Matrix(rows)));
        let reported = Reading {
            affine,
            ..Reading::default()
        };
        let plan = plan(&from, &to, None, &reported, &control).expect("planned");
        assert_eq!(losses, plan.unsupported_contents);
        assert_eq!(losses.len(), usize::from(!keeps), "{losses:?}");
    }
}

/// The window names what the new file lacks of the opened one; the next save without a loss removes the note.
fn losses_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (folder.path().join("a.nii"), folder.path().join("b.nii"));
    let image = Nifti::new(4, 2, (0..16).collect());
    std::fs::write(&from, image.file()).expect("written");
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![from.clone()])));
    let layer = window.state.document.layers[0].id;
    let save = Action::Files(FilesAction::SaveLayer {
        layer,
        path: to.clone(),
    });
    let message = |window: &Window| {
        let messages = window.state.runtime.notices.messages.iter();
        messages.map(|m| m.text.clone()).collect::<Vec<_>>()
    };
    window.act(save.clone());
    assert_eq!(message(&window), [""; 0]);
    // Another program has written other values.
    let other = Nifti::new(4, 2, (1..17).collect());
    std::fs::write(&from, other.file()).expect("written");
    window.act(save.clone());
    let sentence = "b.nii: a.nii holds other values than when it was opened: the saved file has float32 values and no other \
                    fields or extensions of that header";
    assert_eq!(message(&window), [sentence]);
    std::fs::write(&from, image.file()).expect("written");
    window.act(save.clone());
    assert_eq!(message(&window), [""; 0]);
    std::fs::remove_file(&from).expect("removed");
    window.act(save);
    let message = message(&window);
    assert!(
        message.len() == 1 && message[0].contains("a.nii cannot be read again"),
        "{message:?}"
    );
}

/// Colours keep their bytes, with and without opacity.
fn colours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (folder.path().join("a.nii"), folder.path().join("b.nii"));
    for (datatype, size) in [(128, 3), (2304, 4)] {
        let image = Nifti::new(datatype, size, (0..8 * size as u8).collect());
        std::fs::write(&from, image.file()).expect("written");
        let control = Control::new();
        let (volume, _) = arcuate::io::image::read(&from, &control).expect("read");
        let losses = save_volume(&to, &volume, Some(&from), "", &control).expect("saved");
        assert_eq!(losses, [""; 0]);
        let found = Found::read(&to);
        assert_eq!((found.i16(70), found.voxels()), (datatype, &*image.bytes));
    }
}
