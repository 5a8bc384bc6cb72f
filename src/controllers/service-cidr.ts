/**
 * Protects ServiceCIDRs in use: a deleted ServiceCIDR keeps its finalizer until every allocated address in it
 * is also covered by another ServiceCIDR.
 * https://kubernetes.io/docs/tasks/network/extend-service-ip-ranges/
 */
import { messageOf } from '#/base/message-of.ts'
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { ServiceCIDR } from '#/api/generated/networking/v1.ts'
import { ipAddresses, serviceCIDRs } from '#/api/generated/networking/v1-resources.ts'
import { hasFinalizer, isBeingDeleted } from '#/api/metadata.ts'
import { formatTime, parseTime } from '#/api/time.ts'
import type { Controller, ControllerContext, Reconcile, Work } from './controller.ts'
import { holdsAddress, isAllocated, isDispensable } from './service-cidr/plan.ts'

export const serviceCidrController: Controller = {
  name: 'service-cidr-controller',
  account: 'service-cidrs-controller',
  component: 'service-cidr-controller',
  setUp,
}

const finalizer = 'networking.k8s.io/service-cidr-finalizer'

/** API servers that have not observed the deletion yet may still allocate addresses from the range. */
const deletionGraceMs = 10_000

const ready = { type: 'Ready', status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' }
const terminating = {
  type: 'Ready',
  status: 'False',
  reason: 'Terminating',
  message:
    'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
}

function setUp({ platform, recorder, informer, enqueue }: ControllerContext): Reconcile {
  const { clock } = platform
  const ranges = informer(serviceCIDRs)
  const addresses = informer(ipAddresses)
  const wakeGoing = (concerns: (range: ServiceCIDR) => boolean): void => {
    for (const range of ranges.list()) {
      if (isBeingDeleted(range) && concerns(range)) enqueue(range.metadata?.name ?? '')
    }
  }
  ranges.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject) enqueue(key)
    // An added range may cover another one's addresses, and a removed one may have been the last to cover
    // them.
    if (oldObject === undefined || newObject === undefined) wakeGoing(() => true)
  })
  addresses.addEventHandler((_key, { oldObject, newObject }) => {
    const address = newObject ?? oldObject
    const isNews = oldObject === undefined || newObject === undefined
    if (isNews && address && isAllocated(address)) wakeGoing(range => holdsAddress(range, address))
  })

  return async ({ key, client }) => {
    const range = ranges.get(key)
    if (range === undefined) return undefined
    if (!isBeingDeleted(range)) {
      await setFinalizer(range, client, 'present')
      return setCondition(range, client, ready)
    }
    if (!isDispensable(range, ranges.list(), addresses.list()))
      return setCondition(range, client, terminating)
    const deletedMs = parseTime(range.metadata?.deletionTimestamp ?? '') ?? clock.now()
    const leftMs = deletedMs + deletionGraceMs - clock.now()
    if (leftMs > 0) return { requeueAfterMs: leftMs }
    return setFinalizer(range, client, 'absent')
  }

  async function setCondition(
    range: ServiceCIDR,
    client: Work['client'],
    condition: typeof ready,
  ): Promise<void> {
    const before = range.status?.conditions
    const lastTransitionTime = formatTime(clock.now())
    const conditions = withCondition(before, { ...condition, lastTransitionTime })
    if (conditions === before) return
    const { name = '' } = range.metadata ?? {}
    try {
      const patch = { status: { conditions } }
      await client.patch(serviceCIDRs, { name, subresource: 'status' }, { type: 'strategic', patch })
    } catch (error) {
      if (isApiError(error, 'NotFound')) return
      const message = `The ServiceCIDR Status can not be set to Ready=${condition.status}: ${messageOf(error)}`
      recorder.record(range, { type: 'Warning', reason: 'KubernetesServiceCIDRError', message })
      throw error
    }
  }
}

async function setFinalizer(
  range: ServiceCIDR,
  client: Work['client'],
  wanted: 'present' | 'absent',
): Promise<void> {
  if (hasFinalizer(range, finalizer) === (wanted === 'present')) return
  const { name = '', uid } = range.metadata ?? {}
  const change =
    wanted === 'present'
      ? { finalizers: [finalizer] }
      : { '$deleteFromPrimitiveList/finalizers': [finalizer] }
  try {
    const patch = { metadata: { uid, ...change } }
    await client.patch(serviceCIDRs, { name }, { type: 'strategic', patch })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}
