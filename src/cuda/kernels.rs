//! Gets the functions of a kernel: from memory, from disk, or by compiling it.

use super::disk_cache::{DiskCache, Key};
use super::nvrtc::{self, Target};
use super::{context_capability, driver_error};
use crate::Result;
use crate::render::{COMPILER_OPTIONS, Function, Identity, Kernel};
use cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute, cuDriverGetVersion,
};
use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::Ptx;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The functions of one generated source, on one context.
#[derive(Debug)]
pub(crate) struct Loaded {
    context: Arc<CudaContext>,
    functions: Vec<(&'static str, CudaFunction)>,
    multiprocessors: u32,
    shared_bytes: u32,
    overlap: bool,
}

/// By context and kernel. Entries keep their context alive, so no other context can get its
/// address.
type Cache = HashMap<usize, HashMap<Identity, Arc<Loaded>>>;

static LOADED: RwLock<Option<Cache>> = RwLock::new(None);

/// A kernel that is compiled and loaded when it is first used. Clones share that.
#[derive(Debug, Clone)]
pub(crate) struct Lazy(Arc<Later>);

#[derive(Debug)]
struct Later {
    kernel: Kernel,
    loaded: OnceLock<Arc<Loaded>>,
}

impl Lazy {
    pub(crate) fn new(kernel: Kernel) -> Self {
        Lazy(Arc::new(Later {
            kernel,
            loaded: OnceLock::new(),
        }))
    }

    /// The functions of the kernel. The first call loads them, also while a stream is captured into
    /// a graph.
    pub(crate) fn get(&self, context: &Arc<CudaContext>) -> Result<&Arc<Loaded>> {
        let later = &*self.0;
        if let Some(loaded) = later.loaded.get() {
            return Ok(loaded);
        }
        let loaded = Loaded::get(&later.kernel, context)?;
        Ok(later.loaded.get_or_init(|| loaded))
    }

    /// Whether this process has the kernel already.
    fn is_loaded(&self, context: &CudaContext) -> bool {
        let later = &*self.0;
        let find = || Loaded::find(&later.kernel, context);
        later.loaded.get().is_some() || find().map(|kernels| later.loaded.set(kernels)).is_some()
    }

