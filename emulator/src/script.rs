//! What the emulator is to do, and what came of it.

use super::Module;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// The seed that a run of tests starts from: `WARPFOLD_SEED`, or 0. Other seeds are other
/// schedules.
pub fn base_seed() -> u64 {
    std::env::var("WARPFOLD_SEED").map_or(0, |text| {
        text.parse().expect("WARPFOLD_SEED is a whole number")
    })
}

/// An argument of a kernel.
#[derive(Debug, Clone)]
pub enum Argument {
    /// The null pointer.
    Null,
    /// An address: a buffer, and an offset in bytes.
    At(&'static str, usize),
    /// The bytes of a value. What [`address`] gave stands for addresses in it.
    Value(Vec<u8>),
}

impl Argument {
    /// A value as its bytes.
    pub fn value<T: bytemuck::NoUninit>(value: T) -> Argument {
        Argument::Value(bytemuck::bytes_of(&value).to_vec())
    }

    /// A struct as its bytes; the padding between its fields is zero. What [`address`] gave stands
    /// for addresses.
    pub fn of_struct<T: Copy>(value: &T) -> Argument {
        let mut place = std::mem::MaybeUninit::<T>::zeroed();
        let mut bytes = vec![0; size_of::<T>()];
        // SAFETY: both have the size of `T`. What is padding was zero; it may be anything now, but
        // the kernel does not read it.
        unsafe {
            place.write(*value);
            std::ptr::copy_nonoverlapping(
                place.as_ptr().cast::<u8>(),
                bytes.as_mut_ptr(),
                bytes.len(),
            );
        }
        Argument::Value(bytes)
    }
}

/// What an address in a struct starts with until the emulator knows the buffer's own. Neither half
/// is a small number: behind a small field of 32 bits there may be padding, and in that the upper
/// half of a token that lay there before.
const TOKENS: u64 = 0xE371_A5C0_9B4D_0000;

/// The buffers and offsets that tokens stand for.
static ADDRESSES: Mutex<Vec<(&str, usize)>> = Mutex::new(Vec::new());

/// A number that stands for an address in a struct of arguments: of a buffer, and an offset in
/// bytes.
pub fn address(buffer: &'static str, offset: usize) -> u64 {
    let mut addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = addresses
        .iter()
        .position(|&known| known == (buffer, offset));
    let number = known.unwrap_or_else(|| {
        addresses.push((buffer, offset));
        addresses.len() - 1
    });
    TOKENS + number as u64
}

/// The offsets of a value's addresses, and what stands for them.
fn addresses_in(bytes: &[u8]) -> Vec<(usize, &'static str, usize)> {
    let addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let words = bytes.chunks_exact(8).enumerate();
    let found = words.filter_map(|(word, bytes)| {
        let number = u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
        let number = usize::try_from(number.wrapping_sub(TOKENS)).ok()?;
        let &(buffer, offset) = addresses.get(number)?;
        Some((8 * word, buffer, offset))
    });
    found.collect()
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    /// The number of blocks.
    pub blocks: u64,
    /// The threads of each block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
    /// How many blocks live at a time; 0 for a number drawn from the seed.
    pub resident: u32,
}

impl Grid {
    /// Without dynamic shared memory; the seed draws how many blocks live at a time.
    pub fn new(blocks: u64, threads: u32) -> Grid {
        Grid {
            blocks,
            threads,
            shared: 0,
            resident: 0,
        }
    }
}

/// What was counted at one place of a source, or at several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// What the instructions do, such as `global_load` or `block_barrier`.
    pub operation: String,
    /// `file:line`, as the source's `#line` directives have it.
    pub place: String,
    /// Warp instructions.
    pub issued: u64,
    /// The lanes active in them.
    pub lanes: u64,
    /// Pieces of 32 bytes of global memory that they touch.
    pub sectors: u64,
    /// Pieces of 128 bytes of global memory that they touch.
    pub lines: u64,
    /// Passes through shared memory.
    pub passes: u64,
    /// The passes that bank conflicts cost.
    pub conflicts: u64,
}

/// One access of a thread to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// Which launch of the script it belongs to, from 0 on.
    pub launch: u64,
    /// The number of its block, in the order in which blocks start: its index, if they
    /// [start in order](Script::start_in_order).
    pub block: u64,
    /// The index of its thread in the block.
    pub thread: u64,
    /// How often the lanes of its warp had met, at barriers or exchanges.
    pub step: u64,
    /// What it does, such as `global_load` or `atomic`.
    pub operation: String,
    /// The first byte that it touches, from the start of the region.
    pub offset: u64,
    /// How many bytes it touches.
    pub bytes: u64,
    /// The name of a buffer, or `shared` and the type of a variable. `lanes` for a shuffle, whose
    /// offset is the lane that is read.
    pub region: String,
}

