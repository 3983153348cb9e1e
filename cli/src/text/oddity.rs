//! Words that are no numbers, though many hold one: what they are, and how they become numbers.

use super::spelling::{Kind, Spelling, trim_text};

/// What a word is that is no number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Oddity {
    /// `5%`
    Percent,
    /// `(5)`, as accounts have it.
    Negative,
    /// `'5'`, `“5”`: in quotes that are none here.
    Quoted,
    /// `$5`, `<0.1`: what stands before the number.
    Before(String),
    /// `5 kg`, `1.5M`: what stands behind it.
    Behind(String),
    /// `1D3`, which may be a label.
    Exponent,
    /// `0x1F`
    Hexadecimal,
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

/// How a text comes to the command from a program that mends it.
pub(super) struct Feed {
    pub(super) delimiter: Option<u8>,
    /// The number of the field.
    pub(super) field: usize,
    pub(super) has_header: bool,
}

impl Oddity {
    pub(super) fn of(token: &[u8], spelling: &Spelling) -> Oddity {
        let text = String::from_utf8_lossy(token);
        let text = trim_text(&text);
        let is_number = |text: &str| {
            let bytes = trim_text(text).as_bytes();
            matches!(spelling.kind(bytes), Kind::Integer | Kind::Float)
                || spelling.looks_like_number(bytes)
        };
        const TRUTHS: [&str; 8] = ["yes", "no", "y", "n", "t", "f", "on", "off"];
        if TRUTHS.contains(&text.to_lowercase().as_str()) {
            return Oddity::Truth;
        }
        if text.len() > 2 && text.bytes().all(|byte| byte == b'#') {
            return Oddity::Narrow;
        }
        if text.trim_start_matches(['+', '-']).starts_with("1.#") {
            return Oddity::Rounded;
        }
        if !text.contains(|c: char| c.is_numeric()) {
            return Oddity::Word;
        }
        if text.strip_suffix('%').is_some_and(is_number) {
            return Oddity::Percent;
        }
        let inner = text
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'));
        if inner.is_some_and(is_number) {
            return Oddity::Negative;
        }
        let is_quote =
            |c: char| "'`´«»‹›\u{2018}\u{2019}\u{201a}\u{201c}\u{201d}\u{201e}".contains(c);
        if text.starts_with(is_quote)
            && text.ends_with(is_quote)
            && is_number(text.trim_matches(is_quote))
        {
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
        let hexadecimal = unsigned.strip_prefix("0x").or(unsigned.strip_prefix("0X"));
        if hexadecimal.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())) {
            return Oddity::Hexadecimal;
        }
        let parts: Vec<&str> = unsigned.split(['d', 'D']).collect();
        let is_digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if parts.len() == 2 && parts.iter().all(is_digits) {
            return Oddity::Exponent;
        }
        if is_time(text) {
            return Oddity::Time;
        }
        if let Some(sign) = sign_before(text, is_number) {
            return Oddity::Before(sign.into());
        }
        match unit_behind(unsigned) {
            Some(unit) => Oddity::Behind(unit.into()),
            None => Oddity::Digits,
        }
    }

    /// What is said of it behind `is not a number`, and the remedy.
    pub(super) fn told(&self, feed: &Feed) -> (String, String) {
        let without = |program: String| feed.line(&program);
        let (what, remedy) = match self {
            Oddity::Percent => (
                "it is a percentage".into(),
                format!("take the sign out, as {}", feed.line("tr -d %")),
            ),
            Oddity::Negative => (
                "parentheses are the minus of accounts".into(),
                format!(
                    "write -5 for (5), as {}",
                    feed.line(r"sed -E 's/\(([0-9.,]+)\)/-\1/g'")
                ),
            ),
            Oddity::Quoted => (
                "its quotes are none here".into(),
                "take them out, or write double quotes of ASCII".into(),
            ),
            Oddity::Before(sign) if is_comparison(sign) => (
                format!("`{sign}` says that it is a bound of one"),
                "write a number, such as the bound".into(),
            ),
            Oddity::Before(sign) => (
                format!("`{sign}` stands before a number"),
                match is_plain(sign) {
                    true => {
                        let line = without(format!("sed -E 's/{sign} *([0-9])/\\1/g'"));
                        format!("if all numbers have it, take it out, as {line}")
                    }
                    false => "if all numbers have it, take it out".into(),
                },
            ),
            Oddity::Behind(unit) => (
                format!("`{unit}` follows a number"),
                match unit.as_str() {
                    "K" | "M" | "G" | "T" | "P" => format!(
                        "write it out, as {}; or with --from=iec where K is 1024, as du -h has it",
                        feed.scaled("si")
                    ),
                    "Ki" | "Mi" | "Gi" | "Ti" | "Pi" => {
                        format!("write it out, as {}", feed.scaled("iec-i"))
                    }
                    unit if is_multiple(unit) => "write the number out".into(),
                    unit if is_plain(unit) => {
                        let line = without(format!("sed -E 's/([0-9]) *{unit}/\\1/g'"));
                        format!("if all numbers have it, take it out, as {line}")
                    }
                    _ => "if all numbers have it, take it out".into(),
                },
            ),
            Oddity::Exponent => (
                "this is a label, or an exponent of Fortran without a sign".into(),
                "write 1E3 for 1D3 if it is an exponent".into(),
            ),
            Oddity::Hexadecimal => (
                "it is hexadecimal".into(),
                "write it in decimal, as printf '%d' 0x1F does".into(),
            ),
            Oddity::Dash => (
                "it begins with a dash, which is no minus".into(),
                "write a minus if it is one".into(),
            ),
            Oddity::Truth => (
                "it may be a truth value".into(),
                "write 1 or 0, or true or false, which are read so".into(),
            ),
            Oddity::Time => (
                "it looks like a date or a time".into(),
                "write it as a number, such as seconds or 20240131; .npy files hold times".into(),
            ),
            Oddity::Rounded => (
                "an old C library writes this for inf and for NaN".into(),
                "write inf or nan".into(),
            ),
            Oddity::Narrow => (
                "a spreadsheet writes this where a column is too narrow".into(),
                "widen the column and export it again; or give --comment '#' if a comment starts \
                 here"
                    .into(),
            ),
            Oddity::Digits | Oddity::Word => return (String::new(), "mend it".into()),
        };
        (format!("; {what}"), remedy)
    }
}

