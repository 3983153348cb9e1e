//! Depths and subtree sums of a tree that is written as brackets.
//!
//! A string of brackets is an Euler tour of a tree: an opening bracket enters a node, its closing
//! one leaves it. With +1 for the one and −1 for the other, the depth is the sum so far. And the
//! sum of a subtree is what a sum over the whole tour grows by between the two brackets of its root
//! (Tarjan & Vishkin 1985; Blelloch 1990, section 1.3).
//!
//! At one depth, brackets open and close in turn. So the brackets are sorted by depth, stably, and
//! then parted into those that open and those that close: both sides have the nodes in the same
//! order, level by level.
//!
//! The tree is that of the brackets, of all three kinds, in a real source file; the weight of a
//! node is the number of letters within.
//!
//! `cargo run --release --example tree`

mod support;

use support::Report;
use warpfold::ops::Max;
use warpfold::{Buffer, Device, Element, Result, Source, constant, index, map, zip, zip3};

/// A node: a pair of brackets.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Node {
    opens: u32,
    closes: u32,
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
    letters: u32,
}

/// The sums of each.
#[warpfold::monoid(identity = Tour { depth: 0, letters: 0 }, exact, commutative)]
fn add_each(a: Tour, b: Tour) -> Tour {
    Tour {
        depth: a.depth.wrapping_add(b.depth),
        letters: a.letters.wrapping_add(b.letters),
    }
}

/// 1 for an opening bracket, −1 for a closing one, 0 for any other byte.
#[warpfold::function]
fn turn(byte: u8) -> i32 {
    match byte {
        b'(' | b'[' | b'{' => 1,
        b')' | b']' | b'}' => -1,
        _ => 0,
    }
}

/// A byte as a step of the tour.
#[warpfold::function]
fn step(byte: u8) -> Tour {
    Tour {
        depth: turn(byte),
        letters: match byte {
            b'a'..=b'z' | b'A'..=b'Z' => 1,
            _ => 0,
        },
    }
}

/// A bracket, or a byte that is none.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Bracket {
    place: u32,
    /// See [`turn`].
    turn: i32,
    /// The depth of its node.
    depth: u32,
    /// How many letters come before it.
    letters: u32,
}

#[warpfold::function]
fn bracket(byte: u8, sums: Tour, place: u64) -> Bracket {
    let turn = turn(byte);
    Bracket {
        place: place as u32,
        turn,
        // A closing bracket has already left its node.
        depth: (sums.depth + (turn < 0) as i32) as u32,
        letters: sums.letters,
    }
}

#[warpfold::function]
fn is_bracket(bracket: Bracket) -> bool {
    bracket.turn != 0
}

#[warpfold::function]
fn is_opening(bracket: Bracket) -> bool {
    bracket.turn > 0
}

#[warpfold::function]
fn depth(bracket: Bracket) -> u32 {
    bracket.depth
}

/// Whether the depth has a 0 at `bit`.
#[warpfold::function]
fn has_zero(bracket: Bracket, bit: u32) -> bool {
    bracket.depth >> bit & 1 == 0
}

#[warpfold::function]
fn node(opening: Bracket, closing: Bracket) -> Node {
    Node {
        opens: opening.place,
        closes: closing.place,
        depth: opening.depth,
        letters: closing.letters - opening.letters,
    }
}

/// The nodes, level by level, and those of a level from left to right.
fn in_parallel(device: &Device, text: &Buffer<u8>) -> Result<Buffer<Node>> {
    let sums = device.inclusive_scan::<Tour, AddEach>(map::<step, _>(text))?;
    let mut brackets = device.select::<Bracket, is_bracket>(brackets(text, &sums))?;

    let deepest = device.reduce::<u32, Max>(map::<depth, _>(&brackets))?;
    let mut parted = device.allocate(brackets.len())?;
    for bit in 0..u32::BITS - deepest.leading_zeros() {
        device.partition_flagged_joined_into(zeros(&brackets, bit), &mut parted)?;
        std::mem::swap(&mut brackets, &mut parted);
    }
    let (opening, closing) = device.partition::<Bracket, is_opening>(&brackets)?;
    let nodes = map::<node, _>(zip(&opening, &closing));
    device.collect(nodes)
}

