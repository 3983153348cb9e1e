//! What the help of each command says at its end.

/// What the help of the commands says about formats; a macro, for `concat!` to take.
macro_rules! formats {
    () => {
        "\
Format of the input:
  1. --format, if given;
  2. npy, if the data begin with NumPy's magic or the name ends in .npy;
  3. raw, if the name ends in .bin, .raw or .dat, but for a .dat that holds lines of text; --dtype \
is needed then;
  4. text otherwise, as for .txt, .csv, .tsv and the standard input.
Raw data that look like records of Fortran are refused: give --no-records if all of it is data. \
Data in gzip are unpacked, and so is an array of an .npz file, which --array names; the format is \
that of x.npy for x.npy.gz. Truth values of NumPy are u8, 0 or 1. An array of several \
axes is read in C order, the last axis fastest; one in Fortran order is held in memory for that.

Text is numbers between white space; a comma may follow a number. Where one begins a word, as in \
`1 ,5`, that is 0.5 with --decimal , and an error without, unless other commas separate. With \
--delimiter, and in .csv, .tsv and .psv, it is a table: its fields are read row by row, or those of each --column. Lines end \
with LF, CR or both; blank ones are passed over. A comment goes from # to the end of its line. In \
words it starts a word, in a table it is the whole line, unless --comment says more. A field that \
begins with a double quote ends with one.

The first row of a table is its header if it holds words and no numbers. If it holds both, it may \
be either: give --header or --no-header. So it may if nothing stands above numbers, or a word that \
starts with no letter, as $5 or 1.5- do, and no column is called by its name. It is data if a word comes again below, \
unless its numbers are years or count evenly, as names do, or the whole row comes again. A \
comment before the first row, as numpy.savetxt writes it, can be the header too: `# a b` above \
rows of two numbers names two columns. Rows that are longer or shorter than the others are an \
error, without --ragged. Where all rows have one field more than the header, they begin with the \
name of the row if these names and the header are quoted, as R writes them, or if --row-names says \
so. A first column that alone has no name is left out, unless --column names its number: it names \
the rows, as in pandas.

A column is called by its number or its name. What can mean two columns is an error: \
name:2 is the column with this name, and number:2 the second one.

Integers that a type of floats does not hold are rounded, and a warning says so.

Numbers with zeros in front, as 01234, may be codes. As keys of sort, top and group they are words \
then, if all have as many digits; if not, and in unique, they are an error. --dtype says that they \
are numbers.

Bounds of options, such as --gt, --init and --range, may have the marks of --decimal and \
--thousands.

A missing value is an error, without --missing. One that is skipped takes part in nothing, and \
keeps its place: positions count it, scan leaves its field empty (NA in a column by itself and \
between white space), and select keeps no row that has one; reduce, stats, histogram and unique \
leave it out of its own column. .a to .z of Stata are missing. Errors of spreadsheets, such as \
#VALUE! and #SPILL!, are missing, and start no comment. 1.#INF and 1.#IND, of old C libraries, are \
inf and NaN. Truth values, true and false, are 1 and 0; where they stand among other numbers, a \
warning says so. 1.5D+03 of Fortran is 1500. A field has up to 16 MiB.

"
    };
}

/// What the help says about sums.
macro_rules! sums {
    () => {
        "\
Sums and products of integers have 64 bits, i64 or u64, as in NumPy. One that is out of range is \
an error: --accumulate f64 rounds, --wrapping computes modulo 2^64. Products of floats are f64: in \
f32 a long one strays. Sums of floats have the type of the elements. --accumulate chooses another. \
If a part of a sum or product of finite floats is out of range, the result is infinite or NaN, and \
a warning says so. \
Products of integers are computed on the CPU.

"
    };
}

