use std::process::ExitCode;

fn main() -> ExitCode {
    akin::cli::main()
}
