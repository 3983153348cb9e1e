//! `x.exp()` and the like.

use crate::names::NUMBERS;
use proc_macro2::Span;
use quote::quote_spanned;
use syn::punctuated::Punctuated;
use syn::visit_mut::{VisitMut, visit_expr_mut};
use syn::{Expr, ExprCall, Ident, PathArguments, parse_quote_spanned, token::Paren};

/// The methods of floats that `warpfold::math` has, and the number of their arguments. One that is
/// added goes also into the list of `macros/src/lib.rs`.
#[rustfmt::skip]
pub(crate) const METHODS: &[(&str, usize)] = &[
    ("exp", 0), ("exp2", 0), ("exp_m1", 0), ("ln", 0), ("log2", 0), ("log10", 0), ("ln_1p", 0), ("powi", 1), ("powf", 1), ("cbrt", 0),
    ("hypot", 1), ("sin", 0), ("cos", 0), ("tan", 0), ("asin", 0), ("acos", 0), ("atan", 0), ("atan2", 1), ("sinh", 0), ("cosh", 0),
    ("tanh", 0),
];

/// Makes `x.exp()` and `f32::exp(x)` calls of `warpfold::math::exp(x)`, on the host as on a GPU:
/// the platform's functions differ in their last digits.
pub(crate) struct Mathematics;

impl VisitMut for Mathematics {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_expr_mut(self, expression);
        let call = match expression {
            Expr::MethodCall(call) if call.turbofish.is_none() => {
                let arguments = std::iter::once(&*call.receiver).chain(&call.args);
                function(&call.method, None, arguments.cloned().collect())
            }
            Expr::Call(call) => of_type(call),
            _ => None,
        };
        if let Some(call) = call {
            *expression = Expr::Call(call);
        }
    }
}

/// `f32::exp(x)`.
fn of_type(call: &ExprCall) -> Option<ExprCall> {
    let Expr::Path(callee) = &*call.func else {
        return None;
    };
    let segments: Vec<_> = callee.path.segments.iter().collect();
    let [ty, method] = segments[..] else {
        return None;
    };
    let is_float = ty.ident == "f32" || ty.ident == "f64";
    let is_plain = callee.qself.is_none() && matches!(method.arguments, PathArguments::None);
    if !is_float || !is_plain {
        return None;
    }
    function(&method.ident, Some(&ty.ident), call.args.clone())
}

/// The call of the function that a method stands for, if it is one of `METHODS`.
fn function(
    method: &Ident,
    ty: Option<&Ident>,
    arguments: Punctuated<Expr, syn::Token![,]>,
) -> Option<ExprCall> {
    let name = method.to_string();
    METHODS
        .iter()
        .find(|(known, count)| *known == name && count + 1 == arguments.len())?;
    let span = Span::call_site().located_at(method.span());
    let method = Ident::new(&name, span);
    let ty = ty.map(|ty| quote_spanned!(span=> ::<#ty>));
    Some(ExprCall {
        attrs: Vec::new(),
        func: Box::new(parse_quote_spanned!(span=> ::warpfold::math::#method #ty)),
        paren_token: Paren(span),
        args: arguments,
    })
}

/// Makes `x.max(y)` and `f32::max(x, y)` of the host's function calls of the crate's own: what the
/// standard library's give for a signalling NaN, and for two zeros, depends on the platform.
pub(crate) struct Extremes;

impl VisitMut for Extremes {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_expr_mut(self, expression);
        let (method, ty, arguments) = match expression {
            Expr::MethodCall(call) if call.turbofish.is_none() && call.args.len() == 1 => {
                let arguments = std::iter::once(&*call.receiver).chain(&call.args);
                (&call.method, None, arguments.cloned().collect())
            }
            Expr::Call(call) if call.args.len() == 2 => {
                let Expr::Path(callee) = &*call.func else {
                    return;
                };
                let segments: Vec<_> = callee.path.segments.iter().collect();
                let [ty, method] = segments[..] else { return };
                let is_number = NUMBERS.contains(&ty.ident.to_string().as_str());
                if !is_number || callee.qself.is_some() {
                    return;
                }
                (&method.ident, Some(&ty.ident), call.args.clone())
            }
            _ => return,
        };
        if method != "max" && method != "min" {
            return;
        }
        let span = Span::call_site().located_at(method.span());
        let method = Ident::new(&method.to_string(), span);
        let ty = ty.map(|ty| quote_spanned!(span=> ::<#ty>));
        let arguments: Punctuated<Expr, syn::Token![,]> = arguments;
        *expression = Expr::Call(ExprCall {
            attrs: Vec::new(),
            func: Box::new(
                parse_quote_spanned!(span=> ::warpfold::codegen::translated::#method #ty),
            ),
            paren_token: Paren(span),
            args: arguments,
        });
    }
}
