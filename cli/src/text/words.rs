//! Words between white space. A comma may follow a word; what follows `#` on a line is a comment.

use super::{Column, Explain, Mistake, SAMPLE_BYTES, is_of_floats};
use crate::args::TextArguments;
use crate::failure::Result;
use crate::input::Input;
use crate::number::{BadNumber, DType};

/// So much is read at a time.
const BLOCK_BYTES: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// Words that are read one after the other.
pub(super) struct Words {
    input: Input,
    /// What was read and not dropped.
    buffer: Vec<u8>,
    ended: bool,
    cursor: Cursor,
}

/// How far the words were read.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    /// The next byte in the buffer.
    at: usize,
    /// From 1 on.
    line: u64,
    /// Where the line starts in the buffer, or the buffer itself if that starts later.
    line_start: usize,
    /// The characters of the line before the buffer.
    dropped: usize,
    /// How many words of the line came before.
    fields: usize,
    /// Whether the last thing on this line was a word without a comma.
    comma_may_follow: bool,
    in_comment: bool,
    /// The line after those that are skipped, where a header may stand.
    first_line: u64,
    /// The only word of each line that is wanted, from 1 on; 0 for all.
    column: usize,
}

impl Words {
    pub(super) fn open(mut input: Input, options: &TextArguments) -> Result<Self> {
        input.skip_lines(options.skip)?;
        let mut words = Words {
            input,
            buffer: Vec::new(),
            ended: false,
            cursor: Cursor {
                at: 0,
                line: options.skip + 1,
                line_start: 0,
                dropped: 0,
                fields: 0,
                comma_may_follow: false,
                in_comment: false,
                first_line: options.skip + 1,
                column: 0,
            },
        };
        match &options.column {
            None => {}
            Some(Column::Number(number)) => words.cursor.column = *number,
            Some(Column::Name(name)) => {
                let header = words.take_line()?;
                let header = String::from_utf8_lossy(&header);
                let header = header.trim_start_matches('#').split_whitespace();
                let names: Vec<_> = header.map(|word| word.trim_end_matches(',')).collect();
                let column = names.iter().position(|other| other == name);
                words.cursor.column = 1 + column
                    .ok_or_else(|| super::table::no_column(&words.input.name, name, &names))?;
            }
        }
        Ok(words)
    }

    /// Takes a whole line from the start of the text.
    fn take_line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            let rest = &self.buffer[self.cursor.at..];
            if let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                line.extend_from_slice(&rest[..end]);
                self.cursor.at += end + 1;
                self.cursor.next_line();
                return Ok(line);
            }
            line.extend_from_slice(rest);
            self.cursor.at = self.buffer.len();
            if self.ended {
                return Ok(line);
            }
            self.refill(BLOCK_BYTES)?;
        }
    }

    /// The type that the words of the sample ask for.
    pub(super) fn infer(&mut self) -> Result<DType> {
        if self.buffer.len() < SAMPLE_BYTES && !self.ended {
            self.refill(SAMPLE_BYTES)?;
        }
        let mut floats = false;
        let mut cursor = self.cursor;
        // A mistake is told when it is read.
        let _ = cursor.read(self.whole_words(), usize::MAX, &mut |token| {
            floats |= is_of_floats(token);
            Ok(())
        });
        Ok(if floats { DType::F64 } else { DType::I64 })
    }

    /// Gives up to so many words to `take`. Fewer are the last.
    pub(super) fn read(
        &mut self,
        count: usize,
        explain: Explain,
        mut take: impl FnMut(&[u8]) -> Result<(), BadNumber>,
    ) -> Result<()> {
        let mut taken = 0;
        loop {
            let mut cursor = self.cursor;
            let result = cursor.read(self.whole_words(), count - taken, &mut take);
            self.cursor = cursor;
            taken += result.map_err(|bad| {
                let mistake = self.cursor.mistake(bad, &self.buffer, explain);
                mistake.failure(&self.input.name)
            })?;
            if taken == count || (self.ended && self.cursor.at == self.buffer.len()) {
                break;
            }
            self.refill(BLOCK_BYTES)?;
        }
        if self.ended && self.cursor.at == self.buffer.len() && self.cursor.lacks_column() {
            let bad = Bad::Short;
            let mistake = self.cursor.mistake(bad, &self.buffer, explain);
            return Err(mistake.failure(&self.input.name));
        }
        Ok(())
    }

    /// The bytes up to the last white space, or all at the end. What is after it can go on.
    fn whole_words(&self) -> &[u8] {
        const LONGEST: usize = BLOCK_BYTES;
        let all = &self.buffer[..];
        if self.ended {
            return all;
        }
        match all.iter().rposition(u8::is_ascii_whitespace) {
            Some(last) if last >= self.cursor.at => &all[..=last],
            // No number is so long.
            _ if all.len() - self.cursor.at > LONGEST => all,
            _ => &all[..self.cursor.at],
        }
    }

    /// Drops what was read, and reads about so many bytes more.
    fn refill(&mut self, bytes: usize) -> Result<()> {
        self.cursor.drop_before(&self.buffer);
        self.buffer.drain(..self.cursor.at);
        self.cursor.at = 0;
        let start = self.buffer.len();
        self.buffer.resize(start + bytes, 0);
        let count = self.input.fill(&mut self.buffer[start..])?;
        self.buffer.truncate(start + count);
        self.ended = count < bytes;
        Ok(())
    }
}

