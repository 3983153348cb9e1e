//! Tables in Markdown, and how figures stand in them.

use crate::record::{Library, Times, median};

/// Cut off, not rounded: what is shown is not in our favour.
pub(crate) fn cut(ratio: Option<f64>) -> String {
    let Some(ratio) = ratio else {
        return String::new();
    };
    let shown = (ratio * 100.0).floor() / 100.0;
    if shown < 1.0 {
        format!("🔴 {shown:.2}")
    } else if shown > 1.25 {
        format!("**{shown:.2}**")
    } else {
        format!("{shown:.2}")
    }
}

pub(crate) fn time(times: &Times, library: Library) -> String {
    median(times, library).map_or(String::new(), us)
}

pub(crate) fn us(us: f64) -> String {
    let digits = if us < 10.0 { 2 } else { 1 };
    format!("{us:.digits$}")
}

pub(crate) fn length(length: usize) -> String {
    match length {
        1_000_000 => "10^6".to_owned(),
        _ if length.is_power_of_two() && length > 1 => format!("2^{}", length.ilog2()),
        _ => length.to_string(),
    }
}

pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Table {
        Table {
            head: head.iter().map(|&cell| cell.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table and what there is to say about it; `None` if nothing was measured.
    pub(crate) fn text(&self, remark: &str) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&self.head);
        text += &format!("|---|{}\n", "---:|".repeat(self.head.len() - 1));
        text.extend(self.rows.iter().map(|row| line(row)));
        if !remark.is_empty() {
            text += &format!("\n{remark}\n");
        }
        Some(text)
    }
}
