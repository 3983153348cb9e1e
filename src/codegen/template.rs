//! From a request to text: the template is rendered, then the kernels it includes are put in.

use crate::{Error, Result};
use minijinja::{Environment, UndefinedBehavior, syntax::SyntaxConfig};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// The text of files, and the names that requests and includes know them by.
macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $folder, "/", $name)))),*]
    };
}

const TEMPLATES: &[(&str, &str)] = files!("src":
    "codegen/request.cu.jinja",
    "ladder/step.cu.jinja",
    "primitives/collect/rows.cu.jinja",
    "primitives/histogram/rows.cu.jinja",
    "primitives/reduce/block.cu.jinja",
    "primitives/reduce/levels.cu.jinja",
    "primitives/reduce/rows.cu.jinja",
    "primitives/scan/block.cu.jinja",
    "primitives/scan/levels.cu.jinja",
    "primitives/scan/rows.cu.jinja",
    "primitives/scan/shares.cu.jinja",
    "primitives/scan/wave.cu.jinja",
    "primitives/select/rows.cu.jinja",
    "primitives/select/wave.cu.jinja",
    "primitives/weighted/rows.cu.jinja",
);

const KERNELS: &[(&str, &str)] = files!("kernels":
    "source.cuh",
    "source/source_rows.cuh",
    "source/source_stage.cuh",
    "collect.cuh",
    "scan.cuh",
    "select.cuh",
    "histogram.cuh",
    "histogram/bins.cuh",
    "histogram/counters.cuh",
    "histogram/lookup.cuh",
    "weighted.cuh",
    "machine/device.cuh",
    "machine/ptx.cuh",
    "machine/types.cuh",
    "machine/words.cuh",
    "machine/parts.cuh",
    "machine/rust.cuh",
    "machine/nearly.cuh",
    "warp/decided.cuh",
    "warp/lanes.cuh",
    "warp/extended.cuh",
    "warp/pairs.cuh",
    "warp/runs.cuh",
    "warp/row_load.cuh",
    "warp/row_scan.cuh",
    "warp/row_store.cuh",
    "warp/displaced.cuh",
    "block/blelloch.cuh",
    "block/padded.cuh",
    "block/strided_tree.cuh",
    "block/tile.cuh",
    "grid/workspace.cuh",
    "grid/chunks.cuh",
    "grid/look_back.cuh",
    "engines/block_input.cuh",
    "engines/block_reduce.cuh",
    "engines/block_scan.cuh",
    "engines/levels_reduce.cuh",
    "engines/levels_scan.cuh",
    "engines/rows_reduce.cuh",
    "engines/rows_reduce_any_order.cuh",
    "engines/row_tiles.cuh",
    "engines/rows.cuh",
    "engines/shares.cuh",
    "engines/wave.cuh",
);

/// The steps of the ladder.
#[cfg(feature = "ladder")]
const LADDER: &[(&str, &str)] = files!("kernels":
    "ladder/blocks_atomic.cuh",
    "ladder/coarsened.cuh",
    "ladder/dot_atomic.cuh",
    "ladder/dot_launches.cuh",
    "ladder/dot_racing.cuh",
    "ladder/dot_serial.cuh",
    "ladder/global_atomic.cuh",
    "ladder/interleaved.cuh",
    "ladder/last_warp.cuh",
    "ladder/neighboured.cuh",
    "ladder/neighboured_convergent.cuh",
    "ladder/reversed.cuh",
    "ladder/scan_blelloch.cuh",
    "ladder/scan_log_steps.cuh",
    "ladder/scan_padded.cuh",
    "ladder/scan_tiled.cuh",
    "ladder/scan_tree.cuh",
    "ladder/shared_atomic.cuh",
    "ladder/step.cuh",
    "ladder/tree.cuh",
    "ladder/tree_convergent.cuh",
    "ladder/tree_divergent.cuh",
    "ladder/tree_shared.cuh",
    "ladder/two_step.cuh",
    "ladder/warp_shuffle.cuh",
);
#[cfg(not(feature = "ladder"))]
const LADDER: &[(&str, &str)] = &[];

/// The text of a file in `kernels/`.
pub(crate) fn kernel(name: &str) -> Option<&'static str> {
    let mut files = KERNELS.iter().chain(LADDER);
    files
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
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
