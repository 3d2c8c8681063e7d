//! `kubectl why KIND/NAME`: why an object is not as it should be. Reads, and never writes.

mod arguments;
mod show;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is no failure.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { show::USAGE } else { 0 });
        }
    };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let code = match tokio {
        Ok(tokio) => tokio.block_on(show::run(&arguments)),
        Err(error) => show::failed(&format!("cannot start: {error}"), show::UNREACHABLE),
    };
    ExitCode::from(code)
}
