//! Operators without the slow paths of the functions that they call.
//!
//! A function such as `exp` of `f32` has a fast path, which nearly always tells how its result
//! rounds, and a slow one. So have the divisions of a GPU. In a kernel the branch between the two
//! stands in the way: a compiler does not compute two combinations at once if each may call
//! something. So an operator that calls such functions is written a second time. There only fast
//! paths are taken, and a variable tells whether one of them was unsure
//! (`kernels/machine/quotients.cuh` has those of divisions). `kernels/warp/fast_path.cuh` folds
//! trees so, and asks once.
//!
//! What is computed after an unsure result may be anything, and is computed again. So it must end:
//! an operator that has a loop whose length depends on data is not written a second time.

use super::cost;
use super::tokens::{number, tokens};
use crate::definitions::{Definitions, FAST, FUNCTIONS, Function, calls};
use crate::math;
use std::any::TypeId;

/// The functions of `kernels/machine/rust.cuh` that have a slow path for floats. With a flag before
/// their arguments they have none.
const BUILT_IN: [&str; 2] = ["rust::div(", "rust::recip("];
/// The most bytes for which an operator is written again because of these alone. What is computed
/// again must stay in registers until then: larger values were faster with a branch each.
const MOST_BYTES: usize = 4;
/// A condition is not worth a branch if one of its arms costs no more than this: most warps have
/// some lane in the other one.
const CHEAP: u32 = 4;

impl Definitions {
    /// The function `called` without slow paths, by the name that CUDA calls it by: its first
    /// argument is a `bool` that it sets if it is unsure. `None` if it never is, or cannot be so.
    /// `combined_bytes` is the size of what it combines.
    pub(super) fn define_fast_path(
        &mut self,
        called: &str,
        combined_bytes: usize,
    ) -> Option<String> {
        let name = called.strip_prefix(FUNCTIONS)?.strip_prefix("::")?;
        let needed = self.needed(name)?;
        let is_open = |known: &&Function| known.text.as_deref().is_none_or(has_open_loop);
        if needed.iter().any(is_open) {
            return None;
        }
        let flag = unused_name(&self.functions);
        // Divisions of integers have no slow path.
        let may_divide = combined_bytes <= MOST_BYTES && self.has_floats(&needed);
        let is_sure = needed
            .iter()
            .find(|known| known.key == TypeId::of::<math::IsSure>());
        let mut unsure: Vec<&str> = Vec::new();
        let mut written = Vec::new();
        for &function in &needed {
            let text = function.text.as_deref()?;
            let divides = || BUILT_IN.iter().any(|name| text.contains(name));
            if function.key == TypeId::of::<math::IsSure>() {
                written.push(format!(
                    "__device__ __forceinline__ bool {}(bool& {flag}, bool sure) {{\n    \
                     {flag} |= !sure;\n    return true;\n}}",
                    function.name
                ));
            } else if unsure.iter().any(|other| calls(text, other)) || (may_divide && divides()) {
                // What a person wrote has another form.
                if !function.translated {
                    return None;
                }
                // Functions that ask have a slow path, which would be computed, too.
                let asks = is_sure.is_some_and(|is_sure| calls(text, &is_sure.name));
                let text = if asks {
                    text.to_owned()
                } else {
                    without_branches(self, text, &flag)
                };
                written.push(fast_path(function, &text, &unsure, &flag));
            } else {
                continue;
            }
            unsure.push(&function.name);
        }
        let is_unsure = unsure.contains(&name);
        is_unsure.then(|| {
            self.fast_path = written;
            format!("{FAST}::{name}")
        })
    }

    /// Whether some of these functions, or a struct, has floats.
    fn has_floats(&self, functions: &[&Function]) -> bool {
        let is_float = |token: &&str| ["f32", "f64", "rust::from_bits"].contains(token);
        let mut texts = functions
            .iter()
            .filter_map(|known| known.text.as_deref())
            .chain(self.structures());
        texts.any(|text| tokens(text).iter().any(is_float))
    }
}

