/**
 * Protects ServiceCIDRs in use: a deleted ServiceCIDR keeps its finalizer until every allocated address in it
 * is also covered by another ServiceCIDR.
 * https://kubernetes.io/docs/tasks/network/extend-service-ip-ranges/
 */
import { messageOf } from '#/base/message-of.ts'
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { ServiceCIDR, IPAddress } from '#/api/generated/networking/v1.ts'
import { ipAddresses, serviceCIDRs } from '#/api/generated/networking/v1-resources.ts'
import { hasFinalizer, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import {
  cidrContains,
  cidrContainsCidr,
  cidrSize,
  firstAddress,
  lastAddress,
  parseCidr,
  type Cidr,
} from '#/api/net/cidr.ts'
import { compareIps, parseIp, type Ip } from '#/api/net/ip.ts'
import { labelOf } from '#/api/labels.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'

export const serviceCidrController: Controller = {
  name: 'service-cidr-controller',
  queueName: 'ipaddresses',
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
      if (isBeingDeleted(range) && concerns(range)) enqueue(range.metadata.name)
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
    if (!canDeleteCidr(range, ranges.list(), addresses.list()))
      return setCondition(range, client, terminating)
    const deletedMs = parseTime(range.metadata.deletionTimestamp ?? '') ?? clock.now()
    const leftMs = deletedMs + deletionGraceMs - clock.now()
    if (leftMs > 0) return { requeueAfterMs: leftMs }
    return setFinalizer(range, client, 'absent')
  }

  async function setCondition(
    range: Stored<ServiceCIDR>,
    client: ReconcileRequest['client'],
    condition: typeof ready,
  ): Promise<void> {
    const before = range.status?.conditions
    const lastTransitionTime = formatTime(clock.now())
    const conditions = withCondition(before, { ...condition, lastTransitionTime })
    if (conditions === before) return
    const { name } = range.metadata
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
  range: Stored<ServiceCIDR>,
  client: ReconcileRequest['client'],
  wanted: 'present' | 'absent',
): Promise<void> {
  if (hasFinalizer(range, finalizer) === (wanted === 'present')) return
  const { name, uid } = range.metadata
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

const allocatorName = 'ipallocator.k8s.io'

/** True if every allocated address of this ServiceCIDR is also covered by another one. */
export function canDeleteCidr(
  own: ServiceCIDR,
  all: readonly ServiceCIDR[],
  addresses: readonly Stored<IPAddress>[],
): boolean {
  const others = all.filter(other => other.metadata.name !== own.metadata.name).flatMap(rangesOf)
  const lonely = rangesOf(own).filter(range => !others.some(other => cidrContainsCidr(other, range)))
  if (lonely.length === 0) return true
  return !addresses.filter(isAllocated).some(({ metadata }) => {
    const ip = parseIp(metadata.name)
    const isHere = ip !== undefined && rangesOf(own).some(range => holds(range, ip))
    return isHere && !others.some(range => holds(range, ip))
  })
}

/** True if the address may have been allocated from this ServiceCIDR. */
function holdsAddress(own: ServiceCIDR, { metadata }: Stored<IPAddress>): boolean {
  const ip = parseIp(metadata.name)
  return ip !== undefined && rangesOf(own).some(range => holds(range, ip))
}

/** IPAddresses managed by other controllers do not belong to services. */
function isAllocated({ metadata }: IPAddress): boolean {
  return labelOf(metadata.labels, 'ipaddress.kubernetes.io/managed-by') === allocatorName
}

/** The network address, and in IPv4 the broadcast address, are never allocated. */
function holds(range: Cidr, ip: Ip): boolean {
  if (!cidrContains(range, ip)) return false
  if (cidrSize(range) === 1n) return true
  const isLast = range.family === 4 && compareIps(ip, lastAddress(range)) === 0
  return !isLast && compareIps(ip, firstAddress(range)) !== 0
}

function rangesOf({ spec }: ServiceCIDR): readonly Cidr[] {
  return (spec?.cidrs ?? []).flatMap(text => parseCidr(text) ?? [])
}
