//! The rollout of a workload from one revision to the next, for DaemonSets and Deployments.

use serde::Deserialize;

/// A count of pods, or a share of them: `apimachinery`'s `IntOrString`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    /// So many.
    Count(i32),
    /// A percentage such as `25%`, or a text that is none.
    Share(String),
}

/// Which way a share of pods is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next lower number.
    Down,
    /// To the next higher number.
    Up,
}

/// The wire shape of a strategy; its kind knows which types there are.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WireStrategy {
    pub(crate) r#type: String,
    pub(crate) rolling_update: Option<WireRolling>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WireRolling {
    pub(crate) max_unavailable: Option<Amount>,
    pub(crate) max_surge: Option<Amount>,
}

impl Amount {
    /// The number of pods of `total`. As `GetScaledValueFromIntOrPercent`; an error if the text is
    /// no percentage.
    pub fn of(&self, total: i32, rounding: Rounding) -> Result<i32, String> {
        let share = match self {
            Self::Count(count) => return Ok(*count),
            Self::Share(share) => share,
        };
        let Some(percent) = share.strip_suffix('%') else {
            return Err("invalid value for IntOrString: invalid type: string is not a percentage"
                .to_owned());
        };
        let percent: i32 = percent
            .parse()
            .map_err(|_| format!("invalid value for IntOrString: invalid value {share:?}"))?;
        let product = i64::from(percent) * i64::from(total);
        let scaled = match rounding {
            Rounding::Down => product.div_euclid(100),
            Rounding::Up => (product + 99).div_euclid(100),
        };
        Ok(i32::try_from(scaled).unwrap_or(i32::MAX))
    }
}
