use std::process::ExitCode;

/// Imports take a tenth less processor time than with glibc's allocator (docs/decisions).
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    akin::cli::main()
}
