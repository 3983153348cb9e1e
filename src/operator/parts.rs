//! Operators on elements of several short numbers that treat each number by itself: colours,
//! vectors of bytes.
//!
//! A GPU computes with words, so an operation on a byte costs as much as one on four. Many
//! operators apply an operation of [`pairs`] to each number, in a loop or one by one. Their
//! translation is read here: it is carried out with names in place of numbers. What is not
//! recognised is computed number by number, with the same result. So are texts that a person wrote.

use super::pairs::{self, SHORT, built_in};
use super::tokens::{closing, number, outside, split_argument, tokens, without_parentheses};
use crate::definitions::Definitions;
use std::collections::{BTreeSet, HashMap};

/// The operation on each number of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    /// The type of all numbers.
    pub(super) number: String,
    /// How `kernels/machine/parts.cuh` calls the operation on each.
    pub(super) operations: Vec<&'static str>,
}

impl Parts {
    /// The arguments of `InParts`.
    pub(super) fn cuda(&self) -> String {
        let operations = self.operations.iter();
        let names = operations.map(|operation| format!(", InPairs::{operation}"));
        self.number.clone() + &names.collect::<String>()
    }

    /// The numbers of a word.
    fn in_word(&self) -> usize {
        if self.number.ends_with('8') { 4 } else { 2 }
    }

    /// Whether words take fewer instructions than numbers one by one. To add two numbers in a word
    /// takes five.
    fn are_worth_words(&self) -> bool {
        let in_last_word = self.operations.len() % self.in_word();
        matches!(in_last_word, 0 | 3) || !self.operations.contains(&"ADD")
    }

    /// About how many instructions it takes: for each word, those of the operations in it, and one
    /// to join two of them.
    pub(super) fn cost(&self) -> u32 {
        let are_bytes = self.number.ends_with('8');
        let of = |operation: &str| match operation {
            "ADD" => 4,
            "MINIMUM" | "MAXIMUM" if are_bytes => 5,
            _ => 1,
        };
        let words = self.operations.chunks(self.in_word());
        let of_word = |word: &[&'static str]| {
            let kinds: BTreeSet<_> = word.iter().collect();
            kinds.iter().map(|operation| of(operation)).sum::<u32>() + kinds.len() as u32 - 1
        };
        words.map(of_word).sum()
    }
}

/// What an operator does with each number of an element, if it treats each by itself. `called` is
/// the function's name in CUDA.
pub(super) fn operations(definitions: &Definitions, called: &str) -> Option<Parts> {
    let tokens = tokens(definitions.translation(called)?);
    let open = tokens.iter().position(|&token| token == "(")?;
    let close = tokens.iter().position(|&token| token == ")")?;
    let (_, ty) = tokens[..open].split_last()?.1.split_at_checked(2)?;
    let arguments = &tokens[open + 1..close];
    let (first, second) = (arguments.get(ty.len())?, arguments.last()?);
    let both = [ty, &[first, ","], ty, &[second]].concat();
    if arguments != both {
        return None;
    }
    let shape = Shape::of(definitions, ty)?;
    let count = shape.names.len();
    let whole = |of: fn(usize) -> Part| (0..count).map(of).collect::<Vec<_>>();
    let mut function = Function {
        definitions,
        shape: &shape,
        ty,
        values: HashMap::from([(*first, whole(Part::First)), (*second, whole(Part::Second))]),
        counters: HashMap::new(),
        steps: 0,
    };
    let body = tokens[close + 1..]
        .strip_prefix(&["{"])?
        .strip_suffix(&["}"])?;
    let result = function.run(body)??;
    let operation = |(place, part): (usize, &Part)| match part {
        Part::Both(operation, of) if *of == place => Some(*operation),
        _ => None,
    };
    let operations = result.iter().enumerate().map(operation);
    let parts = Parts {
        number: shape.number.to_owned(),
        operations: operations.collect::<Option<_>>()?,
    };
    parts.are_worth_words().then_some(parts)
}

/// A number that a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Number i of the first operand, or the second.
    First(usize),
    Second(usize),
    /// The operation on numbers i of both.
    Both(&'static str, usize),
    /// Something that is overwritten, or else the operator is not recognised.
    Other,
}

/// The numbers that an element consists of.
struct Shape<'a> {
    number: &'a str,
    /// Those of a struct have names, those of an array their places.
    names: Vec<String>,
    is_array: bool,
}

