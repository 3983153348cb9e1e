//! The CUDA definitions of users' structs.

use crate::{Error, Result};
use std::fmt::Write as _;

/// Collects the CUDA struct definitions that an element type needs, each once and in the order
/// of their use.
#[derive(Debug, Default)]
pub struct Definitions {
    structs: Vec<(String, String)>,
    clash: Option<String>,
}

impl Definitions {
    /// Adds a struct of `fields` (name and CUDA type each) with the size and alignment that it has
    /// on the host; returns `name`.
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
            Some(_) => self.clash = Some(name.to_owned()),
            None => self.structs.push((name.to_owned(), text)),
        }
        name.to_owned()
    }

    pub(crate) fn finish(self) -> Result<Vec<String>> {
        match self.clash {
            Some(name) => Err(Error::Codegen(format!(
                "two different structs named `{name}` meet in one element type; rename one of them"
            ))),
            None => Ok(self.structs.into_iter().map(|(_, text)| text).collect()),
        }
    }
}
