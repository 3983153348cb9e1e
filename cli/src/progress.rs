//! Shows progress: only on a terminal, and only for long work.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Reading and writing show a bar after this time.
const PATIENCE: Duration = Duration::from_secs(1);
/// Computing shows a spinner from this size on.
const LARGE_BYTES: u64 = 64 << 20;

/// The progress of a stage that goes byte by byte.
pub(crate) struct Progress {
    stage: &'static str,
    total: Option<u64>,
    done: u64,
    start: Instant,
    state: State,
}

enum State {
    Hidden,
    Waiting,
    Shown(ProgressBar),
}

impl Progress {
    /// A stage over `total` bytes, if that is known. `wanted` says whether a bar would not disturb
    /// other text on the same terminal.
    pub(crate) fn new(stage: &'static str, total: Option<u64>, wanted: bool) -> Self {
        let state = if wanted && std::io::stderr().is_terminal() {
            State::Waiting
        } else {
            State::Hidden
        };
        Progress {
            stage,
            total,
            done: 0,
            start: Instant::now(),
            state,
        }
    }

    pub(crate) fn advance(&mut self, bytes: usize) {
        self.done += bytes as u64;
        match &self.state {
            State::Hidden => {}
            State::Waiting => {
                if self.start.elapsed() > PATIENCE {
                    self.state = State::Shown(self.bar());
                }
            }
            State::Shown(bar) => bar.set_position(self.done),
        }
    }

    fn bar(&self) -> ProgressBar {
        let template = match self.total {
            Some(_) => {
                "{msg} [{bar:30}] {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta} left"
            }
            None => "{msg} {spinner} {binary_bytes}, {binary_bytes_per_sec}",
        };
        let bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr())
            .with_message(self.stage)
            .with_elapsed(self.start.elapsed())
            .with_position(self.done);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let State::Shown(bar) = &self.state {
            bar.finish_and_clear();
        }
    }
}

/// Shows a spinner while `work` runs over `bytes` bytes.
pub(crate) fn spin<R>(stage: &'static str, bytes: u64, work: impl FnOnce() -> R) -> R {
    if bytes < LARGE_BYTES || !std::io::stderr().is_terminal() {
        return work();
    }
    let spinner = ProgressBar::new_spinner().with_message(stage);
    spinner.enable_steady_tick(Duration::from_millis(100));
    let result = work();
    spinner.finish_and_clear();
    result
}

/// Says what a long search is at, in one line that goes away.
#[cfg(feature = "cuda")]
pub(crate) struct Status(Option<ProgressBar>);

#[cfg(feature = "cuda")]
impl Status {
    pub(crate) fn new() -> Self {
        Status(std::io::stderr().is_terminal().then(|| {
            let spinner = ProgressBar::new_spinner();
            spinner.enable_steady_tick(Duration::from_millis(100));
            spinner
        }))
    }

    pub(crate) fn say(&self, what: &str) {
        if let Status(Some(spinner)) = self {
            spinner.set_message(what.to_owned());
        }
    }

    /// Writes other text to the terminal.
    pub(crate) fn suspend(&self, write: impl FnOnce()) {
        match self {
            Status(Some(spinner)) => spinner.suspend(write),
            Status(None) => write(),
        }
    }
}

#[cfg(feature = "cuda")]
impl Drop for Status {
    fn drop(&mut self) {
        if let Status(Some(spinner)) = self {
            spinner.finish_and_clear();
        }
    }
}
