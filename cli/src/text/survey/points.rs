//! Whether the points in the numbers of a column may stand between thousands.

use crate::text::spelling::trim;

/// What stands for points and commas in the numbers of a column.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::text) struct Points {
    /// Whether a number has points as between thousands: `1.234`.
    grouped: bool,
    /// Whether another one has a point, or has four digits and no mark.
    others: bool,
    /// Whether a number has a comma as before a fraction, and not as between thousands: `12,5`.
    commas: bool,
}

impl Points {
    /// Takes note of a number with a point, or an exponent.
    pub(super) fn take_float(&mut self, field: &[u8]) {
        let is_grouped = is_grouped(field);
        self.grouped |= is_grouped;
        self.others |= !is_grouped;
    }

    pub(super) fn take_integer(&mut self, field: &[u8]) {
        const LONGEST: usize = "-999".len();
        self.others |= field.len() > LONGEST || digits(field).len() > 3;
    }

    /// Takes note of what is a number with other marks.
    pub(super) fn take_odd(&mut self, field: &[u8]) {
        let mut parts = digits(field).split(|&byte| byte == b',');
        let is_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        if let (Some(whole), Some(fraction), None) = (parts.next(), parts.next(), parts.next()) {
            let whole = whole.iter().filter(|&&byte| byte != b'.').copied();
            let is_whole = is_digits(&whole.collect::<Vec<u8>>());
            self.commas |= is_whole && is_digits(fraction) && fraction.len() != 3;
        }
    }

    /// Whether all points may stand between thousands.
    pub(in crate::text) fn may_be_thousands(self) -> bool {
        self.grouped && !self.others
    }

    /// Whether commas stand before fractions.
    pub(in crate::text) fn are_commas(self) -> bool {
        self.commas
    }
}

/// A number without its sign.
fn digits(field: &[u8]) -> &[u8] {
    let field = trim(field);
    let unsigned = field.strip_prefix(b"-").or(field.strip_prefix(b"+"));
    unsigned.unwrap_or(field)
}

/// Whether a point stands before each three digits: `1.234`, but not `0.234`.
fn is_grouped(field: &[u8]) -> bool {
    let mut groups = digits(field).split(|&byte| byte == b'.');
    let first = groups.next().unwrap_or_default();
    let is_digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    (1..=3).contains(&first.len())
        && first[0] != b'0'
        && is_digits(first)
        && groups.all(|group| group.len() == 3 && is_digits(group))
}
