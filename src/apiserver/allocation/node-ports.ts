/**
 * Allocated node ports of Services, stored as one RangeAllocation object, as in Kubernetes. Changes use
 * optimistic concurrency, so several API servers never allocate the same port twice.
 */
import type { Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { CidrUse } from '../metrics/server.ts'
import type { Registry } from '../registry/registry.ts'
import { prefixOf } from '../registry/store-keys.ts'
import { encodeForStore } from '../registry/stored-object.ts'
import { translateStoreErrors } from '../registry/store-errors.ts'

export interface PortRange {
  readonly from: number
  readonly to: number
}

const usualRange: PortRange = { from: 30_000, to: 32_767 }

/** Allocation failed; the message is the one that the API reports. */
export class NodePortError extends Error {}

const key = '/registry/ranges/servicenodeports'

interface RangeAllocation extends KubernetesObject {
  readonly range: string
  /** Base64-encoded bitmap, lowest port first. */
  readonly data: string
}

/**
 * Allocates the given ports, and a free one for each 0: either all of them, or none and throws NodePortError.
 */
export async function allocateNodePorts(
  registry: Registry,
  requested: readonly number[],
): Promise<readonly number[]> {
  const record = (isAllocated: boolean): void => {
    for (const port of requested)
      registry.metrics?.server.recordNodePort({ scope: port === 0 ? 'dynamic' : 'static', isAllocated })
  }
  try {
    const ports = await change(registry, bitmap => {
      const taken = requested.map(port => (port === 0 ? 0 : allocateRequested(bitmap, port)))
      return taken.map(port => (port === 0 ? allocateFree(registry, bitmap) : port))
    })
    record(true)
    return ports
  } catch (error) {
    record(false)
    throw error
  }
}

/** Ports of Services in use and free. */
export function nodePortUse({ cache, nodePorts = usualRange }: Registry): Omit<CidrUse, 'cidr'> {
  const used = new Set<number>()
  for (const { object } of cache.list(prefixOf(services, '')))
    for (const port of portsOf(object as Service)) used.add(port)
  const allocated = used.size
  return { allocated, available: nodePorts.to - nodePorts.from + 1 - allocated }
}

/**
 * The port that a dry run shows: the requested one if it is free, or one above the usual range. `taken` are the ports
 * of the same Service. Throws NodePortError.
 */
export async function previewNodePort(
  registry: Registry,
  requested: number,
  taken: readonly number[],
): Promise<number> {
  if (requested === 0) return Math.max(...(taken.length > 0 ? taken : [previewPortMin])) + 1
  if (taken.includes(requested)) throw new NodePortError('provided port is already allocated')
  const { bitmap } = await readAllocation(registry)
  if (bitmap.has(requested)) throw new NodePortError('provided port is already allocated')
  return requested
}

const previewPortMin = 32_768

export async function releaseNodePorts(registry: Registry, ports: readonly number[]): Promise<void> {
  if (ports.length === 0) return
  await change(registry, bitmap => {
    for (const port of ports) bitmap.delete(port)
    return []
  })
}

/**
 * Marks ports in use as allocated and releases leaked ones. Returns the allocated ports that no service uses.
 */
export async function repairPorts(
  registry: Registry,
  { inUse, leaked }: { readonly inUse: ReadonlySet<number>; readonly leaked: ReadonlySet<number> },
): Promise<readonly number[]> {
  return change(registry, bitmap => {
    for (const port of leaked) bitmap.delete(port)
    for (const port of inUse) bitmap.add(port)
    return bitmap.ports().filter(port => !inUse.has(port))
  })
}

async function change(
  registry: Registry,
  work: (bitmap: PortBitmap) => readonly number[],
): Promise<readonly number[]> {
  const { store } = registry
  for (;;) {
    const { entry, bitmap, range, data } = await readAllocation(registry)
    const result = work(bitmap)
    if (data === bitmap.data) return result
    const changed: RangeAllocation = {
      kind: 'RangeAllocation',
      apiVersion: 'v1',
      metadata: {},
      range,
      data: bitmap.data,
    }
    const value = encodeForStore(changed)
    const { written } = await translateStoreErrors({ resource: services }, 'update', () =>
      entry
        ? store.update(key, value, { expectedRevision: entry.revision, ...own })
        : store.create(key, value, own),
    )
    if (written) return result
  }
}

interface Allocation {
  readonly entry: Awaited<ReturnType<Registry['store']['get']>>
  readonly bitmap: PortBitmap
  readonly range: string
  /** The stored bitmap; undefined if there is none of this range. */
  readonly data: string | undefined
}

async function readAllocation(registry: Registry): Promise<Allocation> {
  const { store, nodePorts = usualRange } = registry
  const range = `${nodePorts.from}-${nodePorts.to}`
  const entry = await store.get(key)
  const object = entry && (JSON.parse(Buffer.from(entry.value).toString()) as RangeAllocation)
  const bitmap = new PortBitmap(nodePorts)
  const isSame = object?.range === range
  if (isSame) bitmap.load(object.data)
  else if (object) await addOfServices(registry, bitmap)
  return { entry, bitmap, range, data: isSame ? object.data : undefined }
}

/** Ports of a Service are released also when the store is full. */
const own = { ignoresQuota: true }

/** The configured range has changed: rebuilds the allocations from the existing Services. */
async function addOfServices({ cache }: Registry, bitmap: PortBitmap): Promise<void> {
  await cache.waitForLatest()
  for (const { object } of cache.list(prefixOf(services, ''))) {
    for (const port of portsOf(object as Service)) bitmap.add(port)
  }
}

export function portsOf({ spec = {} }: Service): readonly number[] {
  const ports = (spec.ports ?? []).map(port => port.nodePort ?? 0)
  return [...new Set([...ports, spec.healthCheckNodePort ?? 0])].filter(port => port > 0)
}

function allocateRequested(bitmap: PortBitmap, port: number): number {
  const { from, to } = bitmap.range
  if (port < from || port > to) {
    throw new NodePortError(
      `provided port is not in the valid range. The range of valid ports is ${from}-${to}`,
    )
  }
  if (bitmap.has(port)) throw new NodePortError('provided port is already allocated')
  bitmap.add(port)
  return port
}

function allocateFree({ platform: { random } }: Registry, bitmap: PortBitmap): number {
  const { from, to } = bitmap.range
  const count = to - from + 1
  const start = random.integer('node port', count)
  for (let offset = 0; offset < count; offset++) {
    const port = from + ((start + offset) % count)
    if (bitmap.has(port)) continue
    bitmap.add(port)
    return port
  }
  throw new NodePortError('failed to allocate a nodePort: range is full')
}

/** Bitmap of the ports in a range; ports outside are never allocated. */
class PortBitmap {
  readonly range: PortRange
  readonly #bits: Uint8Array

  constructor(range: PortRange) {
    this.range = range
    this.#bits = new Uint8Array(Math.ceil((range.to - range.from + 1) / 8))
  }

  /** Base64, as stored. */
  get data(): string {
    return Buffer.from(this.#bits).toString('base64')
  }

  load(data: string): void {
    this.#bits.set(Buffer.from(data, 'base64').subarray(0, this.#bits.length))
  }

  has(port: number): boolean {
    const index = port - this.range.from
    return ((this.#bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0
  }

  /** The allocated ports in ascending order. */
  ports(): readonly number[] {
    const { from, to } = this.range
    return Array.from({ length: to - from + 1 }, (_, index) => from + index).filter(port => this.has(port))
  }

  add(port: number): void {
    this.#set(port, true)
  }

  delete(port: number): void {
    this.#set(port, false)
  }

  #set(port: number, value: boolean): void {
    if (port < this.range.from || port > this.range.to) return
    const index = port - this.range.from
    const mask = 1 << (index & 7)
    const bits = this.#bits[index >> 3]!
    this.#bits[index >> 3] = value ? bits | mask : bits & ~mask
  }
}
