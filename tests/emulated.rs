//! The generated kernels, run on the CPU: they equal the oracle bit for bit under any schedule, read
//! and write nothing but what they are given, and their barriers are all there.
//!
//! `tests/emulator/` is a small emulator of CUDA blocks in C++. Each generated source becomes a shared object
//! that it loads, everything compiled with the address and undefined behaviour sanitizers. What is
//! compiled stays in cargo's folder for such things until its source changes.

use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::operators::{Affine, Bicyclic, BicyclicProduct, Bracketing, Sums, Then};
use crate::support::{oracle, skip};
use half::{bf16, f16};
use std::any::{TypeId, type_name};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use warpfold::bytemuck;
use warpfold::codegen::{Kernel, Plan, Policy, Primitive, source};
use warpfold::ops::{Add, BitAnd, BitOr, BitXor, Max, Min, Mul};
use warpfold::{Element, Monoid};

const HEADER: &str = include_str!("emulator/emulator.hpp");
const EMULATOR: &str = include_str!("emulator/emulator.cpp");

/// Float contraction is off as with `--fmad=false`; kernels move elements as words, so that aliasing
/// is not a question of types.
const OPTIONS: &[&str] = &[
    "-std=c++20",
    "-O1",
    "-g",
    "-fPIC",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-Wno-unknown-pragmas",
];

/// A C++ compiler whose programs run under the sanitizers here, and the emulator compiled with it.
struct Emulator {
    compiler: String,
    version: String,
    program: PathBuf,
}

impl Emulator {
    /// The emulator, or `None` after reporting the skip.
    fn get() -> Option<&'static Emulator> {
        static EMULATOR: OnceLock<Result<Emulator, String>> = OnceLock::new();
        match EMULATOR.get_or_init(Emulator::find) {
            Ok(emulator) => Some(emulator),
            Err(why) => {
                skip("emulator", why);
                None
            }
        }
    }

    fn find() -> Result<Emulator, String> {
        let named = std::env::var("CXX").ok();
        let candidates = named.iter().map(String::as_str).chain(["g++", "clang++", "c++"]);
        let (compiler, version) = candidates
            .filter_map(|name| {
                let output = Command::new(name).arg("--version").output().ok()?;
                let version = String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned();
                output.status.success().then(|| (name.to_owned(), version))
            })
            .next()
            .ok_or("there is no C++ compiler: neither $CXX, g++, clang++ nor c++")?;
        let mut emulator = Emulator { compiler, version, program: PathBuf::new() };

        let probe = emulator.compile("probe", "int main() {}\n", &[]);
        let runs = probe.and_then(|probe| {
            let status = Command::new(probe).status().map_err(|error| error.to_string())?;
            status.success().then_some(()).ok_or(status.to_string())
        });
        runs.map_err(|why| {
            format!("a program that {} compiles with sanitizers does not run: {why}", emulator.compiler)
        })?;

        let program = emulator.compile("emulator", EMULATOR, &["-rdynamic", "-ldl"]);
        emulator.program = program.unwrap_or_else(|message| panic!("{message}"));
        Ok(emulator)
    }

    /// Compiles `text` unless that has been done before; returns what it became.
    fn compile(&self, name: &str, text: &str, options: &[&str]) -> Result<PathBuf, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
        fs::create_dir_all(&folder).expect("cargo's folder for tests can be written");
        let text = text.replace("#include \"emulator.hpp\"", &format!("#line 1 \"emulator.hpp\"\n{HEADER}"));
        let text = format!("// {} {OPTIONS:?} {options:?}\n#line 1 \"{name}.cpp\"\n{text}", self.version);
        let source = folder.join(format!("{name}.cpp"));
        let output = folder.join(format!("{name}.out"));
        if fs::read_to_string(&source).is_ok_and(|known| known == text) && output.exists() {
            return Ok(output);
        }

        // Only what was compiled to the end gets the name that is looked for.
        let unfinished = folder.join(format!("{name}.{}.tmp", std::process::id()));
        let _ = fs::remove_file(&output);
        fs::write(&source, text).expect("cargo's folder for tests can be written");
        let mut command = Command::new(&self.compiler);
        command.args(OPTIONS).arg("-o").arg(&unfinished).arg(&source).args(options);
        let result = command.output().map_err(|error| error.to_string())?;
        if !result.status.success() {
            return Err(format!("{command:?}:\n{}", String::from_utf8_lossy(&result.stderr)));
        }
        fs::rename(&unfinished, &output).expect("cargo's folder for tests can be written");
        Ok(output)
    }

    /// Compiles `text` and makes its `kernels` known to the emulator.
    fn module(&self, name: &str, text: &str, kernels: &[&str]) -> PathBuf {
        let mut text = format!("#include \"emulator.hpp\"\n{text}\n");
        for kernel in kernels {
            writeln!(text, "EMULATE({kernel})").expect("writing to a string cannot fail");
        }
        self.compile(name, &text, &["-shared"]).unwrap_or_else(|message| panic!("{message}"))
    }

    /// Runs a script in `folder`.
    fn run(&self, module: &Path, script: &str, folder: &Path) -> Output {
        let path = folder.join("script");
        fs::write(&path, script).expect("the temporary folder can be written");
        let mut command = Command::new(&self.program);
        command.arg(module).arg(path).current_dir(folder);
        // The leak sanitizer needs more rights than some containers give.
        command.env("ASAN_OPTIONS", "detect_leaks=0").env("UBSAN_OPTIONS", "print_stacktrace=1");
        command.output().expect("the emulator starts")
    }
}

