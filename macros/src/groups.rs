//! What belongs together in the output of a `macro_rules!`.

use syn::visit_mut::{VisitMut, visit_expr_mut};
use syn::{Expr, ExprParen, token::Paren};

/// Puts parentheses around the expressions that a `macro_rules!` has put in: `!$x` of `a as u64` is
/// `!(a as u64)`. The compiler knows, but forgets it for what a macro like these returns. Then the
/// host would compute something else than a GPU.
pub(crate) struct Parentheses;

impl VisitMut for Parentheses {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_expr_mut(self, expression);
        if let Expr::Group(group) = expression
            && matches!(
                &*group.expr,
                Expr::Binary(_) | Expr::Cast(_) | Expr::Unary(_)
            )
        {
            *expression = Expr::Paren(ExprParen {
                attrs: Vec::new(),
                paren_token: Paren(group.group_token.span),
                expr: group.expr.clone(),
            });
        }
    }
}
