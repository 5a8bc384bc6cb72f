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

test('a controller that does not remember what it wrote makes too many pods', async () => {
  const request: Breakage['request'] = (each, { client }) => ({ ...each, client })
  await check('replicaset-controller', { request }, /has \d+ pods with .* and \d+ are the most/)
})

test('a Deployment controller that does not care for maxUnavailable takes away too many', async () => {
  const informer = changed<Deployment>(deployments, each => {
    const { spec } = each
    if (spec?.strategy?.rollingUpdate === undefined) return each
    const rollingUpdate = { ...spec.strategy.rollingUpdate, maxUnavailable: '100%' }
    return { ...each, spec: { ...spec, strategy: { ...spec.strategy, rollingUpdate } } }
  })
  await check('deployment-controller', { informer }, /goes below \d+ available pods/)
})

test('a StatefulSet controller that does not care for the order breaks it, up and down', async () => {
  const informer = changed<StatefulSet>(statefulSets, each => {
    return each.spec ? { ...each, spec: { ...each.spec, podManagementPolicy: 'Parallel' } } : each
  })
  await check('statefulset-controller', { informer }, /makes .* before it are not well/)
  // Scaling down by two at once is rare: it first occurs with seed 59.
  await check('statefulset-controller', { informer, from: 50 }, /removes .* before/)
})

test('a StatefulSet controller that removes no pod leaves old ones', async () => {
  await check('statefulset-controller', { request: without('delete') }, /^image of .* instead of/)
})

test('a garbage collector that deletes nothing leaves orphans', async () => {
  const request = without('delete')
  await check('garbage-collector-controller', { request }, /which is gone/)
})

test('a Job controller that never lets go of a pod', async () => {
  await check('job-controller', { request: without('patch') }, /still (holds|being deleted)/)
})

test('an EndpointSlice controller that never changes a slice leads to the wrong pods', async () => {
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
  assert.fail(`nobody noticed within ${seedsMax} seeds`)
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
