//! `#[function]`, and what stands for a function in the type namespace.

use crate::groups::Parentheses;
use crate::math::{Extremes, Mathematics};
use crate::translate::{Translation, translate};
use proc_macro2::TokenStream;
use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Error, Generics, Ident, ItemFn, Result, Type, TypeParamBound, parse_quote};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(
            arguments,
            "`function` takes no arguments",
        ));
    }
    let mut function: ItemFn = syn::parse2(item).map_err(|error| {
        Error::new(
            error.span(),
            "#[warpfold::function] stands before a free function: `fn f(x: f32) -> f32 { … }`",
        )
    })?;
    Parentheses.visit_item_fn_mut(&mut function);
    Mathematics.visit_item_fn_mut(&mut function);
    add_attributes(&mut function.attrs);
    let companion = companion(&function);
    Extremes.visit_item_fn_mut(&mut function);
    Ok(quote!(#function #companion))
}

/// For generated code: no warnings. Two lints are named, since a crate that denies them would have
/// them of what the shadow puts around expressions. Others are not: a crate that forbids a lint
/// takes no code that allows it.
pub(crate) fn without_lints() -> TokenStream {
    quote!(#[allow(
        warnings, unused_parens, unused_braces, clippy::all, clippy::pedantic, clippy::nursery,
        clippy::restriction
    )])
}

/// Adds the attributes of a function that loops over elements call. It is inlined, unless it says
/// otherwise, since such loops are vectorised only then. Its own loops may go over indices.
pub(crate) fn add_attributes(attributes: &mut Vec<Attribute>) {
    if !attributes
        .iter()
        .any(|known| known.path().is_ident("inline"))
    {
        attributes.push(parse_quote!(#[inline(always)]));
    }
    attributes.push(
        parse_quote!(#[allow(clippy::needless_range_loop, clippy::inline_always, unused_parens)]),
    );
}

/// The type that stands for a function. It has the function's name, which types and functions can
/// share, so that every place that can call the function can name the type. If the function cannot
/// be translated, the errors come with it.
pub(crate) fn companion(function: &ItemFn) -> TokenStream {
    let signature = &function.sig;
    let (errors, cuda) = match translate(&function.attrs, signature, &function.block) {
        Ok(translation) => (
            None,
            definition(&signature.ident, &parse_quote!(Self), &translation),
        ),
        Err(error) => (
            Some(error.to_compile_error()),
            quote!(::core::unreachable!()),
        ),
    };
    let Some((types, output)) = types_of(function) else {
        return quote!(#errors);
    };
    let ident = &signature.ident;
    let name = ident.to_string();
    let quiet = without_lints();
    let generics = owned(&signature.generics);
    let (parameters, arguments, conditions) = generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let names: Vec<_> = (0..types.len())
        .map(|number| quote::format_ident!("argument_{number}"))
        .collect();
    let visibility = &function.vis;
    let phantoms = generics.type_params().map(|parameter| &parameter.ident);
    let documentation = format!("[`{name}`](fn@{name}), as a type: see `warpfold::Function`.");
    quote! {
        #errors

        #[doc = #documentation]
        #[allow(non_camel_case_types, dead_code, missing_debug_implementations)]
        #visibility struct #ident #parameters #conditions {
            __arguments: ::core::marker::PhantomData<(#(fn() -> #phantoms,)*)>,
        }

        #quiet
        impl #parameters #ident #arguments #conditions {
            #[doc(hidden)]
            #visibility fn __call(_: ::core::marker::PhantomData<Self>, #(#names: #types),*) -> #output {
                ::core::unreachable!()
            }
        }

        #quiet
        impl #parameters ::warpfold::Function for #ident #arguments #conditions {
            type Input = (#(#types,)*);
            type Output = #output;

            #[inline(always)]
            fn call((#(#names,)*): Self::Input) -> Self::Output {
                #ident #turbofish (#(#names),*)
            }

            fn cuda(definitions: &mut ::warpfold::codegen::Definitions) -> ::std::string::String {
                #cuda
            }
        }
    }
}

/// An expression that adds a function to `definitions`, and gives its name in CUDA. The type `key`
/// is that function's alone.
pub(crate) fn definition(ident: &Ident, key: &Type, translation: &Translation) -> TokenStream {
    let name = crate::names::cuda_variable(ident);
    let text = translation.to_expression();
    quote! {
        definitions.define_translation::<#key>(#name, |definitions, name| { #text })
    }
}

/// The types of the arguments and of the value, if the signature is one that has them.
fn types_of(function: &ItemFn) -> Option<(Vec<&Type>, &Type)> {
    let signature = &function.sig;
    let of_other_kind =
        signature.asyncness.is_some() || matches!(signature.safety, syn::Safety::Unsafe(_));
    let is_unbound = |parameter: &syn::TypeParam| parameter.bounds.is_empty();
    if of_other_kind
        || signature.generics.where_clause.is_none()
            && signature.generics.type_params().any(is_unbound)
    {
        return None;
    }
    let mut types = Vec::new();
    for input in &function.sig.inputs {
        match input {
            syn::FnArg::Typed(parameter) if crate::translate::check_type(&parameter.ty).is_ok() => {
                types.push(&*parameter.ty)
            }
            _ => return None,
        }
    }
    match &function.sig.output {
        syn::ReturnType::Type(_, ty) if crate::translate::check_type(ty).is_ok() => {
            Some((types, &**ty))
        }
        _ => None,
    }
}

/// The parameters, with types that borrow nothing: `Function` is for `'static` types only.
fn owned(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    let bound: TypeParamBound = parse_quote!('static);
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(bound.clone());
    }
    generics
}
