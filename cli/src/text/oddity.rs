//! Words that are no numbers, though many hold one: what they are, and how they become numbers.

mod printed;
mod signs;
mod told;

pub(super) use printed::is_footer;
pub(super) use told::{Feed, WITHOUT_DASHES, WITHOUT_FOOTER, WITHOUT_FRAME, WITHOUT_RULES};

use super::spelling::{Spelling, trim_text};

/// What a word is that is no number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    /// `5%`
    Percent,
    /// `(5)`, `$ ( 5 )`, as accounts have it; and a pattern for it, with the number in a group.
    Negative(String),
    /// `(1) 5`: the same before other words, where it may count the lines.
    Numbered(String),
    /// `- 5`: its sign stands apart from it.
    Apart(char),
    /// `'5'`, `“5”`: in quotes that are none here.
    Quoted,
    /// `$5`, `<0.1`: what stands before the number.
    Before(String),
    /// `5 kg`, `1.5M`: what stands behind it.
    Behind(String),
    /// `1D3`, which may be a label.
    Exponent,
    /// `0x1F`, `0b11`, `0o17`: in another base, and what writes it in decimal.
    Based(&'static str, &'static str),
    /// `1/2`
    Fraction,
    /// `[5]`, `[1` and `2]`, `{`, `(1`: of a list, as Python and JSON write it; and its brackets.
    Listed(&'static str),
    /// `1.5±0.1`, `1.234(5)`, `1.5[2]`: with an error or a mark behind it, and which one, if a
    /// program can take it out.
    Marked(Option<signs::Mark>),
    /// `7h30`, `5ft10`: of two units, and the first one.
    Units(String),
    /// `<`, `$`: a sign by itself.
    Sign,
    /// `±`, `+/-` by itself: what follows is the error of the number before it.
    Spread,
    /// `-- 5 rows`, as comments of SQL.
    Dashes,
    /// `0001234{`, `0001234J`: zoned decimals of COBOL.
    Zoned,
    /// `(2 rows)`, as psql ends a table.
    Footer,
    /// `(1,'a',2.5),`: a row, as SQL and Python write it.
    Tuple,
    /// `3:0.5`: a place and its value, as LIBSVM writes them, or a ratio.
    Placed,
    /// `│`, `┌──┬──┐`, and what stands in a line with them: a table that was printed.
    Frame,
    /// `...`: a program leaves out what stands there.
    LeftOut,
    /// `1-2`
    Range,
    /// `1.5-2.5`: a range, or two numbers of columns that have no room between them.
    Glued,
    /// `3*1.5`: as often, in lists of Fortran.
    Repeated,
    /// `1.5-300`: an exponent of Fortran that has no room for its letter.
    NoLetter,
    /// `5-`
    MinusBehind,
    /// `[1]`, `[2,]` before numbers: R counts them, or the rows.
    Index,
    /// `1+2j`, `(1.5,2.5)`
    Complex,
    /// `---`, `===`: a line between rows.
    Rule,
    /// `%`, `!`, `//` at the start of a line, as other programs begin comments.
    Comment(char),
    /// `(1,2)` among words: a pair, such as a complex number, or one with a comma in it.
    Pair,
    /// `1.5x10^3`, `10^3`, `1.5×10³`
    Power,
    /// `5²`: a power or a note.
    Raised,
    /// `5,-`, `5.--`: a dash in place of no cents.
    Price,
    /// `5'30"`, `48°51'`: minutes and seconds.
    Minutes,
    /// `x=5`, `x:` before a number: a label, and what takes it out.
    Labelled(&'static str),
    /// `float64(5.0)`, `array([1`: what a program shows in place of the number.
    Shown,
    /// `*` behind a number: MATLAB's factor.
    Factor,
    /// `="5"`
    Formula,
    /// `1e`, `1e+`
    Cut,
    /// `O.5`, `l0`: with letters that look like digits, and what it is with digits.
    Alike(String),
    /// In digits or signs that are none of ASCII, and what it is in these.
    Foreign(String),
    /// `****`, where a number does not fit.
    Stars,
    /// `–5`, with a dash.
    Dash,
    /// `yes`
    Truth,
    /// A date or a time.
    Time,
    /// `1.#J`, which old C libraries write for inf and for NaN.
    Rounded,
    /// `#####`, where a column of a spreadsheet is too narrow.
    Narrow,
    /// It has digits, and is none of these.
    Digits,
    Word,
}

impl Oddity {
    /// What a word is, in a line that goes on from there: its sign or its brackets may stand apart.
    pub(super) fn in_line(word: &[u8], line: &[u8], is_first: bool, spelling: &Spelling) -> Oddity {
        let is_number = |text: &str| spelling.may_be_number(text);
        let of_line = || match is_first {
            true if signs::counts(word, line) => {
                signs::in_parentheses(&String::from_utf8_lossy(word), is_number)
                    .map(Oddity::Numbered)
            }
            // MySQL draws lines of stars around the number of a row.
            true if is_heading(word, line) => Some(Oddity::Comment('*')),
            true if is_index(word, line) => Some(Oddity::Index),
            true if is_dashes(&String::from_utf8_lossy(line), is_number) => Some(Oddity::Dashes),
            true => comment_mark(word, is_number)
                .map(Oddity::Comment)
                .or_else(|| printed::label_of_line(line, is_number)),
            false => comment_behind(word, line, is_number).map(Oddity::Comment),
        };
        signs::in_line(word, line, is_number)
            .or_else(|| printed::in_line(word, line, is_number))
            .or_else(of_line)
            .or_else(|| {
                let text = str::from_utf8(word).ok()?;
                signs::is_tuple(text, is_number).then_some(Oddity::Tuple)
            })
            .unwrap_or_else(|| Oddity::of(word, spelling))
    }

    pub(super) fn of(token: &[u8], spelling: &Spelling) -> Oddity {
        let text = String::from_utf8_lossy(token);
        let text = trim_text(&text);
        let is_number = |text: &str| spelling.may_be_number(text);
        const TRUTHS: [&str; 12] = [
            "yes", "no", "y", "n", "t", "f", "on", "off", ".true.", ".false.", ".t.", ".f.",
        ];
        if TRUTHS.contains(&text.to_lowercase().as_str()) {
            return Oddity::Truth;
        }
        if text.len() > 2 && text.bytes().all(|byte| byte == b'#') {
            return Oddity::Narrow;
        }
        if !text.is_empty() && text.bytes().all(|byte| byte == b'*') {
            return Oddity::Stars;
        }
        if has_old_c(text.as_bytes()) {
            return Oddity::Rounded;
        }
        if printed::is_footer(text) {
            return Oddity::Footer;
        }
        if is_dashes(text, is_number) {
            return Oddity::Dashes;
        }
        if is_zoned(text) {
            return Oddity::Zoned;
        }
        if text.contains(is_frame) {
            return Oddity::Frame;
        }
        if let Some(brackets) = brackets_of_list(text, is_number) {
            return Oddity::Listed(brackets);
        }
        // Markdown has colons in it.
        if text.len() > 2 && text.bytes().all(|byte| b"-=_+|:".contains(&byte)) {
            return Oddity::Rule;
        }
        if let Some(sign) = text.strip_suffix('\u{221e}')
            && ["", "+", "-", "\u{2212}"].contains(&sign)
        {
            let sign = if matches!(sign, "" | "+") { "" } else { "-" };
            return Oddity::Foreign(format!("{sign}inf"));
        }
        if ["...", "\u{2026}"].contains(&text) {
            return Oddity::LeftOut;
        }
        if signs::SPREADS.contains(&text) {
            return Oddity::Spread;
        }
        if !text.is_empty() && !text.contains(char::is_alphanumeric) {
            return Oddity::Sign;
        }
        if !text.contains(|c: char| c.is_numeric()) {
            return Oddity::Word;
        }
        if text.strip_suffix('%').is_some_and(is_number) {
            return Oddity::Percent;
        }
        if let Some(odd) = printed::of(text, is_number) {
            return odd;
        }
        if signs::is_pair(text, is_number) {
            return Oddity::Complex;
        }
        if let Some(pattern) = signs::in_parentheses(text, is_number) {
            return Oddity::Negative(pattern);
        }
        if let Some(sign) = signs::apart(text, is_number) {
            return Oddity::Apart(sign);
        }
        let is_quote =
            |c: char| "'`´«»‹›\u{2018}\u{2019}\u{201a}\u{201c}\u{201d}\u{201e}".contains(c);
        // Spreadsheets have one in front of what is a text.
        if text.starts_with(is_quote) && is_number(text.trim_matches(is_quote)) {
            return Oddity::Quoted;
        }
        if text
            .strip_prefix([
                '\u{2012}', '\u{2013}', '\u{2014}', '\u{2010}', '\u{2011}', '\u{ff0d}',
            ])
            .is_some_and(is_number)
        {
            return Oddity::Dash;
        }
        let unsigned = text.trim_start_matches(['+', '-']);
        if let Some(based) = based(unsigned) {
            return based;
        }
        let parts: Vec<&str> = unsigned.split(['d', 'D']).collect();
        let is_digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if parts.len() == 2 && parts.iter().all(is_digits) {
            return Oddity::Exponent;
        }
        if is_placed(text, is_number) {
            return Oddity::Placed;
        }
        if is_time(text) {
            return Oddity::Time;
        }
        if let Some(odd) = plain_oddity(text, unsigned, is_number) {
            return odd;
        }
        if let Some(sign) = sign_before(text, is_number) {
            return Oddity::Before(sign.into());
        }
        match (unit_behind(unsigned), first_of_units(unsigned)) {
            (Some(unit), _) => Oddity::Behind(unit.into()),
            (_, Some(unit)) => Oddity::Units(unit.into()),
            _ => Oddity::Digits,
        }
    }
}

/// Whether a word of a table is a number and something beside it. It is no label then, and cannot
/// be left out in silence.
pub(super) fn is_quantity(word: &[u8], spelling: &Spelling) -> bool {
    match Oddity::of(word, spelling) {
        Oddity::Percent
        | Oddity::Negative(_)
        | Oddity::Apart(_)
        | Oddity::Before(_)
        | Oddity::Dash
        | Oddity::Rounded
        | Oddity::Narrow
        | Oddity::Based(..)
        | Oddity::Listed(_)
        | Oddity::Marked(_)
        | Oddity::NoLetter
        | Oddity::MinusBehind
        | Oddity::Complex
        | Oddity::Raised
        | Oddity::Glued
        | Oddity::Repeated
        | Oddity::Price
        | Oddity::Minutes
        | Oddity::Power
        | Oddity::Foreign(_)
        | Oddity::Stars
        | Oddity::Cut => true,
        Oddity::Labelled(_) => word.contains(&b'='),
        // `'98` may be a year.
        Oddity::Quoted => !word.last().is_some_and(u8::is_ascii_digit),
        // With a letter it may be a label.
        Oddity::Zoned => word.ends_with(b"{") || word.ends_with(b"}"),
        // `O2` and `l1` are names as well.
        Oddity::Alike(_) => word.contains(&b'.') || word[0].is_ascii_digit(),
        Oddity::Behind(unit) => {
            let is_ordinal = ["st", "nd", "rd", "th"].contains(&unit.to_lowercase().as_str());
            // `12A` may be a seat, and `12.5 A` is a current.
            let is_label = word.len() > unit.len()
                && word[..word.len() - unit.len()]
                    .iter()
                    .all(u8::is_ascii_digit)
                && unit.len() == 1
                && unit.bytes().all(|byte| byte.is_ascii_alphabetic());
            !is_ordinal && (is_multiple(&unit) || !is_label)
        }
        _ => false,
    }
}

/// Whether the hash in a word is part of what a program wrote in place of a number.
pub(super) fn has_hash(word: &[u8]) -> bool {
    has_old_c(word) || word.iter().all(|&byte| byte == b'#')
}

/// Whether a word begins as old C libraries write infinity and NaN, with a point or a comma.
fn has_old_c(word: &[u8]) -> bool {
    let unsigned = word.strip_prefix(b"-").or(word.strip_prefix(b"+"));
    matches!(unsigned.unwrap_or(word), [b'1', b'.' | b',', b'#', ..])
}

/// Whether a word at the start of a line counts what follows, as R does: `[1]`, `[2,]`; or a list:
/// `1)`.
fn is_index(word: &[u8], line: &[u8]) -> bool {
    let inner = word
        .strip_prefix(b"[")
        .and_then(|word| word.strip_suffix(b"]"));
    let digits = inner.map(|inner| inner.strip_suffix(b",").unwrap_or(inner));
    let digits = digits.or(word.strip_suffix(b")"));
    let rest = line[word.len().min(line.len())..].trim_ascii_start();
    digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
        && !rest.is_empty()
        && !rest.starts_with(b"[")
}

/// Whether a line begins with stars, and words follow them.
fn is_heading(word: &[u8], line: &[u8]) -> bool {
    word.len() > 2
        && word.iter().all(|&byte| byte == b'*')
        && line.iter().any(u8::is_ascii_alphabetic)
}

/// Whether a text is a zoned decimal: digits with zeros in front, and one that holds the sign. An
/// opening bracket behind digits is nothing else.
fn is_zoned(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| matches!(c, '{' | '}' | 'A'..='R'));
    let is_one = text.len() == digits.len() + 1 && digits.len() > 1;
    let is_filled = digits.starts_with('0') || text.ends_with('{');
    is_one && is_filled && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is a comment of SQL: two dashes before words, not all of which are numbers.
fn is_dashes(text: &str, is_number: impl Fn(&str) -> bool) -> bool {
    let rest = text.strip_prefix("--").unwrap_or("");
    let mut words = rest.split_whitespace();
    !rest.starts_with(['-', '+', '|']) && !words.all(|word| word == "--" || is_number(word))
}

/// The character that a comment of another program starts with, if a word at the start of a line
/// is one: `%`, `!`, `;`, `>`, `*`, `\` or `//`, by itself or before what is no number.
pub(super) fn comment_mark(word: &[u8], is_number: impl Fn(&str) -> bool) -> Option<char> {
    let mark = char::from(*word.first()?);
    let rest = match word {
        // `\N` is a missing value.
        [b'\\', b'N'] => return None,
        [b'/', b'/', rest @ ..] | [b'%' | b'!' | b';' | b'>' | b'*' | b'\\', rest @ ..] => rest,
        _ => return None,
    };
    let rest = String::from_utf8_lossy(rest);
    let text = rest.trim_start_matches(['%', '!', ';', '>', '*', '=']);
    let is_comparison = mark == '>' && (rest.starts_with('=') || is_number(text));
    // Where a number has no room there are nothing but these.
    let are_stars = mark == '*' && text.is_empty() && !rest.is_empty();
    (!is_comparison && !are_stars && !is_number(text)).then_some(mark)
}

/// The character that a comment behind numbers starts with. `%` belongs to the number before it if
/// another one follows.
fn comment_behind(word: &[u8], line: &[u8], is_number: impl Fn(&str) -> bool) -> Option<char> {
    let mark = comment_mark(word, &is_number).filter(|mark| "%!/".contains(*mark))?;
    let rest = String::from_utf8_lossy(line.get(word.len()..)?);
    let next = rest.split_whitespace().next()?;
    (mark != '%' || !is_number(next)).then_some(mark)
}

/// The brackets of a list, if a word is a part of one: a bracket, a number beside one, or the start
/// of an object.
fn brackets_of_list(text: &str, is_number: impl Fn(&str) -> bool) -> Option<&'static str> {
    let of_list = |brackets: &[char]| {
        let inner = text.trim_matches(brackets);
        let inner = inner.trim_end_matches(',');
        inner.len() < text.len() && (inner.is_empty() || is_number(inner))
    };
    let opens = text.trim_start_matches('[').starts_with('{');
    // Around a whole number, parentheses are a minus.
    let is_tuple = text.starts_with('(') != text.ends_with(')') && of_list(&['(', ')']);
    let of_tuples = text.contains(['[', ']']) && of_list(&['[', ']', '(', ')']);
    match (opens || of_list(&['[', ']', '{', '}']), is_tuple) {
        (true, _) => Some("[]{}"),
        (_, true) => Some("()"),
        _ => of_tuples.then_some("[]()"),
    }
}

