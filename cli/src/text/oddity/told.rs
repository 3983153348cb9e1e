//! What is said of a word that is no number, and what makes it one.

use super::{Oddity, is_comparison, is_multiple, is_plain, printed, signs};

/// What takes lines out that are drawn between rows, also where they end as on Windows.
pub(in crate::text) const WITHOUT_RULES: &str = "grep -vE '^[-=_+|:,;[:space:]]*([-=_]{3}|\
     [-=_][+|:]|[+|:][-=_])[-=_+|:,;[:space:]]*$'";

/// What takes comments of SQL out.
pub(in crate::text) const WITHOUT_DASHES: &str = "grep -vE '^ *--' FILE | warpfold ...";

/// What writes a table that was printed with lines around its cells.
pub(in crate::text) const WITHOUT_FRAME: &str = "let the program write CSV, as write_csv of \
     Polars, and .mode csv of SQLite and DuckDB do";

/// What takes the count of rows out that psql prints below a table.
pub(in crate::text) const WITHOUT_FOOTER: &str = "take the line out, as grep -vE '^\\([0-9]+ \
     rows?\\)[[:space:]]*$' FILE | warpfold ..., or write the table with psql --csv";

/// What makes rows of CSV of those of SQL and Python, also where several stand in a line.
const WITHOUT_BRACKETS: &str =
    r#"sed -E 's/\), *\(/\n/g; s/^[^(]*\(//; s/\)[],;[:space:]]*$//' < FILE | tr "'" '"'"#;

/// How a text comes to the command from a program that mends it.
pub(in crate::text) struct Feed {
    /// The line of the word.
    pub(in crate::text) line_number: u64,
    /// The line of the word, if the word is the first of it, and no line before was like it.
    pub(in crate::text) line_alone: Option<u64>,
    pub(in crate::text) delimiter: Option<u8>,
    /// The number of the field.
    pub(in crate::text) field: usize,
    pub(in crate::text) has_header: bool,
    /// Whether quotes stand around the field, or around any of its line.
    pub(in crate::text) quoted: bool,
    pub(in crate::text) has_quotes: bool,
    /// Whether its line is that of formats, below the header of an RDB table.
    pub(in crate::text) has_formats: bool,
    /// Whether its line ends with CR and LF.
    pub(in crate::text) has_cr: bool,
    /// Whether a comma stands in the field, or before fractions.
    pub(in crate::text) has_comma: bool,
    /// Whether a comma stands between digits of the rest of the line, and the user does not say
    /// why.
    pub(in crate::text) has_other_comma: bool,
    /// A pattern for what follows digits and begins with a comma, if the user says that commas
    /// stand in numbers.
    pub(in crate::text) comma: Option<&'static str>,
}

