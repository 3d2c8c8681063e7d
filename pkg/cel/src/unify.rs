//! Whether a type fits another one, and what that says of types that are to be found. As cel-go's
//! checker/types.go and checker/mapping.go.

use std::rc::Rc;

use crate::types::Type;

/// How deep types may be inside of each other.
const DEPTH_MAX: usize = 200;

/// What is known of the types that are to be found.
#[derive(Debug)]
pub(crate) struct Unifier<'a> {
    /// The type of each variable, where there is one.
    bound: Vec<Option<Type>>,
    /// Earlier values, for taking back what did not fit.
    trail: Vec<(usize, Option<Type>)>,
    /// How many steps are left. Without any, all results are void.
    fuel: &'a mut usize,
    depth: usize,
}

/// What becomes of types that were not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    Stays,
    Dyn,
}

// === impl Unifier ===

impl<'a> Unifier<'a> {
    pub(crate) fn new(fuel: &'a mut usize) -> Self {
        Self { bound: Vec::new(), trail: Vec::new(), fuel, depth: 0 }
    }

    /// Takes a step; false: there are none left.
    pub(crate) fn step(&mut self) -> bool {
        self.steps(1)
    }

    /// Takes several steps; false: there are none left.
    pub(crate) fn steps(&mut self, count: usize) -> bool {
        *self.fuel = self.fuel.saturating_sub(count);
        *self.fuel > 0
    }

    pub(crate) fn steps_left(&self) -> usize {
        *self.fuel
    }

    /// No result counts from here.
    pub(crate) fn give_up(&mut self) {
        *self.fuel = 0;
    }

    fn deeper(&mut self) -> bool {
        if self.depth >= DEPTH_MAX {
            self.give_up();
        }
        self.step()
    }

    pub(crate) fn variable(&mut self) -> Type {
        self.bound.push(None);
        Type::Variable(self.bound.len() - 1)
    }

    fn find(&self, variable: usize) -> Option<Type> {
        self.bound.get(variable).cloned().flatten()
    }

    fn bind(&mut self, variable: usize, to: Type) {
        if let Some(place) = self.bound.get_mut(variable) {
            let before = place.replace(to);
            self.trail.push((variable, before));
        }
    }

    /// Whether each of `from` fits the one of `to` at its place. What did not fit leaves no trace.
    pub(crate) fn all_fit(&mut self, from: &[Type], to: &[Type]) -> bool {
        let fit = from.len() == to.len() && from.iter().zip(to).all(|(a, b)| self.assignable(a, b));
        if !fit {
            while let Some((variable, before)) = self.trail.pop() {
                if let Some(place) = self.bound.get_mut(variable) {
                    *place = before;
                }
            }
        }
        self.trail.clear();
        fit
    }

    /// As [`Self::all_fit`], for one.
    pub(crate) fn fits(&mut self, from: &Type, to: &Type) -> bool {
        self.all_fit(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    /// `internalIsAssignable`.
    fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        if !self.deeper() {
            return false;
        }
        self.depth += 1;
        let fits = self.assignable_here(from, to);
        self.depth -= 1;
        fits
    }

    fn assignable_here(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Variable(variable) = to {
            let (is_valid, is_known) = self.substitutes(from, *variable);
            if is_valid || is_known {
                return is_valid;
            }
        }
        if let Type::Variable(variable) = from {
            return self.substitutes(to, *variable).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(_) | Type::Map(_) | Type::Opaque(_), _) => {
                let (one, two) = (from.parameters(), to.parameters());
                from.is_alike(to)
                    && one.len() == two.len()
                    && one.into_iter().zip(two).all(|(a, b)| self.assignable(a, b))
            }
            _ => from.is_alike(to),
        }
    }

    /// Whether a type can be what a variable stands for, and whether something was known of it.
    /// `isValidTypeSubstitution`.
    fn substitutes(&mut self, of: &Type, variable: usize) -> (bool, bool) {
        if matches!(of, Type::Variable(it) if *it == variable) {
            return (true, true);
        }
        if let Some(known) = self.find(variable) {
            if self.exact(of, &known) {
                return (true, true);
            }
            if !self.assignable(of, &known) {
                return (false, true);
            }
            let general = if self.is_less_specific(of, &known) { of.clone() } else { known };
            if self.is_absent(variable, &general) {
                self.bind(variable, general);
            }
            return (true, true);
        }
        let is_valid = self.is_absent(variable, of);
        if is_valid {
            self.bind(variable, of.clone());
        }
        (is_valid, false)
    }

