//! What goes wrong gives an error that names the cause and the remedy, and nothing panics.

use crate::support::data::sample;
use crate::support::{gpu, skip};
use warpfold::Prefixes;
use warpfold::codegen::{Definitions, Engine, kernels, source};
use warpfold::cuda::nvrtc::{self, Target};
use warpfold::ops::Add;
use warpfold::{CudaType, Device, Element, Error, Monoid, monoid};

/// An operator whose CUDA function, written by hand, has a mistake in its second line.
struct Misspelt;

impl Monoid<f32> for Misspelt {
    fn identity() -> f32 {
        0.0
    }

    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("sum", |_, name| {
            format!(
                "#line 1 \"misspelt.cuh\"
                __device__ float {name}(float a, float b) {{
                    return summ + a + b;
                }}"
            )
        })
    }
}

#[test]
fn a_wrong_operator_is_reported_with_its_own_line() {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    let source = source::<kernels::Scan<f32, Misspelt>>(Engine::Levels).unwrap();
    let error = nvrtc::compile(&source, "Misspelt", Target::Cubin(90)).unwrap_err();
    let Error::Compile { operator, log, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(operator, "Misspelt");
    assert!(
        log.contains("misspelt.cuh(2): error: identifier \"summ\" is undefined"),
        "{log}"
    );
}

#[test]
fn a_wrong_operator_fails_on_the_gpu_and_the_device_goes_on() {
    let Some(device) = gpu(0) else { return };
    let buffer = device.upload(&[1.0_f32, 2.0]).unwrap();
    assert!(matches!(
        device.scan::<f32, Misspelt>(&buffer),
        Err(Error::Compile { .. })
    ));
    assert_eq!(device.reduce::<f32, Add>(&buffer).unwrap(), 3.0);
}

#[test]
fn a_gpu_that_is_not_there_is_an_error_that_says_what_is() {
    let error = Device::cuda(1000).unwrap_err();
    let text = error.to_string();
    match &error {
        Error::NoDevice { available, .. } => assert!(available.starts_with("cpu"), "{text}"),
        Error::Library { .. } => {
            assert!(text.contains("remedy: install an NVIDIA driver"), "{text}")
        }
        Error::Driver { .. } => {}
        _ => panic!("{text}"),
    }
}

#[test]
fn device_names_are_checked() {
    for name in ["gpu", "cuda:", "cuda:x", "cuda:-1", "CPU", "", "cuda0"] {
        let error = name.parse::<Device>().unwrap_err();
        assert!(matches!(error, Error::DeviceName { .. }), "{name}: {error}");
        assert!(error.to_string().contains("`cuda:N`"), "{error}");
    }
    assert!("cpu".parse::<Device>().unwrap().is_cpu());
}

#[test]
fn lengths_and_devices_must_match() {
    let cpu = Device::cpu();
    let input = cpu.upload(&[1_u32, 2, 3]).unwrap();
    let mut output = cpu.upload(&[9_u32; 2]).unwrap();
    let error = cpu
        .scan_into::<u32, Add>(Prefixes::exclusive(), &input, &mut output)
        .unwrap_err();
    assert_eq!(
        error,
        Error::Length {
            input: 3,
            output: 2
        }
    );
    assert_eq!(output.to_vec().unwrap(), [9, 9], "the output is as it was");

    let Some(device) = gpu(0) else { return };
    let error = device.scan::<u32, Add>(&input).unwrap_err();
    assert_eq!(
        error,
        Error::WrongDevice {
            buffer: "cpu".into(),
            device: "cuda:0".into()
        }
    );
}

#[test]
fn out_of_memory_names_the_sizes_and_the_device_goes_on() {
    let Some(device) = gpu(0) else { return };
    let data = sample::<u64>(1 << 16, 5);
    let small = device.upload(&data).unwrap();
    // The terabyte is asked for and never touched.
    let error = device.allocate::<u64>(1 << 37).unwrap_err();
    let Error::OutOfMemory {
        requested,
        free,
        total,
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(requested, 1 << 40);
    assert!(0 < free && free <= total);
    let expected = data.iter().fold(0_u64, |sum, x| sum.wrapping_add(*x));
    assert_eq!(device.reduce::<u64, Add>(&small).unwrap(), expected);
}

#[test]
fn structs_of_one_name_cannot_meet() {
    mod other {
        use warpfold::Element;
        #[derive(Clone, Copy, Element)]
        #[repr(C)]
        pub(super) struct Point {
            x: f64,
        }
    }
    #[derive(Clone, Copy, Element)]
    #[repr(C)]
    struct Point {
        x: f32,
        y: f32,
        inner: other::Point,
    }
    #[monoid(identity = bytemuck_zeroed())]
    fn first(a: Point, _b: Point) -> Point {
        a
    }
    fn bytemuck_zeroed<T: warpfold::bytemuck::Zeroable>() -> T {
        T::zeroed()
    }
    let mut definitions = Definitions::default();
    assert_eq!(Point::cuda_type(&mut definitions), "structs::Point");
    let error = source::<kernels::Reduce<Point, First>>(Engine::Levels).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("two different structs named `Point`"),
        "{error}"
    );
}
