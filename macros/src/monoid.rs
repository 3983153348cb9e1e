//! Stub.
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Expr, Ident, Token,
    parse::{Parse, ParseStream},
};

struct Args {
    identity: Option<Expr>,
    name: Option<Ident>,
    exact: Option<Expr>,
    commutative: Option<Expr>,
}
impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut a = Args {
            identity: None,
            name: None,
            exact: None,
            commutative: None,
        };
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            let value: Option<Expr> = if input.peek(Token![=]) {
                input.parse::<Token![=]>()?;
                Some(input.parse()?)
            } else {
                None
            };
            let flag = || value.clone().unwrap_or_else(|| syn::parse_quote!(true));
            match key.to_string().as_str() {
                "identity" => a.identity = value.clone(),
                "name" => a.name = Some(syn::parse2(quote!(#value))?),
                "exact" => a.exact = Some(flag()),
                "commutative" => a.commutative = Some(flag()),
                _ => {
                    return Err(syn::Error::new(
                        key.span(),
                        "identity, name, exact or commutative",
                    ));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(a)
    }
}

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if let Ok(mut block) = syn::parse2::<syn::ItemImpl>(item.clone()) {
        block
            .items
            .push(syn::parse_quote! { const CUDA: &'static str = "return a; // stub"; });
        return Ok(quote!(#block));
    }
    let args: Args = syn::parse2(arguments)?;
    let f: syn::ItemFn = syn::parse2(item)?;
    let camel: String = f
        .sig
        .ident
        .to_string()
        .split('_')
        .map(|w| w[..1].to_uppercase() + &w[1..])
        .collect();
    let name = args
        .name
        .unwrap_or_else(|| format_ident!("{camel}", span = f.sig.ident.span()));
    let identity = args
        .identity
        .ok_or_else(|| syn::Error::new(f.sig.ident.span(), "identity = …"))?;
    let exact = args.exact.unwrap_or_else(|| syn::parse_quote!(false));
    let commutative = args.commutative.unwrap_or_else(|| syn::parse_quote!(false));
    let syn::ReturnType::Type(_, ty) = &f.sig.output else {
        return Err(syn::Error::new(f.sig.ident.span(), "returns"));
    };
    let (g, _, w) = f.sig.generics.split_for_impl();
    let (vis, ident) = (&f.vis, &f.sig.ident);
    Ok(quote! {
        #f
        /// The operator.
        #[derive(Clone, Copy, Debug)]
        #vis struct #name;
        impl #g ::warpfold::Monoid<#ty> for #name #w {
            const CUDA: &'static str = "return a; // stub";
            const EXACT: bool = #exact;
            const COMMUTATIVE: bool = #commutative;
            fn identity() -> #ty { #identity }
            #[inline(always)]
            fn combine(a: #ty, b: #ty) -> #ty { #ident(a, b) }
        }
    })
}
