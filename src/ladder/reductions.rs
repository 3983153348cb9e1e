//! The steps of reductions.

use super::call::{blocks, coarsened, decomposed_in_pairs, decomposed_in_place, in_place, one};
use super::kernel::kernel;
use super::{Formula, InAnyOrder, Quantity, Runner, Seed, Step};
use crate::engine::Order;
use crate::ladder::Problem::Reduce;

/// The combinations of any tree.
const TREE: Formula = Formula {
    quantity: Quantity::Combinations,
    text: "N/2 + N/4 + … + 1 = N − 1",
    value: |n| n - 1,
    besides: None,
};

const RESULT: Option<(u64, &str)> = Some((2, "the sum is read and written once more at the end"));

/// N/64 + N/128 + … + 1.
fn halves(n: u64) -> u64 {
    n / 32 - 1
}

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "loop",
        title: "one after the other on the CPU",
        problem: Reduce,
        change: "The simplest way: n − 1 operations in n − 1 steps, each of which waits for the \
                 one before it. One core does not even keep its own memory busy. On a GPU a \
                 single thread would be far slower still.",
        seeds: &[
            Seed {
                text: "001",
                name: "cpuSum",
                microseconds: None,
            },
            Seed {
                text: "004",
                name: "sum_host (sequential reduction)",
                microseconds: Some(7752.0),
            },
        ],
        formulas: &[],
        runner: Runner::Loop,
    },
    Step {
        name: "halving",
        title: "recursive halving on the CPU",
        problem: Reduce,
        change: "The upper half is added onto the lower one, until one number is left. The \
                 operations of a round do not wait for each other, so the compiler uses vectors. \
                 But every round goes through memory: 2n numbers are read and n written in all.",
        seeds: &[Seed {
            text: "001",
            name: "cpuReduceSum (baseline)",
            microseconds: Some(54_432.869),
        }],
        formulas: &[],
        runner: Runner::Halving,
    },
    Step {
        name: "tree-divergent",
        title: "a tree in one block, pairs of neighbours first",
        problem: Reduce,
        change: "A thread for each pair: n numbers take log n rounds. But the threads at work \
                 move apart. A warp takes as long for one lane as for 32, and here nearly all \
                 warps stay for the first five rounds with ever fewer lanes at work. Their lanes \
                 also touch numbers that lie apart, in more requests.",
        seeds: &[Seed {
            text: "000",
            name: "simple_reduce_kernel",
            microseconds: None,
        }],
        formulas: &[
            TREE,
            Formula {
                quantity: Quantity::Requests,
                text: "(N/64 · 5 · 2 + N/64 + N/128 + … + 1) · 3",
                value: |n| (n / 64 * 10 + halves(n)) * 3,
                besides: RESULT,
            },
        ],
        runner: kernel!(
            "tree_divergent", |n, shape| in_place("tree_divergent", n, shape),
            most: Some(2048),
        ),
    },
    Step {
        name: "tree-convergent",
        title: "the same tree, the first threads at work",
        problem: Reduce,
        change: "The strides fall instead of rising. The threads at work stay together, so whole \
                 warps drop out, and neighbours touch neighbours, so one request serves a warp: a \
                 fifth of the requests at 2048 numbers.",
        seeds: &[Seed {
            text: "000",
            name: "convergent_reduce_kernel",
            microseconds: None,
        }],
        formulas: &[
            TREE,
            Formula {
                quantity: Quantity::Requests,
                text: "((N/64 + N/128 + … + 1) + 5) · 3",
                value: |n| (halves(n) + 5) * 3,
                besides: RESULT,
            },
        ],
        runner: kernel!(
            "tree_convergent", |n, shape| in_place("tree_convergent", n, shape),
            most: Some(2048), in_any_order: Some(InAnyOrder::Pairs),
        ),
    },
    Step {
        name: "tree-shared",
        title: "the tree in shared memory",
        problem: Reduce,
        change: "Values on the way stay in shared memory, which is much nearer. Global memory is \
                 read once, and only the result is written. The input stays as it was.",
        seeds: &[Seed {
            text: "000",
            name: "shmem_convergent_reduce_kernel",
            microseconds: None,
        }],
        formulas: &[Formula {
            quantity: Quantity::Requests,
            text: "N/32 + 1",
            value: |n| n / 32 + 1,
            besides: None,
        }],
        runner: kernel!(
            "tree_shared", |n, shape| one("tree_shared", n, shape),
            most: Some(2048), in_any_order: Some(InAnyOrder::Pairs),
        ),
    },
    Step {
        name: "neighboured",
        title: "many blocks, pairs of neighbours, in global memory",
        problem: Reduce,
        change: "One block is one multiprocessor of a hundred. Here each block folds its own \
                 part, and the next launch folds what the blocks left: the end of a launch is the \
                 one barrier that all blocks share. Warps diverge, and all rounds go through \
                 global memory.",
        seeds: &[Seed {
            text: "001",
            name: "reduceNeighbored (reduction#1)",
            microseconds: Some(677.109),
        }],
        formulas: &[TREE],
        runner: kernel!(
            "neighboured", |n, shape| decomposed_in_place("neighboured", n, shape),
            threads: 512,
        ),
    },
    Step {
        name: "neighboured-convergent",
        title: "the same without divergence",
        problem: Reduce,
        change: "Thread t takes the t-th pair, so the threads at work stand together, and whole \
                 warps drop out. The pairs are the same, so requests stay as scattered as they \
                 were.",
        seeds: &[Seed {
            text: "001",
            name: "reduction#2 (no divergence)",
            microseconds: None,
        }],
        formulas: &[TREE],
        runner: kernel!(
            "neighboured_convergent",
            |n, shape| decomposed_in_place("neighboured_convergent", n, shape),
            threads: 512,
        ),
    },
    Step {
        name: "global-atomic",
        title: "an atomic operation for each number",
        problem: Reduce,
        change: "The loop body of the CPU, with a thread for each number. An atomic operation \
                 keeps others from coming between read and write. It is right, and in the text \
                 slower than the CPU: all threads queue for one place.",
        seeds: &[Seed {
            text: "004",
            name: "sum_atomic",
            microseconds: Some(25_922.0),
        }],
        formulas: &[Formula {
            quantity: Quantity::Atomics,
            text: "N",
            value: |n| n,
            besides: None,
        }],
        runner: kernel!(
            "global_atomic", |n, shape| blocks("global_atomic", 1, n, shape),
            in_any_order: Some(InAnyOrder::Items),
        ),
    },
    Step {
        name: "shared-atomic",
        title: "an atomic operation in shared memory for each number",
        problem: Reduce,
        change: "Each block has a place of its own, in shared memory. The queues are shorter, \
                 there is one for each block, and they move faster. Blocks then fold once each \
                 into global memory.",
        seeds: &[Seed {
            text: "004",
            name: "sum_shared",
            microseconds: Some(2810.0),
        }],
        formulas: &[Formula {
            quantity: Quantity::Atomics,
            text: "N, of which N/1024 in global memory",
            value: |n| n,
            besides: None,
        }],
        runner: kernel!(
            "shared_atomic", |n, shape| blocks("shared_atomic", 1, n, shape),
            in_any_order: Some(InAnyOrder::Items),
        ),
    },
    Step {
        name: "interleaved",
        title: "a tree in each block, pairs of neighbours first",
        problem: Reduce,
        change: "A tree takes the queue's place: 10 rounds for 1024 numbers, not 1024 turns. \
                 Which threads work is as in the first tree, so warps diverge.",
        seeds: &[Seed {
            text: "004",
            name: "sum_reduce (interleaved addressing)",
            microseconds: Some(512.0),
        }],
        formulas: &[Formula {
            quantity: Quantity::Atomics,
            text: "N/1024",
            value: |n| n.div_ceil(1024),
            besides: None,
        }],
        runner: kernel!(
            "interleaved", |n, shape| blocks("interleaved", 1, n, shape),
            in_any_order: Some(InAnyOrder::Blocks),
        ),
    },
    Step {
        name: "reversed",
        title: "the same, the first threads at work",
        problem: Reduce,
        change: "The strides fall. Warps without work end their rounds at once, and leave the \
                 multiprocessor to the others.",
        seeds: &[Seed {
            text: "004",
            name: "reversed reduction",
            microseconds: Some(408.0),
        }],
        formulas: &[],
        runner: kernel!(
            "reversed", |n, shape| blocks("reversed", 1, n, shape),
            in_any_order: Some(InAnyOrder::Blocks),
        ),
    },
    Step {
        name: "add-first",
        title: "two numbers a thread, an atomic operation a block",
        problem: Reduce,
        change: "Half of the threads only ever loaded a number. Now each thread loads two and \
                 adds them before the tree begins. There are half as many blocks, and their first \
                 round costs no shared memory.",
        seeds: &[
            Seed {
                text: "000",
                name: "segmented_shmem_sum_reduction",
                microseconds: None,
            },
            Seed {
                text: "004",
                name: "add first",
                microseconds: Some(283.0),
            },
        ],
        formulas: &[
            Formula {
                quantity: Quantity::Requests,
                text: "N/32",
                value: |n| n / 32,
                besides: None,
            },
            Formula {
                quantity: Quantity::Atomics,
                text: "N/2048",
                value: |n| n.div_ceil(2048),
                besides: None,
            },
        ],
        runner: kernel!(
            "blocks_atomic", |n, shape| blocks("blocks_atomic", 2, n, shape),
            in_any_order: Some(InAnyOrder::Blocks),
        ),
    },
    Step {
        name: "coarsened",
        title: "several numbers a thread",
        problem: Reduce,
        change: "More blocks than the GPU holds at once only wait for each other. Threads that \
                 take several numbers (--factor says how many pairs) add them up without \
                 barriers, all lanes at work. There are fewer trees, and trees are where lanes \
                 are idle.",
        seeds: &[Seed {
            text: "000",
            name: "coarsened_shmem_sum_reduction",
            microseconds: None,
        }],
        formulas: &[Formula {
            quantity: Quantity::Requests,
            text: "N/32",
            value: |n| n / 32,
            besides: None,
        }],
        runner: kernel!(
            "coarsened", |n, shape| coarsened("coarsened", n, shape),
            in_any_order: Some(InAnyOrder::Blocks),
        ),
    },
    Step {
        name: "last-warp",
        title: "the last warp without barriers",
        problem: Reduce,
        change: "The last six rounds concern one warp. Its lanes wait for each other only, not \
                 for the block, and need no condition. The text counts on lanes that run in step. \
                 Since Volta that takes __syncwarp.",
        seeds: &[Seed {
            text: "004",
            name: "last warp (warpSum)",
            microseconds: Some(208.0),
        }],
        formulas: &[],
        runner: kernel!(
            "last_warp", |n, shape| blocks("last_warp", 2, n, shape),
            fewest_threads: 32, in_any_order: Some(InAnyOrder::Blocks),
        ),
    },
    Step {
        name: "warp-shuffle",
        title: "the last warp by shuffles",
        problem: Reduce,
        change: "Lanes read each other's registers. The last rounds need no memory and no barrier \
                 at all. The text found it slower.",
        seeds: &[Seed {
            text: "004",
            name: "warp shuffle (__shfl_xor_sync)",
            microseconds: Some(427.0),
        }],
        formulas: &[],
        runner: kernel!(
            "warp_shuffle", |n, shape| blocks("warp_shuffle", 2, n, shape),
            fewest_threads: 32, in_any_order: Some(InAnyOrder::Blocks),
        ),
    },
    Step {
        name: "two-step",
        title: "a second launch in place of atomic operations",
        problem: Reduce,
        change: "Blocks leave their values side by side, and another launch folds these. No \
                 thread queues, any operator on any type will do, and float sums are the same \
                 every time.",
        seeds: &[
            Seed {
                text: "004",
                name: "two step",
                microseconds: Some(200.0),
            },
            Seed {
                text: "001",
                name: "kernel decomposition",
                microseconds: None,
            },
        ],
        formulas: &[Formula {
            quantity: Quantity::Atomics,
            text: "0",
            value: |_| 0,
            besides: None,
        }],
        runner: kernel!(
            "two_step", |n, shape| decomposed_in_pairs(("two_step", "two_step_again"), n, shape),
            functions: &["two_step", "two_step_again"],
            fewest_threads: 32, in_any_order: Some(InAnyOrder::Pairs),
        ),
    },
    Step {
        name: "ours-cpu",
        title: "ours on the CPU",
        problem: Reduce,
        change: "All cores, vectors, and prefetching. The bracketing is the law's, so the bits \
                 are those of a GPU.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Cpu,
    },
    Step {
        name: "ours-levels",
        title: "ours: levels",
        problem: Reduce,
        change: "The law's tree over all numbers, a launch for each level. Each block folds a \
                 tile in the order of the array, so the operator need not commute. It is the \
                 specification that the others are held to.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Engine("levels", Order::Law),
    },
    Step {
        name: "ours-rows",
        title: "ours: rows, in the law's order",
        problem: Reduce,
        change: "One launch. Lanes load words of 16 bytes, many before they use the first, and \
                 fold them in registers. Blocks leave their sums in packets that say whose they \
                 are, and the last block folds them. The order is fixed, and costs nothing that \
                 can be seen.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Engine("rows", Order::Law),
    },
    Step {
        name: "ours-any-order",
        title: "ours: rows, in any order",
        problem: Reduce,
        change: "The same where no bit tells the order: each lane just folds what it loads. The \
                 library does so if the operator is exact and commutes, as on integers.",
        seeds: &[],
        formulas: &[],
        runner: Runner::Engine("rows", Order::Any),
    },
];
