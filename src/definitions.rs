//! The CUDA definitions that a user's types and operators add to a source: structs and functions.

use crate::{Error, Result};
use std::any::{TypeId, type_name};
use std::fmt::Write as _;

/// Collects the CUDA definitions that element types and operators need, each once and before it is
/// used.
#[derive(Debug, Default)]
pub struct Definitions {
    structs: Vec<(String, String)>,
    pub(crate) functions: Vec<Function>,
    /// The texts of functions without slow paths.
    pub(crate) fast_path: Vec<String>,
    /// The texts of functions of integers at register width.
    pub(crate) register_width: Vec<String>,
    failure: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) key: TypeId,
    pub(crate) name: String,
    /// `None` while it is being written.
    pub(crate) text: Option<String>,
    /// Whether a macro wrote it, which has a name of its own for every variable.
    pub(crate) translated: bool,
}

// These namespaces keep names that a program gives apart from those of the kernels.
const STRUCTS: &str = "structs";
pub(crate) const FUNCTIONS: &str = "functions";
pub(crate) const FAST: &str = "fast";
pub(crate) const REGISTER_WIDTH: &str = "register_width";

impl Definitions {
    /// Adds a struct of `fields` (name and CUDA type each) with the size and alignment that it has
    /// on the host; returns the name by which CUDA calls it.
    ///
    /// A second struct of the same name is accepted if it is the same struct; otherwise the
    /// source cannot be generated.
    pub fn define_struct(
        &mut self,
        name: &str,
        size: usize,
        align: usize,
        fields: &[(&str, String)],
    ) -> String {
        let mut text = format!("struct {name} {{\n");
        for (field, cuda_type) in fields {
            writeln!(text, "    {cuda_type} {field};").expect("writing to a string cannot fail");
        }
        write!(
            text,
            "}};\nstatic_assert(sizeof({name}) == {size} && alignof({name}) == {align}, \"{name} is laid out as on the host\");"
        )
        .expect("writing to a string cannot fail");
        match self.structs.iter().find(|(known, _)| known == name) {
            Some((_, known)) if *known == text => {}
            Some(_) => {
                self.failure = Some(format!(
                    "two different structs named `{name}` meet in one kernel; rename one of them"
                ));
            }
            None => self.structs.push((name.to_owned(), text)),
        }
        format!("{STRUCTS}::{name}")
    }