/// Whether a text has a loop that does not count from one literal to another.
fn has_open_loop(text: &str) -> bool {
    let tokens = tokens(text);
    tokens.iter().enumerate().any(|(place, &token)| match token {
        "while" => true,
        "for" => !matches!(
            &tokens[place + 1..],
            ["(", _, _, "{", from, ",", to, "}", ..] if number(from).is_some() && number(to).is_some()
        ),
        _ => false,
    })
}

/// A name for the variable, which no function uses for another one.
fn unused_name(functions: &[Function]) -> String {
    let is_used = |name: &str| {
        let mut texts = functions.iter().filter_map(|known| known.text.as_deref());
        texts.any(|text| tokens(text).contains(&name))
    };
    let mut name = "unsure".to_owned();
    while is_used(&name) {
        name.push('_');
    }
    name
}

/// A function without slow paths. It calls some that are unsure.
fn fast_path(function: &Function, text: &str, unsure: &[&str], flag: &str) -> String {
    let own = format!(" {}(", function.name);
    let mut text = text.replacen(&own, &format!("{own}bool& {flag}, "), 1);
    for name in unsure {
        let (from, to) = (
            format!("{FUNCTIONS}::{name}("),
            format!("{FAST}::{name}({flag}, "),
        );
        text = text.replace(&from, &to);
    }
    for name in BUILT_IN {
        text = text.replace(name, &format!("{name}{flag}, "));
    }
    // Functions without arguments.
    text.replace(", )", ")")
}

/// The text of a function that ends with a condition, of which one arm is cheap: with both arms
/// computed, and a choice.
fn without_branches(definitions: &Definitions, text: &str, flag: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let [signature, body @ .., "}"] = lines.as_slice() else {
        return text.to_owned();
    };
    let result = signature
        .split_once("__forceinline__ ")
        .and_then(|(_, rest)| {
            let (before, _) = rest.split_once('(')?;
            before.rsplit_once(' ')
        });
    let Some((result, _)) = result else {
        return text.to_owned();
    };
    let body = both_arms(definitions, body, result, flag);
    format!("{signature}\n{}\n}}", body.join("\n"))
}

/// The lines of a block that returns a `result`, as above.
fn both_arms(definitions: &Definitions, block: &[&str], result: &str, flag: &str) -> Vec<String> {
    let unchanged = || block.iter().map(|&line| line.to_owned()).collect();
    let Some((start, condition, [first, second])) = last_condition(block) else {
        return unchanged();
    };
    let arms = [first, second].map(|arm| both_arms(definitions, arm, result, flag));
    let costs = [first, second].map(|arm| cost::of_lines(definitions, &arm.join("\n")));
    let [first, second] = arms.map(|arm| arm.join("\n"));
    let indent = " ".repeat(indent(block[start]));
    let before = block[..start].iter().map(|&line| line.to_owned());
    if costs[0].min(costs[1]) > CHEAP {
        let lines = [
            block[start].to_owned(),
            first,
            format!("{indent}}}"),
            format!("{indent}else {{"),
            second,
            format!("{indent}}}"),
        ];
        return before.chain(lines).collect();
    }
    // Each has variables of its own. Of the arm that is not taken no doubt counts: conditions guard
    // functions from what they are unsure of, such as ln 0.
    let arm = format!("[=](bool& {flag}) mutable -> {result} {{");
    before
        .chain([
            format!("{indent}return warpfold::either<{result}>({flag}, {condition}, {arm}"),
            first,
            format!("{indent}}}, {arm}"),
            second,
            format!("{indent}}});"),
        ])
        .collect()
}

