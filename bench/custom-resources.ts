/**
 * Benchmarks custom resources against ConfigMaps of the same size in one run on one API server: create, get and
 * list; and what 500 CustomResourceDefinitions cost: the time until all are served, memory, and the publishing of
 * one more definition compared with that of the tenth.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchOnce, runLoad, type Load, type Target } from './api/load.ts'
import { startApiServer, usageOf, type Running } from './api/processes.ts'
import { Api } from './custom-resources/api.ts'
import {
  certificateDefinition,
  certificateJson,
  configMapJson,
  definitionOf,
} from './custom-resources/objects.ts'

const json = { 'content-type': 'application/json' }
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const certificates = '/apis/certificates.example.com/v1/namespaces/default/certificates'
const configMaps = '/api/v1/namespaces/default/configmaps'
const aggregatedDiscovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

const objectCount = 5_000
const definitionCount = 500
const rounds = 10
/** Definitions whose publishing is measured together; the median counts. */
const publishedTogether = 15

interface Kind {
  readonly path: string
  readonly body: (number: number) => string
}

const custom: Kind = { path: certificates, body: certificateJson }
/** ConfigMaps are padded to the size that a custom object has with defaults and managed fields. */
const padding = { bytes: 0 }
const builtIn: Kind = { path: configMaps, body: number => configMapJson(number, padding.bytes) }

/** Required rate of custom objects, in percent of that of ConfigMaps. */
const aim = 80

const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
try {
  await using server = await startApiServer(folder)
  using api = new Api(server.target)
  await api.post(definitions, certificateDefinition)
  await api.waitFor(certificates)
  padding.bytes = await sizeDifference(server.target, api)
  await compareObjects(server.target)
  await measureDefinitions(server, api)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function sizeDifference(target: Target, api: Api): Promise<number> {
  const sizes: number[] = []
  for (const { path, body } of [custom, builtIn]) {
    await api.post(path, JSON.parse(body(objectCount)) as object)
    sizes.push((await fetchOnce(target, `${path}/object-${objectCount}`)).length)
  }
  const [customBytes = 0, builtInBytes = 0] = sizes
  console.log(`an object has ${customBytes} bytes, with managed fields`)
  return customBytes - builtInBytes
}

/** Both kinds are measured alternately, so that both see the same machine load. */
async function compareObjects(target: Target): Promise<void> {
  const perRound = objectCount / rounds
  const create = { method: 'POST', headers: json, requests: perRound, concurrency: 64 }
  await compare(`create ${objectCount} objects`, async (kind, round) => {
    const body = (number: number) => kind.body(round * perRound + number)
    return rate(target, { ...create, path: kind.path, body })
  })
  await compare('get an object', kind =>
    rate(target, { path: `${kind.path}/object-7`, requests: 4_000, concurrency: 64 }),
  )
  await compare(`list ${objectCount} objects`, kind =>
    rate(target, { path: kind.path, requests: 10, concurrency: 4 }),
  )
  await compare('list pages of 500', kind =>
    rate(target, { path: `${kind.path}?limit=500`, requests: 50, concurrency: 4 }),
  )
}

/** The share is the median of all rounds: other load on the machine changes from second to second. */
async function compare(name: string, measure: (kind: Kind, round: number) => Promise<number>): Promise<void> {
  const measured: { readonly custom: number; readonly builtIn: number }[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const rate = await measure(builtIn, round)
      measured.push({ custom: await measure(custom, round), builtIn: rate })
    } else {
      const rate = await measure(custom, round)
      measured.push({ custom: rate, builtIn: await measure(builtIn, round) })
    }
  }
  const share = medianOf(measured.map(rates => rates.custom / rates.builtIn)) * 100
  console.log(
    `${name}: custom ${format(medianOf(measured.map(rates => rates.custom)))}/s, ` +
      `ConfigMap ${format(medianOf(measured.map(rates => rates.builtIn)))}/s, ` +
      `${share.toFixed(0)} % of it (aim: ${aim} %)`,
  )
}

async function measureDefinitions({ pid }: Running, api: Api): Promise<void> {
  const before = usageOf(pid)
  const first = await publish(api, 0)
  const from = publishedTogether
  const count = definitionCount - from
  const started = performance.now()
  const numbers = Array.from({ length: count }, (_, index) => from + index).values()
  const create = async () => {
    for (const number of numbers) await api.post(definitions, definitionOf(number))
  }
  await Promise.all(Array.from({ length: 8 }, create))
  const created = performance.now()
  for (let number = from; number < definitionCount; number++) await api.waitFor(pathOf(number))
  const served = performance.now()
  const after = usageOf(pid)
  console.log(
    `${count} definitions: created in ${format(created - started)} ms, all served after ` +
      `${format(served - started)} ms, ${format(((after.cpuSeconds - before.cpuSeconds) / count) * 1_000)} ms of ` +
      `CPU and ${format(((after.memoryMb - before.memoryMb) / definitionCount) * 1_000)} kB of memory each`,
  )
  const last = await publish(api, definitionCount)
  for (const step of ['served', 'discovery', 'openapi/v3', 'openapi/v2'] as const) {
    const ratio = last[step] / first[step]
    console.log(
      `publishing, ${step}: ${format(last[step])} ms with ${definitionCount} definitions, ` +
        `${format(first[step])} ms with 10, ${ratio.toFixed(1)} times`,
    )
  }
}

/** Milliseconds from the creation of a definition until it is served, and of reading each document then. */
interface Publishing {
  readonly 'served': number
  readonly 'discovery': number
  readonly 'openapi/v3': number
  readonly 'openapi/v2': number
}

async function publish(api: Api, from: number): Promise<Publishing> {
  const runs: Publishing[] = []
  for (let number = from; number < from + publishedTogether; number++) {
    const started = performance.now()
    await api.post(definitions, definitionOf(number))
    await api.waitFor(pathOf(number))
    const served = performance.now()
    await api.get('/apis', { accept: aggregatedDiscovery })
    const discovered = performance.now()
    await api.get(`/openapi/v3/apis/group${number}.example.com/v1`)
    const described = performance.now()
    await api.get('/openapi/v2')
    const ended = performance.now()
    runs.push({
      'served': served - started,
      'discovery': discovered - served,
      'openapi/v3': described - discovered,
      'openapi/v2': ended - described,
    })
  }
  const median = (step: keyof Publishing) => medianOf(runs.map(run => run[step]))
  return {
    'served': median('served'),
    'discovery': median('discovery'),
    'openapi/v3': median('openapi/v3'),
    'openapi/v2': median('openapi/v2'),
  }
}

function pathOf(number: number): string {
  return `/apis/group${number}.example.com/v1/widgets`
}

async function rate(target: Target, load: Omit<Load, 'connections'>): Promise<number> {
  const { perSecond } = await runLoad(target, { ...load, connections: Math.min(4, load.concurrency) })
  return perSecond
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function format(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1)
}
