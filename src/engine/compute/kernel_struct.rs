//! Structs that kernels read: their layout stated once more, and checked by the compiler.

/// States the layout of a `#[repr(C)]` struct that a kernel declares, too: its name in the kernel, its size in bytes,
/// and the offset of every member. The struct is not compiled if a number differs or a member is missing; a test
/// (`tests/architecture/kernel_structs.rs`) compares the same lines with the struct in the kernel's source.
///
/// ```
/// use arcuate_engine::kernel_struct;
///
/// #[repr(C)]
/// struct KernelRules {
///     voxels: u32,
///     step_mm: f32,
///     records: u64,
/// }
/// kernel_struct!(KernelRules as "Rules in kernels/tracking.cu", 16 { voxels: 0, step_mm: 4, records: 8 });
/// ```
///
/// Two exchanged members:
///
/// ```compile_fail
/// # use arcuate_engine::kernel_struct;
/// # #[repr(C)]
/// # struct KernelRules {
/// #     voxels: u32,
/// #     step_mm: f32,
/// #     records: u64,
/// # }
/// kernel_struct!(KernelRules as "Rules in kernels/tracking.cu", 16 { step_mm: 0, voxels: 4, records: 8 });
/// ```
#[macro_export]
macro_rules! kernel_struct {
    ($type:ident as $place:literal, $bytes:literal { $($member:ident: $offset:literal),+ $(,)? }) => {
        const _: () = {
            assert!(::std::mem::size_of::<$type>() == $bytes, $place);
            $(assert!(
                ::std::mem::offset_of!($type, $member) == $offset,
                concat!($place, ": ", stringify!($member))
            );)+
            // A member that the list lacks is an error here.
            #[allow(dead_code, reason = "only compiled")]
            const fn all_members(value: &$type) {
                let $type { $($member: _),+ } = value;
            }
        };
    };
}
