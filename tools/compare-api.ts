/**
 * Compares the API server's discovery and OpenAPI documents with those of a real one and prints every
 * difference:
 *
 *     node tools/compare-api.ts --reference openapi.json --discovery apis.json --discovery api-v1.json
 *
 * The reference is an OpenAPI v2 document; `--reference-v3` is a folder of v3 documents as in a checkout of
 * Kubernetes (`api/openapi-spec/v3`); a discovery document is an `APIGroupDiscoveryList` or an
 * `APIResourceList`. The server is compared with all built-in versions enabled, and again with its defaults.
 * Known differences are counted with their reason. Exits with 1 when there are others.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareDiscovery, type DiscoveryDocument } from './compare-api/compare-discovery.ts'
import { compareOpenApi, typeTexts, type Json } from './compare-api/compare-openapi.ts'
import { writeDifference, type Difference } from './compare-api/compare-values.ts'
import { knownDifferences } from './compare-api/known-differences.ts'
import { served } from './compare-api/served.ts'

const { values } = parseArgs({
  options: {
    'reference': { type: 'string' },
    'reference-v3': { type: 'string' },
    'discovery': { type: 'string', multiple: true, default: [] },
  },
})

/** See the known differences. */
const notServed = '/openapi/v3/logs'

const unexplained = new Set<string>()
const explained = new Map<string, number>()

for (const which of ['all', 'default'] as const) {
  const get = served(which)
  const isWhole = which === 'all'
  if (values.reference !== undefined) {
    const ours = (await get('/openapi/v2')) as Json
    report('openapi/v2', compareOpenApi(ours, read(values.reference) as Json, { isWhole }), typeTexts(ours))
  }
  for (const file of values.discovery) {
    report('discovery', await compareDiscovery(read(file) as DiscoveryDocument, get, { isWhole }))
  }
  if (values['reference-v3'] !== undefined) {
    const folder = values['reference-v3']
    for (const file of readdirSync(folder)) {
      const path = `/openapi/v3/${file.replace(/_openapi\.json$/, '').replaceAll('__', '/')}`
      const ours = (await get(path)) as Json | undefined
      if (ours) {
        const theirs = read(join(folder, file)) as Json
        report(path, compareOpenApi(ours, theirs, { isWhole: true }), typeTexts(ours))
      } else if (isWhole && path !== notServed) {
        unexplained.add(`${path}: is missing`)
      }
    }
  }
}

for (const text of unexplained) console.log(text)
for (const [reason, count] of explained) console.log(`${count} times: ${reason}`)
process.exitCode = unexplained.size === 0 ? 0 : 1

function read(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function report(
  document: string,
  differences: readonly Difference[],
  texts: ReadonlySet<unknown> = new Set(),
): void {
  for (const difference of differences) {
    const known = knownDifferences.find(({ matches }) => matches(difference, texts))
    if (known) explained.set(known.reason, (explained.get(known.reason) ?? 0) + 1)
    else unexplained.add(`${document}${writeDifference(difference)}`)
  }
}
