//! The start of the controllers of service accounts' tokens.

use api::{Kind, ServiceAccount, TokenSecret};
use controllers::{legacytokencleaner, serviceaccounttoken};
use workqueue::{Limiter, TokenBucket};

use super::{Entry, token_cleaner_backoff};
use crate::flags::handles;
use crate::start::{Context, Running};

/// The controller that makes the Secrets of tokens, with a queue for accounts and one for Secrets.
pub(super) fn tokens(entry: &Entry, context: &mut Context) -> Running {
    let workers = context.workers(handles::CONCURRENT_SERVICEACCOUNT_TOKEN_SYNCS);
    let signer = context.token_signer.clone().expect("without a key it is left out");
    let secrets = serviceaccounttoken::Secrets::new(signer, &context.root_ca);
    let writer = context.writer(entry);
    let name = "serviceaccount_tokens_service";
    let work = (context.queue(name), workers);
    let own = ServiceAccount::RESOURCE;
    let of_accounts = context.start_with(&writer, own, work, serviceaccounttoken::Accounts);
    let work = (context.queue(name), workers);
    context.start_with(&writer, TokenSecret::RESOURCE, work, secrets).both(of_accounts)
}

/// The controller that deletes those that nobody uses.
pub(super) fn legacy_token_cleaner(entry: &Entry, context: &mut Context) -> Running {
    // Upstream has no queue.
    let limiter = Limiter::new(token_cleaner_backoff(), TokenBucket::unlimited());
    let queue = context.unnamed_queue(limiter);
    let flag = handles::LEGACY_SERVICE_ACCOUNT_TOKEN_CLEAN_UP_PERIOD;
    let clean_up_period = context.options.flags.positive(flag);
    let controller = legacytokencleaner::Controller { clean_up_period };
    context.start(entry, TokenSecret::RESOURCE, (queue, 1), controller)
}
