//! The user of a request.

/// This group may do everything, whatever the roles say.
const MASTERS: &str = "system:masters";
const ANONYMOUS: &str = "system:anonymous";
const ACCOUNT: &str = "system:serviceaccount:";

/// The user of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Such as `system:kube-scheduler`.
    pub name: String,
    /// Such as `system:authenticated`.
    pub groups: Vec<String>,
}

impl User {
    /// A user of these groups, and of `system:authenticated`. A client certificate has them in its
    /// common name and its organizations.
    pub fn new(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<_> = groups.iter().map(|group| (*group).to_owned()).collect();
        let everybody = match name {
            ANONYMOUS => "system:unauthenticated",
            _ => "system:authenticated",
        };
        if !groups.iter().any(|group| group == everybody) {
            groups.push(everybody.to_owned());
        }
        Self { name: name.to_owned(), groups }
    }

    /// A user that may do everything.
    pub fn admin() -> Self {
        Self::new("kubernetes-admin", &[MASTERS])
    }

    /// The user of requests without credentials.
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, &[])
    }

    /// A service account.
    pub fn account(namespace: &str, name: &str) -> Self {
        let of_namespace = format!("system:serviceaccounts:{namespace}");
        let groups = ["system:serviceaccounts", of_namespace.as_str()];
        Self::new(&format!("{ACCOUNT}{namespace}:{name}"), &groups)
    }

    /// The kubelet of a node.
    pub fn node(name: &str) -> Self {
        Self::new(&format!("system:node:{name}"), &["system:nodes"])
    }

    /// The bearer of the bootstrap token with this id (`BootstrapDefaultGroup`).
    pub fn bootstrap(token: &str) -> Self {
        Self::new(&format!("system:bootstrap:{token}"), &["system:bootstrappers"])
    }

    /// A user by name; a service account is in its groups.
    pub fn named(name: &str) -> Self {
        let account = name.strip_prefix(ACCOUNT).and_then(|it| it.split_once(':'));
        match account {
            Some((namespace, account)) => Self::account(namespace, account),
            None => Self::new(name, &[]),
        }
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS
    }

    /// Whether no role is asked.
    pub(crate) fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    /// Whether it is a kubelet (`DefaultNodeIdentifier`).
    pub(crate) fn is_node(&self) -> bool {
        let name = self.name.strip_prefix("system:node:");
        name.is_some_and(|name| !name.is_empty()) && self.is_in("system:nodes")
    }

    fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|it| it == group)
    }
}
