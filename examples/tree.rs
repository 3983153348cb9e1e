//! Depths and subtree sums of a tree that is written as brackets.
//!
//! A string of brackets is an Euler tour of a tree: an opening bracket enters a node, its closing
//! one leaves it. With +1 for the one and −1 for the other, the depth is the sum so far. And the
//! sum of a subtree is what a sum over the whole tour grows by between the two brackets of its root
//! (Tarjan & Vishkin 1985; Blelloch 1990, section 1.3).
//!
//! The tree is that of the brackets, of all three kinds, in a real source file; the weight of a
//! node is the number of letters within.
//!
//! `cargo run --release --example tree`

mod support;

use support::Report;
use warpfold::{Device, Element, Result, ops::Add};

/// A node: a pair of brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Node {
    opens: usize,
    closes: usize,
    /// 1 for a root.
    depth: u32,
    /// How many letters there are between the brackets.
    letters: u32,
}

/// What is summed along the tour.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Tour {
    /// 1 for an opening bracket, −1 for a closing one.
    depth: i32,
    nodes: u32,
    letters: u32,
}

/// The sums of each.
#[warpfold::monoid(identity = Tour { depth: 0, nodes: 0, letters: 0 }, exact, commutative)]
fn add_each(a: Tour, b: Tour) -> Tour {
    Tour {
        depth: a.depth.wrapping_add(b.depth),
        nodes: a.nodes.wrapping_add(b.nodes),
        letters: a.letters.wrapping_add(b.letters),
    }
}

/// The nodes in the order of their opening brackets, by scans.
fn in_parallel(device: &Device, text: &[u8]) -> Result<Vec<Node>> {
    let tour = device.upload_vec(tour(text))?;
    let sums = device.inclusive_scan::<Tour, AddEach>(&tour)?.into_vec()?;
    let count = sums.last().map_or(0, |sums| sums.nodes as usize);
    let mut nodes = vec![Node::default(); count];
    for (opens, closes) in pairs(device, text, &sums)? {
        let (inside, outside) = (sums[opens], sums[closes]);
        nodes[inside.nodes as usize - 1] = Node {
            opens,
            closes,
            depth: inside.depth as u32,
            letters: outside.letters - inside.letters,
        };
    }
    Ok(nodes)
}

/// Each byte as a step of the tour.
fn tour(text: &[u8]) -> Vec<Tour> {
    let step = |byte: &u8| Tour {
        depth: i32::from(is_opening(*byte)) - i32::from(is_closing(*byte)),
        nodes: is_opening(*byte).into(),
        letters: byte.is_ascii_alphabetic().into(),
    };
    text.iter().map(step).collect()
}

/// The places of the brackets that belong together.
///
/// At one depth, brackets open and close in turn. So they are grouped by depth, in the order in
/// which they are: the exclusive scan of the sizes of the groups tells where each group starts.
fn pairs(device: &Device, text: &[u8], sums: &[Tour]) -> Result<Vec<(usize, usize)>> {
    let brackets = (0..text.len()).filter(|&i| is_opening(text[i]) || is_closing(text[i]));
    let brackets: Vec<usize> = brackets.collect();
    // A closing bracket has already left its node.
    let depth = |i: usize| sums[i].depth as usize + usize::from(is_closing(text[i]));

    let deepest = brackets.iter().map(|&i| depth(i)).max().unwrap_or(0);
    let mut sizes = vec![0_u32; deepest + 1];
    brackets.iter().for_each(|&i| sizes[depth(i)] += 1);
    let mut next = device
        .scan::<u32, Add>(&device.upload_vec(sizes)?)?
        .into_vec()?;

    let mut grouped = vec![0; brackets.len()];
    for i in brackets {
        let place = &mut next[depth(i)];
        grouped[*place as usize] = i;
        *place += 1;
    }
    Ok(grouped.chunks(2).map(|pair| (pair[0], pair[1])).collect())
}

fn is_opening(byte: u8) -> bool {
    matches!(byte, b'(' | b'[' | b'{')
}

fn is_closing(byte: u8) -> bool {
    matches!(byte, b')' | b']' | b'}')
}

/// The sequential program: a stack of the nodes that are open.
fn sequentially(text: &[u8]) -> Vec<Node> {
    let (mut nodes, mut open) = (Vec::new(), Vec::new());
    let mut letters = 0;
    for (i, &byte) in text.iter().enumerate() {
        if is_opening(byte) {
            open.push(nodes.len());
            nodes.push(Node {
                opens: i,
                closes: i,
                depth: open.len() as u32,
                letters,
            });
        } else if is_closing(byte) {
            let node = &mut nodes[open.pop().expect("brackets are balanced")];
            node.closes = i;
            node.letters = letters - node.letters;
        } else if byte.is_ascii_alphabetic() {
            letters += 1;
        }
    }
    assert!(open.is_empty(), "brackets are balanced");
    nodes
}

fn main() -> Result<()> {
    // Whole copies of the file only: the brackets must be balanced.
    let copies = support::length(1 << 20).div_ceil(support::SOURCE.len());
    let text = support::SOURCE.repeat(copies).into_bytes();
    let report = Report {
        example: "tree",
        length: text.len(),
    };

    let expected = sequentially(&text);
    let deepest = expected.iter().max_by_key(|node| node.depth);
    println!(
        "{} nodes; the last of the deepest: {deepest:?}",
        expected.len()
    );
    report.sequential(|| sequentially(&text));
    for device in support::devices() {
        assert!(in_parallel(&device, &text)? == expected, "node by node");
        report.whole(&device, || in_parallel(&device, &text))?;
        report.scan::<Tour, AddEach>(&device, &tour(&text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::Primitive;

    #[test]
    fn a_small_tree_has_its_known_depths_and_sums() -> Result<()> {
        let nodes = in_parallel(&Device::cpu(), b"x(ab[c]{}d)(e)")?;
        let node = |(opens, closes, depth, letters)| Node {
            opens,
            closes,
            depth,
            letters,
        };
        assert_eq!(
            nodes,
            [(1, 10, 1, 4), (4, 6, 2, 1), (7, 8, 2, 0), (11, 13, 1, 1)].map(node)
        );
        Ok(())
    }

    #[test]
    fn random_trees_have_the_depths_and_sums_of_the_sequential_program() -> Result<()> {
        for length in [0, 1, 10, 20_000] {
            let (mut text, mut depth) = (Vec::new(), 0);
            for bits in support::random(29).take(length) {
                match bits % 3 {
                    0 => text.push(b'a'),
                    1 if depth > 0 => {
                        depth -= 1;
                        text.push(b')');
                    }
                    _ => {
                        depth += 1;
                        text.push(b'(');
                    }
                }
            }
            text.extend(vec![b')'; depth]);
            assert_eq!(in_parallel(&Device::cpu(), &text)?, sequentially(&text));
        }
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operator_is_a_monoid() {
        use proptest::prelude::*;
        use warpfold::testing::assert_monoid;
        let steps = (-1_i32..=1, any::<u32>(), any::<u32>());
        assert_monoid::<Tour, AddEach>(steps.prop_map(|(depth, nodes, letters)| Tour {
            depth,
            nodes,
            letters,
        }));
    }

    #[test]
    fn the_operator_compiles_as_cuda() {
        support::check_cuda::<Tour, AddEach>(Primitive::Scan);
    }
}
