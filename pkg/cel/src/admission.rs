//! What expressions of admission policies may use. As `buildEnvSet` of k8s.io/apiserver's
//! pkg/admission/plugin/policy/validating/typechecking.go, and its
//! pkg/admission/plugin/cel/composition.go.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::checker::{Environment, Failure, check};
use crate::declarations::Declarations;
use crate::types::{Fields, Type};

/// What the variables of a policy are in, as issues call it.
const VARIABLES: &str = "kubernetes.variables";
/// How deep the type of a variable may be.
const DEPTH_MAX: usize = 50;

/// A policy, over objects of one kind.
#[derive(Debug)]
pub struct Policy<'a> {
    environment: Environment<'a>,
}

/// What a policy is about.
#[derive(Clone, Debug)]
pub struct Variables<'a> {
    /// The type of the objects.
    pub object: Type,
    /// The type of the parameters, if the policy has any.
    pub params: Option<Type>,
    /// The policy's own variables and their expressions. Each may use those before it.
    pub own: &'a [(String, String)],
}

// === impl Policy ===

impl<'a> Policy<'a> {
    /// Finds the types of the variables. One that is wrong can be anything.
    pub fn new(
        declarations: &'a Declarations,
        about: Variables<'_>,
        fuel: &mut usize,
    ) -> Result<Self, Failure> {
        let declared = |name: &str| Type::object(name, Fields::Declared);
        let object = about.object;
        let mut variables = BTreeMap::from([
            ("authorizer".to_owned(), declared("kubernetes.authorization.Authorizer")),
            ("namespaceObject".to_owned(), declared("kubernetes.Namespace")),
            ("object".to_owned(), object.clone()),
            ("oldObject".to_owned(), object),
            ("request".to_owned(), declared("kubernetes.AdmissionRequest")),
            ("variables".to_owned(), Type::object(VARIABLES, Fields::Known(BTreeMap::new()))),
        ]);
        if let Some(params) = about.params {
            variables.insert("params".to_owned(), params);
        }
        let mut environment = Environment { declarations, variables };
        for (name, expression) in about.own {
            let of = match check(expression, &environment, fuel) {
                Ok(found) => of_variable(&found, 0).ok_or(Failure::Unknown)?,
                Err(Failure::Issues(_)) => Type::Dyn,
                Err(Failure::Unknown) => return Err(Failure::Unknown),
            };
            let Some(Type::Struct(all)) = environment.variables.get_mut("variables") else {
                return Err(Failure::Unknown);
            };
            let Some(Fields::Known(all)) = Rc::get_mut(all).map(|all| &mut all.fields) else {
                return Err(Failure::Unknown);
            };
            all.insert(name.clone(), of);
        }
        Ok(Self { environment })
    }

    /// The issues of an expression; none: it is fine. Its result may have any type.
    pub fn issues(&self, expression: &str, fuel: &mut usize) -> Result<Option<String>, Failure> {
        match check(expression, &self.environment, fuel) {
            Ok(_) => Ok(None),
            Err(Failure::Issues(issues)) => Ok(Some(issues)),
            Err(Failure::Unknown) => Err(Failure::Unknown),
        }
    }
}

/// The type of a variable, which knows no fields; none: it is too deep.
/// `convertCelTypeToDeclType`.
fn of_variable(of: &Type, depth: usize) -> Option<Type> {
    if depth > DEPTH_MAX {
        return None;
    }
    Some(match of {
        Type::List(element) => Type::list(of_variable(element, depth + 1)?),
        Type::Map(it) => Type::map(of_variable(&it.0, depth + 1)?, of_variable(&it.1, depth + 1)?),
        Type::Any
        | Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => of.clone(),
        Type::Dyn
        | Type::Error
        | Type::Opaque(_)
        | Type::Struct(_)
        | Type::Type(_)
        | Type::Variable(_)
        | Type::Parameter(_) => Type::Dyn,
    })
}