/// What the help says about results.
macro_rules! outputs {
    ($default:literal) => {
        concat!(
            "\
Format of the output:
  1. --output-format, if given, or --json;
  2. that of the ending of --output, if it is one of those above, or .json; .dat has text where \
the result has it by 3;
  3. ",
            $default,
            ".
What ends in .gz is packed, and .npz is an archive of one array. An .npy file under an ending that \
says nothing needs --output-format. A name that promises what is not written here, such as \
x.parquet, is refused, and so is one that options contradict. Text has a line for each row of an \
array of several axes and of a table; --flatten writes a number a line. The columns of a table are \
separated as in the input, or by the commas of .csv, the tabs of .tsv and the bars of .psv. JSON \
has all digits of a number; NaN and infinities are strings, \"NaN\", \"Infinity\", \"-Infinity\"."
        )
    };
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  seq 10 | warpfold scan                     running totals: 1 3 6 10 ..., one per line
  warpfold reduce --op max data.npy          the largest element
  warpfold scan data.npy -o sums.npy         the same, in the array's shape
  warpfold reduce --column price sales.csv   the sum of a column
  warpfold reduce --dtype f32 samples.bin    the sum of raw little-endian floats
  warpfold select --gt 0 data.npy            the numbers above 0
  warpfold sort --by price sales.csv         the rows of a table, sorted
  warpfold top -k 5 data.npy                 the five largest numbers
  warpfold unique --sort -c numbers.txt      each number once, and how often it stands there
  warpfold stats data.npy                    extremes, mean and standard deviation
  warpfold histogram --bins 20 data.npy      how the numbers are distributed
  warpfold devices                           what there is to work on

`warpfold reduce --help` and that of the others describe the formats.";

pub(crate) const LADDER_HELP: &str = "\
Needs a build with --features ladder.

Examples:
  warpfold ladder
  warpfold ladder --html ladder.html
  warpfold ladder --op max --dtype i32 tree-divergent tree-convergent tree-shared
  warpfold ladder --device cuda --markdown docs/ladder.md

Every step changes one thing: from a loop on the CPU, over the kernels of five texts, to the \
library's own engines. The CPU's steps are timed here, kernels on the GPU. What kernels ask of the \
machine is counted in an emulator, which needs a C++ compiler. Each result is compared with the \
library's own. What is missing is said, and the rest is shown.";

pub(crate) const EXPLAIN_HELP: &str = "\
Examples:
  warpfold explain scan --op add --dtype f32 -n 1e6
  warpfold explain reduce --dtype f64 -n 1e9 --device cuda
  warpfold explain select --dtype u32 -n 1e8 --capability 8.0 --multiprocessors 108
  warpfold explain top --dtype f32 -n 1e8 -k 100
  warpfold explain top --dtype f32 -n 1e8 --rows 1000 -k 100
  warpfold explain segments --dtype f32 -n 1e8 --segments 1e6 --scan
  warpfold explain vectors --segments 1e5 --columns 64
  warpfold explain axis --dtype f32 --shape 1000,5000 --axis 0
  warpfold explain histogram --dtype f64 -n 1e8 --bins 256
  warpfold explain histogram --dtype f64 -n 1e8 --bins 256 --weights f32
  warpfold explain decode -n 1e8 --segments 1e6

The answer is that for data on the GPU that start at a multiple of 16 bytes, by the numbers of \
this version. Without --device no GPU is needed.";

pub(crate) const TUNE_HELP: &str = "\
Needs a build with --features tune.

Examples:
  warpfold tune > sm_90.rs
  warpfold tune --device cuda:1 --quick

For those who build warpfold. The parameters of scans in one launch, on GPUs of compute capability \
9.0 to 10.x, are varied one at a time until nothing gains. Only speed depends on them. Every \
candidate's result is compared with the CPU's before it is timed. The search takes some minutes, \
on a GPU that does nothing else. The table goes to the standard output, what was gained to the \
standard error.";

pub(crate) const SEGMENTS_HELP: &str = "\
Examples:
  warpfold segments --offsets rows.npy values.npy            the sum of each segment
  warpfold segments --lengths lengths.txt --op max data.txt
  warpfold segments --offsets rows.npy --scan values.npy -o totals.npy

n + 1 offsets bound n segments: segment i has the numbers from position offsets[i], from 0, up to \
offsets[i + 1]. Each result is that of a fold of the segment alone, bit for bit. Lengths must add \
up to the number of numbers; numbers before the first offset and behind the last are in no \
segment. Numbers and offsets are held in memory.";

pub(crate) const GROUP_HELP: &str = "\
Examples:
  warpfold group --by city sales.csv
  warpfold group --by year sales.csv -o years.csv
  warpfold group --by state --runs log.csv                   each run of equal neighbours

There is a row for each key: the key, `count`, and of each other column of numbers its `_sum`, \
`_mean`, `_min` and `_max`. Keys are numbers or words, in any order. They come out ascending, \
words by their bytes; keys that descend stay so. --runs takes keys as they stand. Every NaN is one \
key. The rows are held in memory.";

pub(crate) const DECODE_HELP: &str = "\
Examples:
  warpfold unique --counts counts.npy data.npy -o values.npy
  warpfold decode --counts counts.npy values.npy -o data.npy";

pub(crate) const REDUCE_HELP: &str = "\
Examples:
  seq 100 | warpfold reduce
  warpfold reduce --op max --device cuda data.npy
  warpfold reduce --axis 0 matrix.npy          the sum of each column";

pub(crate) const REDUCE_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 100 | warpfold reduce
  warpfold reduce --op max --device cuda data.npy
  warpfold reduce --dtype u32 --op bitxor words.bin

All numbers of a table are folded into one, or with several --column those of each. The fold of \
no numbers is --init, or else the operator's identity. The least and the greatest of \
none are an error without --init.

",
    sums!(),
    formats!(),
    outputs!("text")
);