/// A number of another base.
fn based(unsigned: &str) -> Option<Oddity> {
    let lower = unsigned.to_ascii_lowercase();
    let is = |prefix: &str, digits: &str| {
        let rest = lower.strip_prefix(prefix);
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| digits.contains(c)))
    };
    if is("0x", "0123456789abcdef_") {
        return Some(Oddity::Based("hexadecimal", "printf '%d' 0x1F"));
    }
    if is("0b", "01_") {
        return Some(Oddity::Based("binary", "python3 -c 'print(0b11)'"));
    }
    if is("0x", "0123456789abcdef.p+-") {
        return Some(Oddity::Based(
            "hexadecimal",
            "python3 -c \"print(float.fromhex('0x1.8p3'))\"",
        ));
    }
    if is("0o", "01234567_") {
        return Some(Oddity::Based("octal", "python3 -c 'print(0o17)'"));
    }
    None
}

/// What a word with digits is that has signs or letters where numbers have none.
fn plain_oddity(
    text: &str,
    unsigned: &str,
    is_number: impl Fn(&str) -> bool + Copy,
) -> Option<Oddity> {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if let Some((above, below)) = unsigned.split_once(['/', '\u{2044}'])
        && is_digits(above)
        && is_digits(below)
    {
        return Some(Oddity::Fraction);
    }
    if text.starts_with('=') {
        return Some(Oddity::Formula);
    }
    if text.strip_suffix(['-', '\u{2212}']).is_some_and(is_number) {
        return Some(Oddity::MinusBehind);
    }
    if signs::are_glued(unsigned, is_number) {
        return Some(Oddity::Glued);
    }
    if let Some((count, number)) = unsigned.split_once('*')
        && is_digits(count)
        && is_number(number)
    {
        return Some(Oddity::Repeated);
    }
    if let Some((whole, exponent)) = unsigned.rsplit_once(['-', '+'])
        && is_number(whole)
        && is_number(exponent)
    {
        let has_point = whole.contains('.') && !exponent.contains('.');
        let is_exponent = exponent.len() == 3 && is_digits(exponent);
        return Some(match has_point && is_exponent {
            true => Oddity::NoLetter,
            false => Oddity::Range,
        });
    }
    let inner = text.trim_matches(['(', ')']);
    if let Some(complex) = inner.strip_suffix(['i', 'j'])
        && let Some(at) = complex.rfind(['+', '-']).filter(|&at| at > 0)
        && is_number(&complex[..at])
        && is_number(&complex[at + 1..])
    {
        return Some(Oddity::Complex);
    }
    let powers = ["*^", "x10^", "*10^", "\u{d7}10^", "x10**", "*10**"];
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let starts = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if starts && powers.iter().any(|power| packed.contains(power)) {
        return Some(Oddity::Power);
    }
    let cut = text.strip_suffix(['+', '-']).unwrap_or(text);
    let cut = cut.strip_suffix(['e', 'E']);
    if cut.is_some_and(|cut| !cut.ends_with(char::is_whitespace) && is_number(cut)) {
        return Some(Oddity::Cut);
    }
    let spreads = signs::SPREADS
        .iter()
        .filter_map(|spread| unsigned.find(spread));
    let marks = unsigned.find(['(', '[']);
    if let Some(at) = spreads.chain(marks).min()
        && is_number(&unsigned[..at])
    {
        return Some(Oddity::Marked(signs::mark_behind(text)));
    }
    let ascii: String = text.chars().map(ascii_of).collect();
    if ascii != text && is_number(&ascii) {
        return Some(Oddity::Foreign(ascii));
    }
    alike(text, is_number).map(Oddity::Alike)
}

