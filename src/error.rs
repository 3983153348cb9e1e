//! What can go wrong, and what to do about it.

use std::fmt;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call could not be carried out.
///
/// Every message names the cause and, where there is one, the remedy. No function of this crate
/// panics because a GPU, a driver or a compiler is missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A library that CUDA needs is missing or lacks a function.
    #[error("{library} cannot be used: {cause}\n  remedy: {remedy}")]
    Library {
        /// The library's name: the CUDA driver, NVRTC or NCCL.
        library: &'static str,
        /// What was tried and how it failed.
        cause: String,
        /// What to install or set.
        remedy: &'static str,
    },

    /// The crate was built without the feature that this needs.
    #[error(
        "this program was built without warpfold's `{feature}` feature\n  remedy: enable the feature, or use Device::cpu()"
    )]
    Feature {
        /// The missing feature.
        feature: &'static str,
    },

    /// There is no such device.
    #[error("there is no device `{requested}`; available: {available}")]
    NoDevice {
        /// The device asked for.
        requested: String,
        /// The devices that exist.
        available: String,
    },

    /// A device's name could not be read.
    #[error(
        "`{text}` does not name a device\n  remedy: write `cpu`, `cuda` or `cuda:N` (in {place})"
    )]
    DeviceName {
        /// The text that was given.
        text: String,
        /// Where it stood, such as an environment variable's name.
        place: &'static str,
    },

    /// A call to the CUDA driver failed.
    #[error("the CUDA driver failed while {action}: {cause}")]
    Driver {
        /// What the crate was doing.
        action: String,
        /// The driver's own name and description of the error.
        cause: String,
    },

    /// A call to NCCL failed.
    #[error("NCCL failed while {action}: {cause}")]
    Nccl {
        /// What the crate was doing.
        action: String,
        /// NCCL's own description of the error.
        cause: String,
    },

    /// The device has not enough free memory.
    #[error(
        "out of device memory: {} asked for, {} free of {}\n  remedy: free other buffers, work in place, or process the data in parts",
        Bytes(*.requested), Bytes(*.free), Bytes(*.total)
    )]
    OutOfMemory {
        /// The bytes asked for.
        requested: usize,
        /// The bytes that were free then.
        free: usize,
        /// The device's memory in bytes.
        total: usize,
    },

    /// The host has not enough memory.
    #[error("out of host memory: {} asked for", Bytes(*.requested))]
    OutOfHostMemory {
        /// The bytes asked for.
        requested: usize,
    },

    /// NVRTC rejected the generated source. Lines that belong to an operator's own CUDA text are
    /// reported under that operator's name.
    #[error("the kernel for {operator} does not compile for {architecture}:\n{log}")]
    Compile {
        /// The operator's type name.
        operator: String,
        /// The architecture compiled for, such as `sm_90`.
        architecture: String,
        /// NVRTC's log.
        log: String,
    },

    /// The source could not be generated.
    #[error("the kernel source cannot be generated: {0}")]
    Codegen(String),

    /// Two arrays that must be of one length are not.
    #[error(
        "the output holds {output} elements, but {input} are written to it\n  remedy: give an output of {input} elements"
    )]
    Length {
        /// The number of elements that the call produces.
        input: usize,
        /// The number of elements that the output holds.
        output: usize,
    },

    /// A source has more items than one reduction on a GPU takes.
    #[error(
        "{items} items are more than the {most} that one reduction on a GPU takes\n  remedy: push pieces of the source to a `Reducer`, which gives the same bits"
    )]
    Items {
        /// The number of items.
        items: usize,
        /// The most that there may be.
        most: u64,
    },

    /// A slice that is to say how many items there are says nothing.
    #[error("the slice with the number of items is empty\n  remedy: give a slice of one `u64`")]
    Count,

    /// Sources that are zipped have different lengths.
    #[error(
        "a source of {first} items is zipped with one of {second}\n  remedy: zip sources of one length"
    )]
    Zip {
        /// The number of items of the first one.
        first: usize,
        /// The number of items of another one.
        second: usize,
    },

    /// There are not as many values as keys.
    #[error("there are {keys} keys and {values} values\n  remedy: give a value for each key")]
    Pairs {
        /// The number of keys.
        keys: usize,
        /// The number of values.
        values: usize,
    },

    /// What should be a carry is none.
    #[error(
        "position {position} and {sums} sums are no carry\n  remedy: give one sum for each one among the binary digits of the position, which must be below 2^63"
    )]
    Carry {
        /// The position.
        position: u64,
        /// The number of sums.
        sums: usize,
    },

    /// The nodes of parts of an array do not fit together.
    #[error("the nodes {fault}")]
    Nodes {
        /// What is wrong with them, and what to do.
        fault: String,
    },

    /// The ranks of a communicator did not do the same, or one of them could not.
    #[error("the ranks {fault}")]
    Ranks {
        /// Which ranks, what is wrong, and what to do.
        fault: String,
    },

    /// The exchange between ranks failed. Then the communicator is of no more use.
    #[error("the exchange failed in call {call} ({operation}) on rank {rank}: {cause}")]
    Exchange {
        /// The number of the communicator's call, from 1 on.
        call: u64,
        /// What the call was.
        operation: String,
        /// The rank that says so.
        rank: usize,
        /// What happened.
        cause: String,
    },

    /// A device cannot do this yet.
    #[error("{call} cannot run on {device} yet\n  remedy: {remedy}")]
    NotYet {
        /// What was asked for.
        call: &'static str,
        /// The device.
        device: String,
        /// What can be done instead.
        remedy: &'static str,
    },

    /// The bins of a histogram cannot be.
    #[error("the bins' `{argument}` {fault}")]
    Bins {
        /// The argument that is wrong.
        argument: &'static str,
        /// What is wrong with it.
        fault: String,
    },

    /// Segments cannot be.
    #[error("the segments' `{argument}` {fault}")]
    Segments {
        /// The argument that is wrong.
        argument: &'static str,
        /// What is wrong with it, where, and what to do.
        fault: String,
    },

    /// An axis cannot be.
    #[error("{fault}\n  remedy: give an axis of the shape that the array has, counted from 0")]
    Axis {
        /// What is wrong, and where.
        fault: String,
    },

    /// Indices cannot be.
    #[error("the indices {fault}")]
    Indices {
        /// What is wrong with them, where, and what to do.
        fault: String,
    },

    /// An argument has a value that it cannot have.
    #[error("`{argument}` {fault}")]
    Argument {
        /// The argument that is wrong.
        argument: &'static str,
        /// What is wrong with it, and what to do.
        fault: String,
    },

    /// There may be more items in a bin than a count can hold.
    #[error("{items} items may be more than a count of type u32 can hold\n  remedy: count in u64")]
    Counts {
        /// The number of items.
        items: usize,
    },

    /// A workspace is smaller than the call needs.
    #[error(
        "the workspace holds {given} bytes, but {needed} are needed\n  remedy: ask `workspace_bytes` for the size, and have the workspace grow"
    )]
    Workspace {
        /// The bytes that the call needs.
        needed: usize,
        /// The bytes that were given.
        given: usize,
    },

    /// A workspace made by `Workspace::from_raw` cannot grow.
    #[error(
        "the workspace lies in memory of the caller's, of {given} bytes, and cannot grow to {needed}\n  remedy: make a new one over more memory"
    )]
    Borrowed {
        /// The bytes that it should grow to.
        needed: usize,
        /// The bytes that it has.
        given: usize,
    },

    /// A workspace serves a stream other than the call's.
    #[error(
        "the workspace serves another stream\n  remedy: make one for each stream, or move it with `Workspace::move_to`"
    )]
    WorkspaceStream,

    /// Device memory cannot be made while a stream is captured into a graph.
    #[error(
        "the stream is being captured into a graph\n  remedy: make, grow or move the workspace before the capture begins"
    )]
    Capturing,

    /// A buffer or a stream belongs to another device.
    #[error(
        "the buffer lives on {buffer}, but the call runs on {device}\n  remedy: upload the data to the device that works on it"
    )]
    WrongDevice {
        /// Where the buffer lives.
        buffer: String,
        /// Where the call runs.
        device: String,
    },
}

impl Error {
    /// [`Error::Length`] unless the output holds what is written to it, and no more.
    pub(crate) fn check_length(input: usize, output: usize) -> Result<()> {
        match input == output {
            true => Ok(()),
            false => Err(Error::Length { input, output }),
        }
    }
}

impl Error {
    /// [`Error::Pairs`] unless there is a value for each key.
    pub(crate) fn check_pairs(keys: usize, values: usize) -> Result<()> {
        match keys == values {
            true => Ok(()),
            false => Err(Error::Pairs { keys, values }),
        }
    }
}

/// Shows a byte count with a binary unit, and exactly where it matters.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{value:.1} {} ({} bytes)", UNITS[unit], self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(Bytes(1023).to_string(), "1023 bytes");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB (1536 bytes)");
        assert_eq!(Bytes(3 << 30).to_string(), "3.0 GiB (3221225472 bytes)");
    }
}
