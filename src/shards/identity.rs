//! What is said of a type and an operator to other processes: a hash and a name.

use crate::definitions::Definitions;
use crate::{Element, Monoid};
use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A hash of bytes, to find faults, not forgeries. Each word changes it reversibly. So one that is
/// damaged always shows, and others but for one case in 2^64.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) fn new() -> Hash {
        Hash(0x9e37_79b9_7f4a_7c15)
    }

    #[must_use]
    pub(super) fn with(self, bytes: &[u8]) -> Hash {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let mut hash = self.0;
        // The length keeps neighbours apart.
        let length = (bytes.len() as u64).to_ne_bytes();
        for word in words.iter().chain([&last, &length]) {
            // An odd number has an inverse, and so has a rotation.
            hash = (hash ^ u64::from_ne_bytes(*word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash = hash.rotate_left(29);
        }
        Hash(hash)
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }
}

/// What processes know a type and an operator by.
#[derive(Clone)]
pub(super) struct Identity {
    /// A number that two processes share if they have the same ones: the name, the definition in
    /// CUDA, the identity, and the order of bytes.
    pub(super) hash: u64,
    /// See [`name_of`].
    pub(super) name: Arc<str>,
}

/// Worked out once in a process: it takes longer than packets do.
pub(super) fn identity_of<T: Element, Op: Monoid<T>>() -> Identity {
    type Known = HashMap<(TypeId, TypeId), Identity>;
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let key = (TypeId::of::<T>(), TypeId::of::<Op>());
    let lock = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(identity) = lock().as_ref().and_then(|known| known.get(&key)) {
        return identity.clone();
    }
    let mut definitions = Definitions::default();
    let of_type = T::cuda_type(&mut definitions);
    let of_operator = Op::cuda(&mut definitions);
    // What cannot be generated is an error of a GPU's; here the names will do.
    let text = definitions.text().unwrap_or_default();
    let name = name_of::<T, Op>();
    let hash = Hash::new()
        .with(name.as_bytes())
        .with(of_type.as_bytes())
        .with(of_operator.as_bytes())
        .with(text.as_bytes())
        .with(bytemuck::bytes_of(&Op::identity()))
        .with(&(size_of::<T>() as u64).to_ne_bytes())
        .value();
    let identity = Identity {
        hash,
        name: name.into(),
    };
    lock().get_or_insert_default().insert(key, identity.clone());
    identity
}

/// The number of an [`Identity`].
pub(super) fn hash_of<T: Element, Op: Monoid<T>>() -> u64 {
    identity_of::<T, Op>().hash
}

/// How errors name a type and an operator.
pub(super) fn name_of<T, Op>() -> String {
    format!(
        "{} with {}",
        short(type_name::<T>()),
        short(type_name::<Op>())
    )
}

/// How errors name a type.
pub(super) fn name_of_type<T>() -> String {
    short(type_name::<T>())
}

/// A type's name without the paths of modules.
fn short(name: &str) -> String {
    let (mut all, mut word) = (String::new(), String::new());
    for c in name.chars() {
        match c {
            ':' => word.clear(),
            c if c.is_alphanumeric() || c == '_' => word.push(c),
            c => {
                all.push_str(&word);
                all.push(c);
                word.clear();
            }
        }
    }
    all + &word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Add, Max, Mul};

    #[test]
    fn names_have_no_paths() {
        assert_eq!(name_of::<f32, Add>(), "f32 with Add");
        assert_eq!(short("a::b::C<d::E, [f::G; 2]>"), "C<E, [G; 2]>");
    }

    #[test]
    fn types_and_operators_tell_hashes_apart() {
        let hashes = [
            hash_of::<f32, Add>(),
            hash_of::<f64, Add>(),
            hash_of::<f32, Mul>(),
            hash_of::<f32, Max>(),
            hash_of::<[f32; 2], crate::statistics::Extremes>(),
        ];
        for (i, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..i].contains(hash), "{i}");
        }
        assert_eq!(hashes[0], hash_of::<f32, Add>());
    }

    #[test]
    fn a_hash_depends_on_where_parts_end() {
        let hash = |parts: &[&[u8]]| parts.iter().fold(Hash::new(), |h, p| h.with(p)).value();
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[b"a", b""]), hash(&[b"a"]));
    }
}
