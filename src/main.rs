use std::process::ExitCode;

/// NDJSON additions took 15 % less processor time than with glibc's allocator (docs/decisions).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    akin::cli::main()
}
