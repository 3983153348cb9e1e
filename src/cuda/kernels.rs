//! Gets the kernels of a request: from memory, from disk, or by compiling them.

use super::disk_cache::{DiskCache, Key};
use super::nvrtc::{self, Target};
use super::{context_capability, driver_error};
use crate::codegen::{self, COMPILER_OPTIONS, Engine, Kernel, Primitive, WavePolicy};
use crate::{Element, Monoid, Result};
use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUfunction_attribute, cuDriverGetVersion,
};
use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::Ptx;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The functions of one generated source, on one context.
#[derive(Debug)]
pub(crate) struct Kernels {
    functions: Vec<(&'static str, CudaFunction)>,
    widens: bool,
    multiprocessors: u32,
    overlap: bool,
}

/// (context, primitive, engine, element type, operator). Entries keep their context alive, so no
/// other context can get its address.
type CacheKey = (usize, Primitive, Engine, TypeId, TypeId);

static LOADED: RwLock<Option<HashMap<CacheKey, Arc<Kernels>>>> = RwLock::new(None);

impl Kernels {
    /// The kernels that compute `primitive` over `T` with `Op` in `context`.
    pub(crate) fn get<T: Element, Op: Monoid<T>>(
        context: &Arc<CudaContext>,
        primitive: Primitive,
        engine: Engine,
    ) -> Result<Arc<Kernels>> {
        if let Some(kernels) = Kernels::loaded::<T, Op>(context, primitive, engine) {
            return Ok(kernels);
        }
        // Two threads may compile the same kernels at once. Both results are good; the last one
        // stays.
        let kernels = Arc::new(Kernels::load::<T, Op>(context, primitive, engine)?);
        let key = Kernels::key::<T, Op>(context, primitive, engine);
        let mut loaded = LOADED.write().unwrap_or_else(PoisonError::into_inner);
        loaded.get_or_insert_default().insert(key, kernels.clone());
        Ok(kernels)
    }