    /// `IsExactType`.
    pub(crate) fn exact(&mut self, one: &Type, two: &Type) -> bool {
        let (of_one, of_two) = (one.parameters(), two.parameters());
        self.step()
            && one.is_alike(two)
            && of_one.len() == of_two.len()
            && of_one.into_iter().zip(of_two).all(|(a, b)| self.exact(a, b))
    }

    /// `isEqualOrLessSpecific`.
    pub(crate) fn is_less_specific(&mut self, one: &Type, two: &Type) -> bool {
        if !self.step() {
            return false;
        }
        let is_open = |it: &Type| it.is_dyn() || matches!(it, Type::Variable(_));
        if is_open(one) || is_open(two) {
            return is_open(one);
        }
        match (one, two) {
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(_) | Type::Map(_) | Type::Opaque(_), _) => {
                let (of_one, of_two) = (one.parameters(), two.parameters());
                one.is_alike(two)
                    && of_one.len() == of_two.len()
                    && of_one.into_iter().zip(of_two).all(|(a, b)| self.is_less_specific(a, b))
            }
            _ => self.exact(one, two),
        }
    }

    /// Whether a variable does not occur in a type. `notReferencedIn`.
    fn is_absent(&mut self, variable: usize, within: &Type) -> bool {
        if !self.deeper() {
            return false;
        }
        self.depth += 1;
        let is_absent = match within {
            Type::Variable(it) if *it == variable => false,
            Type::Variable(it) => match self.find(*it) {
                Some(known) => self.is_absent(variable, &known),
                None => true,
            },
            _ => within.parameters().into_iter().all(|it| self.is_absent(variable, it)),
        };
        self.depth -= 1;
        is_absent
    }

    /// The type with all that was found in it.
    pub(crate) fn substitute(&mut self, of: &Type, open: Open) -> Type {
        if !self.deeper() {
            return Type::Error;
        }
        self.depth += 1;
        let found = match of {
            Type::Variable(variable) => match self.find(*variable) {
                Some(known) => self.substitute(&known, open),
                None if open == Open::Dyn => Type::Dyn,
                None => of.clone(),
            },
            Type::Parameter(_) if open == Open::Dyn => Type::Dyn,
            Type::List(element) => Type::list(self.substitute(element, open)),
            Type::Map(it) => {
                let key = self.substitute(&it.0, open);
                Type::map(key, self.substitute(&it.1, open))
            }
            Type::Opaque(it) => {
                let parameters = it.1.iter().map(|it| self.substitute(it, open)).collect();
                Type::opaque(Rc::clone(&it.0), parameters)
            }
            Type::Type(Some(of)) => Type::Type(Some(Rc::new(self.substitute(of, open)))),
            _ => of.clone(),
        };
        self.depth -= 1;
        found
    }
}

/// `internalIsAssignableNull`.
fn is_nullable(of: &Type) -> bool {
    matches!(of, Type::Null | Type::Opaque(_) | Type::Struct(_) | Type::Duration | Type::Timestamp)
}

/// A type whose open parameters are these.
pub(crate) fn instantiated(of: &Type, parameters: &[(Rc<str>, Type)]) -> Type {
    let within = |it: &Type| instantiated(it, parameters);
    match of {
        Type::Parameter(name) => {
            let found = parameters.iter().find(|(it, _)| it == name);
            found.map_or_else(|| of.clone(), |(_, found)| found.clone())
        }
        Type::List(element) => Type::list(within(element)),
        Type::Map(it) => Type::map(within(&it.0), within(&it.1)),
        Type::Opaque(it) => Type::opaque(Rc::clone(&it.0), it.1.iter().map(within).collect()),
        Type::Type(Some(of)) => Type::Type(Some(Rc::new(within(of)))),
        _ => of.clone(),
    }
}

/// The names of the parameters that a type leaves open, which are added to those.
pub(crate) fn open_in(of: &Type, names: &mut Vec<Rc<str>>) {
    if let Type::Parameter(name) = of
        && !names.contains(name)
    {
        names.push(Rc::clone(name));
    }
    for parameter in of.parameters() {
        open_in(parameter, names);
    }
}
