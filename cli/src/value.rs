//! A result, as text and as JSON.

use serde::{Serialize, Serializer};

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
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Value::Nothing => serializer.serialize_unit(),
            Value::Integer(value) => serializer.serialize_i128(value),
            Value::Single(value) if value.is_finite() => serializer.serialize_f32(value),
            Value::Double(value) if value.is_finite() => serializer.serialize_f64(value),
            Value::Single(value) => serializer.serialize_str(name_of(value.into())),
            Value::Double(value) => serializer.serialize_str(name_of(value)),
        }
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
            serde_json::to_string(&values).unwrap(),
            r#"[null,36893488147419103230,0.1,0.30000000000000004,"NaN","-Infinity"]"#
        );
    }
}