    /// The kernels of several engines. Those that must be compiled are compiled side by side.
    pub(crate) fn get_all<T: Element, Op: Monoid<T>, const COUNT: usize>(
        context: &Arc<CudaContext>,
        primitive: Primitive,
        engines: [Engine; COUNT],
    ) -> Result<[Arc<Kernels>; COUNT]> {
        let loaded = engines.map(|engine| Kernels::loaded::<T, Op>(context, primitive, engine));
        let get = |engine| Kernels::get::<T, Op>(context, primitive, engine);
        if loaded.iter().all(Option::is_some) {
            return Ok(loaded.map(|kernels| kernels.expect("just looked at")));
        }
        std::thread::scope(|scope| {
            let threads = engines.map(|engine| scope.spawn(move || get(engine)));
            let results = threads.map(|thread| {
                let result = thread.join();
                result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            let mut kernels = Vec::with_capacity(COUNT);
            for result in results {
                kernels.push(result?);
            }
            Ok(kernels.try_into().expect("as many as engines"))
        })
    }

    fn key<T: Element, Op: Monoid<T>>(
        context: &CudaContext,
        primitive: Primitive,
        engine: Engine,
    ) -> CacheKey {
        (
            context.cu_ctx() as usize,
            primitive,
            engine,
            TypeId::of::<T>(),
            TypeId::of::<Op>(),
        )
    }

    fn loaded<T: Element, Op: Monoid<T>>(
        context: &CudaContext,
        primitive: Primitive,
        engine: Engine,
    ) -> Option<Arc<Kernels>> {
        let loaded = LOADED.read().unwrap_or_else(PoisonError::into_inner);
        let key = Kernels::key::<T, Op>(context, primitive, engine);
        loaded.as_ref()?.get(&key).cloned()
    }

    fn load<T: Element, Op: Monoid<T>>(
        context: &Arc<CudaContext>,
        primitive: Primitive,
        engine: Engine,
    ) -> Result<Kernels> {
        let source = codegen::source::<T, Op>(primitive, engine)?;
        let target = Target::for_capability(context_capability(context)?)?;
        let cache = DiskCache::open();
        let image = image(cache.as_ref(), &source, std::any::type_name::<Op>(), target)?;
        Kernels::from_image::<T>(context, primitive, engine, target, image)
    }

    pub(crate) fn from_image<T: Element>(
        context: &Arc<CudaContext>,
        primitive: Primitive,
        engine: Engine,
        target: Target,
        image: Vec<u8>,
    ) -> Result<Kernels> {
        let image = match target {
            Target::Cubin(_) => Ptx::from_binary(image),
            Target::Ptx(_) => Ptx::from_src(String::from_utf8_lossy(&image).trim_end_matches('\0')),
        };
        let module = context
            .load_module(image)
            .map_err(|error| driver_error("loading a kernel", error))?;
        let widens = codegen::widens::<T>();
        let mut functions = Vec::new();
        for kernel in Kernel::of(primitive, engine) {
            for level in [0, 1] {
                let name = kernel.function(level, widens);
                if functions.iter().all(|(known, _)| *known != name) {
                    let function = module.load_function(name).map_err(|error| {
                        driver_error(&format!("looking up the kernel {name}"), error)
                    })?;
                    if *kernel == Kernel::ScanWave {
                        allow_shared_memory(&function)?;
                    }
                    functions.push((name, function));
                }
            }
        }
        let multiprocessors = context
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(|error| driver_error("asking for the number of multiprocessors", error))?;
        Ok(Kernels {
            functions,
            widens,
            multiprocessors: multiprocessors.unsigned_abs(),
            overlap: can_overlap(target)?,
        })
    }

    /// The number of multiprocessors.
    pub(crate) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Whether launches may start before what precedes them on the stream has ended.
    pub(crate) fn overlap(&self) -> bool {
        self.overlap
    }

    /// The function of `kernel` for a level.
    pub(crate) fn function(&self, kernel: Kernel, level: usize) -> &CudaFunction {
        let name = kernel.function(level, self.widens);
        let found = self.functions.iter().find(|(known, _)| *known == name);
        &found
            .expect("the functions of a primitive's plan are loaded")
            .1
    }
}

/// Whether launches may overlap what precedes them on the stream. Kernels compiled for `target`
/// must wait for it; those for older architectures do not, even on a newer GPU. And the driver must
/// be able to capture such launches in a graph.
fn can_overlap(target: Target) -> Result<bool> {
    const FIRST_ARCHITECTURE: u32 = 90;
    const FIRST_DRIVER: i32 = 12_030;
    let mut driver = 0;
    // SAFETY: the driver is loaded, and the pointer is valid for a write.
    unsafe { cuDriverGetVersion(&mut driver) }
        .result()
        .map_err(|error| driver_error("asking for the driver's version", error))?;
    Ok(target.architecture() >= FIRST_ARCHITECTURE && driver >= FIRST_DRIVER)
}

/// Lets a kernel's blocks have all the shared memory of a multiprocessor.
fn allow_shared_memory(function: &CudaFunction) -> Result<()> {
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    function
        .set_attribute(attribute, WavePolicy::SHARED_BYTES as i32)
        .map_err(|error| driver_error("asking for shared memory", error))
}

/// Unloads all kernels that were loaded into `context`, and releases it.
///
/// Kernels stay loaded until the process ends, and keep their context alive. A program that wants
/// its context gone calls this last. A later call loads kernels again. An existing [`Reduce`] or
/// [`Scan`] keeps its kernels until it is dropped.
///
/// [`Reduce`]: super::Reduce
/// [`Scan`]: super::Scan
///
/// # Safety
///
/// CUDA keeps no function alive for a graph that holds it, and does not say that unloading waits.
/// So, for kernels that were loaded into the context before:
///
/// - No graph that was captured from calls with them is launched, instantiated or updated
///   afterwards.
/// - All calls with them have ended: the streams that they were enqueued on were synchronised. To
///   wait for the calls of a [`Device`](crate::Device), take their results with
///   [`Buffer::to_vec`](crate::Buffer::to_vec).
/// - An existing `Reduce` or `Scan` is dropped only when both hold for its later calls too.
///
/// The compiler asks for `unsafe`:
///
/// ```compile_fail,E0133
/// let context = warpfold::cuda::cudarc::driver::CudaContext::new(0).unwrap();
/// warpfold::cuda::unload(&context);
/// ```
pub unsafe fn unload(context: &CudaContext) {
    let mut loaded = LOADED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = loaded.as_mut() {
        loaded.retain(|key, _| key.0 != context.cu_ctx() as usize);
    }
}

/// The compiled source: from the disk cache, or compiled and stored there.
fn image(
    cache: Option<&DiskCache>,
    source: &str,
    operator: &str,
    target: Target,
) -> Result<Vec<u8>> {
    let key = key_on_disk(source, target)?;
    if let Some(image) = cache.and_then(|cache| cache.load(key)) {
        return Ok(image);
    }
    let image = nvrtc::compile(source, operator, target)?;
    if let Some(cache) = cache {
        cache.store(key, &image);
    }
    Ok(image)
}

/// The key of everything that can change what a source is compiled to.
fn key_on_disk(source: &str, target: Target) -> Result<Key> {
    let (major, minor) = nvrtc::version()?;
    let options = COMPILER_OPTIONS.join(" ");
    let toolchain = format!(
        "warpfold {} nvrtc {major}.{minor} {}",
        env!("CARGO_PKG_VERSION"),
        target.name()
    );
    let parts = [source.as_bytes(), options.as_bytes(), toolchain.as_bytes()];
    Ok(Key::new(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::Plan;
    use crate::cuda::Workspace;
    use crate::cuda::levels::{Call, enqueue};
    use crate::ops::{Add, Max};
    use cudarc::driver::{DevicePtr, DevicePtrMut};

    fn skip(what: &str, why: &str) {
        let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name.trim() == what),
            "WARPFOLD_REQUIRE names {what}, but {why}"
        );
        eprintln!("skipped ({what}): {why}");
    }

    /// A kernel's file under another kernel's name is not loaded; the kernel is compiled again.
    #[test]
    fn a_kernel_is_never_another_from_the_disk() {
        if let Err(error) = nvrtc::version() {
            return skip("nvrtc", &error.to_string());
        }
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::at(&directory.path().join("cache")).unwrap();
        let engine = Engine::Levels;
        let sum = codegen::source::<u32, Add>(Primitive::Reduce, engine).unwrap();
        let most = codegen::source::<u32, Max>(Primitive::Reduce, engine).unwrap();
        let target = Target::Ptx(nvrtc::architectures().unwrap()[0]);
        let get = |source: &str| image(Some(&cache), source, "an operator", target).unwrap();
        let (sum_image, most_image) = (get(&sum), get(&most));
        assert_ne!(sum_image, most_image);

        let path = |source: &str| cache.path(key_on_disk(source, target).unwrap());
        std::fs::copy(path(&most), path(&sum)).unwrap();
        assert_eq!(get(&sum), sum_image, "compiled again");
        assert_eq!(
            cache.load(key_on_disk(&sum, target).unwrap()),
            Some(sum_image),
            "and replaced"
        );
    }

    /// What runs where NVRTC does not know the GPU's architecture: PTX, which the driver
    /// translates.
    #[test]
    fn ptx_runs_and_gives_the_same_bits() {
        if let Err(error) = crate::Device::cuda(0) {
            return skip("cuda", &error.to_string());
        }
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        let oldest = nvrtc::architectures().unwrap().into_iter().min().unwrap();
        let source = codegen::source::<f32, Add>(Primitive::Reduce, Engine::Levels).unwrap();
        let image = nvrtc::compile(&source, "Add", Target::Ptx(oldest)).unwrap();
        let kernels = Kernels::from_image::<f32>(
            &context,
            Primitive::Reduce,
            Engine::Levels,
            Target::Ptx(oldest),
            image,
        )
        .unwrap();

        let data: Vec<f32> = (0..100_003_u32).map(|i| i as f32 * 0.37 - 5.0).collect();
        let plan = Plan::new::<f32>(Primitive::Reduce, data.len());
        let input = stream.clone_htod(&data).unwrap();
        let mut output = stream.alloc_zeros::<f32>(1).unwrap();
        let bytes = plan.workspace_bytes();
        let workspace = Workspace::new(&stream, bytes).unwrap();
        let call = Call {
            input: input.device_ptr(&stream).0,
            output: output.device_ptr_mut(&stream).0,
            workspace: workspace.arguments(&stream, bytes).unwrap(),
            init: 0.0,
            seeded: false,
            inclusive: false,
        };
        // SAFETY: the allocations have the plan's sizes and live until the copy below has waited.
        unsafe { enqueue(&kernels, &stream, &plan, &call) }.unwrap();
        let result = stream.clone_dtoh(&output).unwrap()[0];
        assert_eq!(
            result.to_bits(),
            crate::reduce::<f32, Add>(&data).unwrap().to_bits()
        );
    }
}
