//! Words as keys: each different one has a code.

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
}

impl Words {
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
}
