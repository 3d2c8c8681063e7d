//! The names of claims that are made for pods.

/// The most bytes before the letters that the API server adds, with a dash between.
const BASE_BYTES_MAX: usize = 57;

/// What the name of a claim begins with. If the names of the pod and of its entry are too long
/// together, each loses a part of its length. As `handleClaim`, which then leaves out the dash.
pub(super) fn prefix(pod: &str, entry: &str) -> String {
    let whole = format!("{pod}-{entry}-");
    if whole.len() <= BASE_BYTES_MAX {
        return whole;
    }
    let share = |name: &str| {
        let bytes_max = name.len() * BASE_BYTES_MAX / whole.len();
        // Names are ASCII.
        name.get(..bytes_max).unwrap_or(name).to_owned()
    };
    format!("{}-{}", share(pod), share(entry))
}
