//! Why a call takes the engine that it takes.

use super::candidates::{Blocks, blocks_of_grid};
use crate::{Element, Monoid, Result};
use std::fmt;

/// What a call of some length does on a GPU: the engine, its launches, its workspace, and what the
/// choice depended on. Shown by `Display`, in some lines. A later version may choose otherwise.
#[derive(Debug, Clone)]
pub struct Explanation {
    pub(crate) primitive: &'static str,
    /// What it is given, such as `1000 items`.
    pub(crate) given: String,
    pub(crate) engine: &'static str,
    pub(crate) launches: Vec<LaunchShape>,
    /// How many times they follow each other.
    pub(crate) times: usize,
    pub(crate) workspace_bytes: usize,
    pub(crate) because: String,
    pub(crate) depends: Vec<(&'static str, String)>,
}

/// The shape of one launch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchShape {
    /// The function.
    pub function: String,
    /// The number of blocks.
    pub blocks: u64,
    /// The threads of a block.
    pub threads: u32,
    /// The dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// A launch as a plan says it: the function, and its blocks.
pub(crate) type Launched = (&'static str, Blocks);

/// Why a call does what it does: the name of what does the work, and the reason.
pub(crate) type Chosen = (&'static str, String);

impl Explanation {
    /// What a call of `primitive` does with what it is `given`, such as `1000 items`.
    ///
    /// # Errors
    ///
    /// If a launch has more blocks than a grid.
    pub(crate) fn new(
        primitive: &'static str,
        (given, items): (String, u64),
        (engine, because): Chosen,
        launches: impl IntoIterator<Item = Launched>,
        workspace_bytes: usize,
    ) -> Result<Explanation> {
        let launches: Vec<_> = (launches.into_iter().map(LaunchShape::from)).collect();
        for launch in &launches {
            blocks_of_grid(launch.blocks, items)?;
        }
        Ok(Explanation {
            primitive,
            given,
            engine,
            launches,
            times: 1,
            workspace_bytes,
            because,
            depends: Vec::new(),
        })
    }

    /// The name of the engine; of primitives that no engine runs, that of the way that they take.
    /// Where one primitive follows another, it is that of the first.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// The launches, in their order: all of a call, unless it makes them several
    /// [`times`](Explanation::times).
    pub fn launches(&self) -> &[LaunchShape] {
        &self.launches
    }

    /// How many times the call makes its launches, one time after the other: once for each row
    /// where a top-k takes rows one by one, and once of all other calls.
    pub fn times(&self) -> usize {
        self.times
    }

    /// The bytes of a workspace that serves this call. Of a reduction, a scan or a select it serves
    /// all shorter ones, too.
    pub fn workspace_bytes(&self) -> usize {
        self.workspace_bytes
    }

    /// The explanation of a call of `primitive` that does this, and then what `next` says, in one
    /// workspace.
    #[cfg(feature = "cuda")]
    pub(crate) fn then(mut self, primitive: &'static str, next: Explanation) -> Explanation {
        self.primitive = primitive;
        self.launches.extend(next.launches);
        self.workspace_bytes = self.workspace_bytes.max(next.workspace_bytes);
        self.because = format!(
            "{}; then {}, since {}",
            self.because, next.engine, next.because
        );
        for fact in next.depends {
            if !self.depends.contains(&fact) {
                self.depends.push(fact);
            }
        }
        self
    }

    /// Adds what the choice depended on.
    pub(crate) fn depending_on(
        mut self,
        facts: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Explanation {
        self.depends.splice(0..0, facts);
        self
    }
}

impl From<Launched> for LaunchShape {
    fn from((function, blocks): Launched) -> LaunchShape {
        LaunchShape {
            function: function.to_owned(),
            blocks: blocks.count,
            threads: blocks.threads,
            shared_bytes: blocks.shared_bytes,
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {}", self.primitive, self.given)?;
        writeln!(f, "engine: {}, since {}", self.engine, self.because)?;
        for launch in &self.launches {
            let LaunchShape {
                function,
                blocks,
                threads,
                shared_bytes,
            } = launch;
            write!(
                f,
                "launch: {function}, {blocks} blocks of {threads} threads"
            )?;
            match shared_bytes {
                0 => writeln!(f)?,
                bytes => writeln!(f, ", {bytes} bytes of shared memory each")?,
            }
        }
        if self.launches.is_empty() {
            writeln!(f, "launch: none")?;
        }
        if self.times > 1 {
            writeln!(f, "times: {}, once for each row", self.times)?;
        }
        writeln!(f, "workspace: {} bytes", self.workspace_bytes)?;
        write!(f, "depends on:")?;
        if self.depends.is_empty() {
            write!(f, " the lengths alone")?;
        }
        for (place, (what, value)) in self.depends.iter().enumerate() {
            write!(f, "{} {what} {value}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// What most primitives depend on, beside the call: the size of an item, and the GPU's size.
pub(crate) fn sizes(item_bytes: usize, multiprocessors: u32) -> [(&'static str, String); 2] {
    [
        ("bytes of an item", item_bytes.to_string()),
        ("multiprocessors", multiprocessors.to_string()),
    ]
}

/// What the choice depends on, beside the call.
pub(crate) fn facts<T: Element, Op: Monoid<T>>(
    capability: u32,
    cost: u32,
) -> [(&'static str, String); 4] {
    facts_of(capability, cost, size_of::<T>(), Op::COMMUTATIVE)
}

fn facts_of(
    capability: u32,
    cost: u32,
    item_bytes: usize,
    commutes: bool,
) -> [(&'static str, String); 4] {
    let said = |is_so: bool| if is_so { "yes" } else { "no" }.to_owned();
    [
        (
            "compute capability",
            format!("{}.{}", capability / 10, capability % 10),
        ),
        ("bytes of an item", item_bytes.to_string()),
        ("cost", format!("{cost} instructions")),
        ("commutes", said(commutes)),
    ]
}
