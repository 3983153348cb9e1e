//! What `explain` says of launches is what a call enqueues on a GPU: how many kernels there are, and
//! their names and shapes, if the driver tells those.

use crate::explained_calls::{Launched, of_length, said};
use crate::support::{captured, stream};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use warpfold::codegen::Explanation;
use warpfold::cuda::Workspace;
use warpfold::cuda::cudarc::driver::{CudaGraph, sys};

/// What a driver of CUDA 12 says of a kernel in a graph.
#[repr(C)]
struct KernelNode {
    function: *mut c_void,
    blocks: [c_uint; 3],
    threads: [c_uint; 3],
    shared_bytes: c_uint,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
    kernel: *mut c_void,
    context: *mut c_void,
}

type NodeOf = unsafe extern "C" fn(sys::CUgraphNode, *mut KernelNode) -> c_int;
type NameOf = unsafe extern "C" fn(*mut *const c_char, *mut c_void) -> c_int;

/// The kernels of a graph.
fn kernels(graph: &CudaGraph) -> Vec<sys::CUgraphNode> {
    let mut count = 0;
    // SAFETY: the graph is there, and its nodes are asked for when there is room for them.
    let nodes = unsafe {
        let ask = |nodes, count: &mut usize| sys::cuGraphGetNodes(graph.cu_graph(), nodes, count);
        ask(ptr::null_mut(), &mut count).result().unwrap();
        let mut nodes = vec![ptr::null_mut(); count];
        ask(nodes.as_mut_ptr(), &mut count).result().unwrap();
        nodes
    };
    let is_kernel = |&node: &sys::CUgraphNode| {
        let mut kind = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
        // SAFETY: the node is one of the graph's, and the pointer is valid for a write.
        let asked = unsafe { sys::cuGraphNodeGetType(node, &mut kind) };
        asked.result().unwrap();
        kind == sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL
    };
    nodes.into_iter().filter(is_kernel).collect()
}

/// The names and shapes of kernels, in no order; or nothing if the driver is older than CUDA 12.3,
/// or has other handles of kernels.
fn shapes(nodes: &[sys::CUgraphNode]) -> Option<Vec<Launched>> {
    let files = ["libcuda.so.1", "nvcuda.dll"];
    // SAFETY: the driver is loaded already.
    let mut drivers =
        (files.into_iter()).filter_map(|file| unsafe { libloading::Library::new(file) }.ok());
    let driver = drivers.next()?;
    // SAFETY: the functions have these types since the driver has them.
    let (node_of, name_of) = unsafe {
        let node_of = driver.get::<NodeOf>("cuGraphKernelNodeGetParams_v2").ok()?;
        (node_of, driver.get::<NameOf>("cuFuncGetName").ok()?)
    };
    let shape = |&node: &sys::CUgraphNode| {
        // SAFETY: zeros are null pointers and numbers.
        let mut found = unsafe { std::mem::zeroed::<KernelNode>() };
        // SAFETY: the node is a kernel of a graph that is there, and the pointer is valid for a
        // write.
        if unsafe { node_of(node, &mut found) } != 0 || found.function.is_null() {
            return None;
        }
        let mut name = ptr::null();
        // SAFETY: the function is loaded for as long as the process runs.
        if unsafe { name_of(&mut name, found.function) } != 0 || name.is_null() {
            return None;
        }
        // SAFETY: the driver keeps the name as long as the function.
        let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?.to_owned();
        let (blocks, threads) = (found.blocks[0].into(), found.threads[0]);
        Some((name, blocks, threads, found.shared_bytes))
    };
    nodes.iter().map(shape).collect()
}

#[test]
fn calls_have_the_launches_that_are_explained() {
    let Some((_, stream)) = stream() else {
        return;
    };
    let mut check =
        |explanation: &Explanation,
         work: &mut dyn FnMut(&mut Workspace) -> warpfold::Result<()>| {
            let bytes = explanation.workspace_bytes();
            let mut workspace = Workspace::new(&stream, bytes).unwrap();
            // A graph loads no kernels: so each call runs once before.
            work(&mut workspace).unwrap();
            stream.synchronize().unwrap();
            let mut said = said(explanation);
            if said.is_empty() {
                return;
            }
            let graph = captured(&stream, || work(&mut workspace));
            let nodes = kernels(&graph);
            assert_eq!(nodes.len(), said.len(), "{explanation}");
            if let Some(mut shapes) = shapes(&nodes) {
                said.sort();
                shapes.sort();
                assert_eq!(shapes, said, "{explanation}");
            }
        };
    for len in [1000, 100_000, 5_000_000] {
        of_length(&stream, len, &mut check);
    }
}
