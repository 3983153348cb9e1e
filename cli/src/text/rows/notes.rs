//! What is noticed in the rows and told without failing: what was left out, and what may be wrong.

use super::Rows;
use super::messages::counted;
use crate::args::Missing;
use crate::logger;
use crate::number::DType;
use crate::text::layout::Found;
use crate::text::lexer::Field;

impl Rows {
    /// Says which columns of rows that are written again lose zeros in front of their numbers.
    pub(in crate::text) fn tell_of_codes(&self, columns: &[Found]) {
        if self.has_codes {
            logger::insist(format!(
                "{}: numbers have zeros in front, as codes have, and lose them",
                self.lexer.input.name
            ));
        }
        let losing = columns
            .iter()
            .filter(|column| column.has_zeros && !column.has_words);
        let titles: Vec<String> = losing.map(Found::title).collect();
        if !titles.is_empty() {
            logger::insist(format!(
                "{}: these columns have zeros in front of their numbers, as codes have, and lose \
                 them: {}",
                self.lexer.input.name,
                titles.join(", ")
            ));
        }
    }

    /// Takes note of a field whose quotes hold whole rows, as far as one can see: its lines have as
    /// many fields as the rest of this row, whole rows and the start of one, and numbers among
    /// them. Where each line has some, the one that is cut need not fit.
    #[cold]
    pub(super) fn look_for_rows(&mut self, field: &Field) {
        let Some(width) = &self.width else {
            return;
        };
        let delimiter = self.delimiter();
        // A quote can be a word by itself, which says `ditto`.
        let bytes = [b"\"", &*self.lexer.bytes(field), b"\""].concat();
        let lines = bytes.split(|&byte| byte == b'\n' || byte == b'\r');
        let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
        let number = self.lexer.fields().min(width.fields);
        let is_last_field = number == width.fields;
        let separates = |byte: &u8| match delimiter {
            Some(delimiter) => *byte == delimiter,
            None => byte.is_ascii_whitespace(),
        };
        let is_number = |field: &[u8]| {
            let text = field.strip_prefix(b"\"").unwrap_or(field);
            let text = text.strip_suffix(b"\"").unwrap_or(text);
            !text.starts_with(b" ") && self.spelling.kind(text).is_number()
        };
        // Whether each line fits, and whether it holds a number.
        let looks = lines.iter().enumerate().map(|(at, line)| {
            let fields = line.split(separates);
            // Between words there may be more white space.
            let mut fields = fields.filter(|field| delimiter.is_some() || !field.is_empty());
            let expected = match at {
                0 => width.fields - number + 1,
                _ if at + 1 == lines.len() => number,
                _ => width.fields,
            };
            // In a sentence a space follows a comma.
            let is_sentence = fields.clone().any(|field| field.starts_with(b" "));
            let fits = fields.clone().count() == expected && !(is_last_field && is_sentence);
            (fits, is_sentence, fields.any(is_number))
        });
        let looks: Vec<_> = looks.collect();
        let all_fit = looks
            .iter()
            .all(|(fits, is_sentence, _)| *fits && !is_sentence);
        let any_holds = looks.iter().any(|(.., holds)| *holds);
        // The last line is the start of a row, but where it ends one; then the first is the end.
        let whole = match is_last_field {
            true => &looks[1.min(looks.len())..],
            false => &looks[..looks.len() - 1],
        };
        let each_holds = !whole.is_empty() && whole.iter().all(|(fits, _, holds)| *fits && *holds);
        if width.fields > 1 && lines.len() > 1 && (all_fit && any_holds || each_holds) {
            let line = self.lexer.line_number(field);
            self.swallowed = Some((line, line + field.lines));
        }
    }

    /// Says that a truth value stands among the numbers of a column.
    #[cold]
    pub(super) fn tell_of_truth(&self, field: &Field) {
        logger::insist(format!(
            "{}: {}: a truth value stands among other numbers; such are read as 1 and 0",
            self.lexer.input.name,
            self.lexer.place(field)
        ));
    }

