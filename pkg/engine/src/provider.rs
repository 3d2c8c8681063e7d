//! The door to a cloud: asks it, and has it act, each within a limit.
//!
//! What an order does is not in the API server, so no fence of a connection guards it: the caller
//! asks the fence before.

use std::sync::Arc;
use std::time::Duration;

use cloud::{Addresses, Ask, Cloud, Done, Failure, Instances, LoadBalancers, Order, Reply, Routes};
use controller::{Answer, Refused};
use runtime::Clock;

/// The time limit of a question or an order. Clouds take minutes to make a load balancer.
pub(crate) const CALL_MAX: Duration = Duration::from_mins(10);
const NO_CLOUD: &str = "no cloud provider provided";
const NO_BALANCERS: &str = "the cloud provider does not support external load balancers";
const NO_ROUTES: &str = "the cloud provider does not support routes";
const NO_INSTANCES: &str = "cloud provider does not support instances";

/// A cloud, if there is one.
pub(crate) struct Provider {
    cloud: Option<Arc<dyn Cloud>>,
    clock: Clock,
}

impl Provider {
    pub(crate) fn new(cloud: Option<Arc<dyn Cloud>>, clock: Clock) -> Self {
        Self { cloud, clock }
    }

    /// The answer to a question. It may be asked for an explanation, too.
    pub(crate) async fn ask(&self, ask: &Ask) -> Answer {
        match self.limited(self.reply(ask)).await {
            Ok(reply) => Answer::Cloud(reply),
            Err(failure) => Answer::Failed(Refused::from(&*failure.text)),
        }
    }

    /// Does it. A failure is logged here: for plans it is a fact, which may say nothing.
    pub(crate) async fn obey(&self, order: &Order) -> Done {
        let started = self.clock.instant();
        let result = self.limited(self.act(order)).await;
        let took = self.clock.instant() - started;
        match &result {
            Ok(_) => tracing::info!(%order, ?took, "the cloud did it"),
            Err(error) => tracing::warn!(%order, ?took, %error, "the cloud did not do it"),
        }
        Done { result, took }
    }

    async fn limited<T>(
        &self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let late = || Failure::from(&*format!("the cloud did not respond within {CALL_MAX:?}"));
        self.clock.timeout(CALL_MAX, call).await.unwrap_or_else(|_| Err(late()))
    }

    async fn reply(&self, ask: &Ask) -> Result<Reply, Failure> {
        Ok(match ask {
            Ask::Balancer { cluster, service } => {
                Reply::Balancer(self.balancers()?.get(cluster, service).await?)
            }
            Ask::Routes { cluster } => Reply::Routes(self.routes()?.list(cluster).await?),
            Ask::Exists(instance) => Reply::Is(self.instances()?.exists(instance).await?),
            Ask::IsShutDown(instance) => Reply::Is(self.instances()?.is_shut_down(instance).await?),
        })
    }

    async fn act(&self, order: &Order) -> Result<Option<Addresses>, Failure> {
        match order {
            Order::Ensure { cluster, service, nodes } => {
                return self.balancers()?.ensure(cluster, service, nodes).await;
            }
            Order::Update { cluster, service, nodes } => {
                self.balancers()?.update(cluster, service, nodes).await?;
            }
            Order::Delete { cluster, service } => {
                self.balancers()?.ensure_deleted(cluster, service).await?;
            }
            Order::CreateRoute { cluster, hint, route } => {
                self.routes()?.create(cluster, hint, route).await?;
            }
            Order::DeleteRoute { cluster, route } => self.routes()?.delete(cluster, route).await?,
        }
        Ok(None)
    }

    fn cloud(&self) -> Result<&dyn Cloud, Failure> {
        self.cloud.as_deref().ok_or_else(|| NO_CLOUD.into())
    }

    fn balancers(&self) -> Result<&dyn LoadBalancers, Failure> {
        self.cloud()?.load_balancers().ok_or_else(|| NO_BALANCERS.into())
    }

    fn routes(&self) -> Result<&dyn Routes, Failure> {
        self.cloud()?.routes().ok_or_else(|| NO_ROUTES.into())
    }

    fn instances(&self) -> Result<&dyn Instances, Failure> {
        self.cloud()?.instances().ok_or_else(|| NO_INSTANCES.into())
    }
}
