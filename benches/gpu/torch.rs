//! PyTorch, in a process of its own, on buffers of its own, after all else:
//! `benches/peers/torch_peer.py`.

use crate::cub::beside_program;
use crate::record::{Cell, Library, Spread};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const NAME: &str = "torch_peer.py";

/// What the script reads.
#[derive(Serialize)]
struct Request<'a> {
    batches: usize,
    cells: Vec<Question<'a>>,
}

#[derive(Serialize)]
struct Question<'a> {
    cell: usize,
    primitive: &'a str,
    element: &'a str,
    operator: &'a str,
    length: usize,
    graph: bool,
}

/// A line that it writes.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Version(String),
    Times {
        cell: usize,
        library: Library,
        stream: Spread,
        graph: Option<Spread>,
    },
    Missing(String),
}

/// Adds PyTorch's times to the cells that it has an operator for; gives its version.
pub(crate) fn measure(
    cells: &mut [Cell],
    batches: usize,
    missing: &mut Vec<String>,
) -> Result<String, String> {
    let script = beside_program(NAME).unwrap_or_else(|| PathBuf::from("benches/peers").join(NAME));
    let questions = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.offset == 0);
    let request = Request {
        batches,
        cells: questions
            .map(|(i, cell)| Question {
                cell: i,
                primitive: &cell.primitive,
                element: &cell.element,
                operator: &cell.operator,
                length: cell.length,
                graph: !cell.graph.is_empty(),
            })
            .collect(),
    };
    let request = serde_json::to_vec(&request).expect("plain data");
    let answer = ask(&script, &request).map_err(|error| format!("python3: {error}"))?;
    let mut version = None;
    for line in answer.lines() {
        match serde_json::from_str(line).map_err(|error| format!("{error} in: {line}"))? {
            Line::Version(found) => version = Some(found),
            Line::Missing(what) => missing.push(format!("PyTorch: {what}")),
            Line::Times {
                cell,
                library,
                stream,
                graph,
            } => {
                let cell = &mut cells[cell];
                cell.stream.insert(library, stream);
                if let Some(graph) = graph {
                    cell.graph.insert(library, graph);
                }
            }
        }
    }
    version.ok_or_else(|| "the script said nothing".to_owned())
}

/// What the script answers; its last complaint if it fails.
fn ask(script: &std::path::Path, request: &[u8]) -> Result<String, String> {
    let child = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let mut stdin = child.stdin.take().expect("it was asked for");
    // A script that ends early says why below.
    let _ = stdin.write_all(request);
    drop(stdin);
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(complaint.lines().last().unwrap_or_default().to_owned())
}
