//! `#[monoid]`: an operator from one Rust function.

use crate::function::{add_attributes, companion, definition, without_lints};
use crate::groups::Parentheses;
use crate::math::{Extremes, Mathematics};
use crate::names::{camel_case, snake_case};
use crate::translate::{check_type, translate};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{
    Error, Expr, FnArg, Ident, ImplItem, Item, ItemFn, ItemImpl, PathArguments, Result, ReturnType,
    Token, Type, parse_quote,
};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut item = syn::parse2::<Item>(item)?;
    Parentheses.visit_item_mut(&mut item);
    Mathematics.visit_item_mut(&mut item);
    match item {
        Item::Fn(function) => of_function(syn::parse2(arguments)?, function),
        Item::Impl(block) => {
            if !arguments.is_empty() {
                return Err(Error::new_spanned(
                    arguments,
                    "an `impl` says all this itself: `fn identity() -> T { … }`, `const EXACT: bool = true;`",
                ));
            }
            of_impl(block)
        }
        other => Err(Error::new_spanned(
            other,
            "#[warpfold::monoid] stands before a function of two arguments, or before an `impl Monoid<T> for Operator`",
        )),
    }
}

/// What stands in the parentheses.
#[derive(Default)]
struct Arguments {
    identity: Option<Expr>,
    name: Option<Ident>,
    exact: Option<Expr>,
    commutative: Option<Expr>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut arguments = Arguments::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            let is_flag = !input.peek(Token![=]);
            if !is_flag {
                input.parse::<Token![=]>()?;
            }
            let seen = match (key.to_string().as_str(), is_flag) {
                ("identity", false) => arguments.identity.replace(input.parse()?).is_some(),
                ("name", false) => arguments.name.replace(input.parse()?).is_some(),
                ("exact", true) => arguments.exact.replace(parse_quote!(true)).is_some(),
                ("exact", false) => arguments.exact.replace(input.parse()?).is_some(),
                ("commutative", true) => {
                    arguments.commutative.replace(parse_quote!(true)).is_some()
                }
                ("commutative", false) => arguments.commutative.replace(input.parse()?).is_some(),
                ("identity", true) => {
                    return Err(Error::new(key.span(), "which? Write `identity = VALUE`"));
                }
                ("name", true) => {
                    return Err(Error::new(key.span(), "which? Write `name = Operator`"));
                }
                _ => {
                    return Err(Error::new(
                        key.span(),
                        format!(
                            "`{key}` is nothing that an operator has: there are `identity = VALUE`, `name = Operator`, `exact` and `commutative`"
                        ),
                    ));
                }
            };
            if seen {
                return Err(Error::new(key.span(), format!("`{key}` is said twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(arguments)
    }
}

/// A function of two elements, and a type of its own that is the operator.
fn of_function(arguments: Arguments, function: ItemFn) -> Result<TokenStream> {
    let signature = &function.sig;
    let (element, wrong) = match element_of(&function) {
        Ok(element) => (element, None),
        Err(error) => (quote!(()), Some(error)),
    };
    let identity = arguments.identity.ok_or_else(|| {
        Error::new_spanned(
            &signature.ident,
            "an operator needs its identity, which changes nothing that it is combined with: #[warpfold::monoid(identity = VALUE)]",
        )
    });
    let identity = match (identity, wrong) {
        (Ok(identity), None) => identity,
        (Ok(_), Some(error)) | (Err(error), None) => return Ok(rejected(&function, error)),
        (Err(mut error), Some(other)) => {
            error.combine(other);
            return Ok(rejected(&function, error));
        }
    };

    let ident = &signature.ident;
    let name = arguments
        .name
        .unwrap_or_else(|| Ident::new(&camel_case(&ident.to_string()), ident.span()));
    if name == *ident {
        return Err(Error::new(
            name.span(),
            "the function and the operator need different names: `name = …` gives the operator one",
        ));
    }
    let exact = arguments.exact.unwrap_or_else(|| parse_quote!(false));
    let commutative = arguments.commutative.unwrap_or_else(|| parse_quote!(false));
    let documentation = function
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"));
    let documented = function
        .attrs
        .iter()
        .any(|attribute| attribute.path().is_ident("doc"));
    let stated = (!documented).then(|| format!("The operator [`{ident}`]."));
    let stated = stated.iter();
    let visibility = &function.vis;
    let (parameters, type_arguments, conditions) = signature.generics.split_for_impl();
    let turbofish = type_arguments.as_turbofish();
    let mut function = function.clone();
    add_attributes(&mut function.attrs);
    let companion = companion(&function);
    Extremes.visit_item_fn_mut(&mut function);
    // Report a type that is no element at its place.
    let span = Span::call_site().located_at(element.span());
    let operator = quote_spanned!(span=> ::warpfold::Monoid<#element>);
    Ok(quote! {
        #function
        #companion

        #(#documentation)*
        #(#[doc = #stated])*
        #[derive(Clone, Copy, Debug)]
        #visibility struct #name;

        impl #parameters #operator for #name #conditions {
            const EXACT: bool = #exact;
            const COMMUTATIVE: bool = #commutative;

            #[inline(always)]
            fn identity() -> #element {
                #identity
            }

            #[inline(always)]
            fn combine(a: #element, b: #element) -> #element {
                #ident #turbofish (a, b)
            }

            fn cuda(definitions: &mut ::warpfold::codegen::Definitions) -> ::std::string::String {
                <#ident #type_arguments as ::warpfold::Function>::cuda(definitions)
            }
        }
    })
}

/// The function as it is, so that only what is wrong with it as an operator is reported.
fn rejected(function: &ItemFn, error: Error) -> TokenStream {
    let error = error.to_compile_error();
    quote!(#function #error)
}

/// The one type of a function of two elements that gives a third.
fn element_of(function: &ItemFn) -> Result<TokenStream> {
    let signature = &function.sig;
    let mut types = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Typed(parameter) => types.push(&*parameter.ty),
            FnArg::Receiver(receiver) => {
                return Err(Error::new_spanned(
                    receiver,
                    "an operator stands alone: write `fn combine(a: Type, b: Type) -> Type`",
                ));
            }
        }
    }
    let [first, second] = types[..] else {
        let place = if types.is_empty() {
            signature.ident.to_token_stream()
        } else {
            signature.inputs.to_token_stream()
        };
        return Err(Error::new_spanned(
            place,
            format!(
                "an operator combines two elements, this takes {}: write `fn combine(a: T, b: T) -> T`",
                types.len()
            ),
        ));
    };
    let ReturnType::Type(_, output) = &signature.output else {
        return Err(Error::new_spanned(
            &signature.ident,
            "an operator returns what two elements come to: write `-> T`",
        ));
    };
    for ty in [first, second, output] {
        check_type(ty)?;
    }
    if let Some(instead) = instead_of(first) {
        return Err(Error::new_spanned(
            first,
            format!("`{}` is not an element: {instead}", show(first)),
        ));
    }
    for (ty, what) in [(second, "the second argument"), (&**output, "the value")] {
        if ty != first {
            return Err(Error::new_spanned(
                ty,
                format!(
                    "{what} of an operator has the same type as the first argument, `{}`",
                    show(first)
                ),
            ));
        }
    }
    Ok(first.to_token_stream())
}

/// What to fold instead of types that functions compute with, but that memory holds differently on
/// different machines.
fn instead_of(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Tuple(_) => Some(
            "write a #[repr(C)] struct with #[derive(warpfold::Element)], whose fields are laid out as in CUDA",
        ),
        Type::Path(path) if path.path.is_ident("bool") => Some("fold `u8`, which is 0 or 1"),
        Type::Path(path) if path.path.is_ident("usize") => {
            Some("fold `u64` or `u32`, whose size is the same everywhere")
        }
        Type::Path(path) if path.path.is_ident("isize") => {
            Some("fold `i64` or `i32`, whose size is the same everywhere")
        }
        _ => None,
    }
}

