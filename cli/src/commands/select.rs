//! `warpfold select`.

use super::Job;
use crate::args::{Condition, FileArguments};
use crate::failure::Result;
use crate::number::{DType, with_number};
use crate::numbers::PIECE;
use crate::output::Writer;

/// Keeps what satisfies a condition, or its positions.
pub(super) fn run(files: &FileArguments, condition: &Condition, positions: bool) -> Result<()> {
    let written = |dtype| if positions { DType::U64 } else { dtype };
    let job = Job::open(files, None, |dtype| {
        condition.check(dtype)?;
        Ok(written(dtype))
    })?;
    let dtype = job.numbers.dtype;
    with_number!(dtype, T => {
        let kept = condition.parse::<T>()?;
        let mut writer = Writer::new(job.output, job.output_format, written(dtype), None);
        for (number, piece) in job.numbers.pieces::<T>().enumerate() {
            if positions {
                let mut places = kept.positions(&job.device, piece?)?;
                places.iter_mut().for_each(|place| *place += (number * PIECE) as u64);
                writer.write(&places)?;
            } else {
                writer.write(&kept.select(&job.device, piece?)?)?;
            }
        }
        writer.finish()
    })
}
