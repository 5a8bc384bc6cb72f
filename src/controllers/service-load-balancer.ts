/**
 * Manages load balancers for services of type LoadBalancer, using an implementation of `load-balancers.ts`. A
 * finalizer keeps the service until its load balancer is deleted, so that a crash leaves none behind.
 * https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
 */
import { backoffMs } from '#/base/backoff.ts'
import type { Node, Service } from '#/api/generated/core/v1.ts'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import { hasFinalizer } from '#/api/metadata.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import type { ConnectLoadBalancers } from './load-balancers.ts'
import { Balancing, BalancerFailure, type Step } from './service-load-balancer/carry-out.ts'
import { isBalanced, nodesKey } from './service-load-balancer/nodes.ts'
import {
  cleanupFinalizer,
  isSameService,
  planBalancer,
  wantsBalancer,
  type BalancerPlan,
  type Done,
} from './service-load-balancer/plan.ts'

export interface ServiceLoadBalancerSettings {
  readonly connect: ConnectLoadBalancers
  /** Handles services with this `loadBalancerClass`; without it, those that have no class. */
  readonly balancerClass?: string
}

/** Backoff after failures; slow, since calls to a cloud provider may be expensive. */
const retry = { initialMs: 5_000, maxMs: 300_000, factor: 2, jitter: 0 }

export function serviceLoadBalancerController(settings: ServiceLoadBalancerSettings): Controller {
  return {
    name: 'service-lb-controller',
    account: 'service-controller',
    setUp: context => setUp(context, settings),
  }
}

function setUp(context: ControllerContext, settings: ServiceLoadBalancerSettings): Reconcile {
  const { recorder, informer, enqueue } = context
  const { balancerClass } = settings
  const allServices = informer(services)
  const allNodes = informer(nodes)
  const balancing = new Balancing(settings.connect(context), recorder)
  const done = new Map<string, Done>()
  const failures = new Map<string, number>()
  const concerns = (service: Service): boolean => {
    return wantsBalancer(service, balancerClass) || hasFinalizer(service, cleanupFinalizer)
  }
  allServices.addEventHandler((key, { oldObject, newObject }) => {
    const isOurs = [oldObject, newObject].some(service => service && concerns(service))
    if ((isOurs || done.has(key)) && !(oldObject && newObject && isSameService(oldObject, newObject)))
      enqueue(key)
  })
  allNodes.addEventHandler((_name, { oldObject, newObject }) => {
    const known = (node: Node | undefined): string => (node && isBalanced(node) ? nodesKey([node]) : '')
    if (known(oldObject) !== known(newObject)) for (const key of done.keys()) enqueue(key)
  })

  return async ({ key, client, signal }) => {
    const behind = allNodes.list().filter(isBalanced)
    const service = allServices.get(key)
    const before = done.get(key)
    const plan = planBalancer({ service, done: before, nodes: nodesKey(behind), balancerClass })
    try {
      if (before !== undefined && plan === 'forget') {
        await balancing.forget(before.service, signal)
        done.delete(key)
        return { requeueAfterMs: 0 }
      }
      if (service !== undefined) await carryOut(key, plan, { service, behind, client, signal })
      failures.delete(key)
      return undefined
    } catch (error) {
      if (!(error instanceof BalancerFailure) || signal.aborted) throw error
      if (service && (plan === 'ensure' || plan === 'clean-up')) {
        const message = `Error syncing load balancer: ${error.message}`
        recorder.record(service, { type: 'Warning', reason: 'SyncLoadBalancerFailed', message })
      }
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      return { requeueAfterMs: backoffMs(count, retry, 0) }
    }
  }

  async function carryOut(key: string, plan: BalancerPlan, step: Step): Promise<void> {
    const before = done.get(key)
    if (plan === 'ensure') done.set(key, await balancing.ensure(step))
    if (plan === 'update-nodes' && before) done.set(key, await balancing.updateNodes(step, before))
    if (plan === 'clean-up') {
      await balancing.cleanUp(step)
      done.delete(key)
    }
  }
}