/// What is wrong where the cursor stands.
enum Bad {
    /// The word of this length is no number.
    Number(BadNumber, usize),
    Comma,
    /// The line ends before the column that is wanted.
    Short,
}

impl Cursor {
    fn next_line(&mut self) {
        self.line += 1;
        (self.line_start, self.dropped) = (self.at, 0);
        self.fields = 0;
        self.comma_may_follow = false;
        self.in_comment = false;
    }

    /// Forgets the bytes that were read.
    fn drop_before(&mut self, buffer: &[u8]) {
        self.dropped += characters(&buffer[self.line_start..self.at]);
        self.line_start = 0;
    }

    /// Whether the line has words, but not the one that is wanted.
    fn lacks_column(&self) -> bool {
        self.fields > 0 && self.fields < self.column
    }

    /// Gives up to so many words of `text` to `take`, and says how many.
    fn read(
        &mut self,
        text: &[u8],
        count: usize,
        take: &mut impl FnMut(&[u8]) -> Result<(), BadNumber>,
    ) -> Result<usize, Bad> {
        let mut taken = 0;
        while let Some(&byte) = text.get(self.at) {
            if byte == b'\n' {
                if self.lacks_column() {
                    return Err(Bad::Short);
                }
                self.at += 1;
                self.next_line();
            } else if self.in_comment || byte.is_ascii_whitespace() {
                self.at += 1;
            } else if byte == b'#' {
                self.in_comment = true;
            } else if byte == b',' {
                if !self.comma_may_follow {
                    return Err(Bad::Comma);
                }
                self.comma_may_follow = false;
                self.at += 1;
            } else {
                let rest = &text[self.at..];
                let length = rest
                    .iter()
                    .position(|&b| ends_word(b))
                    .unwrap_or(rest.len());
                let word = &rest[..length];
                let number = word.strip_suffix(b",").unwrap_or(word);
                if self.column == 0 || self.column == self.fields + 1 {
                    if taken == count {
                        return Ok(taken);
                    }
                    take(number).map_err(|bad| Bad::Number(bad, number.len()))?;
                    taken += 1;
                }
                self.fields += 1;
                self.comma_may_follow = number.len() == word.len();
                self.at += length;
            }
        }
        Ok(taken)
    }

    /// What is wrong where the cursor stands, as an editor would place it.
    #[cold]
    fn mistake(&self, bad: Bad, buffer: &[u8], explain: Explain) -> Mistake {
        let column = 1 + self.dropped + characters(&buffer[self.line_start..self.at]);
        let mut place = format!("line {}, column {column}", self.line);
        let (cause, remedy) = match bad {
            Bad::Number(bad, length) => {
                let first = self.line == self.first_line;
                explain.bad(bad, &buffer[self.at..self.at + length], first)
            }
            Bad::Comma => ("there is no number before this comma".into(), None),
            Bad::Short => {
                place = format!("line {}", self.line);
                let cause = format!("there is no column {}, only {}", self.column, self.fields);
                (cause, None)
            }
        };
        Mistake {
            place,
            cause,
            remedy,
        }
    }
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'#'
}

/// The number of characters of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}