    /// Loads several kernels. Those that must be compiled are compiled side by side.
    pub(crate) fn load_all<'a>(
        kernels: impl IntoIterator<Item = &'a Lazy>,
        context: &Arc<CudaContext>,
    ) -> Result<()> {
        let mut missing: Vec<_> = kernels.into_iter().collect();
        missing.retain(|lazy| !lazy.is_loaded(context));
        std::thread::scope(|scope| {
            let load = |lazy: &'a Lazy| scope.spawn(|| lazy.get(context).map(drop));
            let threads: Vec<_> = missing.into_iter().map(load).collect();
            let results = threads.into_iter().map(|thread| {
                let result = thread.join();
                result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            results.collect()
        })
    }
}

/// What calls on devices use, by context and type. It keeps its context, so no other one gets the
/// address.
type Kept = HashMap<(usize, TypeId), Arc<dyn Any + Send + Sync>>;

static KEPT: RwLock<Option<Kept>> = RwLock::new(None);

/// The kernels of a call on a device. Which they are, and whether they are loaded, is looked up
/// once for each type.
pub(crate) fn kept<K: Any + Send + Sync>(
    context: &Arc<CudaContext>,
    load: impl FnOnce(&Arc<CudaContext>) -> Result<K>,
) -> Result<Arc<K>> {
    let mut load = Some(load);
    kept_for(
        (context.cu_ctx() as usize, TypeId::of::<K>()),
        &mut || match load.take() {
            Some(load) => load(context),
            None => unreachable!("it is called once"),
        },
    )
}

/// A type that names kernels, and holds a value that knows no types: their core. What works with
/// the core is compiled once for all types and operators.
pub(crate) trait Shell: 'static {
    /// The loaded kernels.
    type Core: Any + Send + Sync;

    /// Loads them.
    fn load_core(context: &Arc<CudaContext>) -> Result<Self::Core>;
}

/// Implements `Clone` by the clones of all fields, for what names an operator or a form. Those need
/// not be `Clone` themselves, as `#[derive(Clone)]` would ask.
macro_rules! clone_by_fields {
    ([$($bounds:tt)*] $Type:ident<$($name:ident),*> { $($field:ident),* }) => {
        impl<$($bounds)*> Clone for $Type<$($name),*> {
            fn clone(&self) -> Self {
                $Type { $($field: Clone::clone(&self.$field)),* }
            }
        }
    };
}
pub(crate) use clone_by_fields;

/// The core of a shell, which is loaded when it is first asked for.
pub(crate) fn core_of<S: Shell>(context: &Arc<CudaContext>) -> Result<Arc<S::Core>> {
    let key = (context.cu_ctx() as usize, TypeId::of::<S>());
    kept_for(key, &mut || S::load_core(context))
}

/// `key` has the type of the kernels, or one that names them.
fn kept_for<K: Any + Send + Sync>(
    key: (usize, TypeId),
    load: &mut dyn FnMut() -> Result<K>,
) -> Result<Arc<K>> {
    let mut load = || Ok(Arc::new(load()?) as Arc<dyn Any + Send + Sync>);
    let kernels = kept_by(key, &mut load)?;
    Ok(kernels.downcast().expect("the key has the type"))
}

/// Compiled once for the kernels of all calls.
fn kept_by(
    key: (usize, TypeId),
    load: &mut dyn FnMut() -> Result<Arc<dyn Any + Send + Sync>>,
) -> Result<Arc<dyn Any + Send + Sync>> {
    // The lock is given back before kernels are loaded.
    let known = {
        let kept = KEPT.read().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().and_then(|kept| kept.get(&key).cloned())
    };
    if let Some(kernels) = known {
        return Ok(kernels);
    }
    let loaded = load()?;
    let mut kept = KEPT.write().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default().entry(key);
    Ok(kept.or_insert(loaded).clone())
}

impl Loaded {
    /// The functions of a kernel, in `context`.
    pub(crate) fn get(kernel: &Kernel, context: &Arc<CudaContext>) -> Result<Arc<Loaded>> {
        if let Some(loaded) = Loaded::find(kernel, context) {
            return Ok(loaded);
        }
        // Two threads may compile the same kernel at once. Both results are good; the last one
        // stays.
        let kernels = Arc::new(while_capturing(|| Loaded::load(kernel, context))?);
        let mut loaded = LOADED.write().unwrap_or_else(PoisonError::into_inner);
        let of_context = loaded.get_or_insert_default();
        let of_context = of_context.entry(context.cu_ctx() as usize).or_default();
        of_context.insert(kernel.identity().clone(), kernels.clone());
        Ok(kernels)
    }

    fn find(kernel: &Kernel, context: &CudaContext) -> Option<Arc<Loaded>> {
        let loaded = LOADED.read().unwrap_or_else(PoisonError::into_inner);
        let of_context = loaded.as_ref()?.get(&(context.cu_ctx() as usize))?;
        of_context.get(kernel.identity()).cloned()
    }

    fn load(kernel: &Kernel, context: &Arc<CudaContext>) -> Result<Loaded> {
        let source = kernel.source()?;
        let target = Target::for_capability(context_capability(context)?)?;
        let cache = DiskCache::open();
        let image = image(cache.as_ref(), &source, kernel.operator_name(), target)?;
        Loaded::from_image(kernel, context, target, image)
    }