impl Oddity {
    /// What is said of it behind `is not a number`, and the remedy.
    pub(in crate::text) fn told(&self, feed: &Feed) -> (String, String) {
        let without = |program: String| feed.line(&program);
        let (what, remedy) = match self {
            _ if feed.has_formats => (
                "RDB tables have widths and types of columns in this line".into(),
                format!("take it out, as {}", without(format!("sed {}d", feed.line_number))),
            ),
            Oddity::Zoned => (
                "mainframes write the sign with the last digit like this; or it is a label, or \
                 hexadecimal"
                    .into(),
                "write numbers in decimal: of a mainframe { is a last 0, A to I are 1 to 9; and of what is negative } is 0, J to R are 1 \
                 to 9, with a minus in front"
                    .into(),
            ),
            Oddity::Percent => (
                "it is a percentage".into(),
                format!("take the sign out, as {}", feed.line("tr -d %")),
            ),
            Oddity::Negative(pattern) => (
                "parentheses are the minus of accounts, or hold an error or a share".into(),
                format!(
                    "if they are a minus, write -5 for (5), as {}",
                    feed.line(&format!(r"sed -E 's/{pattern}/-\1/g'"))
                ),
            ),
            Oddity::Numbered(pattern) => (
                "parentheses are the minus of accounts, or count the lines".into(),
                format!(
                    "if they are a minus, write -5 for (5), as {}; if they count, take them out, \
                     as {}",
                    feed.line(&format!(r"sed -E 's/{pattern}/-\1/g'")),
                    feed.line(r"sed -E 's/^ *\([0-9]+\)//'")
                ),
            ),
            Oddity::Tuple => (
                "it is a row as SQL and Python write it".into(),
                format!(
                    "let the program write CSV, as psql --csv does; or take the brackets out, as \
                     {WITHOUT_BRACKETS} | warpfold ... --delimiter ,"
                ),
            ),
            Oddity::Placed => (
                "it is a place and its value, as LIBSVM writes rows without their zeros, or a \
                 ratio"
                    .into(),
                "for all values, without labels and zeros, give grep -oE '[0-9]+:[^[:space:]]+' \
                 FILE | cut -d: -f2 | warpfold ...; for those of place 3, begin it with grep -owE \
                 '3:[^[:space:]]+'; write a ratio as a number"
                    .into(),
            ),
            Oddity::LeftOut => (
                "a program leaves numbers out here".into(),
                "let it write all of them, as numpy.savetxt and to_csv of pandas do".into(),
            ),
            Oddity::Frame => (
                "lines are drawn around the cells of a printed table, which may lack rows and \
                 digits"
                    .into(),
                WITHOUT_FRAME.into(),
            ),
            Oddity::Apart(sign) => {
                let written = if *sign == '+' { '+' } else { '-' };
                (
                    "its sign stands apart from it".into(),
                    format!(
                        "write {written}5 for {sign} 5, as {}",
                        feed.line(&signs::joining(*sign, feed.delimiter))
                    ),
                )
            }
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
                        let line = without(format!("sed -E 's/{sign} *([-+.0-9])/\\1/g'"));
                        format!("if all numbers have it, take it out, as {line}")
                    }
                    false if sign == "$" => {
                        let line = feed.line("tr -d '$'");
                        format!("if all numbers have it, take it out, as {line}")
                    }
                    false => "if all numbers have it, take it out".into(),
                },
            ),
            Oddity::Behind(unit) => (
                format!("`{unit}` follows a number"),
                match unit.as_str() {
                    "K" | "M" | "G" | "T" | "P" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi"
                        if feed.has_quotes || feed.has_comma =>
                    {
                        "write it out: 1.5K is 1500, or 1536 where K is 1024; or take it out if it \
                         is a unit, as K of kelvin"
                            .into()
                    }
                    "K" | "M" | "G" | "T" | "P" => format!(
                        "if it is a unit, as K of kelvin, take it out; else write it out, as {}; \
                         or with --from=iec where K is 1024, as du -h has it",
                        feed.scaled("si")
                    ),
                    "Ki" | "Mi" | "Gi" | "Ti" | "Pi" => {
                        format!("write it out, as {}", feed.scaled("iec-i"))
                    }
                    "CR" | "DR" | "Cr" | "Dr" => {
                        "write the number out; of credits and debits, one is a minus".into()
                    }
                    "N" | "S" | "E" | "W" => {
                        let line = feed.line(
                            r"sed -E 's/([0-9.]+) *[SW]\>/-\1/g; s/([0-9]) *[NE]\>/\1/g'",
                        );
                        format!("if it is a direction, S and W are a minus, as {line}; if it is the unit of all numbers, take it out")
                    }
                    unit if is_multiple(unit) => format!(
                        "write the number out if `{unit}` multiplies it; take it out if it is the \
                         unit of all, as m of metre"
                    ),
                    unit if is_plain(unit) => {
                        // Digits behind it are those of another unit.
                        let end = match feed.delimiter {
                            None => r#"[[:space:],"]"#.into(),
                            Some(byte) => format!(r#" *[{}"\r]"#, signs::in_class(byte)),
                        };
                        let line =
                            without(format!("sed -E 's/([0-9]) *{unit}({end}|$)/\\1\\2/g'"));
                        let based = match unit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                            true => "; a number in hexadecimal is written in decimal",
                            false => "",
                        };
                        let others = match sibling(unit) {
                            Some(other) => format!("if any has another unit, such as {other}, write all in one; "),
                            None => String::new(),
                        };
                        format!("{others}if all numbers have it, take it out, as {line}{based}")
                    }
                    _ => "if all numbers have it, take it out".into(),
                },
            ),
            Oddity::Exponent => (
                "this is a label, or an exponent of Fortran without a sign".into(),
                "write 1E3 for 1D3 if it is an exponent".into(),
            ),
            Oddity::Based(base, example) => (
                format!("it is {base}"),
                format!("write it in decimal, as {example} does"),
            ),
            Oddity::Fraction => (
                "it is a fraction, or a date".into(),
                "write a fraction as a decimal number, such as 0.5 for 1/2".into(),
            ),
            Oddity::Listed(brackets) => (
                "brackets are those of a list, as Python and JSON write it".into(),
                format!(
                    "take them out if it is one, as {}, with --delimiter ',' if commas separate \
                     columns; jq takes numbers out of JSON",
                    feed.line(&format!("tr -d '{brackets}'"))
                ),
            ),
            Oddity::Marked(mark) => (
                "an error or a mark follows a number".into(),
                match mark.filter(|mark| feed.can_lose(*mark)) {
                    Some(mark) => format!(
                        "write the number alone, as {}",
                        feed.line(&mark.program(feed.delimiter, feed.comma))
                    ),
                    None => "write the number alone: leave out what follows it, but an exponent \
                             of the number"
                        .into(),
                },
            ),
            Oddity::Units(unit) => (
                format!("digits follow `{unit}`: it may be a number of two units"),
                format!("write it in one, such as 7.5 for 7{unit}30 if `{unit}` has 60 of the other"),
            ),
            Oddity::Spread => (
                "the error of a number follows it".into(),
                match feed.has_other_comma {
                    true => "give --thousands , first if a comma stands between thousands, \
                             --decimal , if before a fraction; or choose the columns of numbers \
                             with --column"
                        .into(),
                    false => format!(
                        "take both out, as {}, or choose the columns of numbers with --column",
                        feed.line(&signs::without_spreads(feed.comma))
                    ),
                },
            ),
            Oddity::Dashes => (
                "comments of SQL begin like this".into(),
                format!("take such lines out, as {WITHOUT_DASHES}, if they are comments"),
            ),
            Oddity::Footer => (
                "psql counts the rows like this".into(),
                WITHOUT_FOOTER.into(),
            ),
            Oddity::Sign => (
                "it is a sign by itself".into(),
                "take it out if it belongs to a number beside it; or give --missing skip \
                 --missing-word WORD, if it stands for a missing value"
                    .into(),
            ),
            Oddity::Range => (
                "it looks like a range of numbers".into(),
                "write one number, such as its middle; or its ends, with a space between them"
                    .into(),
            ),
            Oddity::Glued => (
                "two numbers stand side by side, as where a column has no room, or it is a range"
                    .into(),
                match feed.delimiter {
                    // A date has no points.
                    None => format!(
                        "write 1.5 -2.5 for 1.5-2.5 if it is a minus, as {}",
                        feed.line(
                            r"sed -E ':a; s/(\.[0-9]*([eEdD][-+]?[0-9]+)?)-([0-9]*\.)/\1 -\3/; ta'"
                        )
                    ),
                    Some(_) => "write two fields, or of a range one number, such as its middle".into(),
                },
            ),
            Oddity::Repeated => (
                "lists of Fortran have 3*1.5 for 1.5 1.5 1.5".into(),
                "write each number".into(),
            ),
            Oddity::NoLetter => (
                "Fortran leaves out the E of an exponent that has three digits".into(),
                format!(
                    "write 1.5E-300 for 1.5-300, as {}",
                    feed.line(r"sed -E 's/([0-9.])([+-][0-9]{3})/\1E\2/g'")
                ),
            ),
            Oddity::MinusBehind => (
                "its sign stands behind it".into(),
                format!(
                    "write -5 for 5-, as {}",
                    feed.line(&signs::turning(feed.delimiter, feed.quoted))
                ),
            ),
            Oddity::Index => (
                "R and lists count numbers or rows like this, in front of each line".into(),
                format!(
                    "take them out, as {}",
                    feed.line(r"sed -E 's/^ *(\[[0-9]*,?\]|[0-9]+\))//'")
                ),
            ),
            Oddity::Rule => (
                "it is a line between rows".into(),
                format!(
                    "take such lines out, as {WITHOUT_RULES} FILE | warpfold ...{}; or give \
                     --missing skip --missing-word WORD, if it stands for a missing value",
                    feed.delimiter()
                ),
            ),
            Oddity::Comment(mark) => (
                "comments of other programs begin like this".into(),
                format!("give --comment '{mark}' if it is one"),
            ),
            Oddity::Complex => (
                "it is a complex number".into(),
                "write its parts as two numbers".into(),
            ),
            Oddity::Pair => (
                "it is a pair of numbers, such as a complex one, or has a comma in it".into(),
                "write a pair as two numbers, and -1.2 for (1,2) if that is one".into(),
            ),
            Oddity::Power => ("it is a power".into(), "write 1.5e3 for 1.5x10^3".into()),
            Oddity::Raised => (
                "a raised digit is a power, or a note".into(),
                "write 25 for 5\u{b2} if it is a power, and 5 if it is a note".into(),
            ),
            Oddity::Price => (
                "a dash stands for no cents in prices".into(),
                format!("write 5 for 5,-, as {}", feed.line(printed::WITHOUT_DASH)),
            ),
            Oddity::Minutes => (
                "it has minutes or seconds, of an angle or a time".into(),
                "write it as a decimal number, such as 5.5 for 5'30\"".into(),
            ),
            Oddity::Labelled(program) => (
                "a label stands before a number".into(),
                match feed.line_alone {
                    Some(line) => format!(
                        "no line above has one: if this is a total or the like, take it out, as \
                         {}; if it is data, take labels out, as {}",
                        feed.line(&format!("sed {line}d")),
                        feed.line(program)
                    ),
                    None => format!(
                        "take labels out, as {}; or choose the column of numbers with --column; \
                         or, if this line alone has one, and is no data, take it out, as {}",
                        feed.line(program),
                        feed.line(&format!("sed {}d", feed.line_number))
                    ),
                },
            ),
            Oddity::Shown => (
                "a program shows a value like this".into(),
                "let it write numbers alone, as numpy.savetxt does, or print(float(x))".into(),
            ),
            Oddity::Factor => (
                "MATLAB writes a factor before what it scales".into(),
                "print with `format long g`, or save with writematrix".into(),
            ),
            Oddity::Formula => (
                "it is a formula of a spreadsheet".into(),
                "export values, or take the = and its quotes out".into(),
            ),
            Oddity::Cut => (
                "its exponent is cut off".into(),
                "write the whole number; the column may have been too narrow; or take the E out if \
                 it is east, where W is a minus"
                    .into(),
            ),
            Oddity::Alike(number) => (
                format!("letters in it look like digits, as in {number}"),
                format!("write {number} if it is that number"),
            ),
            Oddity::Foreign(number) => (
                "its digits or signs are none of ASCII".into(),
                format!("write {number}"),
            ),
            Oddity::Stars => (
                "Fortran and others write this where a number has no room".into(),
                "let the program that writes it give it room; or give --missing skip \
                 --missing-word WORD, if it stands for a missing value"
                    .into(),
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
                "write inf or nan; or give --decimal , if a comma stands before fractions".into(),
            ),
            Oddity::Narrow => (
                "a spreadsheet writes this where a column is too narrow".into(),
                "widen the column and export it again; or give --comment '#' if a comment starts \
                 here"
                    .into(),
            ),
            Oddity::Digits | Oddity::Word => {
                return (String::new(), "write a number, such as 1234.5".into());
            }
        };
        (format!("; {what}"), remedy)
    }
}

