//! The report as a page, and as Markdown with pictures beside it.

use crate::report::{Report, Row};
use crate::{chart, picture, table};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use warpfold::ladder::Problem;

const PAGE: &str = include_str!("templates/page.html.jinja");
const MARKDOWN: &str = include_str!("templates/page.md.jinja");
const STYLE: &str = include_str!("templates/page.css");

/// A page in Markdown.
#[derive(Debug)]
pub struct Markdown {
    /// The page.
    pub text: String,
    /// Its pictures: names of files, and what is in them. They lie in the folder that
    /// [`Report::markdown`] was told.
    pub pictures: Vec<(String, String)>,
}

impl Report {
    /// One page of HTML that needs no other file: charts, tables, pictures, and the kernels'
    /// sources to unfold. It is well-formed XML, too.
    pub fn html(&self) -> String {
        let sections = Problem::ALL.iter().filter_map(|problem| {
            self.of(*problem).next()?;
            Some(context! {
                name => problem.name(),
                heading => heading(*problem),
                note => note(*problem),
                speeds => chart::speeds(self.of(*problem)),
                requests => chart::requests(self.of(*problem)),
                steps => self.of(*problem).map(shown).collect::<Vec<_>>(),
            })
        });
        let context = context! {
            report => Serde(self),
            css => STYLE,
            svg_css => picture::STYLE,
            svg_dark_css => picture::DARK_STYLE,
            sections => sections.collect::<Vec<_>>(),
        };
        render("page.html", PAGE, context)
    }

    /// A page in Markdown whose pictures lie in `folder`, a path from where the page lies. The
    /// kernels' sources are links: from the page to the root of the repository it is `root`.
    pub fn markdown(&self, folder: &str, root: &str) -> Markdown {
        let mut pictures = Vec::new();
        let mut keep = |name: String, svg: &str| {
            pictures.push((name.clone(), picture::standalone(svg)));
            name
        };
        let sections: Vec<Value> = Problem::ALL
            .iter()
            .filter(|problem| self.of(**problem).next().is_some())
            .map(|problem| {
                let steps: Vec<Value> = self
                    .of(*problem)
                    .map(|row| {
                        let drawn = row.picture.as_ref().map(|(svg, _)| svg);
                        let file = drawn.map(|svg| keep(format!("{}.svg", row.name), svg));
                        context! { file, ..shown(row) }
                    })
                    .collect();
                let timed = self.gpu.is_some();
                let speeds = timed.then(|| chart::speeds(self.of(*problem))).flatten();
                let name = problem.name();
                context! {
                    heading => heading(*problem),
                    note => note(*problem),
                note => note(*problem),
                    speeds => speeds.map(|svg| keep(format!("speeds-{name}.svg"), &svg)),
                    requests => chart::requests(self.of(*problem))
                        .map(|svg| keep(format!("requests-{name}.svg"), &svg)),
                    steps,
                }
            })
            .collect();
        let context = context! { report => Serde(self), sections, folder, root };
        Markdown {
            text: render("page.md", MARKDOWN, context),
            pictures,
        }
    }
}

fn heading(problem: Problem) -> &'static str {
    match problem {
        Problem::Reduce => "Reductions",
        Problem::Dot => "Dot products",
        Problem::Scan => "Scans",
        Problem::Sort => "Sorts",
    }
}

/// What else there is to say of a problem.
fn note(problem: Problem) -> &'static str {
    match problem {
        Problem::Reduce => {
            "Sum, product, maximum and minimum are operators (--op). An average is a sum divided \
             by the count. A standard deviation is a reduction too, of counts, sums and squared \
             deviations together: an operator on a struct of 24 bytes (statistics::moments, \
             warpfold stats). No atomic instruction takes so many, so of these steps only those \
             without atomic operations could have it. The library's engines do."
        }
        Problem::Scan => {
            "All of them leave an item out of its own result. The library's scans have one order \
             only, the law's."
        }
        Problem::Sort => {
            "Scans are what a radix sort is made of. These steps sort by numbers, whatever the \
             operator (--op)."
        }
        Problem::Dot => {
            "Products are folded with the operator (--op): --op max gives the greatest \
             product."
        }
    }
}

/// A step with what templates show of it.
fn shown(row: &Row) -> Value {
    let seeds: Vec<Value> = row
        .seeds
        .iter()
        .map(|seed| {
            context! {
                text => seed.text,
                name => seed.name,
                time => seed.microseconds.map(table::microseconds),
            }
        })
        .collect();
    let predictions: Vec<Value> = row
        .predictions
        .iter()
        .map(
            |prediction| context! { holds => prediction.holds(), ..Value::from(Serde(prediction)) },
        )
        .collect();
    context! {
        seeds,
        predictions,
        time_text => row.time.map(|time| table::microseconds(time.microseconds)),
        ..Value::from(Serde(row))
    }
}

/// Text in lines of up to 100 characters.
fn wrapped(text: String) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 {
            let fits = width + 1 + length <= 100;
            lines.push(if fits { ' ' } else { '\n' });
            width = if fits { width + 1 } else { 0 };
        }
        lines += word;
        width += length;
    }
    lines
}

fn render(name: &str, template: &str, context: Value) -> String {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    environment.set_syntax(syntax.expect("the default delimiters are valid"));
    environment.set_auto_escape_callback(|name| match name.ends_with(".html") {
        true => AutoEscape::Html,
        false => AutoEscape::None,
    });
    environment.add_filter("wrapped", wrapped);
    let rendered = environment.render_named_str(name, template, context);
    rendered.expect("the templates are well-formed; a test renders each")
}
