/**
 * Benchmarks custom resources against ConfigMaps of the same size in one run on one API server: create, get and
 * list; and what 500 CustomResourceDefinitions cost: the time until all are served, memory, and the publishing of
 * one more definition compared with that of the first ones.
 *
 * Publishing ends when the server can answer with the changed document and its ETag, and is measured with HEAD. The
 * transfer of a document grows with the number of definitions described in it, and is measured separately.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchOnce, runLoad, type Load, type Target } from './api/load.ts'
import { startApiServer, usageOf, type Running } from './api/processes.ts'
import { Api } from './custom-resources/api.ts'
import { format, medianOf } from './custom-resources/figures.ts'
import {
  certificateDefinition,
  certificateJson,
  configMapJson,
  definitionOf,
} from './custom-resources/objects.ts'
import {
  definitions,
  generateDocuments,
  pathOf,
  publish,
  publishedTogether,
  reportPublishing,
} from './custom-resources/publishing.ts'

const json = { 'content-type': 'application/json' }
const certificates = '/apis/certificates.example.com/v1/namespaces/default/certificates'
const configMaps = '/api/v1/namespaces/default/configmaps'

const objectCount = 5_000
const definitionCount = 500
const rounds = 10

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
    sizes.push((await fetchOnce(target, { path: `${path}/object-${objectCount}` })).length)
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

async function measureDefinitions(server: Running, api: Api): Promise<void> {
  const before = usageOf(server.pid)
  const memoryOfEach = (): string =>
    `${format(((usageOf(server.pid).memoryMb - before.memoryMb) / definitionCount) * 1_000)} kB of memory each`
  await generateDocuments(api)
  // Not measured: the code is compiled for the first definitions, which would hide the growth.
  await publish(server, api, 0)
  const first = await publish(server, api, publishedTogether)
  const from = 2 * publishedTogether
  const range = { from, count: definitionCount - from }
  const { createdMs, servedMs, cpuMs } = await createDefinitions(server, api, range)
  console.log(
    `${range.count} definitions: created in ${format(createdMs)} ms, all served after ${format(servedMs)} ms, ` +
      `${format(cpuMs / range.count)} ms of CPU and ${memoryOfEach()}`,
  )
  const generatedMs = await generateDocuments(api)
  console.log(`their documents: first generated in ${format(generatedMs)} ms, then ${memoryOfEach()}`)
  reportPublishing(first, await publish(server, api, definitionCount))
}

interface Range {
  readonly from: number
  readonly count: number
}

async function createDefinitions({ pid }: Running, api: Api, { from, count }: Range) {
  const { cpuSeconds } = usageOf(pid)
  const started = performance.now()
  const numbers = Array.from({ length: count }, (_, index) => from + index).values()
  const create = async () => {
    for (const number of numbers) await api.post(definitions, definitionOf(number))
  }
  await Promise.all(Array.from({ length: 8 }, create))
  const createdMs = performance.now() - started
  for (let number = from; number < from + count; number++) await api.waitFor(pathOf(number))
  const servedMs = performance.now() - started
  return { createdMs, servedMs, cpuMs: (usageOf(pid).cpuSeconds - cpuSeconds) * 1_000 }
}

async function rate(target: Target, load: Omit<Load, 'connections'>): Promise<number> {
  const { perSecond } = await runLoad(target, { ...load, connections: Math.min(4, load.concurrency) })
  return perSecond
}
