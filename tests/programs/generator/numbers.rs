//! Expressions of numbers and bools: operators, casts and methods.

use super::types::{F32, F64, FLOATS, Float, I8, I16, I32, INTS, Int, Type, U8, U16, U32, U64};
use super::{Code, Level, Writer};

/// What `warpfold::math` has, of one argument.
const FUNCTIONS: [&str; 17] = [
    "exp", "exp2", "exp_m1", "ln", "log2", "log10", "ln_1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "cbrt",
];

impl Writer<'_> {
    pub(super) fn int(&mut self, int: Int, known: bool) -> Code {
        let ty = Type::Int(int);
        match self.random.below(26) {
            0..=7 => {
                let (operator, level) = *self.random.pick(&[
                    ("+", Level::Sum),
                    ("-", Level::Sum),
                    ("*", Level::Product),
                    ("&", Level::BitAnd),
                    ("|", Level::BitOr),
                    ("^", Level::BitXor),
                ]);
                self.binary(operator, level, &ty, known)
            }
            8..=9 => {
                let operator = *self.random.pick(&["<<", ">>"]);
                let left = self.left(&ty, known, Level::Shift, operator);
                let amount = self.shift_amount().at_least(Level::Sum);
                Code::new(format!("{left} {operator} {amount}"), Level::Shift)
            }
            10 => {
                let operator = *self.random.pick(&["/", "%"]);
                let left = self.expression(&ty, false).at_least(Level::Product);
                Code::new(
                    format!("{left} {operator} {}", self.divisor(int)),
                    Level::Product,
                )
            }
            11 if !self.is_plain => self.guarded_division(int),
            12 => {
                let operator = if int.signed && self.random.chance(60) {
                    "-"
                } else {
                    "!"
                };
                let operand = self.unary_operand(&ty, known);
                Code::new(format!("{operator}{operand}"), Level::Unary)
            }
            13..=15 => self.cast(&ty),
            16..=18 if int.name == "u32" => self.count(),
            16..=22 => self.int_method(int),
            23 => self.widened(&ty),
            _ => {
                let bits_of = FLOATS
                    .iter()
                    .find(|float| !int.signed && float.bits == int.bits && int.name != "usize");
                match bits_of {
                    Some(float) => {
                        let argument = self.expression(&Type::Float(*float), true).text;
                        Code::atom(format!("bits_of_{}({argument})", float.name))
                    }
                    None => self.int_method(int),
                }
            }
        }
    }

    pub(super) fn float(&mut self, float: Float, known: bool) -> Code {
        let ty = Type::Float(float);
        match self.random.below(26) {
            0..=9 => {
                let (operator, level) = *self.random.pick(&[
                    ("+", Level::Sum),
                    ("-", Level::Sum),
                    ("*", Level::Product),
                    ("*", Level::Product),
                    ("/", Level::Product),
                    ("%", Level::Product),
                ]);
                self.binary(operator, level, &ty, known)
            }
            10 => Code::new(format!("-{}", self.unary_operand(&ty, known)), Level::Unary),
            11..=13 => self.cast(&ty),
            14 => self.widened(&ty),
            15 => {
                let bits = Type::Int(if float == F32 { U32 } else { U64 });
                Code::atom(format!(
                    "{}::from_bits({})",
                    float.name,
                    self.expression(&bits, true).text
                ))
            }
            16..=17 => {
                let function = *self.random.pick(&["lesser", "greater", "sign_of"]);
                let (a, b) = (
                    self.expression(&ty, true).text,
                    self.expression(&ty, true).text,
                );
                Code::atom(format!("{function}_{}({a}, {b})", float.name))
            }
            _ => self.float_method(float),
        }
    }

    pub(super) fn bool(&mut self) -> Code {
        let ty = Type::Bool;
        match self.random.below(20) {
            0..=8 => {
                let operand = match self.random.below(10) {
                    0..=5 => Type::Int(*self.random.pick(&INTS)),
                    6..=8 => Type::Float(*self.random.pick(&FLOATS)),
                    _ => Type::Bool,
                };
                let operator = *self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
                let left_known = self.random.chance(20);
                let left = self.left(&operand, left_known, Level::BitOr, operator);
                let right = self
                    .expression(&operand, !left_known)
                    .at_least(Level::BitOr);
                Code::new(format!("{left} {operator} {right}"), Level::Compare)
            }
            9..=13 => {
                let (operator, level) = *self.random.pick(&[
                    ("&&", Level::And),
                    ("||", Level::Or),
                    ("&", Level::BitAnd),
                    ("|", Level::BitOr),
                    ("^", Level::BitXor),
                ]);
                self.binary(operator, level, &ty, true)
            }
            14..=15 => Code::new(
                format!("!{}", self.expression(&ty, true).at_least(Level::Unary)),
                Level::Unary,
            ),
            16..=18 => {
                let float = *self.random.pick(&FLOATS);
                let operand = Type::Float(float);
                let method = *self.random.pick(&[
                    "is_nan",
                    "is_finite",
                    "is_infinite",
                    "is_normal",
                    "is_negative",
                ]);
                if method == "is_negative" {
                    let argument = self.expression(&operand, true).text;
                    return Code::atom(format!("{method}_{}({argument})", float.name));
                }
                self.method(&operand, method, Vec::new())
            }
            _ => {
                let int = *self.random.pick(&[U8, U16, U32, U64]);
                self.method(&Type::Int(int), "is_power_of_two", Vec::new())
            }
        }
    }

    /// Two operands, one of which at least says the type where it is not known.
    fn binary(&mut self, operator: &str, level: Level, ty: &Type, known: bool) -> Code {
        let left_known = known || self.random.chance(30);
        let left = self.left(ty, left_known, level, operator);
        let right = self.expression(ty, known || !left_known);
        // An operator of this level needs no parentheses on the left, and all looser ones do on
        // either side.
        let right = if right.level == level {
            format!("({})", right.text)
        } else {
            right.at_least(level)
        };
        Code::new(format!("{left} {operator} {right}"), level)
    }

    /// What `-` or `!` may stand before: anything but a negative literal, for the lowest number of
    /// a type is one only after a single sign.
    fn unary_operand(&mut self, ty: &Type, known: bool) -> String {
        loop {
            let operand = self.expression(ty, known);
            let unsigned = operand.text.strip_prefix('-').unwrap_or_default();
            if !unsigned.starts_with(|first: char| first.is_ascii_digit()) {
                return operand.at_least(Level::Unary);
            }
        }
    }

    /// The operand on the left.
    fn left(&mut self, ty: &Type, known: bool, level: Level, operator: &str) -> String {
        let left = self.expression(ty, known);
        if operator.starts_with('<') && left.ends_with_cast() {
            return format!("({})", left.text);
        }
        left.at_least(level)
    }

    /// Any number of any type: Rust takes as many of its bits as matter, where overflow is not
    /// checked.
    pub(super) fn shift_amount(&mut self) -> Code {
        if self.random.chance(40) {
            return Code::atom(self.random.below(70).to_string());
        }
        let int = *self.random.pick(&INTS);
        self.expression(&Type::Int(int), false)
    }

    /// What Rust can divide by without a panic.
    pub(super) fn divisor(&mut self, int: Int) -> String {
        let ty = Type::Int(int);
        match self.random.below(4) {
            0 if !int.signed => format!(
                "({} | 1)",
                self.expression(&ty, true).at_least(Level::BitOr)
            ),
            1 if int.signed => format!("-{}", 2 + self.random.below(100)),
            2 => format!(
                "({} & 63 | 1)",
                self.expression(&ty, true).at_least(Level::BitAnd)
            ),
            _ => (1 + self.random.below(100)).to_string(),
        }
    }

    /// A division as one writes it where the divisor may be 0.
    fn guarded_division(&mut self, int: Int) -> Code {
        let ty = Type::Int(int);
        let divisor = self.expression(&ty, false).text;
        let name = self.fresh_name();
        let text = self.scope(|writer| {
            writer
                .variables
                .push(super::Variable::new(&name, &ty, false));
            let otherwise = writer.leaf(&ty, true).text;
            let number = writer.expression(&ty, false).at_least(Level::Atom);
            let method = *writer.random.pick(&["wrapping_div", "wrapping_rem"]);
            format!("if {name} == 0 {{ {otherwise} }} else {{ {number}.{method}({name}) }}")
        });
        Code::new(
            format!("{{\nlet {name} = {divisor};\n{text}\n}}"),
            Level::Block,
        )
    }

    fn cast(&mut self, to: &Type) -> Code {
        let from = loop {
            let from = Type::scalar(self.random);
            // There is no cast from bool to floats.
            if from != Type::Bool || matches!(to, Type::Int(_)) {
                break from;
            }
        };
        let value = self.expression(&from, false).at_least(Level::Cast);
        Code::new(format!("{value} as {}", to.name()), Level::Cast)
    }

    /// `u64::from(x)` of a number that always fits.
    fn widened(&mut self, ty: &Type) -> Code {
        let from: Vec<Type> = match ty {
            Type::Int(int) if int.name == "usize" => {
                vec![Type::Int(U8), Type::Int(U16), Type::Bool]
            }
            Type::Int(int) if int.name == "isize" => {
                vec![Type::Int(U8), Type::Int(I8), Type::Int(I16), Type::Bool]
            }
            Type::Int(int) => INTS
                .iter()
                .filter(|from| {
                    !from.name.ends_with("size")
                        && from.bits < int.bits
                        && (!from.signed || int.signed)
                })
                .map(|from| Type::Int(*from))
                .chain([Type::Bool])
                .collect(),
            Type::Float(float) => {
                let small = [I8, I16, U8, U16].map(Type::Int);
                let large = [Type::Int(I32), Type::Int(U32), Type::Float(F32)];
                if *float == F64 {
                    [&small[..], &large[..]].concat()
                } else {
                    small.to_vec()
                }
            }
            _ => vec![ty.clone()],
        };
        let from = self.random.pick(&from).clone();
        Code::atom(format!(
            "{}::from({})",
            ty.name(),
            self.expression(&from, false).text
        ))
    }

    /// A call of a method in either of the two ways to write one.
    fn method(&mut self, of: &Type, name: &str, arguments: Vec<String>) -> Code {
        if self.random.chance(15) {
            let receiver = self.expression(of, true).text;
            let all = [vec![receiver], arguments].concat();
            return Code::atom(format!("{}::{name}({})", of.name(), all.join(", ")));
        }
        let receiver = self.expression(of, false).at_least(Level::Atom);
        Code::atom(format!("{receiver}.{name}({})", arguments.join(", ")))
    }

    fn int_method(&mut self, int: Int) -> Code {
        let ty = Type::Int(int);
        match self.random.below(19) {
            0..=5 => {
                let name = *self.random.pick(&[
                    "wrapping_add",
                    "wrapping_sub",
                    "wrapping_mul",
                    "saturating_add",
                    "saturating_sub",
                    "saturating_mul",
                    "min",
                    "max",
                ]);
                let other = self.expression(&ty, true).text;
                self.method(&ty, name, vec![other])
            }
            6..=8 => {
                let name = *self.random.pick(&[
                    "wrapping_shl",
                    "wrapping_shr",
                    "rotate_left",
                    "rotate_right",
                    "pow",
                    "wrapping_pow",
                ]);
                let amount = self.expression(&Type::Int(U32), true).text;
                self.method(&ty, name, vec![amount])
            }
            9..=10 => {
                let name = *self
                    .random
                    .pick(&["wrapping_neg", "swap_bytes", "reverse_bits"]);
                self.method(&ty, name, Vec::new())
            }
            11..=12 if int.signed => {
                let name = *self.random.pick(&["abs", "signum", "wrapping_abs"]);
                self.method(&ty, name, Vec::new())
            }
            11..=12 => {
                let same = [
                    int,
                    *INTS
                        .iter()
                        .find(|same| same.signed && same.bits == int.bits)
                        .unwrap_or(&int),
                ];
                let of = if int.name == "usize" {
                    int
                } else {
                    *self.random.pick(&same)
                };
                let other = self.expression(&Type::Int(of), true).text;
                self.method(&Type::Int(of), "abs_diff", vec![other])
            }
            13..=14 => {
                let name = *self.random.pick(&["wrapping_div", "wrapping_rem"]);
                let divisor = self.expression(&ty, true).at_least(Level::BitOr);
                self.method(&ty, name, vec![format!("{divisor} | 1")])
            }
            15..=16 => {
                let last = if int.signed { "div_euclid" } else { "div_ceil" };
                let name = *self.random.pick(&["rem_euclid", "div_euclid", last]);
                let divisor = self.divisor(int);
                self.method(&ty, name, vec![divisor])
            }
            17 => {
                let (a, b) = (int.sample(self.random), int.sample(self.random));
                self.method(
                    &ty,
                    "clamp",
                    vec![a.min(b).to_string(), a.max(b).to_string()],
                )
            }
            _ => self.cast(&ty),
        }
    }

    /// A number of bits.
    fn count(&mut self) -> Code {
        let of = Type::Int(*self.random.pick(&INTS));
        let names = [
            "count_ones",
            "count_zeros",
            "leading_zeros",
            "trailing_zeros",
            "leading_ones",
            "trailing_ones",
        ];
        let name = *self.random.pick(&names);
        self.method(&of, name, Vec::new())
    }

    fn float_method(&mut self, float: Float) -> Code {
        let ty = Type::Float(float);
        match self.random.below(16) {
            0..=6 => {
                let name = *self.random.pick(&[
                    "sqrt",
                    "abs",
                    "floor",
                    "ceil",
                    "round",
                    "round_ties_even",
                    "trunc",
                    "fract",
                    "fract",
                    "recip",
                    "signum",
                ]);
                self.method(&ty, name, Vec::new())
            }
            7..=9 => {
                let arguments = vec![
                    self.expression(&ty, true).text,
                    self.expression(&ty, true).text,
                ];
                self.method(&ty, "mul_add", arguments)
            }
            10..=11 => {
                let name = *self.random.pick(&["rem_euclid", "div_euclid"]);
                let divisor = self.expression(&ty, true).text;
                self.method(&ty, name, vec![divisor])
            }
            13..=14 => {
                let name = *self.random.pick(&FUNCTIONS);
                self.method(&ty, name, Vec::new())
            }
            15 => {
                let name = *self.random.pick(&["powf", "hypot", "atan2"]);
                let other = self.expression(&ty, true).text;
                self.method(&ty, name, vec![other])
            }
            _ => {
                // Bounds other than zero, whose sign would matter.
                let limits = *self.random.pick(&[
                    ("-1.0", "1.0"),
                    ("0.5", "0.5"),
                    ("-1e30", "-2.5"),
                    ("1e-40", "3.0"),
                ]);
                self.method(&ty, "clamp", vec![limits.0.to_owned(), limits.1.to_owned()])
            }
        }
    }
}
