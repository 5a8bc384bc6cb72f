/** What publishing a CustomResourceDefinition costs: until it is served, and until each document describes it. */
import { usageOf, type Running } from '../api/processes.ts'
import type { Api, Read } from './api.ts'
import { format, Samples, type Medians } from './figures.ts'
import { definitionOf } from './objects.ts'

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Definitions whose publishing is measured together; the median counts. */
export const publishedTogether = 15

const mediaTypes = {
  aggregatedDiscovery: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  version2: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
}

export function pathOf(number: number): string {
  return `/apis/group${number}.example.com/v1/widgets`
}

/** Documents that describe all definitions, as clients request them. */
const commonDocuments: Documents = {
  'discovery': { path: '/apis', headers: { accept: mediaTypes.aggregatedDiscovery } },
  'openapi/v3 index': { path: '/openapi/v3' },
  'openapi/v2': { path: '/openapi/v2' },
  'openapi/v2 protobuf': { path: '/openapi/v2', headers: { accept: mediaTypes.version2 } },
}

type Documents = Readonly<Record<string, Read>>

function documentsOf(number: number): Documents {
  return { ...commonDocuments, 'openapi/v3': { path: `/openapi/v3/apis/group${number}.example.com/v1` } }
}

/** Returns the milliseconds until the documents describe the definitions that were not published one by one. */
export async function generateDocuments(api: Api): Promise<number> {
  const started = performance.now()
  for (const document of Object.values(commonDocuments)) await api.read('HEAD', document)
  return performance.now() - started
}

export interface Publishing {
  /** How many definitions there were afterwards. */
  readonly definitionCount: number
  /** Milliseconds from the creation of a definition until it is served, then until each document is ready. */
  readonly publishedMs: Medians
  /** CPU time of the server for one definition: served, and all documents ready. */
  readonly publishingCpuMs: number
  /** Milliseconds to read each document, which is ready. */
  readonly readMs: Medians
  /** Bytes sent for each document. */
  readonly sizeBytes: Medians
  /** CPU time of the server for one read of each document. */
  readonly readingCpuMs: number
}

export async function publish({ pid }: Running, api: Api, from: number): Promise<Publishing> {
  const [published, read, sizes] = [new Samples(), new Samples(), new Samples()]
  const cpuMs = { publishing: 0, reading: 0 }
  const numbers = Array.from({ length: publishedTogether }, (_, index) => from + index)
  let started = usageOf(pid).cpuSeconds
  for (const number of numbers) {
    await published.time('served', async () => {
      await api.post(definitions, definitionOf(number))
      await api.waitFor(pathOf(number))
    })
    for (const [name, document] of Object.entries(documentsOf(number))) {
      await published.time(name, () => api.read('HEAD', document))
    }
  }
  cpuMs.publishing = (usageOf(pid).cpuSeconds - started) * 1_000
  started = usageOf(pid).cpuSeconds
  for (const number of numbers) {
    for (const [name, document] of Object.entries(documentsOf(number))) {
      sizes.add(name, await read.time(name, () => api.read('GET', gzipped(document))))
    }
  }
  cpuMs.reading = (usageOf(pid).cpuSeconds - started) * 1_000
  return {
    definitionCount: from + numbers.length,
    publishedMs: published.medians(),
    publishingCpuMs: cpuMs.publishing / numbers.length,
    readMs: read.medians(),
    sizeBytes: sizes.medians(),
    readingCpuMs: cpuMs.reading / numbers.length,
  }
}

function gzipped({ path, headers }: Read): Read {
  return { path, headers: { ...headers, 'accept-encoding': 'gzip' } }
}

/** Compares with the first definitions. */
export function reportPublishing(first: Publishing, last: Publishing): void {
  const counts = [last, first].map(({ definitionCount }) => `with ${definitionCount}`)
  const compared = (before: number, after: number) =>
    `${format(after)} ms ${counts[0]} definitions, ${format(before)} ms ${counts[1]}, ` +
    `${(after / before).toFixed(1)} times`
  for (const [name, ms] of last.publishedMs) {
    console.log(`publishing, ${name}: ${compared(first.publishedMs.get(name)!, ms)}`)
  }
  console.log(`publishing, CPU of the server: ${compared(first.publishingCpuMs, last.publishingCpuMs)}`)
  for (const [name, ms] of last.readMs) {
    const kilobytes = format(last.sizeBytes.get(name)! / 1_000)
    console.log(`reading, ${name}: ${compared(first.readMs.get(name)!, ms)} (${kilobytes} kB sent)`)
  }
  console.log(`reading each once, CPU of the server: ${compared(first.readingCpuMs, last.readingCpuMs)}`)
}
