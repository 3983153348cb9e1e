//! What a run found.

use serde::Serialize;
use warpfold::ladder::{Problem, Step, TEXTS};

/// All that a run found, from the first step to the last. It serialises to JSON as it is.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The version of warpfold.
    pub version: &'static str,
    /// The operator, as the command line calls it.
    pub operator: String,
    /// The type of the numbers.
    pub element: &'static str,
    /// The size of a number in bytes.
    pub element_bytes: usize,
    /// The numbers that steps were timed on, unless they take fewer.
    pub elements: usize,
    /// The numbers that kernels were counted on, unless they take fewer.
    pub counted: usize,
    /// The CPU.
    pub cpu: Machine,
    /// The GPU, if kernels were timed.
    pub gpu: Option<Machine>,
    /// What was not done, and why: each with a remedy.
    pub missing: Vec<String>,
    /// The texts that steps come from.
    pub texts: Vec<Text>,
    /// The steps.
    pub steps: Vec<Row>,
}

/// A machine that steps ran on.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The speed of a copy in GB/s: what it reads and what it writes. On a CPU, by one core.
    pub copy: f64,
}

/// One of the texts.
#[derive(Debug, Serialize)]
pub struct Text {
    /// The number that steps name it by.
    pub number: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it is about.
    pub about: &'static str,
}

/// A step, and what was found.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// `reduce`, `dot` or `scan`.
    pub problem: &'static str,
    /// Whether it runs on the CPU.
    pub on_cpu: bool,
    /// What changed, and why it helps.
    pub change: &'static str,
    /// The kernels of the texts that it is.
    pub seeds: Vec<Seed>,
    /// How long it takes, if it was timed.
    pub time: Option<Time>,
    /// What it asks of a GPU, if it was counted.
    pub count: Option<Count>,
    /// What the texts predict of that.
    pub predictions: Vec<Prediction>,
    /// Whether its results are right.
    pub outcome: Outcome,
    /// The file of its kernel, and the files that this one includes, with their texts.
    pub files: Vec<(String, &'static str)>,
    /// A drawing of a small run, as SVG. Beside it what was run.
    pub picture: Option<(String, String)>,
}

/// A kernel of a text.
#[derive(Debug, Serialize)]
pub struct Seed {
    /// The text's number.
    pub text: &'static str,
    /// What it calls the kernel.
    pub name: &'static str,
    /// Its time for 2^24 numbers of 4 bytes, in microseconds.
    pub microseconds: Option<f64>,
}

/// How long a step takes.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Time {
    /// The numbers that it took.
    pub elements: usize,
    /// The median time.
    pub microseconds: f64,
    /// What has to be read and written, by this time, in GB/s.
    pub gigabytes_per_second: f64,
    /// Its speed as a share of a copy's.
    pub of_a_copy: f64,
}

/// What a step asks of the machine.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Count {
    /// The numbers that it took.
    pub elements: usize,
    /// Of the lanes in the instructions that reach memory, the share that is at work.
    pub lanes: f64,
    /// Requests to global memory, of 128 bytes.
    pub requests: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// Passes through shared memory.
    pub passes: u64,
    /// The passes that bank conflicts cost.
    pub conflicts: u64,
}

/// What a text predicts, and what was counted.
#[derive(Debug, Serialize)]
pub struct Prediction {
    /// Of what.
    pub quantity: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// Its value.
    pub predicted: u64,
    /// What was counted.
    pub counted: u64,
    /// What the text leaves out, and why that is counted.
    pub besides: Option<(u64, &'static str)>,
}

impl Prediction {
    /// Whether the formula holds.
    pub fn holds(&self) -> bool {
        self.counted == self.predicted + self.besides.map_or(0, |(more, _)| more)
    }
}

/// What a step's results are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", content = "why", rename_all = "snake_case")]
pub enum Outcome {
    /// Right: they have the bits of the library's own.
    Right,
    /// Not what they should be. This is a bug of warpfold.
    Wrong(String),
    /// The step races, and was found out: the emulator's words.
    FoundOut(String),
    /// The step did not run.
    NotRun,
}

impl Report {
    /// What is wrong, a line each: results that are not the library's, and a race that went unseen.
    pub fn faults(&self) -> Vec<String> {
        let wrong = self.steps.iter().filter_map(|row| match &row.outcome {
            Outcome::Wrong(why) => Some(format!("{}: {why}", row.name)),
            _ => None,
        });
        wrong.collect()
    }

    /// The steps of a problem.
    pub(crate) fn of(&self, problem: Problem) -> impl Iterator<Item = &Row> {
        let steps = self.steps.iter();
        steps.filter(move |row| row.problem == problem.name())
    }

    /// The report as JSON.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report has only plain values");
        text.push('\n');
        text
    }
}

pub(crate) fn texts() -> Vec<Text> {
    let texts = TEXTS.iter().map(|text| Text {
        number: text.number,
        title: text.title,
        about: text.about,
    });
    texts.collect()
}

pub(crate) fn seeds(step: &Step) -> Vec<Seed> {
    let seeds = step.seeds.iter().map(|seed| Seed {
        text: seed.text,
        name: seed.name,
        microseconds: seed.microseconds,
    });
    seeds.collect()
}
