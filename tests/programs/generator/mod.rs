//! Random functions in the subset of Rust that is translated to CUDA C++.
//!
//! They compile without an error, do not panic whatever their arguments are, and end soon. The same
//! seed gives the same text. Each choice is made as it is written, from left to right, so that what
//! a function does with its variables is legal by construction: an expression is asked for by its
//! type, and whoever asks says whether the place fixes that type (`known`), for only there may a
//! literal go without it.

mod expressions;
mod numbers;
mod patterns;
mod random;
mod statements;
mod types;

use random::Random;
use types::Type;

/// What a program may cost in expressions evaluated, with all the programs that it calls.
const MOST_COST: u64 = 20_000;
/// Programs call only those this close before them, so that the programs of one C++ source need few
/// of another's.
const REACH: usize = 60;

/// A Rust module with that many programs, named `p0`, `p1` and so on, and `all()`, which lists
/// them.
pub(crate) fn programs(seed: u64, count: usize) -> String {
    let mut random = Random::new(seed);
    let constants = types::constants();
    let mut text = types::preamble();
    let mut known: Vec<Signature> = Vec::new();
    let names: Vec<String> = (0..count).map(name).collect();
    for number in 0..count {
        let earlier = &known[number.saturating_sub(REACH)..];
        let (signature, program) = program(&mut random, &constants, earlier, &names[number]);
        text += &program;
        known.push(signature);
    }
    text += "\npub(crate) fn all() -> Vec<super::Program> {\n    vec![\n";
    for (number, name) in names.iter().enumerate() {
        text += &format!("        super::Program::of::<{name}>({number}, \"{name}\"),\n");
    }
    text + "    ]\n}\n"
}

/// Names that mean something in C or C++, in CUDA or in the kernels. A few programs have them.
const FUNCTION_NAMES: [&str; 24] = [
    "main",
    "abs",
    "pow",
    "exp",
    "printf",
    "delete",
    "template",
    "sizeof",
    "tuple",
    "at",
    "filled",
    "cast",
    "functions",
    "fmod",
    "ceil",
    "isnan",
    "user",
    "minimum",
    "reduce",
    "combine",
    "round",
    "float",
    "y0",
    "from_bits",
];

/// What a program is called.
fn name(number: usize) -> String {
    let plain = format!("p{number}");
    if number % 10 != 5 {
        return plain;
    }
    FUNCTION_NAMES
        .get(number / 10)
        .map_or(plain, |name| (*name).to_owned())
}

/// A program, as those after it see it.
struct Signature {
    name: String,
    arguments: Vec<Type>,
    result: Type,
    cost: u64,
}

/// A function that is being written.
struct Writer<'a> {
    random: &'a mut Random,
    constants: &'a [(&'static str, Type, &'static str)],
    earlier: &'a [Signature],
    result: Type,
    /// In the order of declaration: a later one shadows an earlier one of its name.
    variables: Vec<Variable>,
    /// How many expressions there may still be.
    budget: i32,
    /// How deep the current expression is nested in others.
    depth: usize,
    /// How many loops are open around the current place.
    loops: usize,
    /// How often the current place runs at most, and the cost so far.
    times: u64,
    cost: u64,
    /// Whether nothing may be assigned to or left here: in guards and indices Rust forbids it.
    is_pure: bool,
    /// Whether there may be no blocks or struct literals here: in guards they are not translated.
    is_plain: bool,
}

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    ty: Type,
    is_mutable: bool,
}

/// An expression, and how tightly its outermost operator binds.
struct Code {
    text: String,
    level: Level,
}

/// How tightly operators bind, from the loosest. `Block` is what ends with a brace, and a part of
/// no other operation without parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Block,
    Or,
    And,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Cast,
    Unary,
    Atom,
}

/// Names of variables: plain ones, and some that mean something in C++, in CUDA or in the kernels.
const NAMES: [&str; 48] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "m", "n", "q", "r", "s", "t", "u", "v",
    "w", "x", "y", "z", "first", "rest", "total", "count", "value", "left", "right", "scale",
    "key", "new", "class", "int", "auto", "this", "operator", "double", "signed", "min", "sqrt",
    "add", "rust", "warpfold", "user", "result", "u32",
];

