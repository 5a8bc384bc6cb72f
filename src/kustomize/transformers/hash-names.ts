import { createHash } from 'node:crypto'
import { get, isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { goJson } from '../documents/go-json.ts'
import { textOf } from '../documents/value.ts'
import type { Resource } from '../resources/resource.ts'

/** Appends a hash of the content to the names of generated ConfigMaps and Secrets, so that a change is rolled out. */
export function addHashes(resources: Iterable<Resource>): void {
  for (const resource of resources) {
    if (!resource.needsHash) continue
    const hash = hashOf(resource)
    resource.storePreviousId()
    resource.setName(`${resource.name}-${hash}`)
  }
}

function hashOf({ kind, object }: Resource): string {
  const isSecret = kind === 'Secret'
  const more = isSecret ? 'stringData' : 'binaryData'
  const extra = get(object, more)
  const hashed: JsonObject = {
    kind,
    // The name is not hashed.
    name: '',
    data: contentOf(get(object, 'data')),
    ...(isSecret && { type: contentOf(get(object, 'type')) }),
    ...(isObject(extra) && { [more]: extra }),
  }
  return encode(createHash('sha256').update(goJson(hashed)).digest('hex'))
}

function contentOf(value: JsonValue | undefined): JsonValue {
  return isObject(value) ? value : textOf(value)
}

/** Ten digits, without vowels and without what looks like them. */
function encode(hex: string): string {
  const substitutes: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' }
  return hex.slice(0, 10).replaceAll(/[013ae]/g, digit => substitutes[digit] ?? digit)
}
