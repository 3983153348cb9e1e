//! Statements.

use super::types::{FLOATS, INTS, Int, Type, USIZE};
use super::{Code, Level, Variable, Writer};

impl Writer<'_> {
    /// Writes a statement, or a few that belong together.
    pub(super) fn statement(&mut self, lines: &mut Vec<String>) {
        if self.is_pure {
            return self.declaration(lines);
        }
        let nests = self.depth < 4 && self.budget > 6;
        match self.random.below(100) {
            0..=21 => self.declaration(lines),
            22..=25 => self.declaration_typed_by_its_use(lines),
            26..=31 => self.declaration_of_parts(lines),
            32..=46 => self.assignment(lines),
            47..=61 => self.compound_assignment(lines),
            62..=71 if nests => {
                let chain = self.chain(None);
                lines.push(chain);
            }
            72..=78 if nests => {
                let choice = self.choice(None);
                lines.push(choice.text);
            }
            79..=87 if nests && self.loops < 2 => self.counted_loop(lines),
            88..=91 if nests && self.loops < 2 => self.conditional_loop(lines),
            92..=93 if nests => {
                let block = self.statements(None, true);
                lines.push(block);
            }
            94 => {
                let ty = Type::any(self.random);
                let discarded = self.operation(&ty, false).text;
                lines.push(format!("let _ = {discarded};"));
            }
            95 => self.assignment_of_parts(lines),
            96..=99 => {
                let condition = self.expression(&Type::Bool, true).text;
                let exit = self.exit();
                lines.push(format!("if {condition} {exit}"));
            }
            _ => self.assignment(lines),
        }
    }

    /// `{ … }` with some statements, and the value if it is to have one of a type, which is `known`
    /// from elsewhere or not.
    pub(super) fn statements(&mut self, value: Option<&Type>, known: bool) -> String {
        self.depth += 1;
        let text = self.scope(|writer| {
            let mut lines = Vec::new();
            let least = usize::from(value.is_none());
            for _ in 0..least + writer.random.below(2) {
                if writer.budget > 0 || value.is_none() {
                    writer.statement(&mut lines);
                }
            }
            if let Some(ty) = value {
                lines.push(writer.expression(ty, known).text);
                if lines.len() == 1 {
                    return format!("{{ {} }}", lines[0]);
                }
            }
            format!("{{\n{}\n}}", lines.join("\n"))
        });
        self.depth -= 1;
        text
    }

    /// A block that leaves the loop or the function.
    pub(super) fn exit(&mut self) -> String {
        match self.random.below(3) {
            0 if self.loops > 0 => "{ break; }".to_owned(),
            1 if self.loops > 0 => "{ continue; }".to_owned(),
            _ => {
                let result = self.result.clone();
                format!("{{ return {}; }}", self.expression(&result, true).text)
            }
        }
    }

    /// `let`.
    fn declaration(&mut self, lines: &mut Vec<String>) {
        let ty = Type::any(self.random);
        let is_typed = self.random.chance(40);
        let value = self.operation(&ty, is_typed).text;
        let name = self.name();
        let is_mutable = self.random.chance(60);
        let mutable = if is_mutable { "mut " } else { "" };
        let annotation = if is_typed {
            format!(": {}", ty.name())
        } else {
            String::new()
        };
        lines.push(format!("let {mutable}{name}{annotation} = {value};"));
        self.variables.push(Variable::new(&name, &ty, is_mutable));
    }

    /// `let` of a number that gets its type in the next line only.
    fn declaration_typed_by_its_use(&mut self, lines: &mut Vec<String>) {
        let ty = Type::scalar(self.random);
        let literal = self.literal(&ty, true).text;
        let value = self.expression(&ty, false).text;
        let name = self.fresh_name();
        let operator = match &ty {
            Type::Bool => "=",
            _ => *self.random.pick(&["=", "+=", "-=", "*="]),
        };
        lines.push(format!("let mut {name} = {literal};"));
        lines.push(format!("{name} {operator} {value};"));
        self.variables.push(Variable::new(&name, &ty, true));
    }

    /// `let` that takes a tuple or struct apart.
    fn declaration_of_parts(&mut self, lines: &mut Vec<String>) {
        let ty = loop {
            let ty = Type::any(self.random);
            if !ty.parts().is_empty() {
                break ty;
            }
        };
        let value = self.expression(&ty, false).text;
        let pattern = self.irrefutable(&ty);
        let annotation = if self.random.chance(30) {
            format!(": {}", ty.name())
        } else {
            String::new()
        };
        lines.push(format!("let {pattern}{annotation} = {value};"));
    }

    fn assignment(&mut self, lines: &mut Vec<String>) {
        let Some((place, ty)) = self.mutable_place(|_| true) else {
            return self.declaration(lines);
        };
        let value = self.operation(&ty, true).text;
        lines.push(format!("{place} = {value};"));
    }

    /// An assignment to several variables at once, such as one that swaps them.
    fn assignment_of_parts(&mut self, lines: &mut Vec<String>) {
        let (first, second) = (self.mutable_place(|_| true), self.mutable_place(|_| true));
        let (Some((first, a)), Some((second, b))) = (first, second) else {
            return self.declaration(lines);
        };
        let value = self.expression(&Type::Tuple(vec![a, b]), true).text;
        let second = if self.random.chance(20) {
            "_".to_owned()
        } else {
            second
        };
        lines.push(format!("({first}, {second}) = {value};"));
    }

    pub(super) fn compound_assignment(&mut self, lines: &mut Vec<String>) {
        let is_scalar = |ty: &Type| matches!(ty, Type::Int(_) | Type::Float(_) | Type::Bool);
        let Some((place, ty)) = self.mutable_place(is_scalar) else {
            return self.declaration(lines);
        };
        let line = match &ty {
            Type::Int(int) => match self.random.below(10) {
                0..=6 => {
                    let operator = *self.random.pick(&["+=", "-=", "*=", "&=", "|=", "^="]);
                    format!("{place} {operator} {};", self.expression(&ty, true).text)
                }
                7..=8 => {
                    let operator = *self.random.pick(&["<<=", ">>="]);
                    format!("{place} {operator} {};", self.shift_amount().text)
                }
                _ => {
                    let operator = *self.random.pick(&["/=", "%="]);
                    format!("{place} {operator} {};", self.divisor(*int))
                }
            },
            Type::Bool => {
                let operator = *self.random.pick(&["&=", "|=", "^="]);
                format!("{place} {operator} {};", self.expression(&ty, true).text)
            }
            _ => {
                let operator = *self.random.pick(&["+=", "-=", "*=", "/=", "%="]);
                format!("{place} {operator} {};", self.expression(&ty, true).text)
            }
        };
        lines.push(line);
    }

    /// A variable that may be assigned to, or a part of one.
    pub(super) fn mutable_place(&mut self, fits: impl Fn(&Type) -> bool) -> Option<(String, Type)> {
        let places: Vec<_> = self
            .places()
            .into_iter()
            .filter(|place| place.is_mutable && fits(&place.ty))
            .collect();
        if places.is_empty() {
            return None;
        }
        let place = self.random.pick(&places).clone();
        Some((self.place(&place), place.ty))
    }

    /// `if … else if … else`, as an expression of a type (and whether that is known from elsewhere)
    /// or as a statement.
    pub(super) fn chain(&mut self, value: Option<(&Type, bool)>) -> String {
        let (ty, known) = value.map_or((None, true), |(ty, known)| (Some(ty), known));
        let mut text = String::new();
        let branches = 1 + self.random.below(2);
        for number in 0..branches {
            let condition = self.expression(&Type::Bool, true).text;
            let block = self.statements(ty, known || number > 0);
            text += &format!("if {condition} {block} else ");
        }
        if ty.is_some() || self.random.chance(50) {
            let exits = !self.is_pure && self.random.chance(10);
            text += &if exits {
                self.exit()
            } else {
                self.statements(ty, true)
            };
        } else {
            text.truncate(text.len() - " else ".len());
        }
        text
    }

    /// `match`, as an expression of a type (and whether that is known from elsewhere) or as a
    /// statement.
    pub(super) fn choice(&mut self, value: Option<(&Type, bool)>) -> Code {
        // What was matched is to stay what it was, even if an arm changes the variable.
        let is_matched = |ty: &Type| !matches!(ty, Type::Array(..));
        let changing = if !self.is_pure && self.random.chance(50) {
            self.mutable_place(is_matched)
        } else {
            None
        };
        let ty = match &changing {
            Some((_, ty)) => ty.clone(),
            None => self.matched(),
        };
        let changing = changing.map(|(place, _)| place);
        let subject = match &changing {
            Some(place) => Code::atom(place.clone()),
            None => self.expression(&ty, false),
        };
        // Rust would take the braces of a literal for those of the `match`.
        let is_literal = subject
            .text
            .starts_with(|first: char| first.is_ascii_uppercase());
        let subject = if is_literal {
            format!("({})", subject.text)
        } else {
            subject.text
        };
        let mut known = value.is_none_or(|(_, known)| known);
        let mut arms = String::new();
        let mut arm = |writer: &mut Self,
                       pattern: String,
                       bound: Vec<Variable>,
                       has_guard: bool,
                       may_exit: bool| {
            // Unless a name of the pattern hides it.
            let is_hidden =
                |place: &&String| bound.iter().any(|variable| mentions(place, &variable.name));
            let changed = changing.as_ref().filter(|place| !is_hidden(place));
            let text = writer.scope(|writer| {
                writer.variables.extend(bound.iter().cloned());
                let guard = if has_guard {
                    let condition = writer.guard();
                    format!(" if {}", condition.text)
                } else {
                    String::new()
                };
                let change = changed.filter(|_| writer.random.chance(60));
                let change =
                    change.map(|place| format!("{place} = {};", writer.expression(&ty, true).text));
                let mut body = writer.arm(value.map(|(ty, _)| (ty, known)), may_exit);
                if let Some(change) = change {
                    body = format!("{{\n{change}\n{body}\n}}");
                }
                format!("{pattern}{guard} => {body},\n")
            });
            known = true;
            arms += &text;
        };
        if ty == Type::Bool && self.random.chance(70) {
            let first = *self.random.pick(&["true", "false"]);
            let second = if first == "true" { "false" } else { "true" };
            arm(self, first.to_owned(), Vec::new(), false, true);
            arm(self, second.to_owned(), Vec::new(), false, false);
        } else {
            for _ in 0..1 + self.random.below(3) {
                let mut bound = Vec::new();
                let (pattern, rejects) = self.refutable(&ty, &mut bound);
                // An arm that takes every value ends a `match`, and a name that a guard may use
                // cannot be `mut`.
                let has_guard = !rejects || self.random.chance(25);
                if has_guard && bound.iter().any(|variable| variable.is_mutable) {
                    continue;
                }
                arm(self, pattern, bound, has_guard, true);
            }
            let mut bound = Vec::new();
            let rest = match &ty {
                _ if changing.is_some() => self.binding(&ty, &mut bound),
                Type::Tuple(_) if self.random.chance(50) => self.parts(&ty, &mut bound),
                _ => self.part(&ty, &mut bound),
            };
            arm(self, rest, bound, false, false);
        }
        Code::new(format!("match {subject} {{\n{arms}}}"), Level::Block)
    }

    /// A type that `match` is to take.
    fn matched(&mut self) -> Type {
        match self.random.below(12) {
            0..=5 => Type::Int(*self.random.pick(&INTS)),
            6 => Type::Bool,
            7 => Type::Float(*self.random.pick(&FLOATS)),
            8 => Type::structure(self.random),
            _ => Type::Tuple(
                (0..2 + self.random.below(2))
                    .map(|_| {
                        if self.random.chance(70) {
                            Type::Int(*self.random.pick(&INTS))
                        } else {
                            Type::Bool
                        }
                    })
                    .collect(),
            ),
        }
    }

    /// The right side of an arm. One arm at least has a value, and so has the first if nothing else
    /// fixes the type.
    fn arm(&mut self, value: Option<(&Type, bool)>, may_exit: bool) -> String {
        let exits = may_exit && !self.is_pure && self.random.chance(8);
        match value {
            Some((_, true)) | None if exits => self.exit(),
            Some((ty, known)) if self.random.chance(60) => self.expression(ty, known).text,
            Some((ty, known)) => self.statements(Some(ty), known),
            None => self.statements(None, true),
        }
    }

    /// `for` over a range.
    fn counted_loop(&mut self, lines: &mut Vec<String>) {
        if self.random.chance(25) && self.loop_over_array(lines) {
            return;
        }
        let int = *self.random.pick(&INTS);
        let range = self.range(int);
        let range = if self.random.chance(25) {
            format!("({range}).rev()")
        } else {
            range
        };
        if self.random.chance(15) {
            let body = self.body(None, Vec::new());
            lines.push(format!("for _ in {range} {body}"));
        } else {
            let name = self.name();
            let body = self.body(
                Some(Variable::new(&name, &Type::Int(int), false)),
                Vec::new(),
            );
            lines.push(format!("for {name} in {range} {body}"));
        }
    }

    /// At most seven numbers.
    fn range(&mut self, int: Int) -> String {
        let name = int.name;
        let dots = *self.random.pick(&["..", "..="]);
        match self.random.below(8) {
            0 => format!("{name}::MAX - {}..={name}::MAX", self.random.below(4)),
            1 => format!("{name}::MIN{dots}{name}::MIN + {}", self.random.below(4)),
            2..=3 => {
                let end = self
                    .expression(&Type::Int(int), false)
                    .at_least(Level::Product);
                format!("0{dots}{end} % {}", 2 + self.random.below(4))
            }
            4 if int.signed => {
                let low = -(self.random.below(4) as i128);
                format!("{low}{dots}{}{name}", low + self.random.below(5) as i128)
            }
            _ => {
                let low = self.random.below(6);
                // Also empty ones, and such that end before they begin.
                let high = (low + self.random.below(6)).saturating_sub(1);
                format!("{low}{name}{dots}{high}")
            }
        }
    }

    /// `for i in 0..N { … a[i] … }`, where nothing but the index gives `i` its type.
    fn loop_over_array(&mut self, lines: &mut Vec<String>) -> bool {
        let arrays: Vec<_> = self
            .visible()
            .into_iter()
            .filter(|variable| matches!(variable.ty, Type::Array(..)))
            .collect();
        if arrays.is_empty() {
            return false;
        }
        let array = self.random.pick(&arrays).clone();
        let Type::Array(element, length) = &array.ty else {
            unreachable!("others were left out");
        };
        let (index, name) = (self.fresh_name(), self.name());
        let first = format!("let {name} = {}[{index}];", array.name);
        self.variables
            .push(Variable::new(&index, &Type::Int(USIZE), false));
        let body = self.body(Some(Variable::new(&name, element, false)), vec![first]);
        self.variables.pop();
        lines.push(format!("for {index} in 0..{length} {body}"));
        true
    }

    /// `while` with a counter, so that it ends.
    fn conditional_loop(&mut self, lines: &mut Vec<String>) {
        let int = *self.random.pick(&INTS);
        let counter = self.fresh_name();
        let limit = 1 + self.random.below(5);
        self.variables
            .push(Variable::new(&counter, &Type::Int(int), false));
        let (start, mut condition, step) = if self.random.chance(50) {
            (
                0,
                format!("{counter} < {limit}"),
                format!("{counter} += 1;"),
            )
        } else {
            (limit, format!("{counter} > 0"), format!("{counter} -= 1;"))
        };
        if self.random.chance(40) {
            // A condition is no place to leave the loop from.
            let outside = std::mem::take(&mut self.loops);
            let more = self.expression(&Type::Bool, true).at_least(Level::Compare);
            self.loops = outside;
            condition = if self.random.chance(50) {
                format!("{condition} && {more}")
            } else {
                format!("{more} && {condition}")
            };
        }
        lines.push(format!("let mut {counter} = {start}{};", int.name));
        let body = self.body(None, vec![step]);
        lines.push(format!("while {condition} {body}"));
    }

    /// The block of a loop, with the loop's variable, after some lines that are given.
    fn body(&mut self, variable: Option<Variable>, mut lines: Vec<String>) -> String {
        let outside = self.times;
        self.times *= 7;
        self.loops += 1;
        self.depth += 1;
        self.scope(|writer| {
            writer.variables.extend(variable);
            for _ in 0..1 + writer.random.below(3) {
                writer.statement(&mut lines);
            }
        });
        self.depth -= 1;
        self.loops -= 1;
        self.times = outside;
        format!("{{\n{}\n}}", lines.join("\n"))
    }
}

/// Whether a name is one of those in a place: its variable, or one of an index.
fn mentions(place: &str, name: &str) -> bool {
    let mut words = place.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| word == name)
}