    pub(super) fn tell_what_is_left_out(&self) {
        let name = &self.lexer.input.name;
        let is_said = self.lexer.dialect.comment_is_said;
        if let Some(line) = self.lexer.doubtful().filter(|_| !is_said) {
            logger::insist(format!(
                "{name}: line {line}: what follows # looks like data, and is left out as a \
                 comment: --no-comments reads it, --comment '#' says that it is one"
            ));
        }
        let repeats = self.repeats.as_ref();
        if let Some((repeats, line)) = repeats.and_then(|r| Some((r, r.first_line?))) {
            let (rows, are) = match repeats.count {
                1 => (format!("line {line} repeats the header"), "is"),
                count => (
                    format!("{count} rows, from line {line} on, repeat the header"),
                    "are",
                ),
            };
            logger::insist(format!(
                "{name}: {rows}, and {are} read as data: take them out if files were joined"
            ));
        }
        let (_, beyond) = self.beyond;
        if beyond > 0 {
            let what = if self.has_header {
                "the header"
            } else {
                "the first row"
            };
            let were = if beyond == 1 { "was" } else { "were" };
            logger::remark(
                "note",
                format!(
                    "{name}: {} beyond those of {what} {were} left out, as --ragged says",
                    counted(beyond as usize, "field")
                ),
            );
        }
        if !self.is_flat() && self.ends_with_total() {
            let line = self.lexer.row_line();
            logger::insist(format!(
                "{name}: line {line}, the last one, has a total, and is read as data: take it out, \
                 as sed {line}d FILE | warpfold ..., if it is one"
            ));
        }
        if self.lexer.has_nul {
            logger::insist(format!(
                "{name}: it holds NUL: if records end in it, as those of find -print0, they were \
                 not told apart: tr '\\0' '\\n' < FILE | warpfold ..."
            ));
        }
        if let Some((first, last)) = self.swallowed {
            logger::insist(format!(
                "{name}: a quote opens in line {first} and closes in line {last}, so these are one \
                 field, and look like rows: take the quotes out if they are data, as tr -d '\"'"
            ));
        }
        if let Some(rounded) = &self.rounded {
            logger::insist(format!("{name}: {rounded}"));
        }
        let missing: u64 = self.missing.iter().sum();
        if missing > 0 && self.spelling.missing == Missing::Skip {
            let values = match missing {
                1 => "1 missing value was".into(),
                _ => format!("{missing} missing values were"),
            };
            let rows = match self.rows_left_out {
                0 => String::new(),
                rows => {
                    let them = if missing == 1 { "it" } else { "them" };
                    format!(", and {} with {them}", counted(rows as usize, "row"))
                }
            };
            logger::remark("note", format!("{name}: {values} skipped{rows}"));
        }
    }

    /// Whether a field of the last line says that the others are totals, and none of the line
    /// before does.
    fn ends_with_total(&self) -> bool {
        let has_total = |line: &[u8]| {
            let mut fields = line.split(|byte| match self.delimiter() {
                Some(delimiter) => *byte == delimiter,
                None => byte.is_ascii_whitespace(),
            });
            fields.any(|field| {
                let words = field.split(|byte| !byte.is_ascii_alphabetic());
                let mut words = words.filter(|word| !word.is_empty());
                // In a sentence it is another word.
                let is_name = words.clone().count() <= 2;
                let last = words.next_back().unwrap_or(b"");
                is_name
                    && (last.eq_ignore_ascii_case(b"total") || last.eq_ignore_ascii_case(b"totals"))
            })
        };
        let is_first = self
            .first_line
            .is_none_or(|line| line == self.lexer.row_line());
        let mut lines = self.lexer.lines_before();
        !is_first && lines.next().is_some_and(has_total) && !lines.next().is_some_and(has_total)
    }

    /// What is said of an integer that is rounded.
    #[cold]
    pub(super) fn rounding(
        &self,
        field: &Field,
        integer: i128,
        dtype: DType,
        inferred: bool,
    ) -> String {
        let place = self.lexer.place(field);
        let why = match inferred {
            true => "the type that the other values need".into(),
            false => match (i64::try_from(integer), u64::try_from(integer)) {
                (Ok(_), _) => "as --dtype says; i64 holds it".into(),
                (_, Ok(_)) => "as --dtype says; u64 holds it".into(),
                _ => String::from("as --dtype says"),
            },
        };
        format!(
            "{place}: this integer is beyond 2^{}, and rounded to {dtype}, {why}",
            dtype.exact_bits()
        )
    }
}
