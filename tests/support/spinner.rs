//! A kernel that fills multiprocessors of a GPU, and a process of its own for tests that need one.

use super::skip;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use warpfold::cuda::cudarc::driver::sys::{
    self, CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute,
};
use warpfold::cuda::cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, LaunchConfig, PinnedHostSlice, PushKernelArg,
};
use warpfold::cuda::cudarc::nvrtc::Ptx;
use warpfold::cuda::nvrtc::{Target, compile};

/// The text of the kernel.
pub(crate) const SOURCE: &str = include_str!("../kernels/spin.cu");

/// Blocks that have all shared memory of their multiprocessors, so that no other block fits beside
/// them. They end when this is dropped.
pub(crate) struct Spinner {
    stream: Arc<CudaStream>,
    /// The flag, then a word for each block, in memory of the host that the GPU sees too.
    words: PinnedHostSlice<u32>,
    /// Stays loaded while it runs.
    function: CudaFunction,
}

impl Spinner {
    /// Leaves free one of the multiprocessors that this process may use. `None` if there is no
    /// other.
    pub(crate) fn all_but_one(context: &Arc<CudaContext>) -> Option<Spinner> {
        let count = Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let mut blocks = context.attribute(count).unwrap() as usize - 1;
        while blocks > 0 {
            let spinner = Spinner::start(context, blocks);
            match spinner.wait_for_blocks() {
                started if started == blocks => {
                    eprintln!("{blocks} multiprocessors are filled");
                    return Some(spinner);
                }
                // A process with a share of the GPU has fewer than the GPU says.
                started => blocks = started.saturating_sub(1),
            }
        }
        None
    }

    fn start(context: &Arc<CudaContext>, blocks: usize) -> Spinner {
        let (major, minor) = context.compute_capability().unwrap();
        let target = Target::for_capability((10 * major + minor) as u32).unwrap();
        let image = compile(SOURCE, "spin.cu", target).unwrap();
        let image = match target {
            Target::Cubin(_) => Ptx::from_binary(image),
            Target::Ptx(_) => Ptx::from_src(String::from_utf8_lossy(&image).trim_end_matches('\0')),
            other => panic!("nothing loads {other:?}"),
        };
        let module = context.load_module(image).unwrap();
        let function = module.load_function("spin").unwrap();
        let most = Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let shared = context.attribute(most).unwrap();
        let allowed = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function.set_attribute(allowed, shared).unwrap();
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: the words are filled before anybody reads them.
        let words = unsafe { context.alloc_pinned_with_flags::<u32>(1 + blocks, flags) };
        let mut words = words.unwrap();
        words.as_mut_slice().unwrap().fill(0);
        let flag = words.as_ptr().unwrap() as u64;
        let started = flag + size_of::<u32>() as u64;
        let spinner = Spinner {
            stream: context.new_stream().unwrap(),
            words,
            function,
        };
        let grid = LaunchConfig {
            grid_dim: (blocks as u32, 1, 1),
            block_dim: (32, 1, 1),
            shared_mem_bytes: shared as u32,
        };
        let mut launch = spinner.stream.launch_builder(&spinner.function);
        // SAFETY: the kernel takes two addresses, of words that live until it has ended; the GPU
        // sees such memory at the host's addresses.
        unsafe { launch.arg(&flag).arg(&started).launch(grid) }.unwrap();
        spinner
    }

    /// How many blocks run, once all do or some seconds have passed.
    fn wait_for_blocks(&self) -> usize {
        let limit = Instant::now() + Duration::from_secs(5);
        let blocks = 1..self.words.len();
        loop {
            let is_there = |&block: &usize| self.word(block).load(Ordering::Relaxed) == 1;
            let there = blocks.clone().filter(is_there).count();
            if there == blocks.len() || Instant::now() > limit {
                return there;
            }
        }
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.words.len());
        // SAFETY: within the allocation, which only whole words are read from and written to.
        unsafe { AtomicU32::from_ptr(self.words.as_ptr().unwrap().add(index).cast_mut()) }
    }

    /// Whether the kernel still keeps its multiprocessors.
    pub(crate) fn is_running(&self) -> bool {
        // SAFETY: the stream is alive.
        let result = unsafe { sys::cuStreamQuery(self.stream.cu_stream()) };
        result == sys::CUresult::CUDA_ERROR_NOT_READY
    }

    /// Has a stream wait until the kernel ends.
    pub(crate) fn holds(&self, stream: &CudaStream) {
        stream.join(&self.stream).unwrap();
    }

    /// Waits for the work on a stream, for 20 s at most. Returns whether it is done. If not, the
    /// spinning ends.
    pub(crate) fn lets_end(&self, stream: &CudaStream) -> bool {
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            // SAFETY: the stream is alive.
            match unsafe { sys::cuStreamQuery(stream.cu_stream()) } {
                sys::CUresult::CUDA_SUCCESS => return true,
                sys::CUresult::CUDA_ERROR_NOT_READY if Instant::now() < limit => {
                    std::thread::sleep(Duration::from_micros(100));
                }
                sys::CUresult::CUDA_ERROR_NOT_READY => {
                    self.stop();
                    return false;
                }
                error => panic!("the work on the stream failed: {error:?}"),
            }
        }
    }

    fn stop(&self) {
        self.word(0).store(1, Ordering::Release);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.stop();
        // An error shows in the next call; the words must not be freed before.
        let _ = self.stream.synchronize();
    }
}

/// Does what needs a process of its own. In one process the driver may make a call wait for what
/// another thread has on the GPU, so a kernel that spins would hold up all other tests. `test` is
/// the calling test's full name.
#[track_caller]
pub(crate) fn alone(test: &str, work: impl FnOnce()) {
    const VARIABLE: &str = "WARPFOLD_TEST_ALONE";
    if std::env::var_os(VARIABLE).is_some_and(|name| name == test) {
        return work();
    }
    // A test's name starts after that of its crate.
    let (_, name) = test.split_once("::").expect("a path");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, test)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let limit = Instant::now() + Duration::from_secs(300);
    let mut in_time = true;
    while child.try_wait().unwrap().is_none() {
        if in_time && Instant::now() > limit {
            in_time = false;
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        in_time,
        "{name} did not end in a process of its own:\n{text}"
    );
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name} failed in a process of its own:\n{text}"
    );
    match text
        .lines()
        .find_map(|line| line.strip_prefix("skipped (cuda): "))
    {
        Some(why) => skip("cuda", why),
        None => eprint!("{text}"),
    }
}