/// The digit or sign of ASCII that another one stands for.
fn ascii_of(c: char) -> char {
    // Where the ten digits of other scripts begin.
    const ZEROS: [u32; 12] = [
        0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xe50, 0xff10,
    ];
    let digit = |&zero: &u32| u32::from(c).checked_sub(zero).filter(|&digit| digit < 10);
    match (ZEROS.iter().find_map(digit), c) {
        (Some(digit), _) => char::from(b'0' + digit as u8),
        (_, '\u{ff0e}' | '\u{66b}') => '.',
        (_, '\u{ff0c}' | '\u{66c}') => ',',
        (_, '\u{ff0d}' | '\u{2212}') => '-',
        (_, '\u{ff0b}') => '+',
        _ => c,
    }
}

/// The number that a word is if letters in it are the digits that they look like. At least one
/// digit is a true one.
pub(super) fn alike(word: &str, is_number: impl Fn(&str) -> bool) -> Option<String> {
    let digit = |c: char| match c {
        'O' | 'o' => '0',
        'l' | 'I' | '|' => '1',
        c => c,
    };
    let number: String = word.chars().map(digit).collect();
    // A last `l` is a unit.
    let is_unit = word.strip_suffix(['l', 'I']).is_some_and(&is_number);
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    (number != word && has_digit && !is_unit && is_number(&number)).then_some(number)
}