    fn from_image(
        kernel: &Kernel,
        context: &Arc<CudaContext>,
        target: Target,
        image: Vec<u8>,
    ) -> Result<Loaded> {
        let image = match target {
            Target::Cubin(_) => Ptx::from_binary(image),
            Target::Ptx(_) => Ptx::from_src(String::from_utf8_lossy(&image).trim_end_matches('\0')),
        };
        let module = context
            .load_module(image)
            .map_err(|error| driver_error("loading a kernel", error))?;
        let attribute = Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let shared_bytes = context
            .attribute(attribute)
            .map_err(|error| driver_error("asking for the size of shared memory", error))?
            .unsigned_abs();
        let mut functions = Vec::new();
        for &name in kernel.functions() {
            let function = module
                .load_function(name)
                .map_err(|error| driver_error(&format!("looking up the kernel {name}"), error))?;
            if kernel.has_all_shared_memory() {
                allow_shared_memory(&function, shared_bytes)?;
            }
            functions.push((name, function));
        }
        Ok(Loaded {
            context: context.clone(),
            functions,
            multiprocessors: context_multiprocessors(context)?,
            shared_bytes,
            overlap: can_overlap(target)?,
        })
    }

    /// Where they are loaded.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The most bytes of shared memory that a block can have.
    pub(crate) fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// The number of multiprocessors.
    pub(crate) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Whether launches may start before what precedes them on the stream has ended.
    pub(crate) fn overlap(&self) -> bool {
        self.overlap
    }

    /// A function of the source.
    pub(crate) fn function<A>(&self, function: &Function<A>) -> &CudaFunction {
        let found = self
            .functions
            .iter()
            .find(|(name, _)| *name == function.name);
        &found.expect("all functions of the source are loaded").1
    }
}

/// The number of multiprocessors of a context's GPU.
pub(crate) fn context_multiprocessors(context: &CudaContext) -> Result<u32> {
    let count = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let count =
        count.map_err(|error| driver_error("asking for the number of multiprocessors", error));
    Ok(count?.unsigned_abs())
}

/// Does what CUDA forbids a thread by default while a stream is captured into a graph, such as to
/// load a module.
fn while_capturing<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    let exchange = |mode: &mut sys::CUstreamCaptureMode| {
        // SAFETY: the pointer is valid; the mode is this thread's own.
        let result = unsafe { sys::cuThreadExchangeStreamCaptureMode(mode) };
        let result = result.result();
        result.map_err(|error| driver_error("asking for the mode of captures", error))
    };
    let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    exchange(&mut mode)?;
    let result = work();
    exchange(&mut mode)?;
    result
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

/// Lets a kernel's blocks have so much shared memory.
fn allow_shared_memory(function: &CudaFunction, bytes: u32) -> Result<()> {
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    function
        .set_attribute(attribute, bytes as i32)
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
        loaded.remove(&(context.cu_ctx() as usize));
    }
}

/// The compiled source: from the disk cache, or compiled and stored there.
fn image(
    cache: Option<&DiskCache>,
    source: &str,
    operator: &str,
    target: Target,
) -> Result<Vec<u8>> {
    let Some(cache) = cache else {
        return nvrtc::compile(source, operator, target);
    };
    let key = key_on_disk(source, target, &nvrtc::release()?);
    if let Some(image) = cache.load(key) {
        return Ok(image);
    }
    let image = nvrtc::compile(source, operator, target)?;
    cache.store(key, &image);
    Ok(image)
}

