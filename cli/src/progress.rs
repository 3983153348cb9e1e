//! Shows progress: only on a terminal, and only for long work.

use indicatif::{
    BinaryBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Work that takes less shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether a bar would disturb other text on the same terminal.
static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Shows no bar from now on.
pub(crate) fn hide() {
    HIDDEN.store(true, Ordering::Relaxed);
}

/// The bar that is shown.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Takes the bar away, for other text on the same terminal.
pub(crate) fn clear() {
    if let Ok(Some(bar)) = SHOWN.lock().map(|mut bar| bar.take()) {
        bar.finish_and_clear();
    }
}

/// How far the input was read. Work on it keeps pace with that.
pub(crate) struct Progress {
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
    /// Of `total` bytes, if their number is known. `wanted` says whether nobody types them here.
    pub(crate) fn new(total: Option<u64>, wanted: bool) -> Self {
        let state = if wanted && std::io::stderr().is_terminal() {
            State::Waiting
        } else {
            State::Hidden
        };
        Progress {
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
                if self.start.elapsed() > PATIENCE && !HIDDEN.load(Ordering::Relaxed) {
                    let bar = self.bar();
                    if let Ok(mut shown) = SHOWN.lock() {
                        *shown = Some(bar.clone());
                    }
                    self.state = State::Shown(bar);
                }
            }
            State::Shown(bar) => bar.set_position(self.done),
        }
    }

    fn bar(&self) -> ProgressBar {
        let template = match self.total {
            Some(_) => {
                "reading [{bar:30}] {binary_bytes}/{binary_total_bytes}, {rate}, {left} left"
            }
            None => "reading {spinner} {binary_bytes} in {elapsed}, {rate}",
        };
        let bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr())
            .with_elapsed(self.start.elapsed())
            .with_position(self.done);
        if let Ok(style) = ProgressStyle::with_template(template) {
            let style = style
                .with_key("rate", |state: &ProgressState, text: &mut dyn Write| {
                    let _ = write!(text, "{}/s", BinaryBytes(rate(state) as u64));
                })
                .with_key("left", |state: &ProgressState, text: &mut dyn Write| {
                    let left = state.len().unwrap_or(0).saturating_sub(state.pos());
                    let seconds = (left as f64 / rate(state)).min(1e9);
                    let _ = write!(
                        text,
                        "{:#}",
                        HumanDuration(Duration::from_secs_f64(seconds))
                    );
                });
            bar.set_style(style.progress_chars("=> "));
        }
        // A pipe that stalls shows it.
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}

/// Bytes in a second, since the start. It is right from the first moment on, and does not jump.
fn rate(state: &ProgressState) -> f64 {
    (state.pos() as f64 / state.elapsed().as_secs_f64().max(1e-3)).max(1.0)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let State::Shown(bar) = &self.state {
            bar.finish_and_clear();
        }
    }
}

/// Says what a long search is at, in one line that goes away.
#[cfg(feature = "tune")]
pub(crate) struct Status(Option<ProgressBar>);

#[cfg(feature = "tune")]
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

#[cfg(feature = "tune")]
impl Drop for Status {
    fn drop(&mut self) {
        if let Status(Some(spinner)) = self {
            spinner.finish_and_clear();
        }
    }
}
