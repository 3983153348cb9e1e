//! The table as Rust, in the form that rustfmt leaves alone: `src/engine/tuning/wave/sm_XX.rs`.

use std::fmt::Write as _;
use warpfold::codegen::WavePolicy;

/// What was found for elements of one size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The type that was measured.
    pub(crate) name: &'static str,
    /// Its size in bytes.
    pub(crate) element: u32,
    pub(crate) policy: WavePolicy,
    /// The speed as a part of that of a copy.
    pub(crate) of_a_copy: f64,
}

/// The whole file. Shares are whole percents: the next digit would differ from run to run.
pub(crate) fn render(capability: u32, conditions: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "//! Compute capability {}.{}. Found by `warpfold tune` on {conditions}.\n\n\
         use super::WaveRow;\n\n\
         pub(super) const WAVE: &[WaveRow] = &[\n",
        capability / 10,
        capability % 10
    );
    for row in rows {
        let Row {
            element, policy, ..
        } = *row;
        let tile_kib = (policy.tile() * u64::from(element)) >> 10;
        let lines = [
            ("element", element.to_string()),
            ("run", policy.run.to_string()),
            ("tile", format!("{tile_kib} << 10")),
            ("warps", policy.warps.to_string()),
            ("reducers", policy.reducers.to_string()),
            ("stages", policy.stages.to_string()),
            ("loads", policy.loads.to_string()),
            ("wave", policy.wave.to_string()),
            ("batch", policy.batch.to_string()),
        ];
        text += "    WaveRow {\n";
        for (name, value) in lines {
            writeln!(text, "        {name}: {value},").expect("writing to a string cannot fail");
        }
        let percent = row.of_a_copy * 100.0;
        writeln!(text, "    }}, // {}: {percent:.0}% of a copy", row.name)
            .expect("writing to a string cannot fail");
    }
    text + "];\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::classes::Class;
    use crate::tune::classes::{Visitor, for_each_class};

    /// What the table says now, as if a search had just found it.
    #[derive(Default)]
    struct Present(Vec<Row>);

    impl Visitor for Present {
        type Error = std::convert::Infallible;

        fn visit<T: Class>(&mut self) -> Result<(), Self::Error> {
            self.0.push(Row {
                name: T::NAME,
                element: size_of::<T>() as u32,
                policy: WavePolicy::for_capability::<T>(90).expect("a policy"),
                of_a_copy: 0.954,
            });
            Ok(())
        }
    }

    fn present() -> String {
        let mut present = Present::default();
        for_each_class(&mut present).unwrap();
        render(90, "a GPU", &present.0)
    }

    /// The lines without their comments.
    fn code(text: &str) -> Vec<&str> {
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(""));
        lines
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect()
    }

    /// So that nothing gets lost on the way into the library, and a new search makes a small diff.
    #[test]
    fn the_file_in_the_library_is_what_would_be_printed() {
        let file = include_str!("../../../src/engine/tuning/wave/sm_90.rs");
        assert_eq!(code(file), code(&present()));
    }

    #[test]
    fn shares_stand_beside_their_rows() {
        let text = present();
        assert!(text.contains("    }, // f32: 95% of a copy\n"), "{text}");
        assert!(
            text.starts_with("//! Compute capability 9.0. Found by `warpfold tune` on a GPU.\n")
        );
    }
}
