//! Tabs between words: where they stand alone between all of them, they may separate columns.

use super::lexer::Gap;

/// Whether tabs cut each row as white space does.
#[derive(Debug, Default)]
pub(super) struct Cells {
    state: State,
    /// The fields of the row so far.
    fields: usize,
    is_odd: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No row has ended.
    #[default]
    First,
    /// One tab stands between two words of each row, and none elsewhere.
    Regular,
    /// There is nothing to compare with.
    Off,
}

impl Cells {
    /// What takes note of nothing.
    pub(super) fn off() -> Cells {
        Cells {
            state: State::Off,
            ..Cells::default()
        }
    }

    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.state == State::Off
    }

    /// Takes note of what stands before the first word of a row, and behind each.
    pub(super) fn take(&mut self, before: Option<Gap>, behind: Gap, spaces_separate: bool) {
        self.fields += 1;
        let is_first = self.state == State::First;
        let is_odd = |gap: Gap| match gap {
            Gap::Tab | Gap::End => false,
            Gap::Space => is_first || !spaces_separate,
            Gap::Tabs => true,
            Gap::Unknown => is_first,
        };
        self.is_odd |= before == Some(Gap::Tabs) || is_odd(behind);
        if is_first && self.is_odd {
            self.state = State::Off;
        }
    }

    /// Says whether a row is the first that tabs cut in another way.
    pub(super) fn end_row(&mut self) -> bool {
        let (fields, is_odd) = (self.fields, self.is_odd);
        (self.fields, self.is_odd) = (0, false);
        match self.state {
            State::First => {
                self.state = match fields > 1 && !is_odd {
                    true => State::Regular,
                    false => State::Off,
                };
                false
            }
            State::Regular => is_odd,
            State::Off => false,
        }
    }
}
