//! NVRTC compiles the ladder's kernels.

use crate::support::skip;
use warpfold::cuda::nvrtc::{Target, architectures, compile};
use warpfold::half::bf16;
use warpfold::ladder::{Kernel, Step, source, steps};
use warpfold::ops::{Add, Max, Min, Mul};
use warpfold::{Element, Monoid};

fn check<T: Element, Op: Monoid<T>>()
where
    Mul: Monoid<T>,
{
    let kernels: Vec<&Kernel> = steps().filter_map(Step::kernel).collect();
    let text = source::<T, Op, Mul>(&kernels).unwrap();
    let known = match architectures() {
        Ok(known) => known,
        Err(why) => return skip("nvrtc", &why.to_string()),
    };
    for architecture in [75, 90].into_iter().filter(|wanted| known.contains(wanted)) {
        compile(&text, "the ladder", Target::Cubin(architecture)).unwrap();
    }
}

#[test]
fn sums_compile() {
    check::<f32, Add>();
}

#[test]
fn operators_without_an_instruction_compile() {
    check::<f64, Max>();
    check::<u16, Mul>();
    check::<bf16, Mul>();
}

#[test]
fn operators_with_an_instruction_compile() {
    check::<i64, Add>();
    check::<i64, Min>();
    check::<u32, Max>();
}

/// Each file can be read, and compiled, by itself.
#[test]
fn every_file_compiles_alone() {
    let Ok(known) = architectures() else {
        return check::<f32, Add>();
    };
    for kernel in steps().filter_map(Step::kernel) {
        let text = source::<f32, Add, Mul>(&[kernel]).unwrap();
        compile(&text, kernel.file, Target::Ptx(known[0])).unwrap();
    }
}
