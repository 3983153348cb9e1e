//! What a run writes, and what the report is made of: one JSON file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// All that one run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) machine: Machine,
    /// Fewer lengths and batches than the figures of record have.
    pub(crate) quick: bool,
    pub(crate) batches: usize,
    /// A device-to-device copy of [`COPY_BYTES`].
    pub(crate) copy: Spread,
    pub(crate) cells: Vec<Cell>,
    /// What arithmetic allows the operators of the cells.
    #[serde(default)]
    pub(crate) combinations: Vec<Combination>,
    pub(crate) loading: Vec<Loading>,
    pub(crate) host_data: Vec<HostData>,
    /// Two ranks with a GPU each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) shards: Vec<Sharded>,
    /// Pieces of streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pieces: Vec<Piece>,
    /// What a reader must know of this run, such as cells that were measured at another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// What could not be measured, and why.
    pub(crate) missing: Vec<String>,
    /// Results that were wrong. None of them was timed.
    pub(crate) wrong: Vec<String>,
}

/// What the copy that everything is compared with moves, and reads and writes.
pub(crate) const COPY_BYTES: usize = 1 << 30;

impl Run {
    /// The file: a line for each cell, so that two runs can be compared line by line.
    pub(crate) fn to_json(&self) -> String {
        let run = serde_json::to_value(self).expect("plain data");
        let fields = run.as_object().expect("a struct").iter();
        let fields = fields.map(|(name, value)| match value.as_array() {
            Some(items) if !items.is_empty() => {
                let lines: Vec<String> = items.iter().map(|item| item.to_string()).collect();
                format!("\"{name}\": [\n{}\n]", lines.join(",\n"))
            }
            _ => format!("\"{name}\": {value}"),
        });
        let fields: Vec<String> = fields.collect();
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }

    /// Bytes read and written in a second by the large copy, in 10⁹.
    pub(crate) fn copy_gbs(&self) -> f64 {
        gbs(2 * COPY_BYTES, self.copy.median)
    }
}

/// 10⁹ bytes in a second, for `bytes` in `us` microseconds.
pub(crate) fn gbs(bytes: usize, us: f64) -> f64 {
    bytes as f64 / us / 1e3
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) gpu: String,
    pub(crate) multiprocessors: u32,
    pub(crate) memory_gib: f64,
    /// `None`: there is no nvidia-smi to ask.
    pub(crate) driver: Option<String>,
    pub(crate) clocks: Option<Clocks>,
    pub(crate) nvrtc: String,
    /// Versions of the libraries that ran beside ours.
    pub(crate) cub: Option<String>,
    pub(crate) torch: Option<String>,
    pub(crate) host_threads: usize,
    /// Year, month and day in UTC.
    pub(crate) date: String,
}

/// In MHz, read right after the large copy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Clocks {
    pub(crate) multiprocessor: u32,
    pub(crate) highest_multiprocessor: u32,
    pub(crate) memory: u32,
}

/// Whose work was timed. The order is that of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Library {
    Warpfold,
    Cub,
    /// CUB by operators that round as ours do: `benches/peers/floats.cu`.
    CubRounded,
    Torch,
    /// PyTorch's `index_add_`, beside its `segment_reduce`.
    TorchAdd,
    /// A device-to-device copy of the same elements.
    Memcpy,
}

/// One call of each, in µs.
pub(crate) type Times = BTreeMap<Library, Spread>;

/// One primitive on one type with one operator, at one length.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) primitive: String,
    pub(crate) element: String,
    pub(crate) operator: String,
    pub(crate) element_bytes: usize,
    pub(crate) length: usize,
    /// Where the views of the buffers start, in elements after an aligned address.
    pub(crate) offset: usize,
    /// What the problem must move, in bytes, where that does not follow from the primitive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved: Option<usize>,
    /// Calls one after the other on a stream, by device events: what a program sees.
    pub(crate) stream: Times,
    /// From a CUDA graph: what the GPU takes, however slow the host is. Empty for long arrays.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) graph: Times,
    /// What enqueueing takes of the host's time. Empty for long arrays.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) host: Times,
}

impl Cell {
    pub(crate) fn name(&self) -> String {
        format!("{} {} {}", self.primitive, self.element, self.operator)
    }

    /// Neither a view at an odd offset nor an odd length, unless that is a short one.
    pub(crate) fn is_plain(&self) -> bool {
        self.offset == 0 && (self.length < 1000 || self.length.is_multiple_of(8))
    }

    /// What the problem must move: a reduction reads the elements, a scan writes as many.
    pub(crate) fn bytes(&self) -> usize {
        if let Some(bytes) = self.moved {
            return bytes;
        }
        let passes = if self.primitive == "reduce" { 1 } else { 2 };
        passes * self.length * self.element_bytes
    }

    /// The GPU's times of a call: from a graph, where they were measured.
    pub(crate) fn times(&self) -> &Times {
        if self.graph.is_empty() {
            &self.stream
        } else {
            &self.graph
        }
    }
}

pub(crate) fn median(times: &Times, library: Library) -> Option<f64> {
    times.get(&library).map(|spread| spread.median)
}

/// A library's time over ours.
pub(crate) fn ratio(times: &Times, library: Library) -> Option<f64> {
    Some(median(times, library)? / median(times, Library::Warpfold)?)
}

/// One operator at work on elements in registers, on the whole GPU.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Combination {
    pub(crate) element: String,
    pub(crate) operator: String,
    /// The time of a launch over the combinations in it, in 10⁻¹² s.
    pub(crate) ps: Spread,
}

/// The batches of one measurement. Files keep the median alone, in six digits, which is more than
/// is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) lower_quartile: f64,
    pub(crate) upper_quartile: f64,
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = format!("{:.5e}", self.median).parse();
        serializer.serialize_f64(rounded.unwrap_or(self.median))
    }
}

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(|median| Spread {
            median,
            lower_quartile: median,
            upper_quartile: median,
        })
    }
}

/// From a call of `load` to loaded kernels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Loading {
    pub(crate) name: String,
    /// Nothing cached anywhere: compiled.
    pub(crate) cold_ms: Spread,
    /// From the disk cache.
    pub(crate) disk_ms: Spread,
    /// Loaded by this process before.
    pub(crate) memory_us: Spread,
}

/// Data that starts and ends in host memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HostData {
    pub(crate) device: String,
    pub(crate) reduce_ms: Spread,
    pub(crate) scan_ms: Spread,
}

/// A call over an array of which each of two ranks has a part on its GPU.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sharded {
    pub(crate) call: String,
    /// What carries packets; or that there is one rank.
    pub(crate) exchange: String,
    /// Where the array is cut.
    pub(crate) cut: String,
    pub(crate) gpus: usize,
    /// The elements of all ranks; of an exchange alone, the bytes of each rank.
    pub(crate) length: usize,
    /// By the host's clock.
    pub(crate) us: Spread,
    /// How many times as fast as the call on one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beside_one: Option<f64>,
}

/// The scan of a piece of a stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Element and operator.
    pub(crate) name: String,
    /// Where it starts.
    pub(crate) from: String,
    pub(crate) length: usize,
    /// By the host's clock, of calls one after the other.
    pub(crate) us: Spread,
    /// How many times as fast as the scan of an array as long.
    pub(crate) beside_whole: f64,
}
