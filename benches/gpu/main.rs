//! The benchmark of the project on a GPU, beside CUB, PyTorch and a device-to-device copy.
//!
//! `cargo bench --all-features --bench gpu -- --help`, or `dist/run bench` on a host without Rust.
//! Every result is compared with the CPU backend's, all elements, bit for bit, before it is timed
//! and after: a fast wrong kernel fails.
//!
//! `cells` is the table of what is measured, `contest` how, `report` and `chart` make the
//! documents.

mod arena;
mod axes;
mod bench;
mod cells;
mod chart;
mod classes;
mod compare;
mod contest;
mod costs;
mod cub;
mod elements;
mod gather;
mod histogram;
mod keys;
mod machine;
mod measure;
mod pieces;
mod readme;
mod record;
mod report;
mod roofline;
mod rows;
mod scaling;
mod segments;
mod select;
mod shards;
mod sort;
mod sources;
mod table;
mod torch;
mod trial;

use bench::Bench;
use record::Run;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};
use warpfold::Device;

const USAGE: &str = "\
usage: cargo bench --all-features --bench gpu -- [FILTER]... [--quick] [--json FILE]
       cargo bench --all-features --bench gpu -- --report FILE [--report FILE]...
                   [--into FILE] [--readme FILE] [--rows FILE] [--charts FOLDER]

Without --report, measures what contains one of the FILTERs in its name, such as 'scan f32 add', 'reduce', 'segments', 'axes',
'by key', 'sort', 'top', 'gather', 'scatter', 'loading', 'host data', 'pieces', 'shards',
'shards added'.
  --quick          fewer lengths and batches
  --json FILE      where the figures go [default: bench-gpu.json, in target/ if that is there]

With --report, which needs no GPU, makes the documents from such files, a run for each card.
  --into FILE      the file with a part between marks, which is replaced [default: BENCHMARKS.md]
  --readme FILE    the one with the most important figures, of the first run [default: README.md]
  --rows FILE      where the table of every row goes [default: benches/results/rows.md]
  --charts FOLDER  where the charts go [default: benches/charts]

CUB is taken from libcub_peer.so beside the program or from $WARPFOLD_CUB_PEER, or is built with nvcc. PyTorch is python3's.
";

struct Options {
    filters: Vec<String>,
    quick: bool,
    json: PathBuf,
    reports: Vec<PathBuf>,
    into: PathBuf,
    readme: PathBuf,
    rows: PathBuf,
    charts: PathBuf,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let target = Path::new("target");
        let folder = if target.is_dir() {
            target
        } else {
            Path::new("")
        };
        let mut options = Options {
            filters: Vec::new(),
            quick: false,
            json: folder.join("bench-gpu.json"),
            reports: Vec::new(),
            into: "BENCHMARKS.md".into(),
            readme: "README.md".into(),
            rows: "benches/results/rows.md".into(),
            charts: "benches/charts".into(),
        };
        while let Some(argument) = arguments.next() {
            let mut file = || arguments.next().ok_or(format!("{argument} what?"));
            match argument.as_str() {
                "--json" => options.json = file()?.into(),
                "--report" => options.reports.push(file()?.into()),
                "--into" => options.into = file()?.into(),
                "--readme" => options.readme = file()?.into(),
                "--rows" => options.rows = file()?.into(),
                "--charts" => options.charts = file()?.into(),
                "--quick" => options.quick = true,
                // What cargo adds.
                "--bench" => {}
                unknown if unknown.starts_with('-') => {
                    return Err(format!("no such option: {unknown}"));
                }
                filter => options.filters.push(filter.to_owned()),
            }
        }
        Ok(options)
    }
}

fn main() -> ExitCode {
    if env::args().any(|argument| argument == "--help" || argument == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let done = Options::parse(env::args().skip(1)).and_then(|options| match &options.reports[..] {
        [] => measure(&options),
        runs => report(runs, &options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<(), String> {
    // SAFETY: there is no other thread yet. The oracle runs on the CPU, and NVRTC compiles
    // everything anew.
    unsafe {
        env::remove_var("WARPFOLD_DEVICE");
        env::set_var("CUDA_CACHE_DISABLE", "1");
    }
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => {
            println!("no GPU to measure on: {error}");
            return Ok(());
        }
    };
    println!("{}", device.description());
    let mut bench = Bench::new(options.filters.clone(), options.quick);
    bench.print_head();
    for family in cells::FAMILIES {
        (family.run)(&mut bench, family);
        // So a long run that breaks off leaves its results.
        bench.save(&options.json)?;
    }
    select::run(&mut bench);
    sources::run(&mut bench);
    histogram::run(&mut bench);
    for family in [sort::run, segments::run, axes::run, keys::run, gather::run] {
        family(&mut bench);
        bench.save(&options.json)?;
    }
    bench.torch();
    costs::loading(&mut bench);
    costs::host_data(&mut bench);
    pieces::run(&mut bench);
    shards::run(&mut bench);
    bench.save(&options.json)?;
    println!("\nwritten to {}", options.json.display());
    let run = &bench.run;
    if !run.wrong.is_empty() {
        return Err(format!("wrong results:\n{}", run.wrong.join("\n")));
    }
    Ok(())
}

fn report(runs: &[PathBuf], options: &Options) -> Result<(), String> {
    let run = |json: &PathBuf| {
        let run: Result<Run, _> = serde_json::from_str(&read(json)?);
        run.map_err(|error| format!("{}: {error}", json.display()))
    };
    let (into, charts) = (&options.into, &options.charts);
    let runs: Vec<Run> = runs.iter().map(run).collect::<Result<_, _>>()?;
    let document = report::replace(&read(into)?, &report::markdown(&runs, charts))
        .map_err(|error| format!("{}: {error}", into.display()))?;
    fs::create_dir_all(charts).map_err(|error| format!("{}: {error}", charts.display()))?;
    for chart in chart::CHARTS {
        write(&charts.join(chart.file), &chart.svg(&runs[0])?)?;
    }
    write(&options.rows, &rows::markdown(&runs))?;
    let readme = report::replace(&read(&options.readme)?, &readme::markdown(&runs[0]))
        .map_err(|error| format!("{}: {error}", options.readme.display()))?;
    write(&options.readme, &readme)?;
    write(into, &document)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