pub(crate) const SCAN_HELP: &str = "\
Examples:
  seq 10 | warpfold scan
  seq 10 | warpfold scan --exclusive
  warpfold scan --op mul rates.csv --init 100
  warpfold scan data.npy -o sums.npy";

pub(crate) const SCAN_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 10 | warpfold scan
  seq 10 | warpfold scan --exclusive
  warpfold scan --op mul rates.csv --init 100
  warpfold scan data.npy -o sums.npy
  warpfold scan --dtype f32 samples.bin --output-format text | head
  warpfold scan --reverse data.npy -o left.npy   what is left from each number on

Each number is folded in: the first output is the first input, as in numpy.cumsum, and no output \
is made up. With --exclusive each output is the fold of all numbers before: for lengths, where \
each piece begins. With --reverse the last number comes first: the results are those of the \
reversed numbers, in reverse. What does not fit 64 MiB waits in temporary files in TMPDIR then. An \
array of several axes is scanned as one row, and keeps its shape. The columns of a table are \
scanned each by itself.

",
    sums!(),
    formats!(),
    outputs!("the format of the input")
);

pub(crate) const SELECT_HELP: &str = "\
Examples:
  seq 10 | warpfold select --gt 3
  warpfold select --ge 0 --lt 1 data.npy -o unit.npy
  warpfold select --not-nan --dtype f32 samples.bin -o clean.bin
  warpfold select --nan data.npy --positions -o places.npy";

pub(crate) const SELECT_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 10 | warpfold select --gt 3
  warpfold select --ge 0 --lt 1 data.npy -o unit.npy
  warpfold select --not-nan --dtype f32 samples.bin -o clean.bin
  warpfold select --nan data.npy --positions -o places.npy

Give a lower bound, an upper bound, or both; or one of the other conditions. VALUE may be any \
number: integers are compared with it exactly, floats with the nearest number of their type. A NaN \
satisfies --ne and --nan only. Of a table of several columns the rows are kept in which all \
numbers satisfy the condition. The result of an array has one axis, also of one of several.

",
    formats!(),
    outputs!("the format of the input")
);

pub(crate) const SORT_HELP: &str = "\
Examples:
  printf '3 1 2' | warpfold sort
  warpfold sort --by year --by price:desc sales.csv
  warpfold sort --descending data.npy -o sorted.npy";

pub(crate) const SORT_LONG_HELP: &str = concat!(
    "\
Examples:
  printf '3 1 2' | warpfold sort
  warpfold sort --by year --by price:desc sales.csv
  warpfold sort --descending data.npy -o sorted.npy
  warpfold sort --memory 4G --dtype u64 keys.bin -o sorted.bin

The rows of a table move whole: they consist of the columns that are read, which are all or those \
of --column. Equal rows stay in their order, also with --descending. NaN comes after all numbers, \
or before them with --descending: --order says otherwise. The result has one axis, also of an \
array of several. --by a column of words sorts by their bytes, as LC_ALL=C sort does; where \
numbers begin them that have another order, as in 9:30 and 10:20, a warning says so. All rows \
must then fit --memory. Other columns of words are left out. --memory is kept to, but for some \
pieces of 262,144 rows. The temporary file lies in TMPDIR. It has no name, so nothing is left of \
it, however the program ends.

",
    formats!(),
    outputs!("the format of the input")
);

pub(crate) const TOP_HELP: &str = "\
Examples:
  printf '3 1 2' | warpfold top -k 2
  warpfold top -k 5 --by price sales.csv
  warpfold top --bottom --positions data.npy";

pub(crate) const TOP_LONG_HELP: &str = concat!(
    "\
Examples:
  printf '3 1 2' | warpfold top -k 2
  warpfold top -k 5 --by price sales.csv
  warpfold top --bottom --positions data.npy

The rows come out sorted, the first of them being the greatest or with --bottom the least. Of \
equal rows those that stand first are kept and come first. NaN is the greatest, unless --order \
says otherwise. If there are fewer rows, all come out. The input may be of any length: memory \
holds the rows that are kept, and some pieces.

",
    formats!(),
    outputs!("the format of the input")
);

