/**
 * The ports of nodes that services hold, in one object of the store, as Kubernetes keeps them. Every change is made by
 * compare-and-set, so that several API servers never give the same port away twice.
 */
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Registry } from '../registry/registry.ts'
import { encodeForStore } from '../registry/stored-object.ts'

const nodePortMin = 30_000
const nodePortMax = 32_767

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
  return change(registry, bits => {
    const taken = asked.map(port => (port === 0 ? 0 : takeAsked(bits, port)))
    return taken.map(port => (port === 0 ? takeFree(registry, bits) : port))
  })
}

export async function returnPorts(registry: Registry, ports: readonly number[]): Promise<void> {
  if (ports.length === 0) return
  await change(registry, bits => {
    for (const port of ports) setBit(bits, port, false)
    return []
  })
}

async function change(
  registry: Registry,
  work: (bits: Uint8Array) => readonly number[],
): Promise<readonly number[]> {
  const { store } = registry
  for (;;) {
    const entry = await store.get(key)
    const object = entry && (JSON.parse(Buffer.from(entry.value).toString()) as RangeAllocation)
    const bits = Uint8Array.from(object ? Buffer.from(object.data, 'base64') : new Uint8Array(bytesOfBits))
    const result = work(bits)
    const changed: RangeAllocation = {
      kind: 'RangeAllocation',
      apiVersion: 'v1',
      metadata: {},
      range: `${nodePortMin}-${nodePortMax}`,
      data: Buffer.from(bits).toString('base64'),
    }
    const value = encodeForStore(changed)
    const written = entry
      ? await store.update(key, value, { expectedRevision: entry.revision })
      : await store.create(key, value)
    if (written.written) return result
  }
}

const bytesOfBits = Math.ceil((nodePortMax - nodePortMin + 1) / 8)

function takeAsked(bits: Uint8Array, port: number): number {
  if (port < nodePortMin || port > nodePortMax) {
    throw new NodePortError(
      `provided port is not in the valid range. The range of valid ports is ${nodePortMin}-${nodePortMax}`,
    )
  }
  if (hasBit(bits, port)) throw new NodePortError('provided port is already allocated')
  setBit(bits, port, true)
  return port
}

function takeFree({ platform: { random } }: Registry, bits: Uint8Array): number {
  const count = nodePortMax - nodePortMin + 1
  const start = random.integer('node port', count)
  for (let offset = 0; offset < count; offset++) {
    const port = nodePortMin + ((start + offset) % count)
    if (hasBit(bits, port)) continue
    setBit(bits, port, true)
    return port
  }
  throw new NodePortError('failed to allocate a nodePort: range is full')
}

function hasBit(bits: Uint8Array, port: number): boolean {
  const index = port - nodePortMin
  return (bits[index >> 3]! & (1 << (index & 7))) !== 0
}

function setBit(bits: Uint8Array, port: number, value: boolean): void {
  const index = port - nodePortMin
  const mask = 1 << (index & 7)
  bits[index >> 3] = value ? bits[index >> 3]! | mask : bits[index >> 3]! & ~mask
}
