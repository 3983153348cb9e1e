//! From a request to text: the template is rendered, then the kernels it includes are put in.

use crate::{Error, Result};
use minijinja::{Environment, UndefinedBehavior, syntax::SyntaxConfig};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// The templates: their names in `templates/`, and their text.
const TEMPLATES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// The files of `kernels/`. Those of the ladder are here with its feature alone.
const KERNELS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The text of a file in `kernels/`.
pub(crate) fn kernel(name: &str) -> Option<&'static str> {
    let found = KERNELS.binary_search_by_key(&name, |(known, _)| known);
    found.ok().map(|place| KERNELS[place].1)
}

/// Renders a template, and puts in the kernels that it includes.
pub(crate) fn render(name: &str, context: minijinja::Value) -> Result<String> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    let environment = ENVIRONMENT.get_or_init(|| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder().trim_blocks(true).build();
        environment.set_syntax(syntax.expect("the default delimiters are valid"));
        for (name, text) in TEMPLATES {
            environment
                .add_template(name, text)
                .expect("the templates are well-formed; a test renders each");
        }
        environment
    });
    let text = environment
        .get_template(name)
        .and_then(|template| template.render(context))
        .map_err(|error| Error::Codegen(error.to_string()))?;
    expand(&text, "generated")
}

/// Completes a source that includes kernel files.
pub(super) fn expand(text: &str, file: &str) -> Result<String> {
    let mut output = String::with_capacity(64 << 10);
    expand_includes(text, file, &mut Vec::new(), &mut output)?;
    Ok(output)
}

/// Puts in the text of every kernel file where it is first included. `#line` directives keep the
/// compiler's messages pointing at the files as they stand in the repository.
fn expand_includes(
    text: &str,
    file: &str,
    done: &mut Vec<String>,
    output: &mut String,
) -> Result<()> {
    for (number, line) in text.lines().enumerate() {
        if line == "#pragma once" {
            output.push('\n'); // so that line numbers stay right
            continue;
        }
        let Some(name) = line
            .strip_prefix("#include \"")
            .and_then(|rest| rest.strip_suffix('"'))
        else {
            output.push_str(line);
            output.push('\n');
            continue;
        };
        if done.iter().any(|known| known == name) {
            output.push('\n');
            continue;
        }
        done.push(name.to_owned());
        let path = format!("kernels/{name}");
        let text = kernel(name).ok_or_else(|| {
            Error::Codegen(format!("{file} includes `{name}`, which is no kernel file"))
        })?;
        let write = writeln!(output, "#line 1 \"{path}\"");
        write.expect("writing to a string cannot fail");
        expand_includes(text, &path, done, output)?;
        let write = writeln!(output, "#line {} \"{file}\"", number + 2);
        write.expect("writing to a string cannot fail");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compiler names a line by the last `#line` and what it has counted since.
    #[test]
    fn lines_keep_the_numbers_that_they_have_in_their_files() {
        let (mut file, mut number, mut seen) = (String::new(), 0, 0);
        for line in expand("#include \"engines/wave.cuh\"\n", "mine.cu")
            .unwrap()
            .lines()
        {
            if let Some(rest) = line.strip_prefix("#line ") {
                let (start, name) = rest.split_once(' ').unwrap();
                number = start.parse::<usize>().unwrap();
                file = name.trim_matches('"').to_owned();
                continue;
            }
            let known = KERNELS
                .iter()
                .find(|(name, _)| file == format!("kernels/{name}"));
            if let (Some((_, text)), false) = (known, line.is_empty()) {
                let there = text.lines().nth(number - 1);
                assert_eq!(there, Some(line), "{file}:{number}");
                seen += 1;
            }
            number += 1;
        }
        assert!(seen > 1000, "{seen} lines");
    }
}
