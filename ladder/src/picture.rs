//! Drawings of small runs, from the emulator's trace: which threads are at work in each round, what
//! they read, and what they write.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use warpfold::ladder::{Buffer, Call};
use warpfold_emulator::Touch;

/// The colours of pictures and charts: for a light page, and for a dark one.
pub(crate) const STYLE: &str = include_str!("templates/light.css");
pub(crate) const DARK_STYLE: &str = include_str!("templates/dark.css");

/// The space on the left, for names.
const LEFT: f64 = 58.0;
/// The heights of a row of cells, of lines, and of a row of threads.
const CELL: f64 = 12.0;
const LINES: f64 = 22.0;
const THREAD: f64 = 10.0;
const GAP: f64 = 16.0;

/// Places further apart than this are drawn side by side.
const FAR: u64 = 64;

/// What threads do between two meetings.
#[derive(Default)]
struct Round {
    reads: Accesses,
    writes: Accesses,
    atomics: Accesses,
}

/// Which thread touches which item of which region.
type Accesses = Vec<(u64, Region, u64)>;

/// A buffer, the shared memory of all blocks, or the registers of lanes.
type Region = &'static str;

/// The drawing of a call, and a sentence that says what it shows. The sizes are those of an element
/// and of an accumulator.
pub(crate) fn draw(
    title: &str,
    call: &Call,
    touches: &[Touch],
    sizes: (usize, usize),
) -> (String, String) {
    let mut rounds = BTreeMap::<(u64, u64), Round>::new();
    for touch in touches {
        let launch = &call.launches[touch.launch as usize];
        let thread = touch.block * u64::from(launch.threads) + touch.thread;
        let round = rounds.entry((touch.launch, touch.step)).or_default();
        let (region, item) = place_of(touch, sizes);
        // Each block has shared memory of its own, and each warp lanes.
        let item = match region {
            "shared" => touch.block * BLOCK + item,
            "lanes" => thread / 32 * 32 + item,
            _ => item,
        };
        let list = match touch.operation.as_str() {
            "global_load" | "shared_load" | "exchange" => &mut round.reads,
            "atomic" => &mut round.atomics,
            _ => &mut round.writes,
        };
        list.push((thread, region, item));
    }
    let shown = rounds.len().min(MOST_ROUNDS);
    let layouts = layouts(rounds.values().take(shown));
    let widest = layouts.values().map(Vec::len).max().unwrap_or(1);
    let threads = |launch: u64| {
        let launch = &call.launches[launch as usize];
        u64::from(launch.blocks) * u64::from(launch.threads)
    };
    let most_threads = (0..call.launches.len() as u64).map(threads).max();
    let places = (widest as u64).max(most_threads.unwrap_or(1)) as f64;
    let width = places * (640.0 / places).clamp(7.0, 22.0);
    let mut drawing = Drawing {
        svg: String::new(),
        width,
        y: 4.0,
    };
    let mut last = 0;
    for (number, ((launch, _), round)) in rounds.iter().take(shown).enumerate() {
        if *launch != last {
            drawing.rule(&format!("launch {}", launch + 1));
            last = *launch;
        }
        drawing.round(number + 1, threads(*launch), round, &layouts);
    }
    let first = &call.launches[0];
    let caption = format!(
        "{} of {} in {} of {}, {}{}: the emulator's trace. Above the threads is what they read, \
         below what they write.",
        count(call.launches.len() as u64, "launch", "launches"),
        first.function,
        count(first.blocks.into(), "block", "blocks"),
        count(first.threads.into(), "thread", "threads"),
        match shown < rounds.len() {
            true => format!("the first {shown} of "),
            false => String::new(),
        },
        count(rounds.len() as u64, "round", "rounds"),
    );
    let (total, height) = (LEFT + width + 8.0, drawing.y);
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ladder\" role=\"img\" \
         viewBox=\"0 0 {total:.0} {height:.0}\" width=\"{total:.0}\" height=\"{height:.0}\">\
         <title>{title}</title>\n{}</svg>\n",
        drawing.svg
    );
    (svg, caption)
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The SVG as a file of its own, with its colours.
pub(crate) fn standalone(svg: &str) -> String {
    let style = format!(
        "<style>{STYLE}@media (prefers-color-scheme:dark){{{DARK_STYLE}}}</style>\n<title>"
    );
    svg.replacen("<title>", &style, 1)
}

/// The rounds that are drawn: what comes after so many repeats them.
const MOST_ROUNDS: usize = 20;

/// More items than the shared memory of a block holds.
const BLOCK: u64 = 1 << 20;

/// What is touched: a region, and an item in it.
fn place_of(touch: &Touch, (element, accumulator): (usize, usize)) -> (Region, u64) {
    let buffer = Buffer::ALL
        .into_iter()
        .find(|buffer| buffer.name() == touch.region);
    let (region, bytes) = match buffer {
        Some(buffer @ (Buffer::In | Buffer::Second)) => (buffer.name(), element),
        Some(buffer) => (buffer.name(), accumulator),
        None if touch.region == "lanes" => ("lanes", 1),
        None => ("shared", accumulator),
    };
    (region, touch.offset / bytes as u64)
}