/// A currency or a comparison before a number.
fn sign_before(text: &str, is_number: impl Fn(&str) -> bool) -> Option<&str> {
    const CURRENCIES: &str = "$€£¥₹₽₩¢₺₪₫฿";
    const CODES: [&str; 16] = [
        "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "RUB", "BRL", "KRW", "SEK", "NOK", "DKK",
        "PLN", "CAD", "AUD",
    ];
    let start = text.trim_start_matches(['+', '-']);
    let end = start.find(|c: char| c.is_numeric() || ".+-".contains(c))?;
    let sign = start[..end].trim();
    let is_currency = sign.contains(|c| CURRENCIES.contains(c));
    let is_code = CODES.contains(&sign) && start[sign.len()..end].ends_with(char::is_whitespace);
    let is_sign = is_currency && sign.chars().count() <= 4 || is_code || is_comparison(sign);
    (is_sign && is_number(&start[end..])).then_some(sign)
}

fn is_comparison(sign: &str) -> bool {
    !sign.is_empty() && sign.chars().all(|c| "<>=~≈≤≥±".contains(c))
}

/// Whether a word behind a number says by what to multiply it.
fn is_multiple(unit: &str) -> bool {
    const MULTIPLES: [&str; 15] = [
        "k", "m", "b", "g", "t", "bn", "mn", "tn", "mio", "mrd", "mld", "mln", "bln", "cr", "lakh",
    ];
    MULTIPLES.contains(
        &trim_text(unit)
            .trim_end_matches('.')
            .to_lowercase()
            .as_str(),
    )
}