/// Each byte as a bracket.
fn brackets(text: &Buffer<u8>, sums: &Buffer<Tour>) -> impl Source<Device, Item = Bracket> {
    map::<bracket, _>(zip3(text, sums, index(text.len())))
}

/// The brackets, each with whether its depth has a 0 at `bit`.
fn zeros(brackets: &Buffer<Bracket>, bit: u32) -> impl Source<Device, Item = (Bracket, bool)> {
    let bits = constant(bit, brackets.len());
    zip(brackets, map::<has_zero, _>(zip(brackets, bits)))
}

/// The sequential program: a stack of the nodes that are open, and a list for each level.
fn sequentially(text: &[u8]) -> Vec<Node> {
    let mut levels: Vec<Vec<Node>> = Vec::new();
    let (mut open, mut letters) = (0, 0);
    for (place, &byte) in (0..).zip(text) {
        match byte {
            b'(' | b'[' | b'{' => {
                if levels.len() == open {
                    levels.push(Vec::new());
                }
                open += 1;
                levels[open - 1].push(Node {
                    opens: place,
                    closes: place,
                    depth: open as u32,
                    letters,
                });
            }
            b')' | b']' | b'}' => {
                open = open.checked_sub(1).expect("brackets are balanced");
                let node = levels[open].last_mut().expect("it was opened");
                node.closes = place;
                node.letters = letters - node.letters;
            }
            _ => letters += u32::from(byte.is_ascii_alphabetic()),
        }
    }
    assert!(open == 0, "brackets are balanced");
    levels.concat()
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
    let deepest = expected.last();
    println!(
        "{} nodes; the last of the deepest: {deepest:?}",
        expected.len()
    );
    report.sequential(|| sequentially(&text));
    for device in support::devices() {
        let nodes = report.parallel(&device, &text, in_parallel)?;
        assert!(nodes == expected, "node by node");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::codegen::kernels::{Kept, Sides};
    use warpfold::flagged;

    fn on_the_cpu(text: &[u8]) -> Result<Vec<Node>> {
        support::answer(&Device::cpu(), text, in_parallel)
    }

    #[test]
    fn a_small_tree_has_its_known_depths_and_sums() -> Result<()> {
        let nodes = on_the_cpu(b"x(ab[c]{}d)(e)")?;
        let node = |(opens, closes, depth, letters)| Node {
            opens,
            closes,
            depth,
            letters,
        };
        assert_eq!(
            nodes,
            [(1, 10, 1, 4), (11, 13, 1, 1), (4, 6, 2, 1), (7, 8, 2, 0)].map(node)
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
            assert_eq!(on_the_cpu(&text)?, sequentially(&text));
        }
        Ok(())
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_operator_is_a_monoid() {
        use proptest::prelude::*;
        use warpfold::testing::assert_monoid;
        let steps = (-1_i32..=1, any::<u32>());
        assert_monoid::<Tour, AddEach>(steps.prop_map(|(depth, letters)| Tour { depth, letters }));
    }

    #[test]
    fn the_kernels_compile_as_cuda() -> Result<()> {
        let device = Device::cpu();
        let text = device.upload(b"()")?;
        let sums = device.inclusive_scan::<Tour, AddEach>(map::<step, _>(&text))?;
        support::check_scan::<Tour, AddEach, _>(map::<step, _>(&text));
        support::check_select::<Kept, Bracket, _>(flagged::<is_bracket, _>(brackets(&text, &sums)));
        let brackets = device.select::<Bracket, is_bracket>(brackets(&text, &sums))?;
        support::check_reduce::<u32, Max, _>(map::<depth, _>(&brackets));
        support::check_select::<Sides, Bracket, _>(zeros(&brackets, 0));
        Ok(())
    }
}
