//! NVRTC compiles the kernels along axes, of segments of rows, of scatter and of scans in reverse,
//! for old and new GPUs.

use crate::support::compiled::check_compiled;
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing};
use half::f16;
use warpfold::codegen::kernels::{
    AxisLanes, AxisPolicy, AxisSegments, Scan, Scatter, SegmentedPolicy, SegmentedScan,
};
use warpfold::codegen::{BlockPolicy, Engine, Kernel, Kernels, Layouts, RowPolicy};
use warpfold::ops::{Add, Max};
use warpfold::source::{Form, Gather, GatherRows, Map, Slice, Zip};
use warpfold::statistics::{First, Place, Ranked};
use warpfold::{Element, Monoid, OffsetsOf, StartsOf, function};

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

type Products = Map<product, Zip<(Slice<f32>, Gather<Slice<f32>, Slice<u32>>)>>;

fn axis<T: Element, Op: Monoid<T>, F: Form<Item = T>>() -> Kernel {
    AxisLanes::<T, Op, F>::kernel(AxisPolicy::of::<T>())
}

fn vectors<T: Element, Op: Monoid<T>, F: Form<Item = T>>() -> Kernel {
    AxisSegments::<T, Op, F, OffsetsOf<u32>>::kernel(AxisPolicy::of::<T>())
}

fn reverse<T: Element, Op: Monoid<T>, F: Form<Item = T>>() -> [Kernel; 3] {
    let layouts = Layouts::of::<F>().in_reverse();
    let rows = Engine::Rows(RowPolicy::for_scan(layouts, 90, false));
    let block = BlockPolicy::for_scan(layouts, 90, 0).map_or(rows, Engine::Block);
    [Engine::Levels, rows, block].map(Scan::<T, Op, F, true>::kernel)
}

fn segments<T: Element, Op: Monoid<T>, F: Form<Item = T>>() -> Kernel {
    SegmentedScan::<T, Op, F, StartsOf<u64>>::kernel(SegmentedPolicy::of::<T>(), true)
}

#[test]
fn kernels_along_axes_compile_for_old_and_new_gpus() {
    type Arrays = [u64; 8];
    let mut kernels = vec![
        axis::<f32, Add, Slice<f32>>(),
        axis::<f16, Add, Slice<f16>>(),
        axis::<u8, Max, Slice<u8>>(),
        axis::<[u8; 3], Bracketing, Slice<[u8; 3]>>(),
        axis::<Bicyclic, BicyclicProduct, Slice<Bicyclic>>(),
        axis::<Arrays, crate::support::operators::Sums, Slice<Arrays>>(),
        axis::<f32, Add, Products>(),
        axis::<Place, First, Ranked<<f64 as warpfold::statistics::Number>::RankUp, Slice<f64>>>(),
        vectors::<f32, Add, Slice<f32>>(),
        vectors::<f16, Add, Slice<f16>>(),
        vectors::<f32, Add, GatherRows<Slice<f32>, Slice<i64>>>(),
        vectors::<u64, Bracketing, Slice<u64>>(),
        segments::<f32, Add, Products>(),
        segments::<[u8; 3], Bracketing, Slice<[u8; 3]>>(),
        Scatter::<Slice<f32>, Slice<i8>>::kernel(),
        Scatter::<Products, Slice<u64>>::kernel(),
    ];
    kernels.extend(reverse::<f32, Add, Slice<f32>>());
    kernels.extend(reverse::<u8, Add, Slice<u8>>());
    kernels.extend(reverse::<f16, Add, Slice<f16>>());
    kernels.extend(reverse::<Bicyclic, BicyclicProduct, Slice<Bicyclic>>());
    kernels.extend(reverse::<f32, Add, Products>());
    let architectures = [75, 90, 120, 80, 100].into_iter().cycle();
    check_compiled("an axis", kernels.into_iter().zip(architectures));
}
