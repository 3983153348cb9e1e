//! Expressions of any type.

use super::types::{Float, Int, Type};
use super::{Code, Level, MOST_COST, Writer};

/// A variable, or a part of one.
#[derive(Debug, Clone)]
pub(super) struct Place {
    steps: Vec<Step>,
    pub(super) ty: Type,
    pub(super) is_mutable: bool,
}

#[derive(Debug, Clone)]
enum Step {
    /// The name of the variable, or of a field with the dot before it.
    Name(String),
    /// An index into so many elements.
    Index(usize),
}

impl Writer<'_> {
    /// An expression of a type. Where that is not `known` from the place, the expression says it.
    pub(super) fn expression(&mut self, ty: &Type, known: bool) -> Code {
        if self.budget <= 0 || self.depth > 4 || self.random.chance(20) {
            self.spend();
            return self.leaf(ty, known);
        }
        self.operation(ty, known)
    }

    /// An expression that is more than a variable or a literal.
    pub(super) fn operation(&mut self, ty: &Type, known: bool) -> Code {
        self.spend();
        self.depth += 1;
        let code = match self.random.below(100) {
            0..=25 if self.is_plain => self.plain_operation(ty, known),
            26..=33 if !self.is_pure => self.effect(ty, known),
            0..=4 => Code::new(self.chain(Some((ty, known))), Level::Block),
            5..=8 => self.choice(Some((ty, known))),
            9..=11 => Code::new(self.statements(Some(ty), known), Level::Block),
            12..=21 => self.call(ty, known),
            22..=25 => self.part_of_more(ty, known),
            _ => self.plain_operation(ty, known),
        };
        self.depth -= 1;
        code
    }

    /// An operation of the type's own.
    fn plain_operation(&mut self, ty: &Type, known: bool) -> Code {
        match ty {
            Type::Int(int) => self.int(*int, known),
            Type::Float(float) => self.float(*float, known),
            Type::Bool => self.bool(),
            _ => self.aggregate(ty, known),
        }
    }

    fn spend(&mut self) {
        self.budget -= 1;
        self.cost += self.times;
    }

    /// A block that changes a variable before it gives a value: what is computed before it and
    /// after it must not be mixed up.
    fn effect(&mut self, ty: &Type, known: bool) -> Code {
        let change = match self.mutable_place(|of| of == ty) {
            Some((place, _)) => {
                let value = self.expression(ty, true).text;
                let next = if self.random.chance(70) {
                    place.clone()
                } else {
                    self.leaf(ty, known).text
                };
                format!("{place} = {value};\n{next}")
            }
            None => match (ty, self.mutable_place(|of| matches!(of, Type::Int(_)))) {
                (Type::Int(_) | Type::Float(_), Some((place, of))) => {
                    let value = self.expression(&of, true).text;
                    format!("{place} = {value};\n{place} as {}", ty.name())
                }
                _ => return self.leaf(ty, known),
            },
        };
        Code::new(format!("{{\n{change}\n}}"), Level::Block)
    }

    /// An expression without operations, or nearly.
    pub(super) fn leaf(&mut self, ty: &Type, known: bool) -> Code {
        if self.random.chance(80) {
            let places: Vec<_> = self
                .places()
                .into_iter()
                .filter(|place| place.ty == *ty)
                .collect();
            if !places.is_empty() {
                let place = self.latest(&places);
                return Code::atom(self.place(&place));
            }
        }
        if self.random.chance(12) {
            let constants: Vec<_> = self
                .constants
                .iter()
                .filter(|(_, of, _)| of == ty)
                .collect();
            if !constants.is_empty() {
                return Code::atom(self.random.pick(&constants).0);
            }
        }
        match ty {
            Type::Int(_) | Type::Float(_) => {
                let is_float = matches!(ty, Type::Float(_));
                let numbers: Vec<_> = self
                    .places()
                    .into_iter()
                    .filter(|place| match place.ty {
                        Type::Int(_) | Type::Float(_) => true,
                        Type::Bool => !is_float,
                        _ => false,
                    })
                    .collect();
                if numbers.is_empty() || self.random.chance(40) {
                    return self.literal(ty, known);
                }
                let place = self.latest(&numbers);
                Code::new(
                    format!("{} as {}", self.place(&place), ty.name()),
                    Level::Cast,
                )
            }
            Type::Bool => {
                let is_number = |place: &Place| matches!(place.ty, Type::Int(_) | Type::Float(_));
                let numbers: Vec<_> = self.places().into_iter().filter(is_number).collect();
                if numbers.is_empty() || self.random.chance(10) {
                    return self.literal(ty, known);
                }
                let place = self.latest(&numbers);
                let operator = *self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
                let limit = self.literal(&place.ty, true).text;
                Code::new(
                    format!("{} {operator} {limit}", self.place(&place)),
                    Level::Compare,
                )
            }
            _ => self.aggregate(ty, known),
        }
    }

    /// One of the places, rather a late one: what was computed is to be used.
    fn latest(&mut self, places: &[Place]) -> Place {
        let position = self
            .random
            .below(places.len())
            .max(self.random.below(places.len()));
        places[position].clone()
    }

    /// All variables that can be seen, and all their parts.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut places: Vec<_> = self
            .visible()
            .into_iter()
            .map(|variable| Place {
                steps: vec![Step::Name(variable.name)],
                ty: variable.ty,
                is_mutable: variable.is_mutable,
            })
            .collect();
        let mut done = 0;
        while done < places.len() {
            let whole = places[done].clone();
            done += 1;
            let mut add = |step: Step, ty: Type| {
                let mut steps = whole.steps.clone();
                steps.push(step);
                places.push(Place {
                    steps,
                    ty,
                    is_mutable: whole.is_mutable,
                });
            };
            if let Type::Array(element, length) = &whole.ty {
                add(Step::Index(*length), (**element).clone());
            }
            for (name, part) in whole.ty.parts() {
                add(Step::Name(format!(".{name}")), part);
            }
        }
        places
    }

    pub(super) fn place(&mut self, place: &Place) -> String {
        let mut text = String::new();
        for step in &place.steps {
            match step {
                Step::Name(name) => text += name,
                Step::Index(length) => text += &format!("[{}]", self.index(*length)),
            }
        }
        text
    }

    /// An index that is less than `length`. Rust lets it change nothing.
    fn index(&mut self, length: usize) -> String {
        if self.budget <= 0 || self.random.chance(50) {
            return self.random.below(length).to_string();
        }
        let usize = Type::Int(super::types::USIZE);
        let number = self.purely(|writer| writer.expression(&usize, true));
        let length = if length == 3 && self.random.chance(50) {
            "LENGTH".to_owned()
        } else {
            length.to_string()
        };
        format!("{} % {length}", number.at_least(Level::Product))
    }

    pub(super) fn literal(&mut self, ty: &Type, known: bool) -> Code {
        let has_suffix = !known || self.random.chance(25);
        match ty {
            Type::Int(int) => self.int_literal(*int, has_suffix),
            Type::Float(float) => self.float_literal(*float, has_suffix),
            _ => Code::atom(*self.random.pick(&["true", "false"])),
        }
    }

    fn int_literal(&mut self, int: Int, has_suffix: bool) -> Code {
        let number = int.sample(self.random);
        let digits = match self.random.below(20) {
            0 => format!("{:#x}", number.unsigned_abs()),
            1 => format!("{:#b}", number.unsigned_abs()),
            2 => format!("{:#o}", number.unsigned_abs()),
            3 => format!("0x{:X}", number.unsigned_abs()),
            4 => format!("{}_", number.unsigned_abs()),
            _ => number.unsigned_abs().to_string(),
        };
        let suffix = if has_suffix { int.name } else { "" };
        signed(number < 0, &format!("{digits}{suffix}"))
    }

    fn float_literal(&mut self, float: Float, has_suffix: bool) -> Code {
        let digits = float.sample(self.random);
        let digits = match digits.strip_suffix(".0") {
            Some(whole) if self.random.chance(20) && has_suffix => whole,
            _ => &digits,
        };
        let suffix = if has_suffix { float.name } else { "" };
        signed(self.random.chance(20), &format!("{digits}{suffix}"))
    }

    /// A struct, tuple or array from its parts.
    pub(super) fn aggregate(&mut self, ty: &Type, known: bool) -> Code {
        match ty {
            Type::Array(element, length) => {
                if self.random.chance(30) {
                    let value = self.expression(element, known).text;
                    let length = if *length == 3 {
                        "LENGTH".to_owned()
                    } else {
                        length.to_string()
                    };
                    return Code::atom(format!("[{value}; {length}]"));
                }
                let elements: Vec<_> = (0..*length)
                    .map(|number| self.expression(element, known || number > 0).text)
                    .collect();
                Code::atom(format!("[{}]", elements.join(", ")))
            }
            Type::Struct(of) if !of.is_tuple() => self.struct_literal(ty, of.name),
            _ => {
                let is_known = known || matches!(ty, Type::Struct(_));
                let parts: Vec<_> = ty
                    .parts()
                    .iter()
                    .map(|(_, part)| self.expression(part, is_known).text)
                    .collect();
                let name = if matches!(ty, Type::Struct(_)) {
                    ty.name()
                } else {
                    String::new()
                };
                Code::atom(format!("{name}({})", parts.join(", ")))
            }
        }
    }

    /// A struct with its fields in any order, or with some of another's.
    fn struct_literal(&mut self, ty: &Type, name: &str) -> Code {
        let mut fields = ty.parts();
        for number in (1..fields.len()).rev() {
            fields.swap(number, self.random.below(number + 1));
        }
        let updates = self.random.chance(20);
        if updates {
            fields.truncate(self.random.below(fields.len()));
        }
        let mut texts = Vec::new();
        for (field, part) in fields {
            let is_at_hand = self
                .visible()
                .iter()
                .any(|known| known.name == field && known.ty == part);
            texts.push(if is_at_hand && self.random.chance(60) {
                field
            } else {
                format!("{field}: {}", self.expression(&part, true).text)
            });
        }
        if updates {
            // Not from a literal again, or this might not end.
            self.budget -= 1;
            let places: Vec<_> = self
                .places()
                .into_iter()
                .filter(|place| place.ty == *ty)
                .collect();
            let base = if places.is_empty() {
                let parts: Vec<_> = ty
                    .parts()
                    .iter()
                    .map(|(field, part)| format!("{field}: {}", self.leaf(part, true).text))
                    .collect();
                format!("{name} {{ {} }}", parts.join(", "))
            } else {
                let place = self.random.pick(&places).clone();
                self.place(&place)
            };
            texts.push(format!("..{base}"));
        }
        Code::new(format!("{name} {{ {} }}", texts.join(", ")), Level::Block)
    }

    /// A call of an earlier program that returns the type, if there is one that is not too costly
    /// here.
    fn call(&mut self, ty: &Type, known: bool) -> Code {
        let room = MOST_COST.saturating_sub(self.cost) / self.times;
        let earlier = self.earlier;
        let fitting: Vec<_> = earlier
            .iter()
            .filter(|program| program.result == *ty && program.cost <= room)
            .collect();
        if fitting.is_empty() {
            return self.leaf(ty, known);
        }
        let program = *self.random.pick(&fitting);
        self.cost += program.cost * self.times;
        let arguments: Vec<_> = program
            .arguments
            .iter()
            .map(|argument| self.expression(argument, true).text)
            .collect();
        let path = if self.random.chance(10) { "self::" } else { "" };
        Code::atom(format!("{path}{}({})", program.name, arguments.join(", ")))
    }

    /// A value as a part of a tuple, struct or array that exists for that alone.
    fn part_of_more(&mut self, ty: &Type, known: bool) -> Code {
        match self.random.below(4) {
            0 if !matches!(ty, Type::Array(..)) => {
                let length = 1 + self.random.below(3);
                let elements: Vec<_> = (0..length)
                    .map(|number| self.expression(ty, known || number > 0).text)
                    .collect();
                let index = self.index(length);
                Code::atom(format!("[{}][{index}]", elements.join(", ")))
            }
            1..=2 => {
                let other = Type::scalar(self.random);
                let (value, other) = (
                    self.expression(ty, known).text,
                    self.expression(&other, false).text,
                );
                if self.random.chance(50) {
                    Code::atom(format!("({value}, {other}).0"))
                } else {
                    Code::atom(format!("({other}, {value}).1"))
                }
            }
            _ => {
                let whole = Type::any(self.random);
                let fitting: Vec<_> = whole
                    .parts()
                    .into_iter()
                    .filter(|(_, part)| part == ty)
                    .collect();
                if fitting.is_empty() {
                    return self.leaf(ty, known);
                }
                let field = &self.random.pick(&fitting).0.clone();
                Code::atom(format!(
                    "{}.{field}",
                    self.expression(&whole, false).at_least(Level::Atom)
                ))
            }
        }
    }
}

/// A literal with its sign.
fn signed(is_negative: bool, digits: &str) -> Code {
    if is_negative {
        Code::new(format!("-{digits}"), Level::Unary)
    } else {
        Code::atom(digits)
    }
}