/// One call of a primitive.
#[derive(Debug, Clone, Copy)]
struct Case {
    primitive: Primitive,
    length: usize,
    seeded: bool,
    inclusive: bool,
    in_place: bool,
    /// How far input and output are from where an allocation starts, in units of the element's
    /// alignment: misaligned in every way that a slice, or a view of other memory, can be.
    shifts: (usize, usize),
}

impl Case {
    /// Appends the commands that run the case. The output is saved.
    fn script<T: Element, Op: Monoid<T>>(&self, init: T, script: &mut String) {
        let plan = Plan::new::<T>(self.primitive, self.length);
        let widens = TypeId::of::<T>() != TypeId::of::<T::Accumulator>();
        let bytes = self.length * size_of::<T>();
        let output_bytes = if self.primitive == Primitive::Scan { bytes } else { size_of::<T>() };
        let shift = |units: usize| units * align_of::<T>();

        let mut line = |text: String| {
            script.push_str(&text);
            script.push('\n');
        };
        line(format!("buffer in {} {bytes} data", shift(self.shifts.0)));
        line(format!("buffer workspace 0 {}", plan.workspace_bytes()));
        if !self.in_place {
            line(format!("buffer out {} {output_bytes}", shift(self.shifts.1)));
        }
        let out = if self.in_place { "in+0" } else { "out+0" };
        let level = |k: usize| match k {
            0 => "in+0".to_owned(),
            k if k == plan.levels() => "null".to_owned(),
            k => format!("workspace+{}", plan.offset(k)),
        };
        let init = if self.seeded { init } else { Op::identity() };
        let init = value(bytemuck::bytes_of(&init.widen()));
        let seeded = value(&u32::from(self.seeded).to_ne_bytes());

        for launch in plan.launches().filter(|launch| launch.blocks > 0) {
            let k = launch.level;
            let length = value(&plan.length(k).to_ne_bytes());
            let arguments = match launch.kernel {
                Kernel::ReduceTiles => format!("{} {}", level(k), level(k + 1)),
                Kernel::ReduceFinish => {
                    format!("{} {length} workspace+0 {out} {init} {seeded}", level(0))
                }
                Kernel::ScanTiles => {
                    let target = if k == 0 { out.to_owned() } else { level(k) };
                    let inclusive = value(&u32::from(self.inclusive || k > 0).to_ne_bytes());
                    let bases = level(k + 1);
                    format!("{} {target} {length} {bases} {init} {seeded} {inclusive}", level(k))
                }
            };
            let function = launch.kernel.function(k, widens);
            line(format!("launch {function} {} {} {arguments}", launch.blocks, launch.threads));
        }
        line(format!("save {}", out.trim_end_matches("+0")));
        line("clear".to_owned());
    }
}

