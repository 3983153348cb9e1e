//! The types of the programs' values, and what the module of the programs defines besides
//! functions.

use super::random::Random;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    Int(Int),
    Float(Float),
    Bool,
    Struct(&'static Struct),
    Tuple(Vec<Type>),
    Array(Box<Type>, usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Int {
    pub(crate) name: &'static str,
    pub(crate) bits: u32,
    pub(crate) signed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Float {
    pub(crate) name: &'static str,
    pub(crate) bits: u32,
}

/// A struct with `#[derive(Element)]`. The fields of a tuple struct have numbers for names. Some
/// names mean something in C++ or in the kernels.
#[derive(Debug, PartialEq)]
pub(crate) struct Struct {
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [(&'static str, Field)],
}

/// The type of a struct's field, as a constant can state it.
#[derive(Debug, PartialEq)]
pub(crate) enum Field {
    Int(Int),
    Float(Float),
    Struct(&'static Struct),
    Ints(Int, usize),
    Floats(Float, usize),
}

const fn int(name: &'static str, bits: u32, signed: bool) -> Int {
    Int { name, bits, signed }
}

pub(crate) const U8: Int = int("u8", 8, false);
pub(crate) const U16: Int = int("u16", 16, false);
pub(crate) const U32: Int = int("u32", 32, false);
pub(crate) const U64: Int = int("u64", 64, false);
const U128: Int = int("u128", 128, false);
pub(crate) const USIZE: Int = int("usize", 64, false);
const ISIZE: Int = int("isize", 64, true);
pub(crate) const I8: Int = int("i8", 8, true);
pub(crate) const I16: Int = int("i16", 16, true);
pub(crate) const I32: Int = int("i32", 32, true);
pub(crate) const I64: Int = int("i64", 64, true);
const I128: Int = int("i128", 128, true);
pub(crate) const F32: Float = Float {
    name: "f32",
    bits: 32,
};
pub(crate) const F64: Float = Float {
    name: "f64",
    bits: 64,
};

pub(crate) const INTS: [Int; 12] = [
    U8, U16, U32, U64, U128, USIZE, I8, I16, I32, I64, I128, ISIZE,
];
pub(crate) const FLOATS: [Float; 2] = [F32, F64];

const PAIR: Struct = Struct {
    name: "Pair",
    fields: &[("x", Field::Float(F32)), ("n", Field::Int(I32))],
};
const BYTES: Struct = Struct {
    name: "Bytes",
    fields: &[
        ("first", Field::Int(U8)),
        ("second", Field::Int(I8)),
        ("u8", Field::Ints(U8, 3)),
    ],
};
const NESTED: Struct = Struct {
    name: "Nested",
    fields: &[
        ("weights", Field::Floats(F64, 2)),
        ("pair", Field::Struct(&PAIR)),
        ("rank", Field::Int(U64)),
    ],
};
const BOTH: Struct = Struct {
    name: "Array",
    fields: &[("0", Field::Int(I64)), ("1", Field::Float(F64))],
};
const ONE: Struct = Struct {
    name: "Tuple",
    fields: &[("0", Field::Int(U16))],
};

const STRUCTS: [&Struct; 5] = [&PAIR, &BYTES, &NESTED, &BOTH, &ONE];

impl Int {
    fn mask(self) -> u128 {
        u128::MAX >> (128 - self.bits)
    }

    /// The greatest number, but of `u128` the greatest `i128`.
    pub(crate) fn max(self) -> i128 {
        i128::try_from(self.mask() >> u32::from(self.signed)).unwrap_or(i128::MAX)
    }

    pub(crate) fn min(self) -> i128 {
        if self.signed { -self.max() - 1 } else { 0 }
    }

    /// A number: small, at an edge, or any.
    pub(crate) fn sample(self, random: &mut Random) -> i128 {
        let bits = match random.below(8) {
            0..=4 => u128::from(random.bits() % 12),
            5 => 1 << (random.bits() % u64::from(self.bits)),
            6 => *random.pick(&[
                self.max() as u128,
                self.min() as u128,
                (self.max() / 2) as u128,
            ]),
            _ => u128::from(random.bits()) << 64 | u128::from(random.bits()),
        } & self.mask();
        let unused = 128 - self.bits;
        let number = if self.signed {
            (bits << unused) as i128 >> unused
        } else {
            (bits as i128) & i128::MAX
        };
        if self.signed && random.chance(20) && number != self.min() {
            -number
        } else {
            number
        }
    }
}

impl Float {
    /// A literal without its type, which is not negative.
    pub(crate) fn sample(self, random: &mut Random) -> String {
        const SIMPLE: [&str; 14] = [
            "0.0",
            "1.0",
            "0.5",
            "2.0",
            "3.0",
            "0.1",
            "1.5",
            "10.0",
            "7.25",
            "1e3",
            "1_000.5",
            "2.5e-3",
            "100.0",
            "0.3333333",
        ];
        // The last two of each are just beside the middle between two floats: to round twice is to
        // round wrongly.
        const EDGES_F32: [&str; 8] = [
            "1e-45",
            "3.4028235e38",
            "1.1754944e-38",
            "16777217.0",
            "2147483648.0",
            "8388608.5",
            "1.00000017881393432617187499",
            "1.00000017881393432617187501",
        ];
        const EDGES_F64: [&str; 8] = [
            "5e-324",
            "1.7976931348623157e308",
            "2.2250738585072014e-308",
            "9007199254740993.0",
            "9223372036854775808.0",
            "4503599627370496.5",
            "1.00000000000000011102230246251565404",
            "1.00000000000000011102230246251565405",
        ];
        match random.below(10) {
            0..=6 => (*random.pick(&SIMPLE)).to_owned(),
            7 => (*random.pick(if self.bits == 32 {
                &EDGES_F32
            } else {
                &EDGES_F64
            }))
            .to_owned(),
            // The shortest text of a random float of moderate size.
            _ if self.bits == 32 => format!(
                "{:?}",
                f32::from_bits((0x3000_0000 + (random.bits() >> 35)) as u32)
            ),
            _ => format!(
                "{:?}",
                f64::from_bits(0x3c00_0000_0000_0000 + (random.bits() >> 5))
            ),
        }
    }
}

impl Field {
    pub(crate) fn ty(&self) -> Type {
        match *self {
            Field::Int(int) => Type::Int(int),
            Field::Float(float) => Type::Float(float),
            Field::Struct(of) => Type::Struct(of),
            Field::Ints(int, length) => Type::Array(Box::new(Type::Int(int)), length),
            Field::Floats(float, length) => Type::Array(Box::new(Type::Float(float)), length),
        }
    }
}

impl Struct {
    pub(crate) fn is_tuple(&self) -> bool {
        self.fields[0].0 == "0"
    }
}

impl Type {
    pub(crate) fn name(&self) -> String {
        match self {
            Type::Int(int) => int.name.to_owned(),
            Type::Float(float) => float.name.to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Struct(of) => of.name.to_owned(),
            Type::Array(element, 3) => format!("[{}; LENGTH]", element.name()),
            Type::Array(element, length) => format!("[{}; {length}]", element.name()),
            Type::Tuple(parts) => {
                let names: Vec<_> = parts.iter().map(Type::name).collect();
                format!("({})", names.join(", "))
            }
        }
    }

    /// The parts of a value that have types of their own, and how they are called.
    pub(crate) fn parts(&self) -> Vec<(String, Type)> {
        match self {
            Type::Int(_) | Type::Float(_) | Type::Bool | Type::Array(..) => Vec::new(),
            Type::Struct(of) => of
                .fields
                .iter()
                .map(|(name, field)| ((*name).to_owned(), field.ty()))
                .collect(),
            Type::Tuple(parts) => parts
                .iter()
                .enumerate()
                .map(|(number, part)| (number.to_string(), part.clone()))
                .collect(),
        }
    }

    /// A number or a bool.
    pub(crate) fn scalar(random: &mut Random) -> Type {
        match random.below(20) {
            0..=10 => Type::Int(*random.pick(&INTS)),
            11..=16 => Type::Float(*random.pick(&FLOATS)),
            _ => Type::Bool,
        }
    }

    pub(crate) fn structure(random: &mut Random) -> Type {
        Type::Struct(STRUCTS[random.below(STRUCTS.len())])
    }

    pub(crate) fn any(random: &mut Random) -> Type {
        match random.below(20) {
            0..=11 => Type::scalar(random),
            12..=14 => Type::structure(random),
            15..=16 => Type::Array(Box::new(Type::part(random)), 1 + random.below(4)),
            _ => Type::Tuple(
                (0..2 + random.below(2))
                    .map(|_| Type::part(random))
                    .collect(),
            ),
        }
    }

    /// What tuples and arrays consist of.
    fn part(random: &mut Random) -> Type {
        match random.below(20) {
            0..=16 => Type::scalar(random),
            17 => Type::structure(random),
            18 => Type::Array(Box::new(Type::scalar(random)), 2),
            _ => Type::Tuple(vec![Type::scalar(random), Type::scalar(random)]),
        }
    }
}

/// Constants of the module.
pub(crate) fn constants() -> Vec<(&'static str, Type, &'static str)> {
    let mut constants = vec![
        ("LIMIT", Type::Int(U8), "200"),
        ("PORT", Type::Int(U16), "0xBEEF"),
        ("LENGTH", Type::Int(USIZE), "3"),
        ("PRIME", Type::Int(U32), "16_777_619"),
        ("MASK", Type::Int(U64), "0xFFFF_0000_FFFF_0001"),
        ("WIDE", Type::Int(U128), "1 << 127 | 0xFFFF_0000_FFFF_0001"),
        ("LOWEST", Type::Int(I8), "i8::MIN"),
        ("NEGATIVE", Type::Int(I16), "-300"),
        ("START", Type::Int(I32), "-1 << 20"),
        ("FAR", Type::Int(I64), "i64::MIN + 1"),
        ("HALF", Type::Float(F32), "0.5"),
        ("TINY", Type::Float(F32), "-1e-45"),
        ("HUGE", Type::Float(F64), "f64::MAX"),
        ("THIRD", Type::Float(F64), "1.0 / 3.0"),
        ("YES", Type::Bool, "true"),
        ("ORIGIN", Type::Struct(&PAIR), "Pair { x: -0.0, n: 7 }"),
        (
            "SIGNS",
            Type::Array(Box::new(Type::Int(I32)), 3),
            "[-1, 0, i32::MAX]",
        ),
    ];
    for int in INTS {
        let name = int.name;
        for (path, value) in [("MAX", ""), ("MIN", "")] {
            let path: &'static str = format!("{name}::{path}").leak();
            constants.push((path, Type::Int(int), value));
        }
    }
    constants.push(("u32::BITS", Type::Int(U32), ""));
    constants.push(("i8::BITS", Type::Int(U32), ""));
    for float in FLOATS {
        for path in [
            "MAX",
            "MIN",
            "MIN_POSITIVE",
            "EPSILON",
            "INFINITY",
            "NEG_INFINITY",
            "NAN",
        ] {
            let path: &'static str = format!("{}::{path}", float.name).leak();
            constants.push((path, Type::Float(float), ""));
        }
        let path: &'static str = format!("std::{}::consts::PI", float.name).leak();
        constants.push((path, Type::Float(float), ""));
    }
    constants
}

/// Structs, constants and functions that the programs use.
pub(crate) fn preamble() -> String {
    let mut text = "use super::words;\nuse warpfold::Element;\n".to_owned();
    for of in STRUCTS {
        let fields: Vec<_> = of
            .fields
            .iter()
            .map(|(name, field)| {
                let ty = field.ty().name();
                if of.is_tuple() {
                    ty
                } else {
                    format!("{name}: {ty}")
                }
            })
            .collect();
        let (fields, name) = (fields.join(", "), of.name);
        let body = if of.is_tuple() {
            format!("({fields});")
        } else {
            format!(" {{ {fields} }}")
        };
        let names: Vec<_> = of
            .fields
            .iter()
            .map(|(name, field)| format!("{name}: {}", field.ty().name()))
            .collect();
        text += &format!(
            "\n#[derive(Clone, Copy, Debug, Element)]\n#[repr(C)]\npub(crate) struct {name}{body}\nwords!({name} {{ {} }});\n",
            names.join(", ")
        );
    }
    text.push('\n');
    for (name, ty, value) in constants() {
        if !value.is_empty() {
            text += &format!("const {name}: {} = {value};\n", ty.name());
        }
    }
    for float in FLOATS {
        let (name, bits) = (float.name, float.bits);
        text += &GUARDS
            .replace("FLOAT", name)
            .replace("BITS", &format!("u{bits}"));
    }
    text
}

/// What Rust does not promise of floats must not decide a result: which of two zeros is the lesser,
/// and the sign and the payload of a NaN.
const GUARDS: &str = "
#[warpfold::function]
#[inline(never)]
fn lesser_FLOAT(a: FLOAT, b: FLOAT) -> FLOAT {
    if a == b { a } else { a.min(b) }
}

#[warpfold::function]
#[inline(never)]
fn greater_FLOAT(a: FLOAT, b: FLOAT) -> FLOAT {
    if a == b { b } else { FLOAT::max(a, b) }
}

#[warpfold::function]
#[inline(never)]
fn sign_of_FLOAT(x: FLOAT, sign: FLOAT) -> FLOAT {
    if sign.is_nan() { x } else { x.copysign(sign) }
}

#[warpfold::function]
#[inline(never)]
fn is_negative_FLOAT(x: FLOAT) -> bool {
    !x.is_nan() && x.is_sign_negative()
}

#[warpfold::function]
#[inline(never)]
fn bits_of_FLOAT(x: FLOAT) -> BITS {
    if x.is_nan() { 0 } else { x.to_bits() }
}
";
