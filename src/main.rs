use std::process::ExitCode;

/// Set up and compare requests, add documents: all of it is many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    akin::cli::main()
}