impl<'a> Shape<'a> {
    fn of(definitions: &'a Definitions, ty: &[&'a str]) -> Option<Shape<'a>> {
        match ty {
            ["warpfold::Array", "<", number, ",", count, ">"] => {
                let names = (0..count.parse().ok()?).map(|place: usize| place.to_string());
                Some(Shape {
                    number,
                    names: names.collect(),
                    is_array: true,
                })
            }
            [name] => {
                let tokens = tokens(definitions.structure(name)?);
                let open = tokens.iter().position(|&token| token == "{")?;
                let close = tokens.iter().position(|&token| token == "}")?;
                let fields: Vec<_> = tokens[open + 1..close].chunks(3).collect();
                let number = *fields.first()?.first()?;
                let name = |field: &&[&str]| match field {
                    [ty, name, ";"] if *ty == number => Some((*name).to_owned()),
                    _ => None,
                };
                Some(Shape {
                    number,
                    names: fields.iter().map(name).collect::<Option<_>>()?,
                    is_array: false,
                })
            }
            _ => None,
        }
        .filter(|shape| SHORT.contains(&shape.number) && shape.names.len() > 1)
    }
}

/// A function that is carried out.
struct Function<'a> {
    definitions: &'a Definitions,
    shape: &'a Shape<'a>,
    ty: &'a [&'a str],
    values: HashMap<&'a str, Vec<Part>>,
    /// The loops' counters.
    counters: HashMap<&'a str, usize>,
    steps: usize,
}

/// The most statements and turns of loops that are carried out.
const MOST_STEPS: usize = 4096;

