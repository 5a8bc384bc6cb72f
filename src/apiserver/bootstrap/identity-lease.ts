/**
 * The identity of an API server among several with one store: a Lease in `kube-system` that it renews. Leases of
 * servers that are gone are deleted after they have expired.
 * https://kubernetes.io/docs/concepts/architecture/leases/#api-server-identity
 */
import { createHash } from 'node:crypto'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatMicroTime, parseMicroTime } from '#/api/text/time.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { deleteObject } from '../registry/delete-object.ts'
import type { Registry } from '../registry/registry.ts'
import { prefixOf } from '../registry/store-keys.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { updateObject } from '../registry/update-object.ts'

export interface IdentityLeaseOptions {
  readonly hostName: string
  /** Distinguishes several servers of a host. */
  readonly address: string
}

const namespace = 'kube-system'
const identityLabel = 'apiserver.kubernetes.io/identity'
const durationSeconds = 3_600
const renewMs = 10_000
const collectMs = 3_600_000

/** Runs until aborted. Never rejects. */
export async function runIdentityLease(
  registry: Registry,
  options: IdentityLeaseOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random } = registry.platform
  const log = new ThrottledLog(registry.platform)
  const name = identityOf(options)
  const holder = `${name}_${random.uuid('identity of the API server')}`
  const attempt = async (what: string, act: () => Promise<void>): Promise<void> => {
    await act().catch((error: unknown) => {
      if (!signal.aborted) log.warn(what, what, { error })
    })
  }
  let collectedMs = clock.monotonicMs()
  while (!signal.aborted) {
    await attempt('Failed to renew identity lease', () => renew(registry, { name, holder, ...options }))
    if (clock.monotonicMs() - collectedMs >= collectMs) {
      collectedMs = clock.monotonicMs()
      await attempt('Failed to delete expired identity leases', () => deleteExpired(registry))
    }
    await clock.sleep(renewMs, signal).catch(() => undefined)
  }
}

/** In the form of upstream: `apiserver-` and a hash. */
function identityOf({ hostName, address }: IdentityLeaseOptions): string {
  const hash = createHash('sha256').update(`${hostName}\0kube-apiserver\0${address}`).digest()
  const bits = Array.from(hash.subarray(0, 16), byte => byte.toString(2).padStart(8, '0')).join('')
  const digits = bits.match(/.{1,5}/g) ?? []
  return `apiserver-${digits.map(each => base32[Number.parseInt(each.padEnd(5, '0'), 2)]).join('')}`
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567'

interface Identity {
  readonly name: string
  readonly holder: string
  readonly hostName: string
}

async function renew(registry: Registry, { name, holder, hostName }: Identity): Promise<void> {
  const now = formatMicroTime(registry.platform.clock.now())
  const labels = { [identityLabel]: 'kube-apiserver', 'kubernetes.io/hostname': hostName }
  const spec = { holderIdentity: holder, leaseDurationSeconds: durationSeconds, renewTime: now }
  const created: Lease = {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: { namespace, name, labels },
    spec,
  }
  await updateObject(registry, systemWriteRequest(leases, name, namespace), {
    change: stored => ({ ...stored, spec: { ...(stored as Lease).spec, ...spec } }) as Lease,
    create: async () => created,
  })
}

async function deleteExpired(registry: Registry): Promise<void> {
  const nowMs = registry.platform.clock.now()
  for (const { object } of registry.cache.list(prefixOf(leases, namespace))) {
    const lease = object as Stored<Lease>
    const { labels = {}, name, uid, resourceVersion } = lease.metadata
    if (labels[identityLabel] !== 'kube-apiserver' || !isExpired(lease, nowMs)) continue
    const preconditions = { uid, resourceVersion }
    const request = systemWriteRequest(leases, name, namespace)
    const options = { gracePeriodSeconds: undefined, propagationPolicy: undefined, preconditions }
    await deleteObject(registry, request, options).catch((error: unknown) => {
      // It was renewed, or another server has deleted it.
      if (!isApiError(error, 'Conflict') && !isApiError(error, 'NotFound')) throw error
    })
  }
}

function isExpired({ spec = {} }: Lease, nowMs: number): boolean {
  const renewedMs = parseMicroTime(spec.renewTime ?? '')
  if (renewedMs === undefined || spec.leaseDurationSeconds === undefined) return true
  return renewedMs + spec.leaseDurationSeconds * 1_000 < nowMs
}
