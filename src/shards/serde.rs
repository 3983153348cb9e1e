//! Nodes as serde sees them: bytes, with all their checks.

use super::Nodes;
use crate::{Element, Monoid};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

impl<T: Element, Op: Monoid<T>> Serialize for Nodes<T, Op> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de, T: Element, Op: Monoid<T>> Deserialize<'de> for Nodes<T, Op> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(Bytes(PhantomData))
    }
}

/// Reads nodes of bytes, or of the sequence of numbers that formats of text make of them.
struct Bytes<N>(PhantomData<N>);

impl<'de, T: Element, Op: Monoid<T>> Visitor<'de> for Bytes<Nodes<T, Op>> {
    type Value = Nodes<T, Op>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of nodes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Nodes<T, Op>, E> {
        Nodes::from_bytes(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Nodes<T, Op>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = all.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
