/**
 * The ports of nodes that services hold, in one object of the store, as Kubernetes keeps them. Every change is made by
 * compare-and-set, so that several API servers never give the same port away twice.
 */
import type { Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Registry } from '../registry/registry.ts'
import { prefixOf } from '../registry/store-keys.ts'
import { encodeForStore } from '../registry/stored-object.ts'
import { attempt } from '../registry/write.ts'

export interface PortRange {
  readonly from: number
  readonly to: number
}

const usualRange: PortRange = { from: 30_000, to: 32_767 }

/** Why a port cannot be had, in the words of the API. */
export class NodePortError extends Error {}

const key = '/registry/ranges/servicenodeports'

interface RangeAllocation extends KubernetesObject {
  readonly range: string
  /** A bit for each port, the lowest first, in base64. */
  readonly data: string
}

/** Takes the ports asked for, and for each 0 any free one. All of them or, throwing NodePortError, none. */
export async function takePorts(registry: Registry, asked: readonly number[]): Promise<readonly number[]> {
  return change(registry, held => {
    const taken = asked.map(port => (port === 0 ? 0 : takeAsked(held, port)))
    return taken.map(port => (port === 0 ? takeFree(registry, held) : port))
  })
}

export async function returnPorts(registry: Registry, ports: readonly number[]): Promise<void> {
  if (ports.length === 0) return
  await change(registry, held => {
    for (const port of ports) held.delete(port)
    return []
  })
}

/** Ports that are in use are held from now on, and those that leaked are not. Gives those that are held for nobody. */
export async function repairPorts(
  registry: Registry,
  { inUse, leaked }: { readonly inUse: ReadonlySet<number>; readonly leaked: ReadonlySet<number> },
): Promise<readonly number[]> {
  return change(registry, held => {
    for (const port of leaked) held.delete(port)
    for (const port of inUse) held.add(port)
    return held.ports().filter(port => !inUse.has(port))
  })
}

async function change(
  registry: Registry,
  work: (held: HeldPorts) => readonly number[],
): Promise<readonly number[]> {
  const { store, nodePorts = usualRange } = registry
  const range = `${nodePorts.from}-${nodePorts.to}`
  for (;;) {
    const entry = await store.get(key)
    const object = entry && (JSON.parse(Buffer.from(entry.value).toString()) as RangeAllocation)
    const held = new HeldPorts(nodePorts)
    if (object?.range === range) held.load(object.data)
    else if (object) await addOfServices(registry, held)
    const result = work(held)
    if (object?.range === range && object.data === held.data) return result
    const changed: RangeAllocation = {
      kind: 'RangeAllocation',
      apiVersion: 'v1',
      metadata: {},
      range,
      data: held.data,
    }
    const value = encodeForStore(changed)
    const { written } = await attempt({ resource: services }, 'update', () =>
      entry ? store.update(key, value, { expectedRevision: entry.revision }) : store.create(key, value),
    )
    if (written) return result
  }
}

/** Somebody has chosen another range: which of its ports are held is known from those who hold them. */
async function addOfServices({ cache }: Registry, held: HeldPorts): Promise<void> {
  await cache.catchUp()
  for (const { object } of cache.list(prefixOf(services, ''))) {
    for (const port of portsOf(object as Service)) held.add(port)
  }
}

export function portsOf({ spec = {} }: Service): readonly number[] {
  const ports = (spec.ports ?? []).map(port => port.nodePort ?? 0)
  return [...new Set([...ports, spec.healthCheckNodePort ?? 0])].filter(port => port > 0)
}

function takeAsked(held: HeldPorts, port: number): number {
  const { from, to } = held.range
  if (port < from || port > to) {
    throw new NodePortError(
      `provided port is not in the valid range. The range of valid ports is ${from}-${to}`,
    )
  }
  if (held.has(port)) throw new NodePortError('provided port is already allocated')
  held.add(port)
  return port
}

function takeFree({ platform: { random } }: Registry, held: HeldPorts): number {
  const { from, to } = held.range
  const count = to - from + 1
  const start = random.integer('node port', count)
  for (let offset = 0; offset < count; offset++) {
    const port = from + ((start + offset) % count)
    if (held.has(port)) continue
    held.add(port)
    return port
  }
  throw new NodePortError('failed to allocate a nodePort: range is full')
}

/** Ports of a range, a bit for each. Others are never held. */
class HeldPorts {
  readonly range: PortRange
  readonly #bits: Uint8Array

  constructor(range: PortRange) {
    this.range = range
    this.#bits = new Uint8Array(Math.ceil((range.to - range.from + 1) / 8))
  }

  /** In base64, as it is stored. */
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

  /** All that are held, the lowest first. */
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