/// The word behind a number: a unit.
fn unit_behind(text: &str) -> Option<&str> {
    const LONGEST: usize = 12;
    let starts = |text: &str| {
        let digits = text.bytes().take(3).filter(u8::is_ascii_digit);
        digits.count() == 3
    };
    let of_number = |(at, c): (usize, char)| {
        // A space stands between thousands.
        let is_within = c.is_whitespace() && starts(&text[at + c.len_utf8()..]);
        is_within || c.is_ascii_digit() || ".,'\u{2019}_".contains(c)
    };
    let (end, _) = text.char_indices().find(|&c| !of_number(c))?;
    // Spaces of other kinds are taken out with it.
    let (number, unit) = (&text[..end], text[end..].trim_matches(' '));
    let is_number = number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && number.ends_with(|c: char| c.is_ascii_digit());
    let is_unit = !unit.is_empty()
        && unit.chars().count() <= LONGEST
        && !unit.starts_with(['-', '/', ':', '+', '#'])
        && !trim_text(unit).contains(|c: char| c.is_ascii_digit() || c.is_whitespace());
    (is_number && is_unit).then_some(unit)
}

/// The first unit of a number that has two, such as hours and minutes.
fn first_of_units(text: &str) -> Option<&str> {
    const UNITS: [&str; 14] = [
        "h", "H", "hr", "m", "min", "s", "ft", "lb", "\u{b0}", "\u{20ac}", "$", "\u{a3}", "kr",
        "zl",
    ];
    let is_digit = |c: char| c.is_ascii_digit();
    let rest = text.trim_start_matches(|c: char| is_digit(c) || ".,".contains(c));
    let unit = &rest[..rest.find(is_digit)?];
    let behind = rest[unit.len()..].trim_start_matches(|c: char| is_digit(c) || c == '.');
    let is_unit = UNITS.contains(&unit.trim()) && text.starts_with(is_digit);
    (is_unit && behind.chars().all(|c| c.is_alphabetic() || c == ' ')).then_some(unit.trim())
}

