//! `#[derive(Element)]`.

use crate::names::{cuda_field, cuda_name};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(
            input.span(),
            "only structs can be elements: not every bit pattern of an enum or a union is a value",
        ));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.generics.span(),
            "an element cannot have parameters: its CUDA type has one layout; derive it for a struct of definite types",
        ));
    }
    let attributes = Attributes::read(input)?;
    if !attributes.repr_c {
        return Err(Error::new(
            input.ident.span(),
            "an element must be `#[repr(C)]`: the GPU reads the fields in the order in which they are written",
        ));
    }
    if data.fields.is_empty() {
        return Err(Error::new(
            input.ident.span(),
            "an element must have at least one field",
        ));
    }

    let name = &input.ident;
    let cuda_name = cuda_name(name)?;
    let members: Vec<_> = data.fields.members().collect();
    let types: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    let cuda_fields = match &data.fields {
        Fields::Named(fields) => fields
            .named
            .iter()
            .map(|field| cuda_name_of_field(field.ident.as_ref()))
            .collect::<Result<Vec<_>>>()?,
        _ => (0..types.len()).map(|i| format!("_{i}")).collect(),
    };

    let size_checks = quote! {
        const _: () = {
            assert!(
                ::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*,
                "an element must not have padding: reorder the fields from large to small, or fill the gaps with fields"
            );
            assert!(
                ::core::mem::size_of::<#name>() >= 1
                    && ::core::mem::size_of::<#name>() <= ::warpfold::MAX_ELEMENT_BYTES,
                "an element must be 1 to 64 bytes in size"
            );
        };
    };
    let field_checks = types.iter().map(|ty| {
        quote_spanned! { ty.span() =>
            const _: fn() = || {
                fn is_element<T: ::warpfold::Element>() {}
                is_element::<#ty>();
            };
        }
    });
    let pod = (!attributes.pod).then(|| {
        quote! {
            // SAFETY: `#[repr(C)]`, every field is an element and thereby zeroable.
            unsafe impl ::warpfold::bytemuck::Zeroable for #name {}
            // SAFETY: `#[repr(C)]`, every field is an element and thereby `Pod`, and there is no
            // padding, as the assertion above checks.
            unsafe impl ::warpfold::bytemuck::Pod for #name {}
        }
    });

    Ok(quote! {
        #size_checks
        #(#field_checks)*
        #pod
        // SAFETY: `Pod` and the size are checked above; the CUDA struct is defined from the same
        // fields in the same order, and its size and alignment are asserted when it is compiled.
        unsafe impl ::warpfold::Element for #name {
            ::warpfold::__own_accumulator!();
        }
        impl ::warpfold::CudaType for #name {
            fn cuda_type(
                definitions: &mut ::warpfold::codegen::Definitions,
            ) -> ::std::string::String {
                let fields = [#((#cuda_fields, <#types as ::warpfold::CudaType>::cuda_type(definitions))),*];
                definitions.define_struct(
                    #cuda_name,
                    ::core::mem::size_of::<Self>(),
                    ::core::mem::align_of::<Self>(),
                    &fields,
                )
            }

            fn cuda_value(
                &self,
                definitions: &mut ::warpfold::codegen::Definitions,
            ) -> ::std::string::String {
                let name = <Self as ::warpfold::CudaType>::cuda_type(definitions);
                let values = [#(::warpfold::CudaType::cuda_value(&self.#members, definitions)),*];
                ::std::format!("{name}{{{}}}", values.join(", "))
            }

            fn parts(&self, visit: &mut dyn ::core::ops::FnMut(::warpfold::codegen::translated::Part)) {
                #(::warpfold::CudaType::parts(&self.#members, visit);)*
            }
        }
        ::warpfold::__device_repr!(#name);
    })
}

/// What the attributes of a struct say.
struct Attributes {
    repr_c: bool,
    pod: bool,
}

impl Attributes {
    fn read(input: &DeriveInput) -> Result<Attributes> {
        let mut found = Attributes {
            repr_c: false,
            pod: false,
        };
        for attribute in &input.attrs {
            if attribute.path().is_ident("repr") {
                attribute.parse_nested_meta(|meta| {
                    if meta.path.is_ident("C") || meta.path.is_ident("transparent") {
                        found.repr_c = true;
                        Ok(())
                    } else {
                        Err(meta.error(
                            "an element is plain `#[repr(C)]`: other representations differ from CUDA's layout",
                        ))
                    }
                })?;
            } else if attribute.path().is_ident("element") {
                attribute.parse_nested_meta(|meta| {
                    if meta.path.is_ident("pod") {
                        found.pod = true;
                        Ok(())
                    } else {
                        Err(meta
                            .error("expected `pod`: this struct implements bytemuck::Pod itself"))
                    }
                })?;
            }
        }
        Ok(found)
    }
}

fn cuda_name_of_field(ident: Option<&syn::Ident>) -> Result<String> {
    ident.map_or_else(
        || Ok(String::new()),
        |ident| cuda_name(ident).map(|_| cuda_field(ident)),
    )
}
