//! NVRTC compiles the kernels of merges, searches, keys and groups, for old and new GPUs.

use super::{Fraction, less};
use crate::support::compiled::check_compiled;
use warpfold::codegen::kernels::{Asked, Collect, OfOneRank, RankOf, RunParts, Select};
use warpfold::codegen::{
    Engine, Kernel, Kernels, MergeShape, merge_by_kernel, merge_kernel, search_kernels,
    sort_by_kernel,
};
use warpfold::half::{bf16, f16};
use warpfold::source::{Constant, Form, Heads, Map, Slice, Zip};
use warpfold::{Element, Sortable, function};

#[function]
fn first(a: [f32; 16], b: [f32; 16]) -> bool {
    a[0] < b[0]
}

fn collect<F: Form<Item: Element>>() -> Kernel {
    Collect::<F>::kernel(Engine::Rows(Collect::<F>::rows_policy(90)))
}

fn runs<K: Sortable, const TOTAL: bool>() -> Kernel {
    type Runs<K, const TOTAL: bool> = Select<K, Heads<OfOneRank<K, TOTAL>, Slice<K>>, RunParts>;
    Runs::<K, TOTAL>::kernel(Engine::Rows(Runs::<K, TOTAL>::rows_policy(90)))
}

#[test]
fn kernels_of_merges_and_searches_compile_for_old_and_new_gpus() {
    type Columns<A, B, R> =
        Map<RankOf<(A, B), R>, Zip<(Zip<(Slice<A>, Slice<B>)>, Constant<Asked>)>>;
    let of = MergeShape::of;
    let mut kernels = vec![
        merge_kernel::<u8>(of(1)),
        merge_kernel::<bf16>(of(2)),
        merge_kernel::<f32>(of(4)),
        merge_kernel::<i64>(of(8)),
        merge_kernel::<u128>(of(16)),
        merge_by_kernel::<Fraction, less>(of(12)),
        sort_by_kernel::<Fraction, less>(of(12)),
        sort_by_kernel::<[f32; 16], first>(of(64)),
        collect::<Columns<u8, f16, u32>>(),
        collect::<Columns<f32, i32, u64>>(),
        collect::<Columns<i64, f64, u128>>(),
        runs::<f32, false>(),
        runs::<f16, true>(),
        runs::<i128, false>(),
    ];
    kernels.extend(search_kernels::<f32>(90).map(|(kernel, _)| kernel));
    kernels.extend(search_kernels::<i128>(90).map(|(kernel, _)| kernel));
    kernels.extend(search_kernels::<f16>(90).map(|(kernel, _)| kernel));
    let architectures = [75, 80, 86, 89, 90, 100, 120];
    check_compiled(
        "a merge",
        kernels.into_iter().zip(architectures.into_iter().cycle()),
    );
}
