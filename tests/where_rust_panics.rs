//! Where Rust panics, a GPU cannot: translated functions go on with the value that
//! `kernels/machine/rust.cuh` names. So there is no host to compare with; the values stand here.

use std::any::type_name;
use std::fmt::Debug;
use warpfold::{Element, Monoid, monoid};

/// Quotients and remainders of what stands side by side, and an element by its index.
struct Divisions;

macro_rules! divisions {
    ($($integer:ty),*) => {$(
        #[monoid]
        impl Monoid<[$integer; 6]> for Divisions {
            fn identity() -> [$integer; 6] {
                [1; 6]
            }

            fn combine(a: [$integer; 6], b: [$integer; 6]) -> [$integer; 6] {
                [
                    a[0] / b[0],
                    a[1] % b[1],
                    a[2] / b[2],
                    a[3] % b[3],
                    a[b[4] as usize],
                    a[4] / b[5],
                ]
            }
        }
    )*};
}

divisions!(u8, u16, u32, u64, i8, i16, i32, i64);

/// What is combined, and what must come of it: `x / 0`, `x % 0`, `MIN / -1`, `MIN % -1`, and the
/// last of the elements for an index beyond the end. The last place is an ordinary division.
macro_rules! for_every_integer {
    ($check:ident) => {
        for_every_integer!($check: u8, u16, u32, u64; i8, i16, i32, i64)
    };
    ($check:ident: $($unsigned:ty),*; $($signed:ty),*) => {
        $({
            let greatest = <$unsigned>::MAX;
            $check::<$unsigned>(
                [[7, 7, 0, 0, 100, 55], [0, 0, greatest, greatest, 99, 3]],
                [0, 0, 0, 0, 55, 33],
            );
        })*
        $({
            let least = <$signed>::MIN;
            $check::<$signed>(
                [[-7, -7, least, least, 100, 55], [0, 0, -1, -1, 99, -3]],
                [0, 0, least, 0, 55, -33],
            );
        })*
    };
}

mod emulated {
    use super::*;
    use crate::emulator::{Argument, Grid, Script, Toolchain, address};
    use crate::support::matrix::is_drawn;
    use warpfold::bytemuck;
    use warpfold::codegen::{Engine, LevelArguments, Policy, Primitive, kernels, source};
    use warpfold::source::SliceArguments;

    #[test]
    fn functions_go_on() {
        fn check<I: Element + PartialEq + Debug>(operands: [[I; 6]; 2], expected: [I; 6])
        where
            Divisions: Monoid<[I; 6]>,
        {
            let Some(toolchain) = Toolchain::get() else {
                return;
            };
            let name = format!("divisions {}", type_name::<I>());
            if !is_drawn(&name, ["i8", "i32"].contains(&type_name::<I>())) {
                return;
            }
            let text = source::<kernels::Reduce<[I; 6], Divisions>>(Engine::Levels);
            let kernel = "reduce_finish";
            let module = toolchain.module(&name, &text.expect("the source"), &[kernel]);
            let mut script = Script::new();
            script.file("operands", bytemuck::cast_slice(&operands));
            script.filled("in", 0, size_of_val(&operands), "operands");
            script.buffer("out", 0, size_of_val(&expected));
            let arguments = LevelArguments {
                source: SliceArguments {
                    address: address("in", 0),
                },
                length: 2,
                out: address("out", 0),
                above: 0,
                init: Divisions::identity(),
                seeded: 0,
                inclusive: 0,
            };
            let policy = Policy::of::<[I; 6]>(Primitive::Reduce);
            let grid = Grid::new(1, policy.threads);
            script.launch(kernel, grid, &[Argument::of_struct(&arguments)]);
            script.save("out");
            let got = script.run_to_the_end(&name, &module);
            let got: Vec<[I; 6]> = bytemuck::pod_collect_to_vec(&got);
            assert_eq!(got, [expected], "{name}");
        }
        for_every_integer!(check);
    }
}

#[cfg(feature = "cuda")]
#[test]
fn functions_go_on_on_a_gpu() {
    fn check<I: Element + PartialEq + Debug>(operands: [[I; 6]; 2], expected: [I; 6])
    where
        Divisions: Monoid<[I; 6]>,
    {
        let Some(device) = crate::support::gpu(0) else {
            return;
        };
        let operands = device.upload(&operands).unwrap();
        let got = device.reduce::<[I; 6], Divisions>(&operands).unwrap();
        assert_eq!(got, expected, "{}", type_name::<I>());
    }
    for_every_integer!(check);
}