/// The key of everything that can change what a source is compiled to.
fn key_on_disk(source: &str, target: Target, release: &str) -> Key {
    let options = COMPILER_OPTIONS.join(" ");
    let toolchain = format!(
        "warpfold {} nvrtc {release} {}",
        env!("CARGO_PKG_VERSION"),
        target.name()
    );
    Key::new(&[source.as_bytes(), options.as_bytes(), toolchain.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::kernels::Reduce;
    use crate::cuda::Workspace;
    use crate::cuda::levels::{Call, enqueue};
    use crate::engine::{Engine, Layouts, Plan, Primitive};
    use crate::ops::{Add, Max};
    use crate::render::Kernels;
    use crate::source::SliceArguments;
    use cudarc::driver::{DevicePtr, DevicePtrMut};

    /// A load takes long, and may ask for other kernels.
    #[test]
    fn kernels_are_loaded_once_and_without_the_lock() {
        #[derive(Debug, PartialEq)]
        struct Outer(u32);
        #[derive(Debug, PartialEq)]
        struct Inner(u32);
        fn kept<K: Any + Send + Sync>(
            context: usize,
            load: impl Fn() -> Result<K>,
        ) -> Result<Arc<K>> {
            kept_for((context, TypeId::of::<K>()), &mut || load())
        }
        // No context has this address.
        let outer = |number| {
            kept(1, move || {
                let inner = kept(1, || Ok(Inner(number)))?;
                Ok(Outer(inner.0 + 1))
            })
        };
        assert_eq!(*outer(1).unwrap(), Outer(2));
        assert_eq!(*outer(7).unwrap(), Outer(2));
        assert_eq!(*kept(3, || Ok(Outer(9))).unwrap(), Outer(9));
    }

    /// Shells of one core do not get each other's kernels.
    #[test]
    fn a_core_is_that_of_its_shell() {
        let core = |shell: TypeId, number: u32| kept_for((5, shell), &mut || Ok(number));
        assert_eq!(*core(TypeId::of::<u8>(), 8).unwrap(), 8);
        assert_eq!(*core(TypeId::of::<u16>(), 16).unwrap(), 16);
        assert_eq!(*core(TypeId::of::<u8>(), 9).unwrap(), 8);
    }

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
        let sum = Reduce::<u32, Add>::kernel(engine).source().unwrap();
        let most = Reduce::<u32, Max>::kernel(engine).source().unwrap();
        let target = Target::Ptx(nvrtc::architectures().unwrap()[0]);
        let get = |source: &str| image(Some(&cache), source, "an operator", target).unwrap();
        let (sum_image, most_image) = (get(&sum), get(&most));
        assert_ne!(sum_image, most_image);

        let release = nvrtc::release().unwrap();
        let key = |source: &str| key_on_disk(source, target, &release);
        let path = |source: &str| cache.path(key(source));
        std::fs::copy(path(&most), path(&sum)).unwrap();
        assert_eq!(get(&sum), sum_image, "compiled again");
        assert_eq!(cache.load(key(&sum)), Some(sum_image), "and replaced");
    }

    /// An update of NVRTC compiles again: 13.2.78 and 13.2.86 give other code.
    #[test]
    fn a_release_has_kernels_of_its_own_on_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::at(&directory.path().join("cache")).unwrap();
        let key = |release| key_on_disk("text", Target::Cubin(100), release);
        cache.store(key("13.2.78"), b"image");
        assert_eq!(cache.load(key("13.2.86")), None);
        assert_eq!(cache.load(key("13.2.78")).as_deref(), Some(&b"image"[..]));
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
        let kernel = <Reduce<f32, Add>>::kernel(Engine::Levels);
        let source = kernel.source().unwrap();
        let image = nvrtc::compile(&source, "Add", Target::Ptx(oldest)).unwrap();
        let kernels = Loaded::from_image(&kernel, &context, Target::Ptx(oldest), image).unwrap();

        let data: Vec<f32> = (0..100_003_u32).map(|i| i as f32 * 0.37 - 5.0).collect();
        let layouts = Layouts::of_slice::<f32>();
        let plan = Plan::new(layouts, Primitive::Reduce, data.len());
        let input = stream.clone_htod(&data).unwrap();
        let mut output = stream.alloc_zeros::<f32>(1).unwrap();
        let bytes = plan.workspace_bytes();
        let workspace = Workspace::new(&stream, bytes).unwrap();
        let call = Call {
            source: SliceArguments {
                address: input.device_ptr(&stream).0,
            },
            output: output.device_ptr_mut(&stream).0,
            workspace: workspace.arguments(&stream, bytes).unwrap(),
            init: 0.0,
            seeded: false,
            inclusive: false,
            reverse: false,
        };
        // SAFETY: the allocations have the plan's sizes and live until the copy below has waited.
        unsafe { enqueue(&kernels, &stream, &plan, layouts, &call) }.unwrap();
        let result = stream.clone_dtoh(&output).unwrap()[0];
        assert_eq!(
            result.to_bits(),
            crate::reduce::<f32, Add>(&data).unwrap().to_bits()
        );
    }
}