/// Whether a character is of the lines around the cells of a printed table.
pub(super) fn is_frame(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{257f}')
}

/// Whether a word is a place, a colon and a value: no seconds, which have two digits.
fn is_placed(text: &str, is_number: impl Fn(&str) -> bool) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once(':').is_some_and(|(place, value)| {
        let whole = value.split('.').next().unwrap_or(value);
        is_digits(place) && is_number(value) && !(whole.len() == 2 && is_digits(whole))
    })
}

/// Whether a word is a date or a time: numbers with the same mark between them.
fn is_time(text: &str) -> bool {
    let date = text.split(['T', ' ']).next().unwrap_or("");
    [('-', 3), ('/', 3), (':', 2)]
        .into_iter()
        .any(|(mark, least)| {
            let parts: Vec<&str> = date.split(mark).collect();
            let is_digits = |part: &&str| {
                (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
            };
            let digits = parts.iter().filter(|part| is_digits(part)).count();
            // A month may have a name, and a second a fraction.
            let has_fraction = mark == ':'
                && parts.last().is_some_and(|part| {
                    part.contains('.') && part.bytes().all(|b| b.is_ascii_digit() || b == b'.')
                });
            (least..=3).contains(&parts.len())
                && digits + 1 >= parts.len()
                && digits + usize::from(has_fraction) >= 2
        })
}

/// Whether a word means itself to `sed` and to a shell.
fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_alphabetic() || "%°€£¥₹₽₩₺\u{a0}\u{202f}\u{2009}".contains(c))
}
