//! Which types functions can have, and how the shadow tells them.

use super::refused::no_reference;
use proc_macro2::Span;
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Error, Expr, FnArg, GenericArgument, GenericParam, Ident, Pat, PathArguments, Result,
    ReturnType, Safety, Signature, Type,
};

/// Rejects types that no value on a GPU can have, as far as their names show it. The others must
/// implement `CudaType`.
pub(crate) fn check_type(ty: &Type) -> Result<()> {
    let wrong = |message: &str| Err(Error::new_spanned(ty, message));
    match ty {
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return Ok(());
            };
            let name = last.ident.to_string();
            match name.as_str() {
                "Vec" | "VecDeque" | "Box" | "Rc" | "Arc" | "HashMap" | "BTreeMap" | "HashSet" => {
                    return wrong(&format!(
                        "`{name}` lives in memory that a GPU does not have: use a fixed array `[T; N]`, a tuple or a struct"
                    ));
                }
                "String" | "str" => return wrong("there is no text on a GPU: work on bytes, `u8`"),
                "char" => {
                    return wrong(
                        "there is no `char` on a GPU: use `u8` for bytes, or `u32` for code points",
                    );
                }
                "Option" | "Result" => {
                    return wrong(&format!(
                        "`{name}` has no layout that a GPU shares: use a tuple `(bool, T)`, or a struct with a flag"
                    ));
                }
                _ => {}
            }
            if let PathArguments::AngleBracketed(arguments) = &last.arguments {
                for argument in &arguments.args {
                    if let GenericArgument::Type(ty) = argument {
                        check_type(ty)?;
                    }
                }
            }
            Ok(())
        }
        Type::Array(array) => check_type(&array.elem),
        Type::Tuple(tuple) if tuple.elems.is_empty() => {
            wrong("a function that runs on a GPU has nothing but its value: `()` is none")
        }
        Type::Tuple(tuple) => tuple.elems.iter().try_for_each(check_type),
        Type::Paren(inner) => check_type(&inner.elem),
        Type::Group(inner) => check_type(&inner.elem),
        Type::Infer(_) => Ok(()),
        Type::Reference(reference) if matches!(&*reference.elem, Type::Slice(_)) => {
            wrong("there are no slices in functions that run on a GPU: use a fixed array `[T; N]`")
        }
        Type::Reference(_) | Type::Ptr(_) => Err(no_reference(ty)),
        Type::Slice(_) => {
            wrong("there are no slices in functions that run on a GPU: use a fixed array `[T; N]`")
        }
        Type::FnPtr(_) | Type::ImplTrait(_) | Type::TraitObject(_) => wrong(
            "functions and traits cannot be passed on a GPU: call a function with #[warpfold::function] by its name",
        ),
        Type::Never(_) => wrong("a function that runs on a GPU must return a value"),
        _ => wrong(
            "this type is not translated to CUDA: use numbers, fixed arrays, tuples and structs with #[derive(Element)]",
        ),
    }
}

/// The patterns and types of a function's parameters, if it is a function that can be translated.
pub(super) fn check_signature(signature: &Signature) -> Result<Vec<(&Pat, &Type)>> {
    let wrong = |tokens: &dyn ToTokens, message: &str| {
        Err(Error::new_spanned(tokens.to_token_stream(), message))
    };
    if let Some(asyncness) = &signature.asyncness {
        return wrong(asyncness, "a function that runs on a GPU cannot be `async`");
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        return wrong(
            unsafety,
            "a function that runs on a GPU cannot be `unsafe`: nothing it can do needs it",
        );
    }
    if let Some(abi) = &signature.abi {
        return wrong(
            abi,
            "a function that runs on a GPU is an ordinary Rust function: remove this",
        );
    }
    if let Some(variadic) = &signature.variadic {
        return wrong(
            variadic,
            "a function that runs on a GPU has a fixed number of arguments",
        );
    }
    for parameter in &signature.generics.params {
        match parameter {
            GenericParam::Lifetime(lifetime) => return Err(no_reference(lifetime)),
            GenericParam::Type(ty)
                if ty.bounds.is_empty() && signature.generics.where_clause.is_none() =>
            {
                return wrong(
                    ty,
                    &format!(
                        "say what there is of `{0}` on a GPU: `{0}: Scalar` (warpfold::Scalar) for numbers, `{0}: CudaType` for what is only passed on",
                        ty.ident
                    ),
                );
            }
            _ => {}
        }
    }
    let mut parameters = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                return wrong(
                    receiver,
                    "a function that runs on a GPU stands alone: write `fn f(x: Type, …)` instead of a method",
                );
            }
            FnArg::Typed(parameter) => {
                check_type(&parameter.ty)?;
                parameters.push((&*parameter.pat, &*parameter.ty));
            }
        }
    }
    Ok(parameters)
}

/// The type of a function's value.
pub(super) fn output(signature: &Signature) -> Result<&Type> {
    match &signature.output {
        ReturnType::Type(_, ty) => {
            check_type(ty)?;
            Ok(ty)
        }
        ReturnType::Default => Err(Error::new_spanned(
            &signature.ident,
            "a function that runs on a GPU must return a value: it has no other effect",
        )),
    }
}

/// Puts a call of one of the shadow's functions around an expression.
pub(super) fn wrap(expression: &mut Expr, function: &str, hole: Option<&Ident>) {
    let span = expression.span();
    let function = Ident::new(function, Span::call_site());
    let hole = hole.into_iter();
    *expression = Expr::Verbatim(
        quote_spanned! { span => ::warpfold::codegen::translated::#function(#expression #(, #hole)*) },
    );
}