fn program(
    random: &mut Random,
    constants: &[(&'static str, Type, &'static str)],
    earlier: &[Signature],
    name: &str,
) -> (Signature, String) {
    let result = Type::any(random);
    let budget = 10 + random.below(45) as i32;
    let mut writer = Writer {
        random,
        constants,
        earlier,
        result: result.clone(),
        variables: Vec::new(),
        budget,
        depth: 0,
        loops: 0,
        times: 1,
        cost: 0,
        is_pure: false,
        is_plain: false,
    };
    let mut arguments = Vec::new();
    let mut parameters = Vec::new();
    for _ in 0..1 + writer.random.below(4) {
        let ty = Type::any(writer.random);
        parameters.push(format!("{}: {}", writer.parameter(&ty), ty.name()));
        arguments.push(ty);
    }
    let mut lines = Vec::new();
    for _ in 0..1 + writer.random.below(6) {
        writer.statement(&mut lines);
    }
    writer.budget = writer.budget.max(8);
    let value = writer.operation(&result, true).text;
    lines.push(if writer.random.chance(10) {
        format!("return {value};")
    } else {
        value
    });
    let cost = writer.cost;

    let text = format!(
        "\n#[warpfold::function]\n#[inline(never)]\nfn {name}({}) -> {} {{\n{}\n}}\n",
        parameters.join(", "),
        result.name(),
        lines.join("\n")
    );
    (
        Signature {
            name: name.to_owned(),
            arguments,
            result,
            cost,
        },
        indented(&text),
    )
}

/// The text with each line as far to the right as braces and brackets are open before it.
fn indented(text: &str) -> String {
    let mut result = String::new();
    let mut depth = 0;
    for line in text.lines() {
        let closed_first = line.chars().take_while(|c| "})]".contains(*c)).count();
        if !line.is_empty() {
            result += &"    ".repeat(depth - closed_first);
        }
        result += line;
        result.push('\n');
        for c in line.chars() {
            match c {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {}
            }
        }
    }
    result
}

impl Variable {
    fn new(name: &str, ty: &Type, is_mutable: bool) -> Variable {
        Variable {
            name: name.to_owned(),
            ty: ty.clone(),
            is_mutable,
        }
    }
}

impl Code {
    fn new(text: impl Into<String>, level: Level) -> Code {
        Code {
            text: text.into(),
            level,
        }
    }

    fn atom(text: impl Into<String>) -> Code {
        Code::new(text, Level::Atom)
    }

    /// The text where something at least as tight is wanted.
    fn at_least(self, level: Level) -> String {
        if self.level >= level {
            self.text
        } else {
            format!("({})", self.text)
        }
    }

    /// Whether the text ends with a cast, after which Rust takes `<` for the start of type
    /// arguments.
    fn ends_with_cast(&self) -> bool {
        let last = self
            .text
            .rsplit(" as ")
            .next()
            .expect("there is always a last part");
        last.len() < self.text.len() && last.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }
}

impl Writer<'_> {
    /// Whether a variable can be seen, or is shadowed by a later one.
    fn is_visible(&self, position: usize) -> bool {
        let name = &self.variables[position].name;
        self.variables[position + 1..]
            .iter()
            .all(|later| later.name != *name)
    }

    fn visible(&self) -> Vec<Variable> {
        let positions = 0..self.variables.len();
        positions
            .filter(|&position| self.is_visible(position))
            .map(|position| self.variables[position].clone())
            .collect()
    }

    /// A name for a variable, which often shadows another.
    fn name(&mut self) -> String {
        match self.variables.len() {
            0 => self.fresh_name(),
            known if self.random.chance(20) => {
                self.variables[self.random.below(known)].name.clone()
            }
            _ => (*self.random.pick(&NAMES)).to_owned(),
        }
    }

    /// A name that no variable in scope has.
    fn fresh_name(&mut self) -> String {
        loop {
            let name = *self.random.pick(&NAMES);
            if self.variables.iter().all(|variable| variable.name != name) {
                return name.to_owned();
            }
        }
    }

    /// Declares a parameter, and writes what stands before its type.
    fn parameter(&mut self, ty: &Type) -> String {
        if self.random.chance(10) && matches!(ty, Type::Tuple(_) | Type::Struct(_)) {
            // No name may come twice among the parameters, which are all the variables there are
            // yet.
            let mut bound = std::mem::take(&mut self.variables);
            let pattern = self.parts(ty, &mut bound);
            self.variables = bound;
            return pattern;
        }
        let name = self.fresh_name();
        let is_mutable = self.random.chance(50);
        self.variables.push(Variable::new(&name, ty, is_mutable));
        if is_mutable {
            format!("mut {name}")
        } else {
            name
        }
    }

    /// Runs `write` where nothing may be assigned to or left.
    fn purely<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let outside = std::mem::replace(&mut self.is_pure, true);
        let result = write(self);
        self.is_pure = outside;
        result
    }

    /// The condition of a guard.
    fn guard(&mut self) -> Code {
        let outside = std::mem::replace(&mut self.is_plain, true);
        let condition = self.purely(|writer| writer.expression(&Type::Bool, true));
        self.is_plain = outside;
        condition
    }

    /// Runs `write`, whose variables end with it.
    fn scope<R>(&mut self, write: impl FnOnce(&mut Self) -> R) -> R {
        let outside = self.variables.len();
        let result = write(self);
        self.variables.truncate(outside);
        result
    }
}
