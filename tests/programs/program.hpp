// Around the translations of some programs: reads the words of their arguments from a file, and
// writes those of the results. Stands behind the translations, in their namespace. CASES is defined
// before.

static const u64* next_word;
static u64* results_end;

template <class T>
T take() {
    u64 word = *next_word++;
    if constexpr (rust::is_same<T, f32>) return from_bits((u32)word);
    else if constexpr (rust::is_same<T, f64>) return from_bits(word);
    else if constexpr (sizeof(T) == 16) return (T)((u128)*next_word++ << 64 | word);
    else return (T)word;
}

template <class T>
void put(T value) {
    // All NaNs are one, as on the host.
    if constexpr (rust::is_same<T, f32>) *results_end++ = value != value ? 0x7fc00000u : bits_of(value);
    else if constexpr (rust::is_same<T, f64>) *results_end++ = value != value ? 0x7ff8000000000000ull : bits_of(value);
    else *results_end++ = (u64)value;
    if constexpr (sizeof(T) == 16) *results_end++ = (u64)((u128)value >> 64);
}

/// A program, and how many words its arguments and its result have.
struct Program {
    void (*run)();
    size_t taken, put;
};

/// Runs the programs from number `first` on, and writes the results of each when it has run all its
/// cases.
template <int COUNT>
int run_all(const Program (&programs)[COUNT], int first, const char* file) {
    FILE* input = fopen(file, "rb");
    if (!input) return 2;
    for (int number = 0; number < COUNT; number++) {
        const Program& program = programs[number];
        u64* arguments = new u64[program.taken * CASES];
        u64* results = new u64[program.put * CASES];
        if (fread(arguments, sizeof(u64), program.taken * CASES, input) != program.taken * CASES) return 2;
        if (number >= first) {
            alarm(20);  // A program that does not end is stopped.
            next_word = arguments;
            results_end = results;
            for (int i = 0; i < CASES; i++) program.run();
            fwrite(results, sizeof(u64), program.put * CASES, stdout);
            fflush(stdout);
        }
        delete[] arguments;
        delete[] results;
    }
    return 0;
}
