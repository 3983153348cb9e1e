//! What the user calls a column, and what that can mean: `--column` and `--by` read it alike.

use std::ops::Range;

/// A column as the user calls it: a number from 1 on, a name, or a range of either.
///
/// `name:` before it says that it is a name, `number:` that it is a number. Without them, what can
/// mean several columns has several [meanings](Column::meanings), and is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column(pub(crate) String);

impl Column {
    /// The first and the last number of a number or a range of them, which can lack an end.
    pub(super) fn range(&self) -> Option<(usize, Option<usize>)> {
        let text = self.0.strip_prefix("number:").unwrap_or(&self.0);
        if let Some(number) = number(text) {
            return Some((number, Some(number)));
        }
        let (first, last) = text.split_once(['-', ':'])?;
        let first = number(first)?;
        match last {
            "" => Some((first, None)),
            last => number(last)
                .filter(|&last| last >= first)
                .map(|last| (first, Some(last))),
        }
    }

    /// Whether it says itself that it is no name.
    pub(super) fn is_number(&self) -> bool {
        self.0.starts_with("number:") && self.range().is_some()
    }

    /// The indices that it can mean among so many columns, each meaning once. A column without a
    /// name has an empty one.
    pub(crate) fn meanings<N: AsRef<str>>(&self, names: &[N], fields: usize) -> Vec<Range<usize>> {
        let numbered = |text: &str| number(text).filter(|&number| number <= fields);
        if self.is_number() {
            let range = self.range().filter(|(first, _)| *first <= fields);
            let range = range.map(|(first, last)| first - 1..last.unwrap_or(fields));
            return Vec::from_iter(range.filter(|range| range.end <= fields));
        }
        let named = |text: &str| {
            let places = names.iter().enumerate();
            let places = places.filter(|(_, name)| !text.is_empty() && name.as_ref() == text);
            places.map(|(index, _)| index).collect::<Vec<_>>()
        };
        let explicit = self.0.strip_prefix("name:");
        let text = explicit.unwrap_or(&self.0);
        // Also what an end of a range can mean.
        let single = |text: &str| {
            let number = numbered(text).filter(|_| explicit.is_none());
            let mut places = named(text);
            places.extend(number.map(|number| number - 1));
            places
        };
        let mut meanings = named(&self.0);
        meanings.extend(single(text));
        let mut meanings: Vec<_> = meanings.iter().map(|&index| index..index + 1).collect();
        for (at, mark) in text.match_indices(['-', ':']) {
            let (first, last) = (&text[..at], &text[at + 1..]);
            let has_numbers =
                number(first).is_some() && (last.is_empty() || number(last).is_some());
            // Names have hyphens in them.
            if mark == "-" && (explicit.is_some() || !has_numbers)
                || last.is_empty() && !has_numbers
            {
                continue;
            }
            let lasts = match last {
                "" => Vec::from_iter(fields.checked_sub(1)),
                last => single(last),
            };
            for first in single(first) {
                let lasts = lasts.iter().filter(|&&last| first <= last);
                meanings.extend(lasts.map(|last| first..last + 1));
            }
        }
        meanings.sort_unstable_by_key(|range| (range.start, range.end));
        meanings.dedup();
        meanings
    }

    /// The range that was meant by one from right to left, or with a hyphen between names.
    pub(super) fn other_range(&self, names: &[String], fields: usize) -> Option<Column> {
        let explicit = ["name:", "number:"].into_iter();
        let prefix = explicit.clone().find(|prefix| self.0.starts_with(prefix));
        let prefix = prefix.unwrap_or_default();
        let text = &self.0[prefix.len()..];
        let marks = text.match_indices(['-', ':']);
        let mut others = marks.flat_map(|(at, _)| {
            let (first, last) = (&text[..at], &text[at + 1..]);
            if first.is_empty() || last.is_empty() {
                return [self.clone(), self.clone()];
            }
            let colon = |first: &str, last: &str| Column(format!("{prefix}{first}:{last}"));
            [colon(first, last), colon(last, first)]
        });
        others.find(|other| other.meanings(names, fields).len() == 1)
    }

    /// How a column is called so that nothing else can be meant.
    pub(crate) fn of(index: usize, names: &[impl AsRef<str>], fields: usize) -> Column {
        let name = names.get(index).map_or("", AsRef::as_ref);
        let by_name = Column(format!("name:{name}"));
        match by_name.meanings(names, fields).as_slice() {
            [only] if !name.is_empty() && *only == (index..index + 1) => by_name,
            _ => Column(format!("number:{}", index + 1)),
        }
    }

    /// Whether it can mean the column of an index, which has one of some names.
    pub(super) fn may_be(&self, index: usize, names: &[&str]) -> bool {
        let is_number = self.range().is_some_and(|(first, last)| {
            index + 1 >= first && last.is_none_or(|last| index < last)
        });
        is_number || self.0.contains(':') || names.contains(&self.0.as_str())
    }
}

/// A number of a column.
fn number(text: &str) -> Option<usize> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.filter(|&number| number > 0)
}
