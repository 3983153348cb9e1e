//! Names in Rust, and what C++ calls the same things.

use syn::{Error, Ident, Member, Result};

/// Words that a C++ compiler would not take as a name, though Rust does, some of them after `r#`.
#[rustfmt::skip]
const CPP_KEYWORDS: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable",
    "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
    "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed", "sizeof",
    "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor",
    "xor_eq",
];

/// Names that mean something else in generated code: types of `kernels/machine/device.cuh`, and
/// macros of C.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "f32", "f64", "rust", "functions", "user", "warpfold",
    "f16", "bf16", "errno", "stdin", "stdout", "stderr", "assert", "main",
    "NULL", "INFINITY", "NAN", "EOF", "HUGE_VAL", "M_PI", "M_E", "CHAR_BIT", "RAND_MAX", "BUFSIZ",
];

/// The name as C++ can spell it.
pub(crate) fn cuda_name(ident: &syn::Ident) -> Result<String> {
    let name = ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    if !name.is_ascii() {
        return Err(Error::new(
            ident.span(),
            "CUDA source is ASCII: rename this",
        ));
    }
    if CPP_KEYWORDS.contains(&name) {
        return Err(Error::new(
            ident.span(),
            format!("`{name}` is a keyword of C++: rename this"),
        ));
    }
    Ok(name.to_owned())
}

/// The name of a field in C++. A field that has a type's name would change what that name means in
/// the rest of its struct.
pub(crate) fn cuda_field(ident: &Ident) -> String {
    let name = ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    if TAKEN.contains(&name) {
        format!("r_{name}")
    } else {
        name.to_owned()
    }
}

/// The name of a variable or function in C++: the same if it can be.
pub(crate) fn cuda_variable(ident: &Ident) -> String {
    let name = ident.to_string();
    let name = name
        .strip_prefix("r#")
        .unwrap_or(&name)
        .trim_start_matches('_');
    // Two underscores in a row are the compiler's; capitals are for types and templates'
    // parameters.
    let plain = name.is_ascii()
        && !name.contains("__")
        && name.starts_with(|c: char| c.is_ascii_lowercase());
    if plain && !CPP_KEYWORDS.contains(&name) && !TAKEN.contains(&name) {
        return name.to_owned();
    }
    let ascii: String = name.chars().filter(char::is_ascii).collect();
    format!("r_{}", ascii.replace("__", "_"))
}

/// `CamelCase` as `snake_case`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// `snake_case` as `CamelCase`.
pub(crate) fn camel_case(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let words = name.split('_').filter(|word| !word.is_empty());
    words
        .flat_map(|word| {
            let mut chars = word.chars();
            let first = chars.next().into_iter().flat_map(char::to_uppercase);
            first.chain(chars)
        })
        .collect()
}

/// The name of a field in C++.
pub(crate) fn cuda_member(member: &Member) -> String {
    match member {
        Member::Named(ident) => cuda_field(ident),
        Member::Unnamed(index) => format!("_{}", index.index),
    }
}

/// Whether a name in a pattern is that of a constant, as Rust's naming rules have it.
pub(crate) fn is_constant_name(ident: &Ident) -> bool {
    let name = ident.to_string();
    name.chars().any(|c| c.is_ascii_uppercase()) && !name.chars().any(|c| c.is_ascii_lowercase())
}

/// The types of numbers that functions compute with.
pub(crate) const NUMBERS: &[&str] = &[
    "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "usize", "isize", "f32",
    "f64",
];