/// Where a block's last statement begins, if it is `if (…) {…} else {…}`, its condition and arms.
/// Each arm returns, since the block does. A chain of conditions, as `match` has, is none.
fn last_condition<'a, 'b>(block: &'a [&'b str]) -> Option<(usize, &'b str, [&'a [&'b str]; 2])> {
    let depth = indent(block.last()?);
    let at = |line: &str, text: &str| indent(line) == depth && line.trim_start() == text;
    let (_, inner) = block.split_last()?;
    if !at(block[inner.len()], "}") {
        return None;
    }
    // What is at this depth, from the end: `else {`, `}`, `if (…) {`.
    let is_outside = |line: &&str| indent(line) <= depth;
    let middle = inner.iter().rposition(is_outside)?;
    let ends = middle.checked_sub(1)?;
    if !at(block[middle], "else {") || !at(block[ends], "}") {
        return None;
    }
    let start = block[..ends].iter().rposition(is_outside)?;
    let condition = block[start]
        .trim_start()
        .strip_prefix("if ")?
        .strip_suffix(" {")?;
    Some((
        start,
        condition,
        [&block[start + 1..ends], &inner[middle + 1..]],
    ))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use crate::Monoid;
    use crate::codegen::kernels;
    use crate::definitions::Definitions;
    use crate::engine::{Engine, RowPolicy};
    use crate::render::source;
    use crate::{function, monoid, ops};

    #[monoid(name = LogAdd, identity = f32::NEG_INFINITY)]
    fn log_add(a: f32, b: f32) -> f32 {
        let (more, less) = if a > b { (a, b) } else { (b, a) };
        if less == f32::NEG_INFINITY {
            more
        } else {
            more + (1.0 + (less - more).exp()).ln()
        }
    }

    /// The loop may end at another number than the right one, but it ends.
    #[monoid(name = Powers, identity = 0.0)]
    fn powers(a: f32, b: f32) -> f32 {
        let mut unsure = a;
        for _ in 0..3 {
            unsure = (unsure + b).tanh();
        }
        unsure
    }

    /// This one may not.
    #[monoid(name = Halves, identity = 0.0)]
    fn halves(a: f32, b: f32) -> f32 {
        let mut sum = (a + b).exp();
        while sum > 1.0 {
            sum *= 0.5;
        }
        sum
    }

    #[function]
    fn steps(x: f32) -> f32 {
        let mut sum = 0.0;
        for _ in 0..x as u32 {
            sum += 1.0;
        }
        sum
    }

    #[monoid(name = Steps, identity = 0.0)]
    fn sum_of_steps(a: f32, b: f32) -> f32 {
        steps(a.exp() + b)
    }

    /// Its conditions are a chain, one stands within an arm, one returns before the end, one has
    /// arms that change a variable, and functions return other types than numbers.
    #[function]
    fn choose(x: f32) -> (f32, bool) {
        if x.exp() > 2.0 {
            (x, true)
        } else {
            (0.5, x.exp() > 1.5)
        }
    }

    #[function]
    fn constant() -> f32 {
        2.0_f32.ln()
    }

    #[monoid(name = Chain, identity = 0.0)]
    fn chain(a: f32, b: f32) -> f32 {
        let mut sum = a + b;
        if sum == 7.0 {
            return constant();
        }
        let (more, choose) = choose(sum);
        if choose {
            sum += 1.0;
            if more > 3.0 { sum } else { sum.exp() }
        } else {
            sum -= 1.0;
            match (a > 0.0, b > 0.0) {
                (true, true) => sum.ln(),
                (true, false) => 0.0,
                _ => sum,
            }
        }
    }

    fn fast_path<Op: Monoid<f32>>() -> Option<String> {
        let mut definitions = Definitions::default();
        let combine = Op::cuda(&mut definitions);
        let name = definitions.define_fast_path(&combine, size_of::<f32>())?;
        let text = definitions.text().unwrap();
        let (_, text) = text.split_once("namespace fast {").unwrap();
        let (text, _) = text.split_once("}  // namespace fast").unwrap();
        assert!(text.contains(&format!(" {}(bool& ", &name["fast::".len()..])));
        Some(text.to_owned())
    }

    /// The slow paths stand where a constant condition never leads.
    #[test]
    fn unsure_functions_are_called_with_the_flag() {
        let text = fast_path::<LogAdd>().expect("it calls exp and ln");
        assert!(text.contains("fast::ln_f32(unsure, rust::add(1.0f, fast::exp_f32(unsure, "));
        assert!(text.contains("unsure |= !sure;"));
        // One arm is `more`: both are computed.
        assert!(text.contains("either<f32>(unsure, ((value._1 == "));
        assert!(!text.contains("functions::ln_f32(") && !text.contains("if ((value._1 == "));
    }

    #[test]
    fn only_the_last_condition_of_a_block_is_a_choice() {
        let text = fast_path::<Chain>().expect("it calls exp and ln");
        // The chain's arms stay where they were, and the others are in braces of their own.
        assert!(text.contains("else if (") && text.contains("return fast::constant(unsure);"));
        // Users may have names like ours.
        assert_eq!(text.matches("warpfold::either<f32>(").count(), 1);
        assert_eq!(
            text.matches("warpfold::either<warpfold::Tuple<f32, bool>>(")
                .count(),
            1
        );
        let braces = |brace| text.matches(brace).count();
        assert_eq!(braces("{"), braces("}"));
    }

    #[test]
    fn the_flag_has_a_name_of_its_own() {
        let text = fast_path::<Powers>().expect("its loop has three turns");
        assert!(text.contains("fast::tanh_f32(unsure_, rust::add(unsure, b))"));
    }

    #[monoid(name = Harmonic, identity = f32::INFINITY)]
    fn harmonic(a: f32, b: f32) -> f32 {
        1.0 / (a.recip() + b.recip())
    }

    #[monoid(name = Quotient, identity = 1)]
    fn quotient(a: u32, b: u32) -> u32 {
        a / b
    }

    #[monoid(name = Ratio, identity = 1)]
    fn ratio(a: u32, b: u32) -> u32 {
        (f32::from_bits(a) / f32::from_bits(b)).to_bits()
    }

    #[test]
    fn divisions_of_short_floats_set_the_flag() {
        let text = fast_path::<Harmonic>().expect("it divides");
        assert!(text.contains("rust::div(unsure, 1.0f, "));
        assert_eq!(text.matches("rust::recip(unsure, ").count(), 2);

        let of = |cuda: fn(&mut Definitions) -> String, bytes| {
            let mut definitions = Definitions::default();
            let combine = cuda(&mut definitions);
            definitions.define_fast_path(&combine, bytes).is_some()
        };
        assert!(of(<Ratio as Monoid<u32>>::cuda, 4));
        assert!(!of(<Quotient as Monoid<u32>>::cuda, 4));
        // Of larger ones only if they call other functions that may be unsure.
        assert!(!of(<Harmonic as Monoid<f32>>::cuda, 8));
        assert!(of(<LogAdd as Monoid<f32>>::cuda, 8));
    }

    #[test]
    fn loops_that_depend_on_data_are_not_written_twice() {
        assert!(fast_path::<Halves>().is_none() && fast_path::<Steps>().is_none());
        assert!(fast_path::<ops::Add>().is_none());
        let rows = Engine::Rows(RowPolicy::of_scan::<f32>(false));
        let text = source::<kernels::Scan<f32, Halves>>(rows).unwrap();
        assert!(!text.contains("T combine_slow("));
    }

    #[test]
    fn engines_that_were_not_measured_so_have_slow_paths() {
        let has = |engine| {
            let text = source::<kernels::Scan<f32, LogAdd>>(engine).unwrap();
            (
                text.contains("T combine_slow("),
                text.contains("namespace fast"),
            )
        };
        let rows = Engine::Rows(RowPolicy::of_scan::<f32>(false));
        assert_eq!(has(rows), (true, true));
        assert_eq!(has(Engine::Levels), (false, false));
    }
}
