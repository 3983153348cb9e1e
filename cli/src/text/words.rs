//! Words as keys: each different one has a code.

use super::shown;
use crate::logger;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The different words of a column. Each has a code, from 0 on, in the order in which they came.
///
/// Clones share the words: one thread reads them while others wait for the codes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words(Arc<Mutex<Dictionary>>);

#[derive(Debug, Default)]
struct Dictionary {
    codes: HashMap<Arc<str>, u64>,
    words: Vec<Arc<str>>,
    /// The column to name if its words are ordered in another way than the numbers in them. That is
    /// told once.
    column: Option<String>,
}

impl Words {
    /// The words of a column, which has a name unless the user says that these are words.
    pub(super) fn of(column: Option<String>) -> Words {
        let dictionary = Dictionary {
            column,
            ..Dictionary::default()
        };
        Words(Arc::new(Mutex::new(dictionary)))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Dictionary) -> T) -> T {
        // No work is left half done there.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The code of the word in a field; nothing if that is no text in UTF-8. Blanks are left only
    /// within quotes, and mean something there.
    pub(super) fn code(&self, field: &[u8]) -> Option<u64> {
        let word = str::from_utf8(field).ok()?;
        Some(self.with(|dictionary| match dictionary.codes.get(word) {
            Some(&code) => code,
            None => {
                let (code, word) = (dictionary.words.len() as u64, Arc::<str>::from(word));
                dictionary.words.push(word.clone());
                dictionary.codes.insert(word, code);
                code
            }
        }))
    }

    /// The words so far, by their codes.
    pub(crate) fn list(&self) -> Vec<Arc<str>> {
        self.with(|dictionary| dictionary.words.clone())
    }

    /// For each code the place of its word among all so far, in the order of their bytes.
    pub(crate) fn ranks(&self, codes: &[u64]) -> Vec<u64> {
        let words = self.list();
        let mut order: Vec<usize> = (0..words.len()).collect();
        order.sort_unstable_by(|&a, &b| words[a].cmp(&words[b]));
        let mut ranks = vec![0; words.len()];
        for (rank, code) in order.into_iter().enumerate() {
            ranks[code] = rank as u64;
        }
        codes.iter().map(|&code| ranks[code as usize]).collect()
    }

    /// Says so if words in the order of their bytes begin with numbers that are in another one, as
    /// times and dates do that are not filled up with zeros.
    pub(crate) fn tell_of_order(&self) {
        if self.with(|dictionary| dictionary.column.is_none()) {
            return;
        }
        let mut words = self.list();
        words.retain(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        words.sort_unstable();
        let mut words = words.iter();
        let Some(mut before) = words.next() else {
            return;
        };
        let odd = words.find_map(|word| {
            let pair = (before, word);
            before = word;
            compare(pair.0, pair.1).is_gt().then_some(pair)
        });
        if let Some((first, second)) = odd
            && let Some(column) = self.with(|dictionary| dictionary.column.take())
        {
            logger::insist(format!(
                "{column} holds words, which are in the order of their bytes: `{}` comes before \
                 `{}`; --words says that they are words",
                shown(first.as_bytes()),
                shown(second.as_bytes())
            ));
        }
    }
}

/// Compares words by the numbers in them, one after the other, while what stands between these is
/// the same; but first by their years, where these stand last.
fn compare(first: &str, second: &str) -> Ordering {
    let years = last_year(first).cmp(&last_year(second));
    if years.is_ne() && last_year(first).is_some() && last_year(second).is_some() {
        return years;
    }
    let (mut first, mut second) = (first, second);
    loop {
        let (number, other) = (take_digits(&mut first), take_digits(&mut second));
        let by_length = number.len().cmp(&other.len());
        let order = by_length.then_with(|| number.cmp(other));
        if order.is_ne() {
            return order;
        }
        let next = |text: &str| {
            text.find(|c: char| c.is_ascii_digit())
                .unwrap_or(text.len())
        };
        let (between, other) = (first.split_at(next(first)), second.split_at(next(second)));
        if between.0 != other.0 || between.1.is_empty() || other.1.is_empty() {
            return Ordering::Equal;
        }
        (first, second) = (between.1, other.1);
    }
}

/// Takes the digits off the start of a text, without zeros in front.
fn take_digits<'a>(text: &mut &'a str) -> &'a str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    *text = rest;
    digits.trim_start_matches('0')
}

/// The year of a date that ends with it: `31/12/2023`, `1.2.2024`.
fn last_year(word: &str) -> Option<&str> {
    let mut parts = word.rsplit(['/', '.', '-']);
    let year = parts.next()?;
    let is_short = |part: &str| (1..=2).contains(&part.len());
    let is_date = parts.clone().count() == 2 && parts.all(is_short);
    (is_date && year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit())).then_some(year)
}