    /// Adds the function that the type `Key` stands for, unless it is there; returns the name by
    /// which CUDA calls it.
    ///
    /// `text` writes the whole definition, `__device__` included, for the name that it is given:
    /// `name`, or one like it if another function has that. It may define what the function needs,
    /// but not the function itself: CUDA code here does not recurse.
    pub fn define_function<Key: 'static>(
        &mut self,
        name: &str,
        text: impl FnOnce(&mut Definitions, &str) -> String,
    ) -> String {
        self.define_once::<Key>(name, text, false)
    }

    /// [`define_function`](Self::define_function) for a text that a macro translated.
    #[doc(hidden)]
    pub fn define_translation<Key: 'static>(
        &mut self,
        name: &str,
        text: impl FnOnce(&mut Definitions, &str) -> String,
    ) -> String {
        self.define_once::<Key>(name, text, true)
    }

    fn define_once<Key: 'static>(
        &mut self,
        name: &str,
        text: impl FnOnce(&mut Definitions, &str) -> String,
        translated: bool,
    ) -> String {
        let mut text = Some(text);
        let mut write = |definitions: &mut Definitions, name: &str| match text.take() {
            Some(text) => text(definitions, name),
            None => unreachable!("a function is written once"),
        };
        let key = (TypeId::of::<Key>(), type_name::<Key>());
        self.define(key, name, translated, &mut write)
    }

    /// Adds the function of a key, unless it is there. Compiled once, not for each `Key`.
    fn define(
        &mut self,
        (key, type_name): (TypeId, &str),
        name: &str,
        translated: bool,
        text: &mut dyn FnMut(&mut Definitions, &str) -> String,
    ) -> String {
        if let Some(known) = self.functions.iter().find(|known| known.key == key) {
            if known.text.is_none() {
                self.failure = Some(format!(
                    "the function `{}` ({}) calls itself, by way of others; write a loop",
                    known.name, type_name
                ));
            }
            return format!("{FUNCTIONS}::{}", known.name);
        }
        let is_taken = |name: &str| self.functions.iter().any(|known| known.name == name);
        let name = (1..)
            .map(|number| match number {
                1 => name.to_owned(),
                number => format!("{name}_{number}"),
            })
            .find(|name| !is_taken(name))
            .expect("numbers do not end");
        let place = self.functions.len();
        self.functions.push(Function {
            key,
            name: name.clone(),
            text: None,
            translated,
        });
        let text = text(self, &name);
        // What it calls came after it, but must be defined before.
        let mut function = self.functions.remove(place);
        function.text = Some(text);
        self.functions.push(function);
        format!("{FUNCTIONS}::{name}")
    }

    /// Whether something is wrong, of which [`text`](Self::text) tells.
    pub(crate) fn is_wrong(&self) -> bool {
        self.failure.is_some()
    }

    /// The text of a function, by the name that it is called by.
    pub(crate) fn function(&self, called: &str) -> Option<&str> {
        self.known(called)?.text.as_deref()
    }

    /// The text of a function that a macro translated, by the name that it is called by.
    pub(crate) fn translation(&self, called: &str) -> Option<&str> {
        let known = self.known(called).filter(|known| known.translated)?;
        known.text.as_deref()
    }

    /// The functions that one needs, itself included, each after those that it calls.
    pub(crate) fn needed(&self, name: &str) -> Option<Vec<&Function>> {
        let functions = &self.functions;
        let mut is_needed = vec![false; functions.len()];
        let last = functions.iter().position(|known| known.name == name)?;
        is_needed[last] = true;
        // Those that a function calls stand before it.
        for place in (0..=last).rev() {
            if !is_needed[place] {
                continue;
            }
            let text = functions[place].text.as_deref()?;
            for (other, function) in functions[..place].iter().enumerate() {
                is_needed[other] |= calls(text, &function.name);
            }
        }
        let both = functions.iter().zip(is_needed);
        let needed = both.filter_map(|(function, is_needed)| is_needed.then_some(function));
        Some(needed.collect())
    }

    fn known(&self, called: &str) -> Option<&Function> {
        let name = called.strip_prefix(FUNCTIONS)?.strip_prefix("::")?;
        self.functions.iter().find(|known| known.name == name)
    }

    /// The text of a struct, by the name that it is called by.
    pub(crate) fn structure(&self, called: &str) -> Option<&str> {
        let name = called.strip_prefix(STRUCTS)?.strip_prefix("::")?;
        let known = self.structs.iter().find(|(known, _)| known == name);
        known.map(|(_, text)| text.as_str())
    }

    /// The texts of all structs.
    pub(crate) fn structures(&self) -> impl Iterator<Item = &str> {
        self.structs.iter().map(|(_, text)| text.as_str())
    }

    /// All definitions as CUDA C++, each before it is needed. They stand after `#include
    /// "machine/rust.cuh"`, in a namespace where `warpfold`'s names are known.
    ///
    /// # Errors
    ///
    /// [`Error::Codegen`] if two different structs have one name, or a function calls itself.
    pub fn text(self) -> Result<String> {
        if let Some(failure) = self.failure {
            return Err(Error::Codegen(failure));
        }
        let structs = self.structs.into_iter().map(|(_, text)| text);
        let functions = self.functions.into_iter().filter_map(|known| known.text);
        let mut lines = Vec::new();
        in_namespace(STRUCTS, structs.collect(), &mut lines);
        in_namespace(FUNCTIONS, functions.collect(), &mut lines);
        in_namespace(FAST, self.fast_path, &mut lines);
        in_namespace(REGISTER_WIDTH, self.register_width, &mut lines);
        Ok(lines.join("\n"))
    }
}

/// Whether a text calls the function of a name.
pub(crate) fn calls(text: &str, name: &str) -> bool {
    text.contains(&format!("{FUNCTIONS}::{name}("))
}

fn in_namespace(name: &str, texts: Vec<String>, lines: &mut Vec<String>) {
    if !texts.is_empty() {
        lines.push(format!("namespace {name} {{"));
        lines.extend(texts);
        lines.push(format!("}}  // namespace {name}"));
    }
}