impl<'a> Function<'a> {
    /// Carries statements out. `None` if one is not understood, otherwise what is returned, if
    /// anything.
    fn run(&mut self, mut body: &'a [&'a str]) -> Option<Option<Vec<Part>>> {
        while !body.is_empty() {
            self.step()?;
            if let ["#", "pragma", "unroll", rest @ ..] = body {
                body = rest;
            } else if let ["for", "(", "rust::Range", _, "{", from, ",", to, "}", ..] = body {
                let (head, inner, rest) = block(body)?;
                let [
                    "const",
                    "auto",
                    counter,
                    "=",
                    _,
                    ".",
                    "at",
                    "(",
                    ")",
                    ";",
                    inner @ ..,
                ] = inner
                else {
                    return None;
                };
                // Only the plain loop over a range has these many tokens.
                (head.len() == PLAIN_LOOP).then_some(())?;
                for turn in number(from)?..number(to)? {
                    self.step()?;
                    self.counters.insert(counter, turn as usize);
                    self.run(inner)?.is_none().then_some(())?;
                }
                body = rest;
            } else if let ["if", "(", ..] = body {
                let (head, inner, rest) = block(body)?;
                (rest.first() != Some(&"else")).then_some(())?;
                self.overwrite_if(head, inner)?;
                body = rest;
            } else {
                let end = body.iter().position(|&token| token == ";")?;
                if let ["return", value @ ..] = &body[..end] {
                    return Some(Some(self.whole(value)?));
                }
                self.statement(&body[..end])?;
                body = &body[end + 1..];
            }
        }
        Some(None)
    }

    /// Counts a statement, or a turn of a loop.
    fn step(&mut self) -> Option<()> {
        self.steps += 1;
        (self.steps < MOST_STEPS).then_some(())
    }

    fn statement(&mut self, statement: &'a [&'a str]) -> Option<()> {
        (!statement.contains(&";")).then_some(())?;
        match statement {
            ["auto", name, "=", value @ ..] | ["const", "auto", name, "=", value @ ..] => {
                let value = match self.whole(value) {
                    Some(value) => value,
                    // A single number.
                    None => vec![self.part(value)?],
                };
                self.values.insert(name, value);
            }
            [ty @ .., name] if ty == self.ty => {
                self.values
                    .insert(name, vec![Part::Other; self.shape.names.len()]);
            }
            _ => {
                let (place, value) = self.assignment(statement)?;
                *self.number(place)? = value;
            }
        }
        Some(())
    }

    /// What gets a value, a variable's number, and the value.
    fn assignment(&self, statement: &'a [&'a str]) -> Option<((&'a str, usize), Part)> {
        match statement {
            ["rust::put", "(", target @ .., ")"] => {
                let (variable, rest) = split_argument(target)?;
                let (place, value) = split_argument(rest)?;
                let [variable] = variable else { return None };
                Some(((variable, self.place(place)?), self.part(value)?))
            }
            [variable, ".", field, "=", value @ ..] => {
                Some(((variable, self.field(field)?), self.part(value)?))
            }
            _ => None,
        }
    }

    fn number(&mut self, (variable, place): (&str, usize)) -> Option<&mut Part> {
        self.values.get_mut(variable)?.get_mut(place)
    }

    /// `if (x > y) { x = y; }`, of numbers.
    fn overwrite_if(&mut self, condition: &'a [&'a str], inner: &'a [&'a str]) -> Option<()> {
        let condition = without_parentheses(condition);
        let at = outside(condition, |token| [">", "<", ">=", "<="].contains(&token))?;
        let (left, right) = (
            self.part(&condition[..at])?,
            self.part(&condition[at + 1..])?,
        );
        let (place, new) = self.assignment(inner.strip_suffix(&[";"])?)?;
        let number = self.number(place)?;
        let old = *number;
        // What stays otherwise is the one, what comes in is the other.
        let greater_comes = match condition[at] {
            ">" | ">=" if (left, right) == (new, old) => true,
            "<" | "<=" if (left, right) == (old, new) => true,
            ">" | ">=" if (left, right) == (old, new) => false,
            "<" | "<=" if (left, right) == (new, old) => false,
            _ => return None,
        };
        let operation = if greater_comes { "MAXIMUM" } else { "MINIMUM" };
        *number = both(operation, old, new)?;
        Some(())
    }

    /// All numbers of an element.
    fn whole(&self, value: &'a [&'a str]) -> Option<Vec<Part>> {
        let count = self.shape.names.len();
        match without_parentheses(value) {
            [variable] => self
                .values
                .get(variable)
                .filter(|parts| parts.len() == count)
                .cloned(),
            [function, "(", a, ",", b, ")"] => {
                let (a, b) = (self.values.get(a)?, self.values.get(b)?);
                let inner = operations(self.definitions, function)?.operations;
                [inner.len(), a.len(), b.len()]
                    .eq(&[count; 3])
                    .then_some(())?;
                let parts = inner.into_iter().zip(a.iter().zip(b));
                parts
                    .map(|(operation, (&a, &b))| both(operation, a, b))
                    .collect()
            }
            ["rust::filled", "<", ..] => Some(vec![Part::Other; count]),
            rest if rest.starts_with(self.ty) => {
                let mut list = rest[self.ty.len()..].strip_prefix(&["{", "{"])?;
                list = list.strip_suffix(&["}", "}"])?;
                let mut parts = Vec::new();
                while !list.is_empty() {
                    let (part, rest) = split_argument(list)?;
                    parts.push(self.part(part)?);
                    list = rest;
                }
                (parts.len() == count).then_some(parts)
            }
            _ => None,
        }
    }

    /// One number.
    fn part(&self, value: &'a [&'a str]) -> Option<Part> {
        match without_parentheses(value) {
            [variable] => match self.values.get(variable)?.as_slice() {
                [part] => Some(*part),
                _ => None,
            },
            [variable, ".", field] => {
                let place = self.field(field)?;
                self.values.get(variable)?.get(place).copied()
            }
            ["rust::at", "(", variable, ",", place @ .., ")"] => {
                let place = self.place(place)?;
                self.values.get(variable)?.get(place).copied()
            }
            [function, "(", arguments @ .., ")"] => {
                let (a, rest) = split_argument(arguments)?;
                let (b, rest) = split_argument(rest)?;
                rest.is_empty().then_some(())?;
                let operation =
                    built_in(function).or_else(|| pairs::operation(self.definitions, function))?;
                both(operation, self.part(a)?, self.part(b)?)
            }
            _ => None,
        }
    }

    fn field(&self, name: &str) -> Option<usize> {
        let named = |known: &String| !self.shape.is_array && known == name;
        self.shape.names.iter().position(named)
    }

    fn place(&self, index: &[&str]) -> Option<usize> {
        match index {
            ["rust::Fixed", "{", index, "}"] => {
                let counter = self.counters.get(index).copied();
                counter
                    .or_else(|| Some(number(index)? as usize))
                    .filter(|_| self.shape.is_array)
            }
            _ => None,
        }
    }
}

/// `rust::Range range{a, b}; range.more(); range.step()`
const PLAIN_LOOP: usize = 19;

/// The operation on both numbers of one place.
fn both(operation: &'static str, a: Part, b: Part) -> Option<Part> {
    match (a, b) {
        (Part::First(i), Part::Second(k)) | (Part::Second(i), Part::First(k)) if i == k => {
            Some(Part::Both(operation, i))
        }
        _ => None,
    }
}