impl Feed {
    /// A shell's line in which a program mends the file.
    fn line(&self, program: &str) -> String {
        format!("{program} < FILE | warpfold ...{}", self.delimiter())
    }

    /// What reads numbers with the prefixes of a kind of units.
    fn scaled(&self, units: &str) -> String {
        let delimiter = match self.delimiter {
            None => String::new(),
            Some(b'\t') => " -d $'\\t'".into(),
            Some(byte) => format!(" -d '{}'", char::from(byte)),
        };
        let header = if self.has_header { " --header" } else { "" };
        let program = format!(
            "numfmt --from={units} --invalid=ignore{header}{delimiter} --field {}",
            self.field
        );
        self.line(&program)
    }

    fn delimiter(&self) -> String {
        match self.delimiter {
            None => String::new(),
            Some(b'\t') => " --delimiter tab".into(),
            Some(byte) => format!(" --delimiter '{}'", char::from(byte)),
        }
    }
}

/// Whether a word of a table is a number and something beside it. It is no label then, and cannot
/// be left out in silence.
pub(super) fn is_quantity(word: &[u8], spelling: &Spelling) -> bool {
    match Oddity::of(word, spelling) {
        Oddity::Percent
        | Oddity::Negative
        | Oddity::Quoted
        | Oddity::Before(_)
        | Oddity::Dash
        | Oddity::Rounded
        | Oddity::Narrow => true,
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
    let unsigned = word.strip_prefix(b"-").or(word.strip_prefix(b"+"));
    unsigned.unwrap_or(word).starts_with(b"1.#") || word.iter().all(|&byte| byte == b'#')
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
    MULTIPLES.contains(&unit.trim_end_matches('.').to_lowercase().as_str())
}

/// The word behind a number: a unit.
fn unit_behind(text: &str) -> Option<&str> {
    const LONGEST: usize = 12;
    let of_number = |c: char| c.is_ascii_digit() || ".,'\u{2019}_".contains(c);
    let end = text.find(|c| !of_number(c))?;
    let (number, unit) = (&text[..end], trim_text(&text[end..]));
    let is_number = number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && number.ends_with(|c: char| c.is_ascii_digit());
    let is_unit = !unit.is_empty()
        && unit.chars().count() <= LONGEST
        && !unit.starts_with(['-', '/', ':', '+', '#'])
        && !unit.contains(|c: char| c.is_ascii_digit() || c.is_whitespace());
    (is_number && is_unit).then_some(unit)
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
            (least..=3).contains(&parts.len()) && digits + 1 >= parts.len() && digits >= 2
        })
}

/// Whether a word means itself to `sed` and to a shell.
fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_alphabetic() || "%°€£¥₹₽₩₺".contains(c))
}
