//! Parallel primitives.

pub mod codegen;
mod element;
mod error;
mod monoid;
pub mod ops;

pub use bytemuck;
pub use element::{Element, MAX_ELEMENT_BYTES};
pub use error::{Error, Result};
pub use monoid::Monoid;
pub use warpfold_macros::Element;

extern crate self as warpfold;

#[doc(hidden)]
#[macro_export]
macro_rules! __device_repr { ($t:ty) => {}; }
