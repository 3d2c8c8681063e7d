//! Amounts by the name of what they are of, such as a container's requests.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use apimachinery::Quantity;

use crate::wire::WireQuantity;
use crate::{Text, intern};

/// `v1.ResourceList`, sorted by name. Two are equal if they also print the same.
#[derive(Clone, Debug, Default)]
pub struct ResourceList(Box<[(Text, Quantity)]>);

/// The same while it is computed.
pub(crate) type Amounts = BTreeMap<Text, Quantity>;

/// What is written down.
pub(crate) fn amounts(wire: &BTreeMap<String, WireQuantity>) -> Amounts {
    wire.iter().map(|(name, amount)| (intern(name), amount.view())).collect()
}

/// Adds amounts. As `addResourceList` of component-helpers.
pub(crate) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = to.get(name).map_or(*amount, |known| known.plus(*amount));
        to.insert(name.clone(), sum);
    }
}

/// Of each name the greater amount. As `maxResourceList` of component-helpers.
pub(crate) fn raise(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        if to.get(name).is_none_or(|known| amount > known) {
            to.insert(name.clone(), *amount);
        }
    }
}

impl ResourceList {
    /// The amount of this name.
    pub fn get(&self, name: &str) -> Option<Quantity> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.0.get(at).map(|(_, amount)| *amount)
    }

    /// All of them, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, Quantity)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Amounts> for ResourceList {
    fn from(amounts: Amounts) -> Self {
        Self(amounts.into_iter().collect())
    }
}

impl PartialEq for ResourceList {
    fn eq(&self, other: &Self) -> bool {
        let alike =
            |((a, x), (b, y)): (&(Text, Quantity), &(Text, Quantity))| a == b && x.is_identical(*y);
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(alike)
    }
}

impl Eq for ResourceList {}

impl Hash for ResourceList {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
