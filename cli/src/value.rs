//! A result, as text and as JSON.

use crate::json::Json;

/// A number of any type, or what has no value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Nothing,
    Integer(i128),
    Single(f32),
    Double(f64),
}

impl Value {
    /// The shortest text that reads back as the same number; `-` for nothing.
    pub(crate) fn text(self) -> String {
        match self {
            Value::Nothing => "-".into(),
            Value::Integer(value) => value.to_string(),
            Value::Single(value) => zmij::Buffer::new().format(value).into(),
            Value::Double(value) => zmij::Buffer::new().format(value).into(),
        }
    }

    /// A count, a place, or nothing.
    pub(crate) fn count(value: Option<u64>) -> Value {
        value.map_or(Value::Nothing, |value| Value::Integer(value.into()))
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Value {
        Value::Single(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Double(value)
    }
}

/// Integers have all their digits, and floats as many as tell them apart. What JSON has no number
/// for is a string that Python's `float` and JavaScript's `Number` read, as in Protocol Buffers.
impl Json for Value {
    fn append_to_json(&self, text: &mut Vec<u8>) {
        let mut floats = zmij::Buffer::new();
        let number = match *self {
            Value::Nothing => "null",
            Value::Integer(value) => {
                return text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            Value::Single(value) if value.is_finite() => floats.format(value),
            Value::Double(value) if value.is_finite() => floats.format(value),
            Value::Single(value) => return name_of(value.into()).append_to_json(text),
            Value::Double(value) => return name_of(value).append_to_json(text),
        };
        text.extend_from_slice(number.as_bytes());
    }
}

/// The name of what is not finite.
fn name_of(value: f64) -> &'static str {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_json;

    #[test]
    fn json_is_exact() {
        let values = [
            Value::Nothing,
            Value::Integer(i128::from(u64::MAX) * 2),
            Value::Single(0.1),
            Value::Double(0.1 + 0.2),
            Value::Double(f64::NAN),
            Value::Single(f32::NEG_INFINITY),
        ];
        assert_eq!(
            to_json(&values[..]),
            r#"[null,36893488147419103230,0.1,0.30000000000000004,"NaN","-Infinity"]"#
        );
    }
}
