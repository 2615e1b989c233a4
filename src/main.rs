use std::process::ExitCode;

/// To add and to look up is to allocate much and little at a time, on several threads.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    akin::cli::main()
}
