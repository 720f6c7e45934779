//! Recognising the order and the frame of tensors in an image.

use crate::support::fields::backend;
use crate::support::{Random, test};
use crate::tensor_fit::given::{head, image};
use arcuate::compute::Control;
use arcuate::data::{TensorLayout, Volume, VolumeKind};
use arcuate::solvers::tensor_check;
use glam::DMat3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("tensor_check::every order and frame", recognised)]
}

/// The tensors of a head, written in an unstated layout.
fn recognised() {
    let mut random = Random::fresh("recognised tensors");
    let (field, _) = head(&mut random, 3.0);
    let axes = DMat3::from_cols(
        field.grid.world_from_voxel.matrix3.x_axis.normalize(),
        field.grid.world_from_voxel.matrix3.y_axis.normalize(),
        field.grid.world_from_voxel.matrix3.z_axis.normalize(),
    );
    let world: Vec<DMat3> = field.tensors.iter().map(|t| t.matrix()).collect();
    for planted in TensorLayout::all() {
        let volume = image(&field.grid, &world, planted, axes);
        let params = tensor_check::Params::defaults();
        let output = tensor_check::compare(&volume, &params, &backend(2), &Control::new());
        let output = output.expect("compared");
        println!("{}: {}", planted.description(), output.sentence());
        assert_eq!(output.clear_layout(), Some(planted));
        let best = &output.ranked[0];
        assert!(best.definite > 0.99 && best.slice.rgb.iter().any(|v| *v > 100));
    }
    // Six arbitrary images are not read as tensors.
    let noise = (0..6 * field.grid.voxel_count()).map(|_| random.normal() as f32);
    let noise = Volume::new(
        field.grid.clone(),
        6,
        VolumeKind::Scalar,
        noise.collect::<Vec<_>>(),
    );
    let params = tensor_check::Params::defaults();
    let output = tensor_check::compare(&noise, &params, &backend(2), &Control::new());
    assert_eq!(output.expect("compared").clear_layout(), None);
}
