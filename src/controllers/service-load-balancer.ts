/**
 * Manages load balancers for services of type LoadBalancer, using an implementation of
 * `shared/load-balancer.ts`. A finalizer keeps the service until its load balancer is deleted, so that a crash
 * leaves none behind.
 * https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
 */
import { backoffMs } from '#/base/backoff.ts'
import type { Node, Service } from '#/api/generated/core/v1.ts'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import { allocatedFromPoolAnnotation } from '#/api/core/load-balancers.ts'
import { annotationOf, hasFinalizer } from '#/api/metadata.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import type { LoadBalancerFactory } from './shared/load-balancer.ts'
import { LoadBalancerSync, LoadBalancerError, type Step } from './service-load-balancer/load-balancer-sync.ts'
import { isLoadBalancerNode, nodeSetKey } from './service-load-balancer/nodes.ts'
import {
  cleanupFinalizer,
  isSameService,
  planLoadBalancer,
  wantsLoadBalancer,
  type LoadBalancerPlan,
  type SyncedState,
} from './service-load-balancer/plan.ts'

export interface ServiceLoadBalancerSettings {
  readonly createLoadBalancer: LoadBalancerFactory
  /** Handles services with this `loadBalancerClass`; without it, those that have no class. */
  readonly loadBalancerClass?: string
}

/** Backoff after failures; slow, since calls to a cloud provider may be expensive. */
const retry = { initialMs: 5_000, maxMs: 300_000, factor: 2, jitter: 0 }

export function serviceLoadBalancerController(settings: ServiceLoadBalancerSettings): Controller {
  return {
    name: 'service-lb-controller',
    queueName: 'service',
    account: 'service-controller',
    setUp: context => setUp(context, settings),
  }
}

function setUp(context: ControllerContext, settings: ServiceLoadBalancerSettings): Reconcile {
  const { recorder, informer, enqueue } = context
  const { loadBalancerClass } = settings
  const allServices = informer(services)
  const allNodes = informer(nodes)
  const loadBalancer = settings.createLoadBalancer(context)
  const sync = new LoadBalancerSync(loadBalancer, recorder)
  const synced = new Map<string, SyncedState>()
  const failures = new Map<string, number>()
  const concerns = (service: Service): boolean => {
    return wantsLoadBalancer(service, loadBalancerClass) || hasFinalizer(service, cleanupFinalizer)
  }
  allServices.addEventHandler((key, { oldObject, newObject }) => {
    const isOurs = [oldObject, newObject].some(service => service && concerns(service))
    if ((isOurs || synced.has(key)) && !(oldObject && newObject && isSameService(oldObject, newObject)))
      enqueue(key)
  })
  allNodes.addEventHandler((_name, { oldObject, newObject }) => {
    if (keyIfReceiving(oldObject) !== keyIfReceiving(newObject)) for (const key of synced.keys()) enqueue(key)
  })

  return async ({ key, client, signal }) => {
    const loadBalancerNodes = allNodes.list().filter(isLoadBalancerNode)
    const service = allServices.get(key)
    const before = synced.get(key)
    const configuration = loadBalancer.configuration ? loadBalancer.configuration() : ''
    const isKnown = before !== undefined || failures.has(key) || hasPoolAddress(service)
    if (configuration === undefined && !isKnown) return undefined
    const plan = planLoadBalancer({
      service,
      synced: before,
      nodeSet: nodeSetKey(loadBalancerNodes),
      configuration: configuration ?? '',
      loadBalancerClass,
    })
    try {
      if (before !== undefined && plan === 'forget') {
        await sync.forget(before.service, signal)
        synced.delete(key)
        return { requeueAfterMs: 0 }
      }
      const step = { nodes: loadBalancerNodes, configuration: configuration ?? '', client, signal }
      if (service !== undefined) await perform(key, plan, { ...step, service })
      failures.delete(key)
      return undefined
    } catch (error) {
      if (!(error instanceof LoadBalancerError) || signal.aborted) throw error
      if (service && (plan === 'ensure' || plan === 'clean-up')) {
        const message = `Error syncing load balancer: ${error.message}`
        recorder.record(service, { type: 'Warning', reason: 'SyncLoadBalancerFailed', message })
      }
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      return { requeueAfterMs: backoffMs(count, retry, 0) }
    }
  }

  async function perform(key: string, plan: LoadBalancerPlan, step: Step): Promise<void> {
    const before = synced.get(key)
    if (plan === 'ensure') synced.set(key, await sync.ensure(step))
    if (plan === 'update-nodes' && before) synced.set(key, await sync.updateNodes(step, before))
    if (plan === 'clean-up') {
      await sync.cleanUp(step)
      synced.delete(key)
    }
  }
}

/** Identifies a node that receives traffic from load balancers. */
function keyIfReceiving(node: Node | undefined): string {
  return node && isLoadBalancerNode(node) ? nodeSetKey([node]) : ''
}

/** True if a previous process allocated the address of the service. */
function hasPoolAddress(service: Service | undefined): boolean {
  return service !== undefined && annotationOf(service, allocatedFromPoolAnnotation) !== undefined
}