/// What came of a script, and what its launches asked of the machine.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// The bytes that were saved.
    pub saved: Vec<u8>,
    /// What was counted, by places in the source.
    pub tallies: Vec<Tally>,
    /// Every access, launch by launch, in the order in which the emulator made them.
    pub touches: Vec<Touch>,
}

/// Commands for the emulator, and the files that they name.
#[derive(Debug)]
pub struct Script {
    text: String,
    folder: TempDir,
}

impl Default for Script {
    fn default() -> Script {
        Script::new()
    }
}

impl Script {
    /// A script without commands.
    pub fn new() -> Script {
        Script {
            text: String::new(),
            folder: tempfile::tempdir().expect("there is room for temporary files"),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("strings grow");
    }

    /// Draws schedules from this seed, from here on.
    pub fn seed(&mut self, seed: u64) {
        self.line(format_args!("seed {seed}"));
    }

    /// From here on blocks start in the order of their indices, as they do on GPUs.
    ///
    /// Without this command they start in an order drawn from the seed.
    pub fn start_in_order(&mut self) {
        self.line(format_args!("start in order"));
    }

    /// How long a launch may go on without any thread returning, in seconds of the processor's
    /// time.
    ///
    /// Without this command it is two minutes. No kernel takes that long unless it never ends.
    pub fn seconds(&mut self, seconds: u32) {
        self.line(format_args!("seconds {seconds}"));
    }

    /// Makes bytes known, to fill buffers with.
    pub fn file(&mut self, name: &str, bytes: &[u8]) {
        fs::write(self.folder.path().join(name), bytes).expect("there is room for temporary files");
    }

    /// A buffer with the start of a file, `shift` bytes after where an allocation starts.
    pub fn filled(&mut self, name: &str, shift: usize, bytes: usize, file: &str) {
        let path = self.folder.path().join(file);
        self.line(format_args!(
            "buffer {name} {shift} {bytes} {}",
            path.display()
        ));
    }

    /// A buffer that nothing has written to.
    pub fn buffer(&mut self, name: &str, shift: usize, bytes: usize) {
        self.line(format_args!("buffer {name} {shift} {bytes}"));
    }

    /// Runs a kernel to its end.
    pub fn launch(&mut self, kernel: &str, grid: Grid, arguments: &[Argument]) {
        let Grid {
            blocks,
            threads,
            shared,
            resident,
        } = grid;
        let mut line = format!("launch {kernel} {blocks} {threads} {shared} {resident}");
        for argument in arguments {
            match argument {
                Argument::Null => line.push_str(" null"),
                Argument::At(buffer, offset) => {
                    write!(line, " {buffer}+{offset}").expect("strings grow");
                }
                Argument::Value(bytes) => {
                    line.push_str(" =");
                    for byte in bytes {
                        write!(line, "{byte:02x}").expect("strings grow");
                    }
                    for (place, buffer, offset) in addresses_in(bytes) {
                        write!(line, "@{place}:{buffer}+{offset}").expect("strings grow");
                    }
                }
            }
        }
        self.line(format_args!("{line}"));
    }

    /// Appends a buffer, all of which must have been written, to the output.
    pub fn save(&mut self, name: &str) {
        self.line(format_args!("save {name}"));
    }

    /// Frees all buffers.
    pub fn clear(&mut self) {
        self.line(format_args!("clear"));
    }

    fn execute(&mut self, module: &Module) -> Output {
        let path = self.folder.path().join("script");
        fs::write(&path, &self.text).expect("there is room for temporary files");
        let output = module.command(&path).output();
        let output = output.expect("the emulator starts");
        if let Some(folder) = std::env::var_os("WARPFOLD_KEEP") {
            self.keep(module, &output, Path::new(&folder));
        }
        output
    }

    /// The bytes that were saved, or the message that the run ended with.
    pub fn run(mut self, module: &Module) -> Result<Vec<u8>, String> {
        let output = self.execute(module);
        if output.status.success() {
            Ok(output.stdout)
        } else {
            let message = String::from_utf8_lossy(&output.stderr);
            Err(format!("{message}({})", output.status))
        }
    }

    /// The bytes that were saved. A run that is stopped fails the test, and leaves what it takes to
    /// repeat it.
    #[track_caller]
    pub fn run_to_the_end(mut self, what: &str, module: &Module) -> Vec<u8> {
        let output = self.execute(module);
        if output.status.success() {
            return output.stdout;
        }
        let message = String::from_utf8_lossy(&output.stderr);
        let folder = self.folder.keep();
        let command = module.command(&folder.join("script"));
        panic!(
            "{what}:\n{message}({})\nto run it again: {command:?}",
            output.status
        );
    }

    /// Writes to a folder what `scripts/mutate` needs to run the script again on a machine without
    /// Rust: the sources of the emulator and of the module, whose first lines say how they are
    /// compiled; and, in a folder for each script, the script, its files, and what came of it: the
    /// bytes that were saved, or how the run was stopped. Nothing that it counts is kept.
    fn keep(&self, module: &Module, output: &Output, folder: &Path) {
        let name = module.object.file_stem().expect("a module has a name");
        let to = folder.join(name);
        let copied = fs::create_dir_all(&to)
            .and_then(|()| {
                let program = module.program.with_extension("cpp");
                fs::copy(program, folder.join("emulator.cpp"))
            })
            .and_then(|_| fs::copy(module.object.with_extension("cpp"), to.join("module.cpp")))
            .and_then(|_| {
                // Tests run side by side: whoever makes a folder has its number.
                let number = (0..).find(|n| fs::create_dir(to.join(format!("{n:03}"))).is_ok());
                let here = to.join(format!("{:03}", number.expect("some folder is new")));
                for file in fs::read_dir(self.folder.path())? {
                    let file = file?;
                    fs::copy(file.path(), here.join(file.file_name()))?;
                }
                let files = format!(" {}/", self.folder.path().display());
                let counts = |line: &&str| {
                    let word = line.split_whitespace().next();
                    matches!(word, Some("count" | "trace" | "tallies" | "touches"))
                };
                let lines = self.text.lines().filter(|line| !counts(line));
                let text: String = lines.flat_map(|line| [line, "\n"]).collect();
                fs::write(here.join("script"), text.replace(&files, " "))?;
                if output.status.success() {
                    fs::write(here.join("saved"), &output.stdout)
                } else {
                    let message = String::from_utf8_lossy(&output.stderr);
                    let first = message.lines().next().unwrap_or_default();
                    fs::write(here.join("stops"), first)
                }
            });
        copied.unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    }

    /// The bytes that were saved, and what the launches ask of the machine, by places in the
    /// source. A run that is stopped fails the test, as in
    /// [`run_to_the_end`](Script::run_to_the_end).
    #[track_caller]
    pub fn count(mut self, what: &str, module: &Module) -> (Vec<u8>, Vec<Tally>) {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let path = folder.path().join("tallies");
        self.text.insert_str(0, "count\n");
        self.line(format_args!("tallies {}", path.display()));
        let saved = self.run_to_the_end(what, module);
        (saved, read_lines(&path, Tally::parse))
    }

    /// All that the emulator can tell, or the message that the run ended with. Every access is
    /// kept, so this is for small runs if `traced`; otherwise there are no touches.
    pub fn record(mut self, module: &Module, traced: bool) -> Result<Record, String> {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let path = |name: &str| folder.path().join(name);
        let (tallies, touches) = (path("tallies"), path("touches"));
        let first = if traced { "count\ntrace\n" } else { "count\n" };
        self.text.insert_str(0, first);
        self.line(format_args!("tallies {}", tallies.display()));
        self.line(format_args!("touches {}", touches.display()));
        Ok(Record {
            saved: self.run(module)?,
            tallies: read_lines(&tallies, Tally::parse),
            touches: read_lines(&touches, Touch::parse),
        })
    }
}

/// The lines of a file that the emulator wrote.
fn read_lines<T>(path: &Path, parse: impl Fn(&str) -> T) -> Vec<T> {
    let text = fs::read_to_string(path).expect("the emulator wrote it");
    text.lines().map(parse).collect()
}

impl Touch {
    fn parse(line: &str) -> Touch {
        let mut words = line.splitn(8, ' ');
        let mut word = || words.next().expect("eight words a line");
        let number = |word: &str| word.parse().expect("a number");
        Touch {
            launch: number(word()),
            block: number(word()),
            thread: number(word()),
            step: number(word()),
            operation: word().to_owned(),
            offset: number(word()),
            bytes: number(word()),
            region: word().to_owned(),
        }
    }
}

impl Tally {
    fn parse(line: &str) -> Tally {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("eight words a line");
        let (operation, place) = (word().to_owned(), word().to_owned());
        let mut number = || word().parse().expect("a number");
        Tally {
            operation,
            place,
            issued: number(),
            lanes: number(),
            sectors: number(),
            lines: number(),
            passes: number(),
            conflicts: number(),
        }
    }

    /// The sum over the tallies that `choose` takes.
    pub fn sum(tallies: &[Tally], choose: impl Fn(&Tally) -> bool) -> Tally {
        let mut sum = Tally::default();
        for tally in tallies.iter().filter(|tally| choose(tally)) {
            sum.issued += tally.issued;
            sum.lanes += tally.lanes;
            sum.sectors += tally.sectors;
            sum.lines += tally.lines;
            sum.passes += tally.passes;
            sum.conflicts += tally.conflicts;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::{TOKENS, address, addresses_in};

    #[test]
    fn a_small_field_before_stale_padding_is_no_address() {
        let token = address("in", 0);
        assert_eq!(addresses_in(&token.to_ne_bytes()), [(0, "in", 0)]);
        for field in [0, 1, 2, 4096, u32::MAX] {
            let word = TOKENS >> 32 << 32 | u64::from(field);
            assert_eq!(addresses_in(&word.to_ne_bytes()), []);
        }
    }
}
