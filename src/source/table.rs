//! An array in a device's memory as a parameter of functions, which read it at places.

use crate::definitions::Definitions;
use crate::{Element, Function};
use std::marker::PhantomData;

/// Where an array lies, and its length.
type Table = [u64; 2];

/// The function that reads an array at a place.
#[derive(Debug)]
pub(crate) struct At<T>(PhantomData<fn() -> T>);

impl<T: Element> Function for At<T> {
    type Input = (u64, Table);
    type Output = T;

    #[inline(always)]
    fn call((place, [address, len]): (u64, Table)) -> T {
        assert!(place < len, "a place in the table");
        // SAFETY: within the crate alone this function can be named, and there tables are arrays in
        // the memory of the device that reads them, and stay borrowed. The place is one of them.
        unsafe { *(address as *const T).add(place as usize) }
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("at", |definitions, name| {
            let element = T::cuda_type(definitions);
            format!(
                "__device__ __forceinline__ {element} {name}(u64 place, const Array<u64, 2>& table) {{\n    \
                 return reinterpret_cast<const {element}*>(table[0])[place];\n}}"
            )
        })
    }
}
