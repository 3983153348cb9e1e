//! The derive macro of the `warpfold` crate; use it from there.

mod element;

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