/// Of a loop or a condition, what stands in its head, in its block, and after it.
fn block<'a>(body: &'a [&'a str]) -> Option<(&'a [&'a str], &'a [&'a str], &'a [&'a str])> {
    let body = &body[2..];
    let close = closing(body)?;
    let rest = body[close + 1..].strip_prefix(&["{"])?;
    let end = closing(rest)?;
    Some((&body[..close], &rest[..end], &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::operations;
    use crate::codegen::kernels;
    use crate::definitions::Definitions;
    use crate::engine::Engine;
    use crate::render::source;
    use crate::{Element, Monoid, function, monoid};

    /// The operations, a letter each.
    fn of<T: Element, Op: Monoid<T>>() -> Option<String> {
        let mut definitions = Definitions::default();
        let combine = Op::cuda(&mut definitions);
        let parts = operations(&definitions, &combine)?;
        let letter = |operation: &&str| match *operation {
            "MAXIMUM" => '>',
            "MINIMUM" => '<',
            "ADD" => '+',
            "AND" => '&',
            "OR" => '|',
            "XOR" => '^',
            _ => unreachable!(),
        };
        Some(parts.operations.iter().map(letter).collect())
    }

    #[monoid(name = Maxima, identity = [0; N])]
    fn maxima<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
        for i in 0..N {
            a[i] = a[i].max(b[i]);
        }
        a
    }

    #[monoid(name = OneByOne, identity = [0; 4])]
    fn one_by_one(a: [i16; 4], b: [i16; 4]) -> [i16; 4] {
        [
            b[0].min(a[0]),
            a[1].wrapping_add(b[1]),
            a[2] ^ b[2],
            a[3] & b[3],
        ]
    }

    #[monoid(name = ByIf, identity = [0; 4])]
    fn by_if(a: [i8; 4], b: [i8; 4]) -> [i8; 4] {
        let mut c = a;
        for i in 0..4 {
            if b[i] > c[i] {
                c[i] = b[i];
            }
        }
        c
    }

    #[monoid(name = LeastByIf, identity = [0; 4])]
    fn least_by_if(mut a: [i8; 4], b: [i8; 4]) -> [i8; 4] {
        for i in 0..4 {
            if a[i] >= b[i] {
                a[i] = b[i];
            }
        }
        a
    }

    #[monoid(name = Bits, identity = [0; 2])]
    fn bits(a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        let mut c = [0; 2];
        for i in 0..2 {
            c[i] = a[i] | b[i];
        }
        c
    }

    #[monoid(name = Assigned, identity = [255; 8])]
    fn assigned(mut a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
        for i in 0..8 {
            a[i] &= b[i];
        }
        a
    }

    #[function]
    fn larger(x: u8, y: u8) -> u8 {
        if x > y { x } else { y }
    }

    #[monoid(name = ByCall, identity = [0; 4])]
    fn by_call(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
        [
            larger(a[0], b[0]),
            larger(b[1], a[1]),
            a[2].max(b[2]),
            b[3].max(a[3]),
        ]
    }

    #[derive(Clone, Copy, Debug, Element)]
    #[repr(C)]
    struct Colour {
        red: u8,
        green: u8,
        blue: u8,
        opacity: u8,
    }

    #[monoid(name = Brighter, identity = Colour { red: 0, green: 0, blue: 0, opacity: 0 })]
    fn brighter(a: Colour, b: Colour) -> Colour {
        Colour {
            red: a.red.max(b.red),
            green: a.green.max(b.green),
            blue: a.blue.max(b.blue),
            opacity: b.opacity.min(a.opacity),
        }
    }

    #[monoid(name = Crossed, identity = [0; 2])]
    fn crossed(a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        [a[0].max(b[1]), a[1].max(b[0])]
    }

    #[monoid(name = Moved, identity = [0; 2])]
    fn moved(a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        [a[1].max(b[1]), a[0].max(b[0])]
    }

    #[monoid(name = Partly, identity = [0; 2])]
    fn partly(mut a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        for i in 0..1 {
            a[i] = a[i].max(b[i]);
        }
        a
    }

    #[monoid(name = Twice, identity = [0; 2])]
    fn twice(mut a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        for i in 0..2 {
            a[i] = a[i].wrapping_add(b[i]).max(b[i]);
        }
        a
    }

    #[monoid(name = Chosen, identity = [0; 2])]
    fn chosen(a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        if a[0] < b[0] { b } else { a }
    }

    #[monoid(name = Both, identity = [0; 2])]
    fn both(mut a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        for i in 0..2 {
            if b[0] > a[0] {
                a[i] = b[i];
            }
        }
        a
    }

    #[monoid(name = Wide, identity = [0; 2])]
    fn wide(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
        [a[0].max(b[0]), a[1].max(b[1])]
    }

    #[test]
    fn operators_that_treat_each_number_by_itself_are_recognised() {
        assert_eq!(of::<[u8; 4], Maxima>().as_deref(), Some(">>>>"));
        assert_eq!(of::<[i16; 4], OneByOne>().as_deref(), Some("<+^&"));
        assert_eq!(of::<[i8; 4], ByIf>().as_deref(), Some(">>>>"));
        assert_eq!(of::<[i8; 4], LeastByIf>().as_deref(), Some("<<<<"));
        assert_eq!(of::<[u16; 2], Bits>().as_deref(), Some("||"));
        assert_eq!(of::<[u8; 8], Assigned>().as_deref(), Some("&&&&&&&&"));
        assert_eq!(of::<[u8; 4], ByCall>().as_deref(), Some(">>>>"));
        assert_eq!(of::<Colour, Brighter>().as_deref(), Some(">>><"));
    }

    /// A person may write what a macro would not: here the second `c` is another one.
    struct ByHand;

    impl Monoid<[u16; 2]> for ByHand {
        fn identity() -> [u16; 2] {
            [0; 2]
        }

        fn combine(a: [u16; 2], _: [u16; 2]) -> [u16; 2] {
            a
        }

        fn cuda(definitions: &mut Definitions) -> String {
            let greatest = Pair::cuda(definitions);
            definitions.define_function::<Self>("by_hand", |_, name| {
                let ty = "warpfold::Array<u16, 2>";
                format!(
                    "__device__ __forceinline__ {ty} {name}({ty} a, {ty} b) {{ auto c = a; \
                     for (rust::Range range{{0ull, 1ull}}; range.more(); range.step()) {{ \
                     const auto i = range.at(); auto c = {greatest}(a, b); }} return c; }}"
                )
            })
        }
    }

    #[monoid(name = Pair, identity = [0; 2])]
    fn pair(a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        [a[0].max(b[0]), a[1].max(b[1])]
    }

    /// After 65 turns both numbers have changed places.
    #[monoid(name = Turned, identity = [0; 2])]
    #[allow(clippy::manual_swap)]
    fn turned(a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        let mut c = b;
        for _i in 0..65 {
            let first = c[0];
            c[0] = c[1];
            c[1] = first;
        }
        [a[0].max(c[0]), a[1].max(c[1])]
    }

    /// The loop does nothing, and would take long.
    #[monoid(name = Idle, identity = [0; 2])]
    fn idle(a: [u16; 2], b: [u16; 2]) -> [u16; 2] {
        for _i in 0..4_000_000_000_u32 {}
        [a[0].max(b[0]), a[1].max(b[1])]
    }

    #[function]
    fn around(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
        circle(a, b)
    }

    #[monoid(name = Circle, identity = [0; 4])]
    fn circle(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
        around(a, b)
    }

    #[test]
    fn functions_in_a_circle_are_an_error() {
        let text = source::<kernels::Reduce<[u8; 4], Circle>>(Engine::Levels);
        assert!(text.unwrap_err().to_string().contains("calls itself"));
    }

    #[test]
    fn words_that_are_not_filled() {
        /// The sum of each two numbers.
        #[monoid(name = Sums, identity = [0; N])]
        fn sums<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
            for i in 0..N {
                a[i] = a[i].wrapping_add(b[i]);
            }
            a
        }
        assert_eq!(of::<[u8; 2], Maxima>().as_deref(), Some(">>"));
        assert_eq!(of::<[u8; 3], Maxima>().as_deref(), Some(">>>"));
        assert_eq!(of::<[u8; 5], Maxima>().as_deref(), Some(">>>>>"));
        assert_eq!(of::<[u8; 3], Sums>().as_deref(), Some("+++"));
        assert_eq!(of::<[u8; 7], Sums>().as_deref(), Some("+++++++"));
        // Two sums by themselves take less than those in a word.
        assert_eq!(of::<[u8; 2], Sums>(), None);
        assert_eq!(of::<[u8; 5], Sums>(), None);
    }

    #[test]
    fn others_are_not() {
        assert_eq!(of::<[u16; 2], Pair>().as_deref(), Some(">>"));
        assert_eq!(of::<[u16; 2], ByHand>(), None);
        assert_eq!(of::<[u16; 2], Turned>(), None);
        assert_eq!(of::<[u16; 2], Idle>(), None);
        assert_eq!(of::<[u16; 2], Crossed>(), None);
        assert_eq!(of::<[u16; 2], Moved>(), None);
        assert_eq!(of::<[u16; 2], Partly>(), None);
        assert_eq!(of::<[u16; 2], Twice>(), None);
        assert_eq!(of::<[u16; 2], Chosen>(), None);
        assert_eq!(of::<[u16; 2], Both>(), None);
        assert_eq!(of::<[u32; 2], Wide>(), None);
    }
}
