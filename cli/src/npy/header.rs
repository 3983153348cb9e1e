//! The dictionary in the header of an .npy file: as much of Python's literals as it can hold.

/// The dictionary's three entries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dictionary {
    pub(super) description: Description,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

/// What the elements are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Description {
    /// A type string, such as `<f4`.
    Simple(String),
    /// A list of fields, as it is written.
    Structured(String),
}

/// A place in the text, and what is wrong there.
pub(super) type Mistake = (usize, String);

/// Reads the dictionary.
pub(super) fn parse(text: &[u8]) -> Result<Dictionary, Mistake> {
    let mut parser = Parser { text, position: 0 };
    let (mut description, mut fortran_order, mut shape) = (None, None, None);
    parser.expect(b'{')?;
    while !parser.accept(b'}') {
        let place = parser.place();
        let key = parser.string()?;
        parser.expect(b':')?;
        match key.as_str() {
            "descr" => description = Some(parser.description()?),
            "fortran_order" => fortran_order = Some(parser.boolean()?),
            "shape" => shape = Some(parser.shape()?),
            _ => return Err((place, format!("the key '{key}' is not known"))),
        }
        if !parser.accept(b',') {
            parser.expect(b'}')?;
            break;
        }
    }
    let place = parser.place();
    if place < text.len() {
        return Err((place, "nothing may follow the dictionary".into()));
    }
    let missing = |key| (place, format!("the key '{key}' is missing"));
    Ok(Dictionary {
        description: description.ok_or_else(|| missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

struct Parser<'a> {
    text: &'a [u8],
    position: usize,
}

impl Parser<'_> {
    /// Where the next thing that is no white space stands.
    fn place(&mut self) -> usize {
        let rest = &self.text[self.position..];
        let spaces = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.position += spaces;
        self.position
    }

    fn peek(&mut self) -> Option<u8> {
        let place = self.place();
        self.text.get(place).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Mistake> {
        if self.accept(byte) {
            Ok(())
        } else {
            Err(self.mistake(&format!("`{}`", byte as char)))
        }
    }

    fn mistake(&mut self, expected: &str) -> Mistake {
        let found = match self.peek() {
            Some(byte) => format!("`{}`", byte.escape_ascii()),
            None => "the end".into(),
        };
        (
            self.place(),
            format!("{found} stands where {expected} should"),
        )
    }

    /// Takes the bytes of a word or a number.
    fn word(&mut self) -> &[u8] {
        let start = self.place();
        let rest = &self.text[start..];
        let length = rest
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        self.position += length;
        &self.text[start..start + length]
    }

    /// A string without escapes: no key and no type string has any.
    fn string(&mut self) -> Result<String, Mistake> {
        let start = self.place();
        let Some(quote @ (b'\'' | b'"')) = self.peek() else {
            return Err(self.mistake("a string"));
        };
        let body = &self.text[start + 1..];
        let Some(length) = body.iter().position(|&b| b == quote) else {
            return Err((start, "this string does not end".into()));
        };
        self.position = start + length + 2;
        Ok(String::from_utf8_lossy(&body[..length]).into_owned())
    }

    fn boolean(&mut self) -> Result<bool, Mistake> {
        let start = self.place();
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => {
                self.position = start;
                Err(self.mistake("True or False"))
            }
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, Mistake> {
        self.expect(b'(')?;
        let mut shape = Vec::new();
        while !self.accept(b')') {
            shape.push(self.length()?);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn length(&mut self) -> Result<usize, Mistake> {
        let start = self.place();
        let word = self.word();
        // Python 2 marked long integers with an L.
        let digits = word.strip_suffix(b"L").unwrap_or(word);
        let length = str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse().ok());
        length.ok_or_else(|| {
            self.position = start;
            self.mistake("the length of an axis")
        })
    }

    fn description(&mut self) -> Result<Description, Mistake> {
        match self.peek() {
            Some(b'[' | b'(') => Ok(Description::Structured(self.bracketed()?)),
            _ => Ok(Description::Simple(self.string()?)),
        }
    }

    /// Takes a list or tuple as it stands, with all that is in it.
    fn bracketed(&mut self) -> Result<String, Mistake> {
        let start = self.place();
        let mut depth = 0_usize;
        let mut quote = None;
        let mut escaped = false;
        for (index, &byte) in self.text[start..].iter().enumerate() {
            if escaped {
                escaped = false;
                continue;
            }
            match (quote, byte) {
                (Some(_), b'\\') => escaped = true,
                (Some(mark), _) if mark == byte => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, b'[' | b'(') => depth += 1,
                (None, b']' | b')') => {
                    depth -= 1;
                    if depth == 0 {
                        self.position = start + index + 1;
                        let taken = &self.text[start..self.position];
                        return Ok(String::from_utf8_lossy(taken).into_owned());
                    }
                }
                (None, _) => {}
            }
        }
        Err((start, "this bracket is not closed".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(descr: &str, shape: &[usize]) -> Dictionary {
        Dictionary {
            description: Description::Simple(descr.into()),
            fortran_order: false,
            shape: shape.into(),
        }
    }

    #[test]
    fn what_numpy_writes_is_read() {
        let text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }       \n";
        assert_eq!(parse(text), Ok(entries("<f4", &[3, 4])));
        let text = b"{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n";
        assert_eq!(parse(text), Ok(entries("|u1", &[])));
        let text = b"{\"shape\":(7L,),\"fortran_order\":False,\"descr\":\"<i8\"}";
        assert_eq!(parse(text), Ok(entries("<i8", &[7])));
    }

    #[test]
    fn fields_are_skipped_as_a_whole() {
        let fields = r"[('it\'s ]', '<f4'), ('b', [('c', '<i2', (2, 3))])]";
        let text = format!("{{'descr': {fields}, 'fortran_order': True, 'shape': (2,)}}");
        let dictionary = parse(text.as_bytes()).unwrap();
        assert_eq!(
            dictionary.description,
            Description::Structured(fields.into())
        );
        assert!(dictionary.fortran_order);
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_an_error_or_a_header() {
        let text = b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 4), }\n";
        for end in 0..text.len() - 1 {
            assert!(
                parse(&text[..end]).is_err() || text[end..].trim_ascii().is_empty(),
                "{end}"
            );
        }
        for index in 0..text.len() {
            for byte in 0..=255 {
                let mut text = *text;
                text[index] = byte;
                // No panic is all that is asked here.
                let _ = parse(&text);
            }
        }
    }

    #[test]
    fn mistakes_are_placed() {
        let mistake = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert_eq!(
            mistake("{'descr': 4}"),
            (10, "`4` stands where a string should".into())
        );
        assert_eq!(
            mistake("{'descr': '<f4'"),
            (15, "the end stands where `}` should".into())
        );
        assert_eq!(mistake("{'shape': (-1,)}").0, 11);
        assert_eq!(
            mistake("{'what': 1}"),
            (1, "the key 'what' is not known".into())
        );
        assert_eq!(
            mistake("{'descr': '<f4'}").1,
            "the key 'fortran_order' is missing"
        );
    }
}
