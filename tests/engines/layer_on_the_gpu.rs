//! The kernels that use the whole of the layer in `kernels/machine/device.cuh` give on a GPU what
//! they give in the emulator (`engines/emulated/layer.rs`).

use crate::support::layer::{CASES, SOURCE};
use crate::support::{skip, stream};
use warpfold::codegen::with_kernels;
use warpfold::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use warpfold::cuda::cudarc::driver::{DevicePtr, LaunchConfig, PushKernelArg};
use warpfold::cuda::cudarc::nvrtc::Ptx;
use warpfold::cuda::nvrtc::{Target, compile};

#[test]
fn sanitized_the_layer_keeps_its_promises() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let [major, minor] = [
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    ]
    .map(|attribute| context.attribute(attribute).unwrap() as u32);
    if major < 9 {
        return skip(
            "cuda",
            &format!("bulk copies want compute capability 9.0, and this GPU has {major}.{minor}"),
        );
    }
    let text = with_kernels(SOURCE, "layer.cu").unwrap();
    let target = Target::Cubin(10 * major + minor);
    let image = compile(&text, "layer.cu", target).unwrap();
    let module = context.load_module(Ptx::from_binary(image)).unwrap();
    for case in CASES {
        let function = module.load_function(case.kernel).unwrap();
        let (numbers, expected) = case.data();
        for round in 0..20 {
            let input = stream.clone_htod(&numbers).unwrap();
            let output = stream
                .clone_htod(&vec![0xeeee_eeee_u32; expected.len()])
                .unwrap();
            let work = stream.alloc_zeros::<u8>(case.work.max(1)).unwrap();
            let mut addresses = vec![input.device_ptr(&stream).0, output.device_ptr(&stream).0];
            let start = work.device_ptr(&stream).0;
            addresses.extend(case.work_at.iter().map(|&offset| start + offset as u64));

            let mut launch = stream.launch_builder(&function);
            for address in &addresses {
                launch.arg(address);
            }
            if let Some(length) = &case.length {
                launch.arg(length);
            }
            let grid = LaunchConfig {
                grid_dim: (case.blocks, 1, 1),
                block_dim: (case.threads, 1, 1),
                shared_mem_bytes: case.shared as u32,
            };
            // SAFETY: the case says what the kernel takes; the buffers live until the results are
            // read.
            unsafe { launch.launch(grid) }.unwrap();
            let got = stream.clone_dtoh(&output).unwrap();
            assert_eq!(got, expected, "{}, round {round}", case.kernel);
        }
    }
}
