//! The report as a table for the terminal.

use crate::report::{Outcome, Report, Row, Time};
use std::fmt::Write as _;
use warpfold::ladder::Problem;

/// What stands where there is nothing to tell.
const NOTHING: &str = "-";

impl Report {
    /// The report as a table.
    pub fn table(&self) -> String {
        let mut text = format!(
            "The ladder: {} of {}, timed on {} numbers, counted on {}\n\
             CPU: {}, one core copies at {:.1} GB/s\n",
            self.operator, self.element, self.elements, self.counted, self.cpu.name, self.cpu.copy
        );
        if let Some(gpu) = &self.gpu {
            let line = format!("GPU: {}, copies at {:.0} GB/s\n", gpu.name, gpu.copy);
            text += &line;
        }
        for what in &self.missing {
            text += &format!("{what}\n");
        }
        for problem in Problem::ALL {
            let rows: Vec<&Row> = self.of(problem).collect();
            if rows.is_empty() {
                continue;
            }
            let heads = [
                problem.name(),
                "time",
                "GB/s",
                "of a copy",
                "in the text",
                "lanes",
                "requests",
                "atomics",
                "conflicts",
                "result",
            ];
            let mut lines = vec![heads.map(str::to_owned)];
            lines.extend(rows.iter().map(|row| cells(row)));
            text.push('\n');
            text += &aligned(&lines);
        }
        for row in &self.steps {
            if let Outcome::FoundOut(why) | Outcome::Wrong(why) = &row.outcome {
                write!(text, "\n{}: {why}\n", row.name).expect("strings grow");
            }
        }
        text.push_str(
            "\n\
             lanes: the share of lanes at work in instructions that reach memory\n\
             requests: loads and stores of up to 128 bytes of global memory, aligned\n\
             atomics: operations that cannot be divided, one for each lane\n\
             conflicts: passes through shared memory that bank conflicts cost\n\
             A step of one block takes no more numbers than that block.\n",
        );
        text
    }
}

fn cells(row: &Row) -> [String; 10] {
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let time = |show: &dyn Fn(&Time) -> String| or_nothing(row.time.as_ref().map(show));
    let count = |show: &dyn Fn(&crate::Count) -> String| or_nothing(row.count.as_ref().map(show));
    let of_text = row.seeds.iter().find_map(|seed| seed.microseconds);
    [
        row.name.to_owned(),
        time(&|time| microseconds(time.microseconds)),
        time(&|time| format!("{:.1}", time.gigabytes_per_second)),
        time(&|time| format!("{:.0}%", 100.0 * time.of_a_copy)),
        or_nothing(of_text.map(microseconds)),
        count(&|count| format!("{:.0}%", 100.0 * count.lanes)),
        count(&|count| count.requests.to_string()),
        count(&|count| count.atomics.to_string()),
        count(&|count| count.conflicts.to_string()),
        match row.outcome {
            Outcome::Right => "right",
            Outcome::Wrong(_) => "WRONG",
            Outcome::FoundOut(_) => "races",
            Outcome::NotRun => "not run",
        }
        .to_owned(),
    ]
}

/// A time with its unit, in three digits or so.
pub(crate) fn microseconds(time: f64) -> String {
    match time {
        time if time < 100.0 => format!("{time:.1} µs"),
        time if time < 10_000.0 => format!("{time:.0} µs"),
        time => format!("{:.1} ms", time / 1e3),
    }
}

/// Columns as wide as they must be: the first to the left, the others to the right.
fn aligned(lines: &[[String; 10]]) -> String {
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let mut text = String::new();
    for line in lines {
        let mut shown = format!("{:<1$}", line[0], width(0));
        for (column, cell) in line.iter().enumerate().skip(1) {
            write!(shown, "  {cell:>0$}", width(column)).expect("strings grow");
        }
        text += shown.trim_end();
        text.push('\n');
    }
    text
}
