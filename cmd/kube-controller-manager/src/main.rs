//! `kube-controller-manager`: the binary, with upstream's name.

/// Needs less memory than glibc's allocator, returns free memory, and can profile the rest
/// (decision 0009).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    manager::main()
}
