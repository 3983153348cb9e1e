//! Patterns of `let`, of parameters and of `match`.

use super::types::{Float, Int, Type};
use super::{Variable, Writer};

impl Writer<'_> {
    /// A pattern that every value has, and declares the variables in it.
    pub(super) fn irrefutable(&mut self, ty: &Type) -> String {
        let mut bound = Vec::new();
        let pattern = self.parts(ty, &mut bound);
        self.variables.append(&mut bound);
        pattern
    }

    pub(super) fn parts(&mut self, ty: &Type, bound: &mut Vec<Variable>) -> String {
        let parts = ty.parts();
        let skipped = if self.random.chance(20) {
            self.random.below(parts.len())
        } else {
            parts.len()
        };
        let named = matches!(ty, Type::Struct(of) if !of.is_tuple());
        let mut texts = Vec::new();
        for (name, part) in &parts[..skipped] {
            let is_free = !bound.iter().any(|variable| variable.name == *name);
            if named && is_free && self.random.chance(40) {
                bound.push(Variable::new(name, part, false));
                texts.push(name.clone());
            } else {
                let pattern = self.part(part, bound);
                texts.push(if named {
                    format!("{name}: {pattern}")
                } else {
                    pattern
                });
            }
        }
        if skipped < parts.len() {
            texts.push("..".to_owned());
        }
        let texts = texts.join(", ");
        match ty {
            Type::Struct(of) if named => format!("{} {{ {texts} }}", of.name),
            Type::Struct(of) => format!("{}({texts})", of.name),
            _ => format!("({texts})"),
        }
    }

    pub(super) fn part(&mut self, ty: &Type, bound: &mut Vec<Variable>) -> String {
        match self.random.below(10) {
            0..=1 => "_".to_owned(),
            2..=4 if !ty.parts().is_empty() => self.parts(ty, bound),
            _ => self.binding(ty, bound),
        }
    }

    /// A name for a whole value.
    fn binding(&mut self, ty: &Type, bound: &mut Vec<Variable>) -> String {
        let name = loop {
            let name = self.name();
            if bound.iter().all(|variable| variable.name != name) {
                break name;
            }
        };
        let is_mutable = self.random.chance(20);
        bound.push(Variable::new(&name, ty, is_mutable));
        if is_mutable {
            format!("mut {name}")
        } else {
            name
        }
    }

    /// A pattern of `match`, and whether there are values that it rejects.
    pub(super) fn refutable(&mut self, ty: &Type, bound: &mut Vec<Variable>) -> (String, bool) {
        match ty {
            Type::Int(int) => match self.random.below(12) {
                0..=2 => (self.literal_pattern(*int), true),
                3..=5 => (self.range_pattern(*int), true),
                6..=7 => (self.alternatives(*int), true),
                8 => {
                    let pattern = if self.random.chance(50) {
                        self.range_pattern(*int)
                    } else {
                        format!("({})", self.alternatives(*int))
                    };
                    (format!("{} @ {pattern}", self.binding(ty, bound)), true)
                }
                9 => (self.binding(ty, bound), false),
                10 => ("_".to_owned(), false),
                _ => {
                    let constants = self.constants;
                    let same: Vec<_> = constants.iter().filter(|(_, of, _)| of == ty).collect();
                    (self.random.pick(&same).0.to_owned(), true)
                }
            },
            Type::Bool => match self.random.below(4) {
                0 => ("true".to_owned(), true),
                1 => ("false".to_owned(), true),
                2 => ("_".to_owned(), false),
                _ => (self.binding(ty, bound), false),
            },
            Type::Tuple(parts) if self.random.chance(20) => {
                // Alternatives must all bind the same names: here none.
                let (first, first_rejects) = self.nameless(parts);
                let (second, second_rejects) = self.nameless(parts);
                (
                    format!("{first} | {second}"),
                    first_rejects && second_rejects,
                )
            }
            Type::Tuple(parts) => {
                let parts: Vec<_> = parts
                    .iter()
                    .map(|part| self.refutable(part, bound))
                    .collect();
                tuple(&parts)
            }
            Type::Float(float) => match self.random.below(8) {
                0..=2 => (self.float_pattern(*float), true),
                3..=4 => (format!("..={}", self.float_pattern(*float)), true),
                5 => (format!("{}..", self.float_pattern(*float)), true),
                6 => ("-1.5..=16777217.0".to_owned(), true),
                _ => (self.binding(ty, bound), false),
            },
            Type::Struct(of) => {
                let (mut fields, mut rejects) = (Vec::new(), false);
                for (name, field) in of.fields {
                    let (pattern, field_rejects) = self.refutable(&field.ty(), bound);
                    rejects |= field_rejects;
                    fields.push(format!("{name}: {pattern}"));
                }
                (format!("{} {{ {} }}", of.name, fields.join(", ")), rejects)
            }
            _ => ("_".to_owned(), false),
        }
    }

    /// A float of a pattern.
    fn float_pattern(&mut self, float: Float) -> String {
        let sign = if self.random.chance(30) { "-" } else { "" };
        format!("{sign}{}", float.sample(self.random))
    }

    /// A pattern of a tuple without names in it.
    fn nameless(&mut self, parts: &[Type]) -> (String, bool) {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| match part {
                Type::Int(int) if self.random.chance(60) => (self.range_pattern(*int), true),
                Type::Bool if self.random.chance(60) => ("true".to_owned(), true),
                _ => ("_".to_owned(), false),
            })
            .collect();
        tuple(&parts)
    }

    fn literal_pattern(&mut self, int: Int) -> String {
        let number = int.sample(self.random);
        if self.random.chance(15) {
            format!("{number}{}", int.name)
        } else {
            number.to_string()
        }
    }

    fn range_pattern(&mut self, int: Int) -> String {
        let (mut low, mut high) = (int.sample(self.random), int.sample(self.random));
        if low > high {
            (low, high) = (high, low);
        }
        match self.random.below(6) {
            0 if low < high => format!("{low}..{high}"),
            1 if high > int.min() => format!("..{high}"),
            2 => format!("..={high}"),
            3 => format!("{low}.."),
            4 => format!("{low}..={}::MAX", int.name),
            _ => format!("{low}..={high}"),
        }
    }

    fn alternatives(&mut self, int: Int) -> String {
        let count = 2 + self.random.below(2);
        let cases: Vec<_> = (0..count)
            .map(|_| {
                if self.random.chance(60) {
                    self.literal_pattern(int)
                } else {
                    self.range_pattern(int)
                }
            })
            .collect();
        cases.join(" | ")
    }
}

/// The pattern of a tuple with patterns for its parts.
fn tuple(parts: &[(String, bool)]) -> (String, bool) {
    let texts: Vec<_> = parts.iter().map(|(text, _)| text.as_str()).collect();
    let rejects = parts.iter().any(|(_, rejects)| *rejects);
    (format!("({})", texts.join(", ")), rejects)
}
