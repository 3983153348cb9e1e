//! The kernels of `tests/kernels/layer.cu`: how they are launched, and what they must give.

pub(crate) const SOURCE: &str = include_str!("../kernels/layer.cu");

/// A launch of `kernel(in, out, …)`, and its results.
pub(crate) struct Case {
    pub(crate) kernel: &'static str,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Bytes of dynamic shared memory.
    pub(crate) shared: usize,
    /// Bytes of a buffer of zeros, and the places in it that the kernel is given.
    pub(crate) work: usize,
    pub(crate) work_at: &'static [usize],
    /// What comes after the addresses.
    pub(crate) length: Option<u32>,
    numbers: usize,
    results: fn(&[u32]) -> Vec<u32>,
}

impl Case {
    /// The input, and the output for it.
    pub(crate) fn data(&self) -> (Vec<u32>, Vec<u32>) {
        let input: Vec<u32> = (0..self.numbers as u32).map(|i| i * 37 % 101).collect();
        let output = (self.results)(&input);
        (input, output)
    }
}

const STAGES_OF_THE_PIPELINE: usize = 10;

pub(crate) const CASES: &[Case] = &[
    Case {
        kernel: "pipeline",
        blocks: 1,
        threads: 96,
        shared: 4096,
        work: 0,
        work_at: &[],
        length: Some(STAGES_OF_THE_PIPELINE as u32),
        numbers: 128 * STAGES_OF_THE_PIPELINE,
        results: |input| input.iter().map(|x| x + 1).collect(),
    },
    Case {
        kernel: "chained_sums",
        blocks: 32,
        threads: 96,
        shared: 0,
        work: 16 + 2 * 128 + 256 + 512,
        work_at: &[0],
        length: None,
        numbers: 32,
        results: |input| {
            let sums = input.iter().scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            });
            sums.collect::<Vec<_>>().repeat(3)
        },
    },
    Case {
        kernel: "last_block_sums",
        blocks: 50,
        threads: 64,
        shared: 0,
        work: 256,
        work_at: &[4, 0],
        length: None,
        numbers: 50,
        results: |input| vec![2 * input.iter().sum::<u32>()],
    },
    Case {
        kernel: "exchanges",
        blocks: 1,
        threads: 32,
        shared: 0,
        work: 0,
        work_at: &[],
        length: None,
        numbers: 32,
        results: exchanges,
    },
    Case {
        kernel: "claimed_slots",
        blocks: 1,
        threads: 128,
        shared: 0,
        work: 0,
        work_at: &[],
        length: None,
        numbers: 128,
        results: |input| input.iter().map(|x| x % 7 + 1).collect(),
    },
    Case {
        kernel: "parts_of_words",
        blocks: 1,
        threads: 96,
        shared: 0,
        work: 0,
        work_at: &[],
        length: None,
        numbers: 96,
        results: |input| input.iter().flat_map(|&x| parts_of_word(x)).collect(),
    },
];

fn parts_of_word(x: u32) -> Vec<u32> {
    let word = x.wrapping_mul(0x9e37_79b9);
    let (bytes, halves) = (word.to_le_bytes(), [word as u16, (word >> 16) as u16]);
    let parts = [
        bytes.map(u32::from).to_vec(),
        bytes.map(|byte| byte as i8 as u32).to_vec(),
        halves.map(u32::from).to_vec(),
        halves.map(|half| half as i16 as u32).to_vec(),
    ];
    // Each in two ways.
    let mut results: Vec<u32> = parts.concat().iter().flat_map(|&part| [part; 2]).collect();
    results.push(u32::from_le_bytes(
        [0, 3, 5, 7].map(|shift| (word >> shift) as u8),
    ));
    results
}

fn exchanges(values: &[u32]) -> Vec<u32> {
    let ballot = |choose: &dyn Fn(usize) -> bool| {
        (0..32)
            .filter(|&lane| choose(lane))
            .fold(0u32, |mask, lane| mask | 1 << lane)
    };
    let lane = |i: usize| {
        let group = if i < 12 { 0xfffu32 } else { !0xfff };
        [
            values[i * 7 % 32],
            values[if i < 3 { i } else { i - 3 }],
            values[if i % 16 + 5 < 16 { i + 5 } else { i }],
            values[i ^ 9],
            ballot(&|lane| values[lane].is_multiple_of(3)),
            2 + u32::from(values.contains(&13)),
            ballot(&|lane| values[lane] % 5 == values[i] % 5),
            ballot(&|lane| values[lane] & 1 == 1) & group,
            values[i ^ 1] << 20,
            values[i ^ 2],
        ]
    };
    (0..32).flat_map(lane).collect()
}