/// The items of each region in the order in which they are drawn: from the first to the last that
/// is ever touched, but where nothing is touched for long.
fn layouts<'a>(rounds: impl Iterator<Item = &'a Round>) -> BTreeMap<Region, Vec<u64>> {
    let mut touched = BTreeMap::<Region, Vec<u64>>::new();
    for round in rounds {
        for (_, region, item) in [&round.reads, &round.writes, &round.atomics]
            .into_iter()
            .flatten()
        {
            touched.entry(region).or_default().push(*item);
        }
    }
    for items in touched.values_mut() {
        items.sort_unstable();
        items.dedup();
        let mut all = Vec::new();
        for &item in items.iter() {
            let next = all.last().map_or(item, |last| last + 1);
            if item - next < FAR {
                all.extend(next..item);
            }
            all.push(item);
        }
        *items = all;
    }
    touched
}

struct Drawing {
    svg: String,
    width: f64,
    y: f64,
}

impl Drawing {
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.svg, "{text}").expect("strings grow");
    }

    /// The middle of a place among `count`.
    fn x(&self, place: f64, count: usize) -> f64 {
        LEFT + (place + 0.5) * self.width / count as f64
    }

    fn label(&mut self, text: &str, y: f64) {
        self.add(format_args!("<text x=\"0\" y=\"{y:.1}\">{text}</text>"));
    }

    /// Lines or cells of a class, if there are any.
    fn path(&mut self, what: &str, class: &str, path: &str) {
        if !path.is_empty() {
            self.add(format_args!(
                "<path class=\"{what} {class}\" d=\"{path}\"/>"
            ));
        }
    }

    fn rule(&mut self, text: &str) {
        let (y, end) = (self.y, LEFT + self.width);
        self.add(format_args!(
            "<line class=\"rule\" x1=\"0\" y1=\"{y:.1}\" x2=\"{end:.1}\" y2=\"{y:.1}\"/>"
        ));
        self.label(text, y + 14.0);
        self.y += 22.0;
    }

    fn round(
        &mut self,
        number: usize,
        threads: u64,
        round: &Round,
        layouts: &BTreeMap<Region, Vec<u64>>,
    ) {
        let above = [(&round.reads, "read")];
        let below = [(&round.writes, "write"), (&round.atomics, "atomic")];
        let y = self.y;
        let above = self.regions(y, &above, layouts);
        let threads_y = match above.is_empty() {
            true => y,
            false => y + above.len() as f64 * (CELL + 3.0) + LINES,
        };
        let below_y = threads_y + THREAD + LINES;
        let below = self.regions(below_y, &below, layouts);
        for (list, class, regions, ends) in [
            (&round.reads, "read", &above, (threads_y, CELL)),
            (&round.writes, "write", &below, (threads_y + THREAD, 0.0)),
            (&round.atomics, "atomic", &below, (threads_y + THREAD, 0.0)),
        ] {
            let mut lines = String::new();
            for (thread, region, item) in list {
                let items = &layouts[region];
                let place = items.binary_search(item).expect("it is laid out");
                let x1 = self.x(*thread as f64, threads as usize);
                let x2 = self.x(place as f64, items.len());
                let (y1, y2) = (ends.0, regions[region] + ends.1);
                lines += &format!("M{x1:.1} {y1:.0}L{x2:.1} {y2:.0}");
            }
            self.path("line", class, &lines);
        }
        let lists = [&round.reads, &round.writes, &round.atomics];
        for thread in 0..threads {
            let is_busy = lists
                .iter()
                .any(|list| list.iter().any(|(other, ..)| *other == thread));
            let x = self.x(thread as f64, threads as usize);
            let class = if is_busy { "busy" } else { "idle" };
            let radius = (self.width / threads as f64 * 0.4).min(THREAD / 2.0);
            self.add(format_args!(
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\"/>",
                threads_y + THREAD / 2.0
            ));
        }
        self.label(&format!("round {number}"), threads_y + THREAD - 1.0);
        self.y = match below.is_empty() {
            true => threads_y + THREAD,
            false => below_y + below.len() as f64 * (CELL + 3.0),
        } + GAP;
    }

    /// Draws the regions that the lists touch, one below the other from `y` on, and returns where.
    fn regions(
        &mut self,
        y: f64,
        lists: &[(&Accesses, &'static str)],
        layouts: &BTreeMap<Region, Vec<u64>>,
    ) -> BTreeMap<Region, f64> {
        let mut places = BTreeMap::new();
        for (list, _) in lists {
            for (_, region, _) in *list {
                places.entry(*region).or_insert(0.0);
            }
        }
        for (row, (region, place)) in places.iter_mut().enumerate() {
            *place = y + row as f64 * (CELL + 3.0);
            self.label(region, *place + CELL - 2.0);
            let items = &layouts[region];
            let width = (self.width / items.len() as f64 - 1.0).min(20.0);
            let mut cells = BTreeMap::<&str, String>::new();
            for (number, item) in items.iter().enumerate() {
                let touched = |(list, class): &(&Accesses, &'static str)| {
                    let is_here = |(_, r, i): &(u64, Region, u64)| r == region && i == item;
                    list.iter().any(is_here).then_some(*class)
                };
                let class = lists.iter().find_map(touched).unwrap_or("");
                let x = self.x(number as f64, items.len()) - width / 2.0;
                let cell = format!("M{x:.1} {place:.0}h{width:.1}v{CELL}h-{width:.1}z");
                *cells.entry(class).or_default() += &cell;
            }
            for (class, cells) in cells {
                self.path("cell", class, &cells);
            }
        }
        places
    }
}
