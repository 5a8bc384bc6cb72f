import { checkConfigMapKey } from '#/api/names.ts'
import { quote } from '#/api/text/quote.ts'
import type { DataEntry } from './data-sources.ts'
import { sortedMap } from './generated-object.ts'
import { secretHash } from './name-hash.ts'
import type { CreateOptions, ObjectCreator } from './object-creator.ts'

export interface SecretContent {
  readonly entries: readonly DataEntry[]
  /** Empty for the default. */
  readonly type: string
  readonly appendHash: boolean | undefined
}

/** Throws Error for invalid and duplicate keys. */
export function planSecret(
  { name }: Pick<ObjectCreator, 'name'>,
  { entries, type, appendHash }: SecretContent,
): CreateOptions {
  const given = new Map<string, string>()
  for (const { key, value } of entries) {
    const messages = checkConfigMapKey(key)
    if (messages.length > 0)
      throw new Error(`${quote(key)} is not valid key name for a Secret ${messages.join(';')}`)
    if (given.has(key)) throw new Error(`cannot add key ${key}, another key by that name already exists`)
    given.set(key, Buffer.from(value).toString('base64'))
  }
  const data = sortedMap(Object.fromEntries(given))
  return {
    resource: { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', scope: 'Namespaced' },
    failure: 'failed to create secret',
    content: {
      metadata: { name: appendHash ? `${name}-${secretHash(name, { data, type })}` : name },
      ...(given.size > 0 && { data }),
      ...(type !== '' && { type }),
    },
  }
}
