//! Numbers of bytes, as k8s.io/apimachinery/pkg/api/resource writes them.

/// What `512`, `1.5K` or `64Ki` says, rounded up. Less than nothing, and what has a suffix that
/// there is not, is nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates")]
pub(crate) fn bytes(quantity: &str) -> usize {
    let suffix = quantity.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let number: f64 = quantity[..quantity.len() - suffix.len()].parse().unwrap_or(0.0);
    let (decimal, binary) = (|power| 1000_f64.powi(power), |power| 1024_f64.powi(power));
    let factor = match suffix {
        "" => 1.0,
        "n" => decimal(-3),
        "u" => decimal(-2),
        "m" => decimal(-1),
        "k" => decimal(1),
        "M" => decimal(2),
        "G" => decimal(3),
        "T" => decimal(4),
        "P" => decimal(5),
        "E" => decimal(6),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => exponent
            .strip_prefix(['e', 'E'])
            .and_then(|power| power.parse().ok())
            .map_or(0.0, |power| 10_f64.powi(power)),
    };
    (number * factor).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn quantities_are_bytes() {
        let rows = [
            ("0", 0),
            ("512", 512),
            ("1.5k", 1500),
            ("64Ki", 65_536),
            ("3M", 3_000_000),
            ("1e3", 1000),
            ("2E-1", 1),
            ("1m", 1),
            ("-5", 0),
            ("4x", 0),
            ("99999Ei", usize::MAX),
        ];
        for (quantity, expected) in rows {
            assert_eq!(bytes(quantity), expected, "{quantity}");
        }
    }
}
