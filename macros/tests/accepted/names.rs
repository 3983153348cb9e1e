//! Names that C++ would not take, that mean something in CUDA, or that Rust would not take without
//! `r#`.

#![allow(non_snake_case, non_upper_case_globals)]

use warpfold::{Element, codegen::Definitions, function, monoid};

const LIMIT: u32 = 7;
const Mixed: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Loop {
    r#type: u32,
    r#match: u32,
}

#[function]
fn locals(r#match: u32, class: u32) -> u32 {
    let r#type = r#match + 1;
    let this = class + 2;
    let r#struct = this * 2;
    let operator = r#type ^ r#struct;
    let __reserved = operator + 1;
    let _unused = 3u32;
    let größe = __reserved + LIMIT + Mixed;
    let threadIdx = größe;
    let T = threadIdx;
    let int = T;
    let u32 = int;
    let name = u32;
    let definitions = name;
    definitions
}

#[function]
fn r#yield(template: Loop) -> u32 {
    template.r#type + template.r#match
}

#[monoid(identity = Loop { r#type: 0, r#match: 0 })]
fn delete(namespace: Loop, using: Loop) -> Loop {
    Loop {
        r#type: namespace.r#type + using.r#type,
        r#match: namespace.r#match + r#yield(using) - using.r#type,
    }
}

#[test]
fn names() {
    assert_eq!(locals(1, 2), <locals as warpfold::Function>::call((1, 2)));
    let mut definitions = Definitions::default();
    <delete as warpfold::Function>::cuda(&mut definitions);
    <locals as warpfold::Function>::cuda(&mut definitions);
    assert!(definitions.text().is_ok());
    let folded = warpfold::reduce::<Loop, Delete>(
        &[Loop {
            r#type: 1,
            r#match: 2,
        }; 3],
    )
    .unwrap();
    assert_eq!(
        folded,
        Loop {
            r#type: 3,
            r#match: 6
        }
    );
}
