//! The kernels that use the whole of the layer in `kernels/machine/device.cuh` give what they
//! should, under any schedule. On a GPU they run too (`engines/layer_on_the_gpu.rs`).

use crate::emulator::{Argument, Grid, Script, Toolchain};
use crate::support::layer::{CASES, Case, SOURCE};
use warpfold::bytemuck;
use warpfold::codegen::with_kernels;

#[test]
fn the_layer_keeps_its_promises() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let names: Vec<_> = CASES.iter().map(|case| case.kernel).collect();
    let text = with_kernels(SOURCE, "layer.cu").unwrap();
    let module = toolchain.module("layer", &text, &names);
    for case in CASES {
        let Case {
            kernel,
            blocks,
            threads,
            shared,
            work,
            ..
        } = *case;
        for seed in 0..24 {
            let (input, expected) = case.data();
            let mut script = Script::new();
            script.seed(seed);
            script.file("numbers", bytemuck::cast_slice(&input));
            script.filled("in", 0, 4 * input.len(), "numbers");
            script.buffer("out", 0, 4 * expected.len());
            let mut arguments = vec![Argument::At("in", 0), Argument::At("out", 0)];
            if work > 0 {
                script.file("zeros", &vec![0; work]);
                script.filled("work", 0, work, "zeros");
            }
            for offset in case.work_at {
                arguments.push(Argument::At("work", *offset));
            }
            if let Some(length) = case.length {
                arguments.push(Argument::value(length));
            }
            let grid = Grid {
                blocks: u64::from(blocks),
                threads,
                shared,
                resident: 0,
            };
            script.launch(kernel, grid, &arguments);
            script.save("out");
            let what = format!("{kernel}, seed {seed}");
            let output: Vec<u32> =
                bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
            assert_eq!(output, expected, "{what}");
        }
    }
}