pub(crate) const UNIQUE_HELP: &str = "\
Examples:
  printf '7 7 2 2 2 7' | warpfold unique -c
  warpfold unique sorted.npy -o different.npy --counts counts.npy";

pub(crate) const UNIQUE_LONG_HELP: &str = concat!(
    "\
Examples:
  printf '7 7 2 2 2 7' | warpfold unique -c
  warpfold unique sorted.npy -o different.npy --counts counts.npy
  warpfold unique --dtype u32 keys.bin -o keys.npy --starts starts.npy
  warpfold unique --sort --count data.npy --output-format text

Only neighbours are compared, and a NaN equals nothing. With --sort each number comes once, and so \
does NaN; memory holds the different ones. -0 equals 0. The result has one axis, also of an array \
of several. Files of counts and of starts have the format of their ending, or else that of the \
output.

",
    formats!(),
    outputs!("the format of the input")
);

pub(crate) const HISTOGRAM_HELP: &str = "\
Examples:
  warpfold histogram --bins 20 data.npy
  warpfold histogram --range 0 1 --dtype f32 samples.bin
  warpfold histogram --edges 0,18,65,120 ages.csv
  warpfold histogram --bincount --dtype u8 picture.raw -o counts.npy";

pub(crate) const HISTOGRAM_LONG_HELP: &str = concat!(
    "\
Examples:
  warpfold histogram --bins 20 data.npy
  warpfold histogram --range 0 1 --dtype f32 samples.bin
  warpfold histogram --edges 0,18,65,120 ages.csv
  warpfold histogram --bincount --dtype u8 picture.raw -o counts.npy
  warpfold histogram data.npy --svg chart.svg

A bin has its lower edge, and not its upper one; the last bin has both. Numbers outside of all \
bins are not counted, nor are NaNs. The counts are those of numpy.histogram and numpy.bincount, \
for an array of the same type; but integers beyond 2^53 are compared with edges exactly, where \
NumPy rounds both to f64. Halves are counted as f32. --bincount counts every number, so a negative \
one is an error; --bins is its least number of bins. --edges takes a file in any format of an \
input.

On a terminal the counts are drawn as bars. Other text has a line for each bin: its lower edge, \
its upper edge and the count, or with --bincount the value and the count, with commas between \
them. npy and raw have the counts alone, as u64; JSON has edges and counts. Each column of a table \
has bins of its own, and its name before each line.

",
    formats!(),
    outputs!("text")
);

pub(crate) const STATS_HELP: &str = "\
Examples:
  seq 10 | warpfold stats
  warpfold stats --quantiles iris.csv
  warpfold stats january.npy february.npy";

pub(crate) const STATS_LONG_HELP: &str = concat!(
    "\
Examples:
  seq 10 | warpfold stats
  warpfold stats --quantiles iris.csv
  warpfold stats january.npy february.npy
  warpfold stats --axis 0 matrix.npy          a line for each column
  warpfold select --not-nan data.npy | warpfold stats --sample

A column for each column of a table, and for each other file; a line for each statistic:
  count    how many numbers there are
  missing  how many values of a text were missing, and left out
  nan      how many numbers are NaN, of floats
  min      the least; NaN if there is a NaN
  argmin   where that stands, from 0: the first of equal ones, or the first NaN
  max      the greatest; NaN if there is a NaN
  argmax   where that stands, as argmin
  sum      exact for integers; of floats in f64
  mean     in f64
  std      the standard deviation, in f64: squared deviations over n, with --sample over n - 1
  q0.5     with --quantiles: as numpy.quantile has it, but of integers beyond 2^53 rounded once;
           NaN if there is a NaN
With --axis there is a line for each lane along the axis, which begins with its place in the other \
axes; the array is held in memory. What nothing has is `-`, and null in JSON. Positions in an \
array of several axes count in C order.

",
    formats!()
);

pub(crate) const COMPLETIONS_HELP: &str = "\
Examples:
  warpfold completions bash > ~/.local/share/bash-completion/completions/warpfold
  warpfold completions zsh > ~/.zfunc/_warpfold
  warpfold completions fish > ~/.config/fish/completions/warpfold.fish";

pub(crate) const MAN_HELP: &str = "\
Examples:
  warpfold man scan | man -l -
  warpfold man > ~/.local/share/man/man1/warpfold.1";
