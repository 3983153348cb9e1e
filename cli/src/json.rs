//! Values as JSON has them. There are few kinds, and they are only written.

/// What is written as JSON.
pub(crate) trait Json {
    /// Appends it.
    fn append_to_json(&self, text: &mut Vec<u8>);
}

/// The JSON of a value.
pub(crate) fn to_json(value: &(impl Json + ?Sized)) -> String {
    let mut text = Vec::new();
    value.append_to_json(&mut text);
    String::from_utf8(text).expect("JSON is a text")
}

impl Json for str {
    fn append_to_json(&self, text: &mut Vec<u8>) {
        text.push(b'"');
        for &byte in self.as_bytes() {
            let escaped = match byte {
                b'"' => b'"',
                b'\\' => b'\\',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                0x08 => b'b',
                0x0c => b'f',
                0..0x20 => {
                    text.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                    continue;
                }
                _ => {
                    text.push(byte);
                    continue;
                }
            };
            text.extend_from_slice(&[b'\\', escaped]);
        }
        text.push(b'"');
    }
}

impl Json for String {
    fn append_to_json(&self, text: &mut Vec<u8>) {
        self.as_str().append_to_json(text);
    }
}

impl Json for u64 {
    fn append_to_json(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
    }
}

impl<T: Json> Json for Option<T> {
    fn append_to_json(&self, text: &mut Vec<u8>) {
        match self {
            Some(value) => value.append_to_json(text),
            None => text.extend_from_slice(b"null"),
        }
    }
}

impl<T: Json> Json for [T] {
    fn append_to_json(&self, text: &mut Vec<u8>) {
        text.push(b'[');
        for (place, value) in self.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            value.append_to_json(text);
        }
        text.push(b']');
    }
}

/// Names and the JSON that each stands for.
pub(crate) fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let members = members.into_iter();
    let members: Vec<_> = members
        .map(|(name, value)| format!("{}:{value}", to_json(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn texts_read_back(text: String) {
            let read: String = serde_json::from_str(&to_json(&text)).unwrap();
            proptest::prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn values_are_those_of_other_writers() {
        let texts = [
            "a\"b\\c/d",
            "\u{0}\u{8}\u{c}\n\r\t\u{1f}\u{7f}",
            "é\u{2028}",
        ];
        for text in texts {
            assert_eq!(to_json(text), serde_json::to_string(text).unwrap());
        }
        assert_eq!(to_json(&[0, u64::MAX][..]), "[0,18446744073709551615]");
        assert_eq!(to_json(&[0_u64; 0][..]), "[]");
        assert_eq!(to_json(&None::<u64>), "null");
        assert_eq!(
            object([("a", to_json("b")), ("c", to_json(&1_u64))]),
            r#"{"a":"b","c":1}"#
        );
        assert_eq!(object([]), "{}");
    }
}
