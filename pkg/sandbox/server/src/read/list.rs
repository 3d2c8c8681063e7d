//! Many objects.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use super::Selection;
use super::render::{ListMeta, Renderer, Shown};
use super::token::Token;
use crate::request::{Call, Form, ListOptions, Match};
use crate::server::State;
use crate::status::Status;
use crate::store::{Store, Stored};

const EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a \
                                consistent list result. You can start a new list without the \
                                continue parameter, or use the continue token in this response to \
                                retrieve the remainder of the results. Continuing with the \
                                provided token results in an inconsistent list - objects that were \
                                created, modified, or deleted between the time the first chunk was \
                                returned and now may show up in the list.";

/// Finds the objects of a `list`.
pub(crate) fn list(state: &State, call: &Call) -> Result<Page, Status> {
    let options = ListOptions::of(call)?;
    let selection = Selection::of(call, &options);
    Page::find(&state.store, &selection, &options)
}

/// What a list shows.
pub(crate) struct Page {
    items: Vec<Arc<Stored>>,
    meta: ListMeta,
}

/// What is read.
struct Place {
    revision: u64,
    /// Where it begins.
    from: Option<String>,
    /// 0: all of it.
    limit: usize,
    /// If that is too old, how it can continue nevertheless.
    again: Option<Token>,
}

impl Page {
    /// The response.
    pub(crate) fn render(&self, call: &Call, form: Form) -> Result<Response<Bytes>, Status> {
        let shown: Vec<_> = self.items.iter().map(|it| Shown::Stored(it)).collect();
        Renderer::new(call, form).list(&self.meta, &shown)
    }

    fn find(store: &Store, selection: &Selection, options: &ListOptions) -> Result<Self, Status> {
        let place = Place::find(store, selection, options)?;
        let Place { revision, from, limit, again } = place;
        if revision > store.revision() {
            return Err(Status::too_large_version(revision, store.revision()));
        }
        let snapshot = store.at(&selection.served.table, revision).map_err(|_| match again {
            Some(token) => {
                let token = Some(token.encode());
                Status { continue_token: token, ..Status::expired(CONTINUE_EXPIRED) }
            }
            None => Status::expired(EXPIRED),
        })?;
        let namespace = selection.namespace.as_deref();
        let single = selection.path();
        let from = from.or_else(|| single.clone());
        let all = snapshot.objects(namespace, from.as_deref());
        let mut all = all.take_while(|(path, _)| single.as_deref().is_none_or(|it| it == *path));
        let (mut items, mut last, mut more) = (Vec::new(), String::new(), 0);
        for (path, stored) in all.by_ref() {
            if limit > 0 && items.len() >= limit {
                more = 1;
                break;
            }
            if limit > 0 {
                path.clone_into(&mut last);
            }
            if selection.picks(&stored.object) {
                items.push(stored.clone());
            }
        }
        let mut meta = ListMeta { revision, token: None, remaining: None };
        if more > 0 {
            let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let last = last.strip_prefix(&prefix).unwrap_or(&last);
            meta.token = Some(Token::after(revision, last).encode());
            // No count for a list with a selector: how many match is not known.
            meta.remaining = selection.is_everything().then(|| more + all.count());
        }
        Ok(Self { items, meta })
    }
}

impl Place {
    /// As upstream's `storage.ValidateListOptions` and the watch cache, which ignores the limit of
    /// a list at any version.
    fn find(store: &Store, selection: &Selection, options: &ListOptions) -> Result<Self, Status> {
        let (current, limit) = (store.revision(), options.limit);
        let is_any = options.resource_version == "0";
        if !options.token.is_empty() && selection.path().is_none() {
            let token = Token::decode(&options.token)?;
            if !options.resource_version.is_empty() && !is_any {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Status::bad_request(message));
            }
            let from = match &selection.namespace {
                Some(namespace) => format!("{namespace}/{}", token.start),
                None => token.start.clone(),
            };
            let revision = token.revision.unwrap_or(current);
            let again = Some(Token { revision: None, ..token });
            return Ok(Self { revision, from: Some(from), limit, again });
        }
        let asked = options.version()?;
        let is_exact = match options.version_match {
            Match::Exact => true,
            Match::NotOlderThan => false,
            Match::Unset => limit > 0 && asked > 0,
        };
        let revision = if is_exact { asked } else { current.max(asked) };
        let limit = if is_any { 0 } else { limit };
        Ok(Self { revision, from: None, limit, again: None })
    }
}