fn show(ty: &Type) -> String {
    ty.to_token_stream().to_string()
}

/// `impl Monoid<T> for Operator`: `combine` is translated.
fn of_impl(mut block: ItemImpl) -> Result<TokenStream> {
    let combine = block.items.iter().find_map(|item| match item {
        ImplItem::Fn(function) if function.sig.ident == "combine" => Some(function),
        _ => None,
    });
    let element = block
        .trait_
        .as_ref()
        .and_then(|(path, _)| path.segments.last())
        .and_then(|last| match &last.arguments {
            PathArguments::AngleBracketed(arguments) => arguments.args.first(),
            _ => None,
        });
    let Some(element) = element else {
        return Err(Error::new_spanned(
            &block.self_ty,
            "this is for an implementation of `Monoid`: `impl Monoid<T> for Operator`",
        ));
    };
    let key = parse_quote!((Self, #element));
    let Some(combine) = combine else {
        return Err(Error::new_spanned(
            &block.self_ty,
            "an operator needs `fn combine(a: T, b: T) -> T`",
        ));
    };
    let name = match &*block.self_ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map(|segment| snake_case(&segment.ident.to_string())),
        _ => None,
    };
    let name = Ident::new(
        &name.unwrap_or("combine".to_owned()),
        combine.sig.ident.span(),
    );
    let (errors, cuda) = match translate(&combine.attrs, &combine.sig, &combine.block) {
        Ok(translation) => (None, definition(&name, &key, &translation)),
        Err(error) => (
            Some(error.to_compile_error()),
            quote!(::core::unreachable!()),
        ),
    };
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item {
            add_attributes(&mut function.attrs);
            if function.sig.ident == "combine" {
                Extremes.visit_impl_item_fn_mut(function);
            }
        }
    }
    let quiet = without_lints();
    block.items.push(parse_quote! {
        #quiet
        fn cuda(definitions: &mut ::warpfold::codegen::Definitions) -> ::std::string::String {
            #cuda
        }
    });
    Ok(quote!(#block #errors))
}
