//! `kube-controller-manager`: the binary, with upstream's name.

fn main() -> std::process::ExitCode {
    manager::main()
}
