//! The macros of the `warpfold` crate; use them from there.

mod element;
mod function;
mod monoid;
mod names;
mod translate;

use proc_macro::TokenStream;

/// Implements `warpfold::Element` for a `#[repr(C)]` struct of elements.
///
/// The struct must derive `Clone` and `Copy`, have at least one field and at most 64 bytes, no padding, no type
/// parameters, and fields that are elements themselves. `bytemuck::Pod` and `bytemuck::Zeroable` are implemented on
/// the way; a struct that has them already says `#[element(pod)]`.
#[proc_macro_derive(Element, attributes(element))]
pub fn derive_element(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    element::derive(&input)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes an operator of an ordinary function, for the host and for GPUs.
#[proc_macro_attribute]
pub fn monoid(arguments: TokenStream, item: TokenStream) -> TokenStream {
    monoid::expand(arguments.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes an ordinary function one that runs on GPUs too.
#[proc_macro_attribute]
pub fn function(arguments: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(arguments.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