/// A value as an argument of a launch.
fn value(bytes: &[u8]) -> String {
    bytes.iter().fold("=".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

/// The lengths to test, the long ones (an emulated block takes milliseconds) once only.
fn cases<T: Element>(primitive: Primitive) -> Vec<Case> {
    let tile = Policy::of::<T>(primitive).tile() as usize;
    let mut lengths = boundary_lengths(tile);
    lengths.retain(|&length| length < 5 * tile || length == 33 * tile + 1);
    if tile * tile <= 1 << 16 {
        lengths.push(tile * tile + tile + 3);
        assert_eq!(Plan::new::<T>(primitive, tile * tile + tile + 3).levels(), 3);
    }

    // All combinations in turn: 5 placements meet 4 variants, so 20 cases see each pair.
    let placements = [(false, (0, 0)), (true, (0, 0)), (false, (1, 0)), (false, (3, 5)), (true, (1, 1))];
    let mut cases = Vec::new();
    for length in lengths {
        let times = if length <= tile + 1 { 3 } else if length < 5 * tile { 2 } else { 1 };
        for _ in 0..times {
            let number = cases.len();
            let (in_place, shifts) = placements[number % placements.len()];
            cases.push(Case {
                primitive,
                length,
                seeded: number & 1 == 1,
                inclusive: number & 2 == 2,
                in_place: in_place && primitive == Primitive::Scan,
                shifts,
            });
        }
    }
    cases
}

/// Runs the kernels of `T` and `Op` on prefixes of what `data` gives for a length, and compares.
fn check<T: Sample, Op: Monoid<T>>(data: impl Fn(usize) -> Vec<T>) {
    let Some(emulator) = Emulator::get() else { return };
    for primitive in Primitive::ALL {
        check_primitive::<T, Op>(emulator, primitive, &data);
    }
}

fn check_primitive<T: Sample, Op: Monoid<T>>(
    emulator: &Emulator,
    primitive: Primitive,
    data: impl Fn(usize) -> Vec<T>,
) {
    let name: String = format!("{} {} {}", primitive.name(), type_name::<T>(), type_name::<Op>())
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let text = source::<T, Op>(primitive).expect("the source can be generated");
    let kernels: Vec<_> = ["reduce_tiles", "reduce_sums", "reduce_finish", "scan_tiles", "scan_sums"]
        .into_iter()
        .filter(|kernel| text.contains(&format!("{kernel}(const")))
        .collect();
    let module = emulator.module(&name, &text, &kernels);

    let cases = cases::<T>(primitive);
    let longest = cases.iter().map(|case| case.length).max().expect("there are cases");
    let data = data(longest + 1);
    let (init, data) = data.split_last().expect("one more than the longest");

    let folder = tempfile::tempdir().expect("there is room for temporary files");
    fs::write(folder.path().join("data"), bytemuck::cast_slice(data)).expect("the data can be written");
    let mut script = String::new();
    for (seed, case) in cases.iter().enumerate() {
        writeln!(script, "seed {seed}").expect("writing to a string cannot fail");
        case.script::<T, Op>(*init, &mut script);
    }
    let output = emulator.run(&module, &script, folder.path());
    assert!(output.status.success(), "{name}:\n{}", String::from_utf8_lossy(&output.stderr));

    // No output depends on what comes after it, so one run of the oracle serves all lengths.
    let scans = [None, Some(*init)]
        .map(|init| [oracle::exclusive::<T, Op>(data, init), oracle::inclusive::<T, Op>(data, init)]);
    let mut results = output.stdout.as_slice();
    for case in cases {
        let expected = match primitive {
            Primitive::Reduce => {
                let init = case.seeded.then_some(*init);
                vec![oracle::reduce::<T, Op>(&data[..case.length], init)]
            }
            Primitive::Scan => {
                scans[usize::from(case.seeded)][usize::from(case.inclusive)][..case.length].to_vec()
            }
        };
        let (head, rest) = results.split_at(expected.len() * size_of::<T>());
        let mut got = vec![T::zeroed(); expected.len()];
        bytemuck::cast_slice_mut(&mut got).copy_from_slice(head);
        results = rest;
        assert_same(&got, &expected, &format!("{name}: {case:?}"));
    }
    assert!(results.is_empty(), "{name}: the emulator saved more than it was asked to");
}

macro_rules! equal_the_oracle {
    ($($test:ident: $t:ty, $op:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$t, $op>(|length| sample(length, 0));
        }
    )*};
}

equal_the_oracle! {
    u8_add: u8, Add;
    i8_min: i8, Min;
    u16_xor: u16, BitXor;
    i16_max: i16, Max;
    u32_add: u32, Add;
    i32_mul: i32, Mul;
    u64_or: u64, BitOr;
    i64_and: i64, BitAnd;
    f16_add: f16, Add;
    bf16_add: bf16, Add;
    f32_add: f32, Add;
    f64_mul: f64, Mul;
    bicyclic: Bicyclic, BicyclicProduct;
    affine: Affine, Then;
    bracketing: u64, Bracketing;
    bytes_3: [u8; 3], Sums;
    bytes_33: [u8; 33], Sums;
    words_3: [u32; 3], Sums;
    halfwords_5: [u16; 5], Sums;
    longs_8: [u64; 8], Sums;
    words_16: [u32; 16], Sums;
}

#[cfg(feature = "complex")]
equal_the_oracle! {
    complex_add: num_complex::Complex<f32>, Add;
    complex_mul: num_complex::Complex<f64>, Mul;
}
