import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployments, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { Deployment, StatefulSet } from '#/api/generated/apps/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Informer } from '#/client/informer.ts'
import type { Controller, ControllerContext, ReconcileRequest } from '#/controllers/controller.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { simulateControlPlane } from '../control-plane.ts'

/** Maximum number of seeds within which a checker must detect the broken controller. */
const seedsMax = 200

interface Breakage {
  /** First seed; default 0. */
  readonly from?: number
  readonly informer?: (informer: Informer<KubernetesObject>) => Informer<KubernetesObject>
  readonly request?: (request: ReconcileRequest, context: ControllerContext) => ReconcileRequest
}

test('a ReplicaSet controller without the write barrier creates too many pods', async () => {
  const request: Breakage['request'] = (each, { client }) => ({ ...each, client })
  await check('replicaset-controller', { request }, /has \d+ pods including .*, limit \d+/)
})

test('a Deployment controller that ignores maxUnavailable is detected', async () => {
  const informer = changed<Deployment>(deployments, each => {
    const { spec } = each
    if (spec?.strategy?.rollingUpdate === undefined) return each
    const rollingUpdate = { ...spec.strategy.rollingUpdate, maxUnavailable: '100%' }
    return { ...each, spec: { ...spec, strategy: { ...spec.strategy, rollingUpdate } } }
  })
  await check('deployment-controller', { informer }, /drops below \d+ available pods/)
})

test('a StatefulSet controller that ignores the order is detected, up and down', async () => {
  const informer = changed<StatefulSet>(statefulSets, each => {
    return each.spec ? { ...each, spec: { ...each.spec, podManagementPolicy: 'Parallel' } } : each
  })
  await check('statefulset-controller', { informer }, /creates .* with lower ordinals are not healthy/)
  // Scaling down by two at once is rare: it first occurs with seed 83.
  await check('statefulset-controller', { informer, from: 80 }, /deletes .* before/)
})

test('a StatefulSet controller that deletes no pods leaves old ones', async () => {
  await check('statefulset-controller', { request: without('delete'), from: 15 }, /^image of .* instead of/)
})

test('a garbage collector that deletes nothing leaves orphans', async () => {
  const request = without('delete')
  await check('garbage-collector-controller', { request }, /^owner .* does not exist/)
})

test('a Job controller that never removes finalizers is detected', async () => {
  await check('job-controller', { request: without('patch') }, /with a finalizer: \d|still being deleted/)
})

test('an EndpointSlice controller that never updates slices is detected', async () => {
  await check('endpointslice-controller', { request: without('update') }, /in its slices/)
})

/** Runs seeds with one broken controller until a checker reports the expected violation. */
async function check(name: string, breakage: Breakage, expected: RegExp): Promise<void> {
  const controllers = controllersOf()
  assert(controllers.some(controller => controller.name === name))
  const broken = controllers.map(each => (each.name === name ? breaking(each, breakage) : each))
  const { from = 0 } = breakage
  for (let seed = from; seed < from + seedsMax; seed++) {
    const { violations } = await simulateControlPlane(seed, { controllers: broken })
    if (violations.some(violation => expected.test(violation))) return
  }
  assert.fail(`no checker reported the violation within ${seedsMax} seeds`)
}

function breaking(controller: Controller, { informer, request }: Breakage): Controller {
  return {
    ...controller,
    setUp: context => {
      const changedInformer: ControllerContext['informer'] = (resource, selection) => {
        const real = context.informer(resource, selection)
        return informer ? (informer(real as never) as unknown as typeof real) : real
      }
      const reconcile = controller.setUp({ ...context, informer: changedInformer })
      return each => reconcile(request?.(each, context) ?? each)
    },
  }
}

/** A client that reports success for the verb without performing it. */
function without(verb: 'delete' | 'patch' | 'update'): Breakage['request'] {
  return request => ({ ...request, client: { ...request.client, [verb]: async () => undefined } })
}

/** An informer that shows modified objects of this resource. */
function changed<T extends KubernetesObject>(
  resource: Resource<T>,
  change: (object: T) => T,
): (informer: Informer<KubernetesObject>) => Informer<KubernetesObject> {
  const changedOrNot = (object: unknown): unknown => (object === undefined ? undefined : change(object as T))
  return informer => {
    if (informer.resource.plural !== resource.plural) return informer
    return new Proxy(informer, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        if (property === 'get') return (key: string) => changedOrNot(target.get(key))
        if (property === 'list') return () => target.list().map(changedOrNot)
        return value.bind(target) as unknown
      },
    })
  }
}
