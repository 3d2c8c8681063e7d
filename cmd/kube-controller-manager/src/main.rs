//! `kube-controller-manager`: the binary, with upstream's name.

/// Needs less memory than glibc's, gives back what is free, and can be asked who holds the rest
/// (decision 0009).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    manager::main()
}