impl Feed {
    /// Whether a program takes a mark out of the field. A comma in an error may be between fields.
    fn can_lose(&self, mark: signs::Mark) -> bool {
        let is_clear = mark != signs::Mark::Spread || self.comma.is_some() || !self.has_comma;
        !self.has_quotes && is_clear
    }

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
            "numfmt --from={units} --format=%.6f --invalid=ignore{header}{delimiter} --field {}",
            self.field
        );
        // It reads no number before CR.
        match self.has_cr {
            true => format!(
                r"tr -d '\r' < FILE | {program} | warpfold ...{}",
                self.delimiter()
            ),
            false => self.line(&program),
        }
    }

    fn delimiter(&self) -> String {
        match self.delimiter {
            None => String::new(),
            Some(b'\t') => " --delimiter tab".into(),
            Some(byte) => format!(" --delimiter '{}'", char::from(byte)),
        }
    }
}

/// Another unit that may stand beside one, with other numbers.
fn sibling(unit: &str) -> Option<&'static str> {
    const FAMILIES: [&[&str]; 12] = [
        &[
            "B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "kb", "mb", "gb",
            "bytes",
        ],
        &[
            "s", "ms", "us", "\u{b5}s", "\u{3bc}s", "ns", "min", "mins", "h", "hr", "hrs", "d",
            "sec",
        ],
        &[
            "g", "kg", "mg", "ug", "\u{b5}g", "\u{3bc}g", "ng", "t", "lb", "lbs", "oz",
        ],
        &[
            "m", "km", "cm", "mm", "um", "\u{b5}m", "\u{3bc}m", "nm", "ft", "mi", "in",
        ],
        &["Hz", "kHz", "MHz", "GHz", "THz"],
        &["V", "mV", "kV", "uV", "\u{b5}V", "\u{3bc}V"],
        &["mA", "uA", "\u{b5}A", "\u{3bc}A", "nA", "kA"],
        &["kW", "MW", "mW", "GW", "kWh", "Wh", "MWh"],
        &[
            "L", "mL", "l", "ml", "uL", "\u{b5}L", "\u{3bc}L", "dl", "cl",
        ],
        &["hPa", "Pa", "kPa", "MPa", "bar", "mbar", "psi"],
        &["C", "F", "\u{b0}C", "\u{b0}F"],
        &["M", "mM", "uM", "\u{b5}M", "\u{3bc}M", "nM", "pM"],
    ];
    let family = FAMILIES.iter().find(|family| family.contains(&unit))?;
    // The next one up, or else the one below.
    let at = family.iter().position(|&other| other == unit)?;
    family
        .get(at + 1)
        .or(family.get(at.wrapping_sub(1)))
        .copied()
}
